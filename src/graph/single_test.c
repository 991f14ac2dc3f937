// SPDX-License-Identifier: MIT
// The launch cache of single operators: which nodes are cached, that different nodes have different entries, and that the results
// are those of planned nodes.
#include "graph/single.h"

#include <tessera/tessera.h>

#include "graph/node.h"
#include "runtime/native_op.h"
#include "support/devices.h"
#include "support/test.h"

// The number of steps that the cache has for the node of this pending tensor; -1: it has no entry.
static int kept_steps(tsr_tensor *tensor) {
  tsri_graph_state *state = tsri_graph_of(tensor->value->device);
  tsri_mutex_lock(&state->lock);
  const tsri_node *node = tsri_pending_node(tensor->value);
  CHECK(node != NULL);
  tsri_single_form form;
  const tsri_single *single = tsri_single_describe(node, &form) ? tsri_single_find(&state->singles, &form) : NULL;
  tsri_mutex_unlock(&state->lock);
  return single ? (int)single->step_count : -1;
}

static tsr_tensor *matrix(tsr_device *device, float first) {
  float values[6];
  for (int i = 0; i < 6; i++) values[i] = first + (float)(i * i);
  return tsr_from_data(device, TSR_F32, TSR_SHAPE(2, 3), values, sizeof values);
}

static void check_values(tsr_tensor *tensor, const float *wanted, int count) {
  float values[24];
  CHECK_OK(tsr_read(tensor, values, (size_t)count * sizeof *values));
  CHECK_BYTES(values, wanted, (size_t)count * sizeof *values);
}

