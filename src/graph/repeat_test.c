// SPDX-License-Identifier: MIT
// The launch cache: which launches are cached, and that different launches have different keys.
#include "graph/repeat.h"

#include <string.h>
#include <tessera/tessera.h>

#include "core/alloc.h"
#include "graph/node.h"
#include "support/devices.h"
#include "support/test.h"

// Whether the cache has a launch for this pending tensor's node.
static bool is_kept(tsr_tensor *tensor) {
  tsri_graph_state *state = tsri_graph_of(tensor->value->device);
  tsri_mutex_lock(&state->lock);
  const tsri_node *node = tsri_pending_node(tensor->value);
  CHECK(node != NULL);
  tsri_repeat_form form;
  bool found = tsri_repeat_find(&state->repeats, node, &form) != NULL;
  tsri_mutex_unlock(&state->lock);
  return found;
}

static void check_four(tsr_tensor *tensor, float a, float b, float c, float d) {
  float wanted[4] = {a, b, c, d}, values[4];
  CHECK_OK(tsr_read(tensor, values, sizeof values));
  CHECK_BYTES(values, wanted, sizeof wanted);
}

static tsr_tensor *four(tsr_device *device, float first) {
  float values[4] = {first, first + 1, first + 2, first + 3};
  return tsr_from_data(device, TSR_F32, TSR_SHAPE(4), values, sizeof values);
}