#define CHECK_VALUES(tensor, ...) \
  check_values(tensor, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

typedef struct fixture {
  tsr_device *device;
  tsr_scope *scope;
  tsr_tensor *x, *y;  // 0 1 4 9 16 25 and 100 101 104 109 116 125, as 2 x 3
} fixture;

static fixture begin(void) {
  fixture f = {.device = test_open("cpu")};
  f.scope = tsr_scope_begin(f.device);
  f.x = matrix(f.device, 0);
  f.y = matrix(f.device, 100);
  return f;
}

static void end(fixture *f) {
  CHECK_OK(tsr_scope_end(f->scope));
  tsr_device_release(f->device);
}

TEST(a_sum_runs_without_a_plan_from_the_second_time_on) {
  fixture f = begin();
  tsr_tensor *first = tsr_sum(f.x, (const int[]){1}, 1, false);
  CHECK_EQ_INT(kept_steps(first), -1);
  CHECK_VALUES(first, 5, 50);
  tsr_tensor *second = tsr_sum(f.y, (const int[]){1}, 1, false);  // other buffers
  CHECK_EQ_INT(kept_steps(second), 1);
  CHECK_VALUES(second, 305, 350);
  end(&f);
}

TEST(axes_layouts_and_attributes_make_other_entries) {
  fixture f = begin();
  for (int round = 0; round < 3; round++) {
    CHECK_VALUES(tsr_max(f.x, (const int[]){1}, 1, false), 4, 25);
    CHECK_VALUES(tsr_max(f.x, (const int[]){0}, 1, false), 9, 16, 25);
    CHECK_VALUES(tsr_max(tsr_transpose(f.x, 0, 1), (const int[]){1}, 1, false), 9, 16, 25);
    CHECK_VALUES(tsr_max(tsr_slice(f.x, 1, 0, 2, 1), (const int[]){1}, 1, false), 1, 16);
    CHECK_VALUES(tsr_max(tsr_slice(f.x, 1, 1, 3, 1), (const int[]){1}, 1, false), 4, 25);
    CHECK_VALUES(tsr_sort(f.x, 1, false), 0, 1, 4, 9, 16, 25);
    CHECK_VALUES(tsr_sort(f.x, 1, true), 4, 1, 0, 25, 16, 9);
  }
  end(&f);
}

TEST(operands_go_to_the_places_of_their_inputs) {
  fixture f = begin();
  tsr_tensor *small = tsr_slice(f.x, 1, 0, 2, 1), *other = tsr_slice(f.y, 1, 0, 2, 1);  // 0 1 9 16, 100 101 109 116
  for (int round = 0; round < 3; round++) {
    CHECK_VALUES(tsr_matmul(small, other), 109, 116, 2644, 2765);
    CHECK_VALUES(tsr_matmul(other, small), 909, 1716, 1044, 1965);
    CHECK_VALUES(tsr_matmul(small, small), 9, 16, 144, 265);
  }
  CHECK_EQ_INT(kept_steps(tsr_matmul(other, small)), 1);
  end(&f);
}

TEST(a_node_of_two_native_operators_is_kept) {
  fixture f = begin();
  tsr_tensor *pair[] = {f.x, tsr_slice(f.y, 1, 0, 3, 2)};  // a view with a step: two copies
  for (int round = 0; round < 3; round++) {
    tsr_tensor *joined = tsr_concat(pair, 2, 1);
    CHECK_EQ_INT(kept_steps(joined), round ? 2 : -1);
    CHECK_VALUES(joined, 0, 1, 4, 100, 104, 9, 16, 25, 109, 125);
  }
  end(&f);
}

TEST(joined_lines_are_one_kept_step) {
  fixture f = begin();
  tsr_tensor *pairs[][2] = {{f.x, f.y}, {f.y, f.x}, {f.x, f.y}};
  for (int round = 0; round < 3; round++) {
    tsr_tensor *joined = tsr_concat(pairs[round], 2, 1);
    CHECK_EQ_INT(kept_steps(joined), round ? 1 : -1);
    if (round == 1) CHECK_VALUES(joined, 100, 101, 104, 0, 1, 4, 109, 116, 125, 9, 16, 25);
    else CHECK_VALUES(joined, 0, 1, 4, 100, 101, 104, 9, 16, 25, 109, 116, 125);
  }
  tsr_tensor *column = tsr_slice(f.y, 1, 1, 2, 1), *first = tsr_slice(f.x, 1, 0, 2, 1);
  tsr_tensor *most[] = {first, column, column, first, column, first, column, column};
  for (int round = 0; round < 3; round++) {
    tsr_tensor *joined = tsr_concat(most, 8, 1);
    CHECK_EQ_INT(kept_steps(joined), round ? 1 : -1);
    CHECK_VALUES(joined, 0, 1, 101, 101, 0, 1, 101, 0, 1, 101, 101, 9, 16, 116, 116, 9, 16, 116, 9, 16, 116, 116);
  }
  end(&f);
}

TEST(without_native_operators_the_node_is_planned) {
  fixture f = begin();
  CHECK_VALUES(tsr_sum(f.x, NULL, 0, false), 55);
  tsr_tensor *sum = tsr_sum(f.y, NULL, 0, false);
  CHECK_EQ_INT(kept_steps(sum), 1);
  tsri_native_allow(false);
  CHECK_VALUES(sum, 655);
  CHECK(!tsri_native_was_taken());
  tsri_native_allow(true);
  end(&f);
}

TEST(an_element_wise_operator_on_views_is_a_kept_kernel) {
  fixture f = begin();
  for (int round = 0; round < 3; round++) {
    tsr_tensor *x = tsr_slice(f.x, 1, 0, 3, 2), *y = tsr_slice(f.y, 1, 0, 3, 2);  // 0 4 9 25, 100 104 109 125
    tsr_tensor *sum = tsr_add(x, y), *more = tsr_add_scalar(x, round), *same = tsr_add(x, x);
    CHECK_EQ_INT(kept_steps(sum), round ? 1 : -1);
    CHECK_EQ_INT(kept_steps(more), -1);  // another scalar each time
    CHECK_VALUES(sum, 100, 108, 118, 150);
    CHECK_VALUES(more, (float)round, (float)(4 + round), (float)(9 + round), (float)(25 + round));
    CHECK_VALUES(same, 0, 8, 18, 50);
    CHECK_VALUES(tsr_add(f.x, tsr_slice(f.y, 0, 1, 2, 1)), 109, 117, 129, 118, 132, 150);  // broadcast
  }
  end(&f);
}

TEST(contiguous_elements_are_left_to_the_other_cache) {
  fixture f = begin();
  for (int round = 0; round < 2; round++) {
    tsr_tensor *sum = tsr_add(f.x, f.y);
    CHECK_EQ_INT(kept_steps(sum), -1);
    CHECK_VALUES(sum, 100, 102, 108, 118, 132, 150);
  }
  end(&f);
}

// Copies of views, sums that are divided, and temporary buffers between the steps.
TEST(an_operator_of_several_nodes_is_kept) {
  fixture f = begin();
  for (int round = 0; round < 3; round++) {
    tsr_tensor *turned = tsr_transpose(round == 1 ? f.y : f.x, 0, 1);
    tsr_tensor *sorted = tsr_sort(turned, 1, true), *mean = tsr_mean(turned, (const int[]){1}, 1, false);
    int steps = kept_steps(sorted);
    CHECK(round ? steps > 1 : steps == -1);
    if (round == 1) CHECK_VALUES(sorted, 109, 100, 116, 101, 125, 104);
    else CHECK_VALUES(sorted, 9, 0, 16, 1, 25, 4);
    CHECK(kept_steps(mean) == -1 || round > 0);
    if (round == 1) CHECK_VALUES(mean, 104.5F, 108.5F, 114.5F);
    else CHECK_VALUES(mean, 4.5F, 8.5F, 14.5F);
  }
  end(&f);
}

// An input that nobody needs any more is released during the run, and its memory may be that of the result.
TEST(an_input_is_found_where_it_was_before_the_run) {
  enum { SIDE = 8, WIDE = 2 * SIDE };
  tsr_device *device = test_open("cpu");
  for (int round = 0; round < 4; round++) {
    double x_values[SIDE * SIDE], y_values[SIDE * WIDE], got[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) x_values[i] = (i * 7 + round) % 5;
    for (int i = 0; i < SIDE * WIDE; i++) y_values[i] = (i * 3 + round) % 7 - 3;
    tsr_tensor *x = tsr_from_data(device, TSR_F64, TSR_SHAPE(SIDE, SIDE), x_values, sizeof x_values);
    tsr_tensor *y = tsr_from_data(device, TSR_F64, TSR_SHAPE(SIDE, WIDE), y_values, sizeof y_values);
    tsr_tensor *a = tsr_neg(x);  // a result, as large as the sum of pairs below
    CHECK_OK(tsr_evaluate(a));
    tsr_tensor *doubled = tsr_mul_scalar(y, 2), *product = tsr_matmul(a, doubled);
    tsr_tensor *pairs = tsr_reshape(product, TSR_SHAPE(SIDE, SIDE, 2));
    tsr_tensor *result = tsr_sum(pairs, (const int[]){2}, 1, false);
    tsr_tensor *gone[] = {a, doubled, product, pairs};
    for (int i = 0; i < 4; i++) tsr_release(gone[i]);
    CHECK_EQ_INT(kept_steps(result), round ? 3 : -1);
    CHECK_OK(tsr_read(result, got, sizeof got));
    for (int i = 0; i < SIDE * SIDE; i++) {
      double sum = 0;
      const double *row = &x_values[i / SIDE * SIDE], *column = &y_values[2 * (i % SIDE)];
      for (int k = 0; k < SIDE; k++) sum -= row[k] * 2 * (column[k * WIDE] + column[k * WIDE + 1]);
      CHECK_NEAR(got[i], sum, 0);
    }
    tsr_release(x);
    tsr_release(y);
    tsr_release(result);
  }
  tsr_device_release(device);
}

TEST(a_node_that_others_refer_to_is_planned_and_computed_once) {
  fixture f = begin();
  for (int round = 0; round < 2; round++) {
    tsr_tensor *turned = tsr_contiguous(tsr_transpose(f.x, 0, 1)), *sum = tsr_sum(turned, (const int[]){1}, 1, false);
    CHECK_EQ_INT(kept_steps(sum), -1);
    CHECK_VALUES(sum, 9, 17, 29);
    CHECK_VALUES(turned, 0, 9, 1, 16, 4, 25);
  }
  end(&f);
}

TEST(an_assignment_writes_its_target_each_time) {
  fixture f = begin();
  for (int round = 0; round < 3; round++) {
    CHECK_OK(tsr_write(f.x, (const float[]){1, 2, 3, 4, 5, 6}, 6 * sizeof(float)));
    CHECK_OK(tsr_assign(f.x, f.y));
    CHECK_OK(tsr_evaluate(f.x));
    CHECK_VALUES(f.x, 100, 101, 104, 109, 116, 125);
  }
  end(&f);
}

TEST(a_captured_node_has_no_entry) {
  fixture f = begin();
  CHECK_VALUES(tsr_sum(f.x, NULL, 0, false), 55);
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_capture_begin(f.device));
  tsr_tensor *sum = tsr_sum(f.x, NULL, 0, false);
  CHECK_EQ_INT(kept_steps(sum), -1);
  CHECK_OK(tsr_capture_end(&sum, 1, &capture));
  CHECK_OK(tsr_write(f.x, (const float[]){2, 2, 2, 2, 2, 2}, 6 * sizeof(float)));
  CHECK_OK(tsr_capture_run(capture));
  CHECK_VALUES(sum, 12);
  tsr_capture_release(capture);
  end(&f);
}