TEST(an_operator_is_launched_in_its_form_from_the_second_time_on) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10), *c = four(device, 100);
  tsr_tensor *first = tsr_add(a, b);
  CHECK(!is_kept(first));
  check_four(first, 10, 12, 14, 16);
  tsr_tensor *second = tsr_add(c, a);  // the same operator on other buffers
  CHECK(is_kept(second));
  check_four(second, 100, 102, 104, 106);
  tsr_tensor *square = tsr_add(tsr_reshape(a, TSR_SHAPE(2, 2)), tsr_reshape(b, TSR_SHAPE(2, 2)));
  CHECK(is_kept(square));  // contiguous inputs of any shape share an entry
  check_four(square, 10, 12, 14, 16);
  CHECK_EQ_INT(tsr_tensor_shape(square).rank, 2);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_tensor_with_itself_is_another_form) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10);
  for (int i = 0; i < 3; i++) {
    check_four(tsr_sub(b, a), 10, 10, 10, 10);
    check_four(tsr_sub(a, a), 0, 0, 0, 0);
    check_four(tsr_sub(a, b), -10, -10, -10, -10);
    check_four(tsr_add(b, b), 20, 22, 24, 26);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(dtypes_and_counts_are_part_of_a_form_and_numbers_are_not) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 1), *whole = tsr_arange(device, TSR_I32, 1, 5, 1);
  tsr_tensor *longer = tsr_arange(device, TSR_F32, 0, 300, 1);
  for (int i = 0; i < 3; i++) {
    check_four(tsr_mul_scalar(a, 2), 2, 4, 6, 8);
    check_four(tsr_mul_scalar(a, -3), -3, -6, -9, -12);
    int32_t integers[4];
    CHECK_OK(tsr_read(tsr_mul_scalar(whole, 2), integers, sizeof integers));
    CHECK_BYTES(integers, ((int32_t[]){2, 4, 6, 8}), sizeof integers);
    check_four(tsr_add(a, whole), 2, 4, 6, 8);
    check_four(tsr_add(a, a), 2, 4, 6, 8);
    float values[300];
    CHECK_OK(tsr_read(tsr_mul_scalar(longer, 2), values, sizeof values));
    for (int j = 0; j < 300; j++) CHECK(values[j] == 2.0f * (float)j);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(numbers_are_converted_to_the_dtype_of_each_launch) {
  static const tsr_dtype dtypes[] = {TSR_F64, TSR_F32, TSR_F16, TSR_I64, TSR_I32, TSR_U32, TSR_U8, TSR_I16};
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 1);
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    tsr_tensor *x = tsr_cast(a, dtypes[i]);
    CHECK_OK(tsr_evaluate(x));
    for (int number = 2; number < 5; number++) {
      tsr_tensor *y = tsr_add_scalar(tsr_mul_scalar(x, number), 10 * number);
      CHECK(is_kept(y) == (number > 2));
      // Read without a cast, whose launch might replace the entry in the cache.
      uint64_t elements[4];
      float values[4];
      CHECK_OK(tsr_read(y, elements, 4 * tsr_dtype_bytes(dtypes[i])));
      CHECK_OK(tsr_convert(TSR_F32, values, dtypes[i], elements, 4));
      for (int j = 0; j < 4; j++) CHECK(values[j] == (float)((11 + j) * number));
    }
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// The kernel's parameter is an i64 with the same bits.
TEST(a_number_above_those_of_i64_reaches_a_kernel_of_u64) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_cast(four(device, 1), TSR_U64);
  CHECK_OK(tsr_evaluate(x));
  for (int i = 0; i < 2; i++) {
    uint64_t values[4];
    tsr_tensor *y = tsr_add_scalar(tsr_add_scalar(x, 0x1p63), i);
    CHECK(is_kept(y) == (i > 0));
    CHECK_OK(tsr_read(y, values, sizeof values));
    for (unsigned j = 0; j < 4; j++) CHECK_EQ_UINT(values[j], (UINT64_C(1) << 63) + 1 + j + (unsigned)i);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(inputs_out_of_order_are_planned) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10), *long_one = tsr_arange(device, TSR_F32, 0, 8, 1);
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  tsr_tensor *views[] = {tsr_flip(a, 0), tsr_slice(long_one, 0, 2, 6, 1), tsr_slice(long_one, 0, 0, TSR_END, 2)};
  float firsts[] = {13, 12, 10}, steps[] = {0, 2, 3};
  for (int i = 0; i < 3; i++) {
    tsr_tensor *sum = tsr_add(views[i], b);
    CHECK(!is_kept(sum));
    check_four(sum, firsts[i], firsts[i] + steps[i], firsts[i] + 2 * steps[i], firsts[i] + 3 * steps[i]);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// ((x * first + y) * second - x) / y: the scalars of two nodes, two leaves that are read twice each.
static tsr_tensor *chain(tsr_tensor *x, tsr_tensor *y, double first, double second) {
  tsr_tensor *scaled = tsr_mul_scalar(tsr_add(tsr_mul_scalar(x, first), y), second);
  return tsr_div(tsr_sub(scaled, x), y);
}

TEST(a_chain_of_operators_is_launched_in_its_form_with_numbers_and_buffers_of_its_own) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, 1), *ones = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  tsr_tensor *twos = tsr_full(device, TSR_F32, TSR_SHAPE(4), 2);
  tsr_tensor *first = chain(x, ones, 2, 3);
  CHECK(!is_kept(first));
  check_four(first, 8, 13, 18, 23);
  tsr_tensor *second = chain(x, ones, -1, 2);  // other numbers
  CHECK(is_kept(second));
  check_four(second, -1, -4, -7, -10);
  tsr_tensor *third = chain(twos, x, 1, 1);  // other buffers, and more than one row
  CHECK(is_kept(third));
  check_four(third, 1, 1, 1, 1);
  tsr_tensor *same = chain(twos, twos, 1, 2);  // one buffer where there were two
  CHECK(!is_kept(same));
  check_four(same, 3, 3, 3, 3);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(chains_that_differ_in_who_reads_what_have_forms_of_their_own) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, 1), *y = four(device, 5);
  for (int i = 0; i < 3; i++) {
    tsr_tensor *sum = tsr_add(x, y), *other = tsr_add(x, y), *product = tsr_mul(x, y);
    check_four(tsr_sub(sum, product), 1, -4, -11, -20);
    check_four(tsr_sub(product, sum), -1, 4, 11, 20);
    check_four(tsr_sub(sum, sum), 0, 0, 0, 0);
    check_four(tsr_sub(sum, other), 0, 0, 0, 0);  // equal nodes: planned, since the planner merges them
    check_four(tsr_sub(tsr_add_scalar(x, 1), tsr_add_scalar(x, 2)), -1, -1, -1, -1);
    check_four(tsr_sub(tsr_add_scalar(x, 2), tsr_add_scalar(x, 2)), 0, 0, 0, 0);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(what_is_not_one_kernel_over_the_same_elements_is_planned) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, 1), *total = NULL, *spread = NULL, *longest = NULL;
  for (int i = 0; i < 2; i++) {
    total = tsr_neg(tsr_sum(tsr_neg(x), NULL, 0, false));
    CHECK(!is_kept(total));
    CHECK_OK(tsr_evaluate(total));
    spread = tsr_add(tsr_neg(x), tsr_neg(tsr_slice(x, 0, 1, 2, 1)));  // one element for all
    CHECK(!is_kept(spread));
    check_four(spread, -3, -4, -5, -6);
    longest = x;
    for (int j = 0; j < TSRI_REPEAT_NODES + 1; j++) longest = tsr_add_scalar(longest, 1);
    CHECK(!is_kept(longest));
    enum { SUM = TSRI_REPEAT_NODES + 2 };
    check_four(longest, SUM, SUM + 1, SUM + 2, SUM + 3);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

static tsr_tensor *add_ones(tsr_tensor *x, int count) {
  for (int i = 0; i < count; i++) x = tsr_add_scalar(x, 1);
  return x;
}

static uint64_t launches_of(tsr_device *device) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(device, &counters));
  return counters.launches;
}

TEST(a_chain_that_is_longer_than_a_kernel_is_launched_piece_by_piece_from_the_cache) {
  enum { LENGTH = 2 * TSRI_REPEAT_NODES + 4 };
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, 1);
  for (int i = 0; i < 3; i++) {
    tsr_tensor *last = add_ones(x, LENGTH);
    tsri_node *roots[4];
    CHECK_EQ_UINT(tsri_repeat_cut(tsri_pending_node(last->value), roots, 4), 3);
    CHECK_EQ_UINT(tsri_repeat_cut(tsri_pending_node(last->value), roots, 2), 1);  // no room for three
    CHECK_EQ_UINT(tsri_repeat_cut(tsri_pending_node(last->value), roots, 4), 3);
    CHECK_EQ_INT(roots[0]->depth, 4);
    tsri_repeat_form form;
    CHECK((tsri_repeat_find(&tsri_graph_of(device)->repeats, roots[0], &form) != NULL) == (i > 0));
    uint64_t before = launches_of(device);
    check_four(last, LENGTH + 1, LENGTH + 2, LENGTH + 3, LENGTH + 4);
    CHECK_EQ_UINT(launches_of(device) - before, 3);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// An input that many nodes read is one buffer of the kernel, also through a reshaped result.
TEST(a_chain_that_reads_the_same_tensors_many_times_is_one_kernel) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, 1), *y = four(device, 2), *y2 = tsr_reshape(y, TSR_SHAPE(2, 2));
  for (int i = 0; i < 3; i++) {
    tsr_tensor *z = x;
    for (int k = 0; k < 10; k++) z = tsr_add(z, k % 2 ? x : y);
    z = tsr_reshape(z, TSR_SHAPE(2, 2));
    for (int k = 0; k < 10; k++) z = tsr_add(z, y2);
    tsri_repeat_form form;
    tsri_node *node = tsri_pending_node(z->value);
    CHECK((tsri_repeat_find(&tsri_graph_of(device)->repeats, node, &form) != NULL) == (i > 0));
    uint64_t before = launches_of(device);
    check_four(z, 36, 57, 78, 99);  // 6 x + 15 y
    CHECK_EQ_UINT(launches_of(device) - before, 1);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_chain_over_results_of_other_operators_or_with_branches_is_right_in_pieces) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  for (int i = 0; i < 2; i++) {
    tsr_tensor *x = four(device, 1), *sum = tsr_sum(tsr_neg(x), NULL, 0, true);
    tsr_tensor *spread = tsr_expand(sum, TSR_SHAPE(4));
    check_four(add_ones(tsr_add(add_ones(spread, 60), x), 60), 111, 112, 113, 114);
    tsr_tensor *left = add_ones(x, 70), *right = add_ones(left, 3);  // two pending inputs: not cut there
    check_four(add_ones(tsr_add(left, right), 50), 195, 197, 199, 201);
    check_four(left, 71, 72, 73, 74);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(host_memory_that_runs_out_leaves_the_operator_to_be_tried_again) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10);
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  tsr_tensor *sum = tsr_add(a, b);
  CHECK(is_kept(sum));
  tsri_alloc_fail_at(1, false);
  CHECK_STATUS(tsr_evaluate(sum), TSR_ERR_OUT_OF_MEMORY);
  tsri_alloc_fail_at(0, false);
  check_four(sum, 10, 12, 14, 16);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

static int plan_lines;

static void count_plans(tsr_log_level level, const char *message, void *user) {
  (void)user;
  plan_lines += level == TSR_LOG_PLAN && strstr(message, "kernel of add") != NULL;
}

TEST(who_logs_plans_sees_every_one) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10);
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  tsr_set_log(TSR_LOG_PLAN, count_plans, NULL);
  plan_lines = 0;
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  tsr_set_log(TSR_LOG_OFF, NULL, NULL);
  CHECK_EQ_INT(plan_lines, 2);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}