// An operator with a kernel of its own, which binds whole buffers: here a part of one that is larger each time.
static void take_again(tsr_device *device) {
  enum { MOST = 400 };
  float list[MOST], got[3];
  if (!test_device_computes(device)) return;
  for (int i = 0; i < MOST; i++) list[i] = (float)(2 * i);
  tsr_scope *scope = tsr_scope_begin(device);
  for (int round = 0; round < 3; round++) {
    int64_t size = 100 << round;
    tsr_tensor *all = tsr_from_data(device, TSR_F32, TSR_SHAPE(size), list, (size_t)size * sizeof *list);
    tsr_tensor *part = tsr_slice(all, 0, 10, 90, 1);  // 20, 22 … 178
    tsr_tensor *places = tsr_from_data(device, TSR_I32, TSR_SHAPE(3), (int32_t[]){79, round, 1}, 12);
    tsr_tensor *taken = tsr_take(part, places);
    CHECK_EQ_INT(kept_steps(taken), round ? 1 : -1);
    CHECK_OK(tsr_read(taken, got, sizeof got));
    CHECK_BYTES(got, ((float[]){178, (float)(20 + 2 * round), 22}), sizeof got);
  }
  CHECK_OK(tsr_scope_end(scope));
}

TEST(an_operators_own_kernel_is_kept_on_every_device) { test_on_every_device(take_again); }

// cross_entropy has a kernel with two results on GPUs, of which a mean reads one; the other is not needed.
static void entropy_again(tsr_device *device) {
  float loss;
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  for (int round = 0; round < 3; round++) {
    tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(2, 8), (float)round);
    tsr_tensor *labels = tsr_from_data(device, TSR_I32, TSR_SHAPE(2), (int32_t[]){round, 7}, 8);
    CHECK_OK(tsr_evaluate(x));
    tsr_tensor *mean = tsr_cross_entropy(x, labels, 1, NULL);
    int steps = kept_steps(mean);
    if (!tsri_device_is_cpu(device)) CHECK_EQ_INT(steps, round ? 2 : -1);
    CHECK_OK(tsr_read(mean, &loss, sizeof loss));
    CHECK_NEAR(loss, 2.0794415, 1e-5);
  }
  CHECK_OK(tsr_scope_end(scope));
}

TEST(a_kernel_with_results_that_nobody_needs_is_kept) { test_on_every_device(entropy_again); }

// How many elements topk gives is no attribute of its sort, but the size of its result.
static void first_elements(tsr_device *device) {
  static const int counts[] = {2, 2, 3, 1, 3, 2};
  if (!test_device_computes(device)) return;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    int32_t got[6], wanted[6];
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_tensor *places = NULL,
               *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2, 4), (float[]){1, 5, 3, 2, 8, 9, 6, 7}, 32);
    CHECK_OK(tsr_topk(x, counts[i], 1, true, NULL, &places));
    CHECK_OK(tsr_read(places, got, (size_t)counts[i] * 2 * sizeof *got));
    for (int k = 0; k < counts[i]; k++) {
      wanted[k] = (int[]){1, 2, 3}[k];
      wanted[counts[i] + k] = (int[]){1, 0, 3}[k];
    }
    CHECK_BYTES(got, wanted, (size_t)counts[i] * 2 * sizeof *got);
    CHECK_OK(tsr_scope_end(scope));
  }
}

TEST(nodes_with_results_of_other_sizes_have_other_entries) { test_on_every_device(first_elements); }

// tril compares sequences of the rows and columns: an operator without inputs before one that reads it.
TEST(a_sequence_is_kept_with_the_kernel_that_reads_it) {
  fixture f = begin();
  for (int round = 0; round < 3; round++) {
    tsr_tensor *lower = tsr_tril(round == 1 ? f.y : f.x, 0), *upper = tsr_triu(f.y, round);
    CHECK_EQ_INT(kept_steps(lower), round ? 2 : -1);
    if (round == 1) CHECK_VALUES(lower, 100, 0, 0, 109, 116, 0);
    else CHECK_VALUES(lower, 0, 0, 0, 9, 16, 0);
    if (round == 1) CHECK_VALUES(upper, 0, 101, 104, 0, 0, 125);
    if (round == 2) CHECK_VALUES(upper, 0, 0, 104, 0, 0, 0);
  }
  end(&f);
}
