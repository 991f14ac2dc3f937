// SPDX-License-Identifier: MIT
// Assignments: which operators see which elements, in which order writes run, and that nothing is lost or leaked.
#include "graph/assign.h"

#include <pthread.h>
#include <string.h>
#include <tessera/tessera.h>

#include "core/alloc.h"
#include "support/devices.h"
#include "support/test.h"

static void check_read(tsr_tensor *tensor, const float *wanted, int count) {
  float values[64];
  CHECK_OK(tsr_read(tensor, values, (size_t)count * sizeof *values));
  for (int i = 0; i < count; i++) CHECK_NEAR(values[i], wanted[i], 0);
}

static tsr_tensor *four(tsr_device *device, float a, float b, float c, float d) {
  const float values[4] = {a, b, c, d};
  return tsr_from_data(device, TSR_F32, TSR_SHAPE(4), values, sizeof values);
}

// Runs `body` in a scope on every device that has kernels.
static void (*scoped_body)(tsr_device *device);
static void run_scoped(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  if (tsr_evaluate(tsr_neg(tsr_ones(device, TSR_F32, TSR_SHAPE(1)))) != TSR_ERR_UNSUPPORTED) scoped_body(device);
  CHECK_OK(tsr_scope_end(scope));
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
}

static void on_every_device(void (*body)(tsr_device *device)) {
  scoped_body = body;
  test_on_every_device(run_scoped);
}

static uint64_t activity(tsr_device *device) {
  tsr_device_counters counters;
  tsr_memory_stats stats;
  CHECK_OK(tsr_device_get_counters(device, &counters));
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  return counters.launches + counters.uploads + counters.downloads + stats.allocations;
}

static void before_and_after(tsr_device *device) {
  tsr_tensor *x = four(device, 1, 2, 3, 4), *view = tsr_flip(x, 0);
  tsr_tensor *ones = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  uint64_t idle = activity(device);
  tsr_tensor *old = tsr_neg(x), *old_view = tsr_add(view, view);
  CHECK_OK(tsr_assign(x, tsr_mul_scalar(x, 10)));
  tsr_tensor *middle = tsr_add(x, ones);
  CHECK_OK(tsr_assign(x, tsr_add(x, ones)));
  tsr_tensor *late = tsr_neg(x), *late_view = tsr_contiguous(view);
  CHECK_EQ_UINT(activity(device), idle);  // nothing has run
  check_read(late_view, (const float[]){41, 31, 21, 11}, 4);
  check_read(old, (const float[]){-1, -2, -3, -4}, 4);
  check_read(old_view, (const float[]){8, 6, 4, 2}, 4);
  check_read(middle, (const float[]){11, 21, 31, 41}, 4);
  check_read(late, (const float[]){-11, -21, -31, -41}, 4);
  check_read(x, (const float[]){11, 21, 31, 41}, 4);
  check_read(view, (const float[]){41, 31, 21, 11}, 4);
}

TEST(operators_see_the_elements_that_were_there_when_they_were_recorded) { on_every_device(before_and_after); }

// The number of launches and allocations that assigning a new result to `target` takes.
static uint64_t cost_of(tsr_device *device, tsr_tensor *target, tsr_tensor *source) {
  CHECK_OK(tsr_evaluate(target));
  uint64_t before = activity(device);
  CHECK_OK(tsr_assign(target, source));
  CHECK_OK(tsr_evaluate(target));
  return activity(device) - before;
}

TEST(element_wise_operators_write_to_the_target_of_an_assignment_themselves) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, 1, 2, 3, 4), *y = four(device, 1, 1, 1, 1), *kept = tsr_neg(y);
  tsr_tensor *square = tsr_from_data(device, TSR_F32, TSR_SHAPE(2, 4), (const float[8]){0}, 8 * sizeof(float));
  CHECK_EQ_UINT(cost_of(device, x, tsr_exp(tsr_neg(tsr_sub(y, y)))), 1);
  check_read(x, (const float[]){1, 1, 1, 1}, 4);
  // The slice begins 16 bytes into the buffer, where no binding may begin: the result is computed in a temporary
  // buffer.
  CHECK_EQ_UINT(cost_of(device, tsr_slice(square, 0, 1, 2, 1), tsr_add_scalar(y, 2)), 2);
  check_read(square, (const float[]){0, 0, 0, 0, 3, 3, 3, 3}, 8);
  CHECK(cost_of(device, x, tsr_mul_scalar(x, 5)) > 1);  // the scope has the source, too: it needs memory of its own
  check_read(x, (const float[]){5, 5, 5, 5}, 4);
  CHECK_OK(tsr_assign(x, kept));
  CHECK_OK(tsr_assign(x, tsr_add_scalar(kept, 1)));
  check_read(x, (const float[]){0, 0, 0, 0}, 4);
  check_read(kept, (const float[]){-1, -1, -1, -1}, 4);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// As cost_of, for a source that nobody else has a reference to.
static uint64_t cost_of_update(tsr_device *device, tsr_tensor *target, tsr_tensor *source) {
  CHECK_OK(tsr_evaluate(target));
  uint64_t before = activity(device);
  CHECK_OK(tsr_assign(target, source));
  tsr_release(source);
  CHECK_OK(tsr_evaluate(target));
  return activity(device) - before;
}

static tsr_tensor *after(tsr_tensor *result, tsr_tensor *input) {
  tsr_release(input);
  return result;
}

// decay * x + y.
static tsr_tensor *decayed_sum(tsr_tensor *x, double decay, tsr_tensor *y) {
  tsr_tensor *less = tsr_mul_scalar(x, decay);
  return after(tsr_add(less, y), less);
}

static void in_place(tsr_device *device) {
  tsr_tensor *x = four(device, 1, 2, 3, 4), *y = four(device, 1, 1, 2, 2);
  CHECK_EQ_UINT(cost_of_update(device, x, tsr_mul_scalar(x, 10)), 1);
  CHECK_EQ_UINT(cost_of_update(device, x, decayed_sum(x, 0.5, y)), 1);
  check_read(x, (const float[]){6, 11, 17, 22}, 4);
  // The target is read twice, once after another operator.
  tsr_tensor *twice = tsr_add(x, x);
  CHECK_EQ_UINT(cost_of_update(device, x, after(tsr_sub(twice, x), twice)), 1);
  check_read(x, (const float[]){6, 11, 17, 22}, 4);
  tsr_tensor *table = tsr_zeros(device, TSR_F32, TSR_SHAPE(3, 4));
  CHECK_EQ_UINT(cost_of_update(device, table, tsr_add(table, y)), 1);
  tsr_tensor *flat = tsr_reshape(table, TSR_SHAPE(12));
  CHECK_EQ_UINT(cost_of_update(device, flat, tsr_add(flat, flat)), 1);
  check_read(table, (const float[]){2, 2, 4, 4, 2, 2, 4, 4, 2, 2, 4, 4}, 12);
  tsr_release(x), tsr_release(y), tsr_release(table), tsr_release(flat);
}

static void in_place_on_device(tsr_device *device) {
  tsr_tensor *one = tsr_ones(device, TSR_F32, TSR_SHAPE(1)), *sum = tsr_neg(one);
  bool has_kernels = tsr_evaluate(sum) != TSR_ERR_UNSUPPORTED;
  tsr_release(one), tsr_release(sum);
  if (has_kernels) in_place(device);
}

TEST(an_update_of_a_tensor_by_itself_is_one_launch) { test_on_every_device(in_place_on_device); }

TEST(an_update_of_a_slice_by_itself_is_one_launch) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(3, 64)), *row = tsr_slice(x, 0, 1, 2, 1);
  CHECK_EQ_UINT(cost_of_update(device, row, tsr_add_scalar(row, 7)), 1);
  // A row cannot be bound from its second element on: the sum is computed in a temporary buffer.
  tsr_tensor *rest = tsr_slice(row, 1, 1, 64, 1);
  (void)cost_of_update(device, rest, tsr_add_scalar(rest, 1));
  float values[192];
  CHECK_OK(tsr_read(x, values, sizeof values));
  for (int i = 0; i < 192; i++) CHECK_NEAR(values[i], i < 64 || i >= 128 ? 0 : i == 64 ? 7 : 8, 0);
  tsr_release(x), tsr_release(row), tsr_release(rest);
  tsr_device_release(device);
}

static void with_other_readers(tsr_device *device) {
  // Whatever else reads the target's old elements, or may be asked for, is computed before they are overwritten.
  tsr_tensor *x = four(device, 1, 2, 3, 4), *held = tsr_mul_scalar(x, 2), *sum = tsr_add(held, x);
  CHECK_OK(tsr_assign(x, sum));
  check_read(x, (const float[]){3, 6, 9, 12}, 4);
  check_read(held, (const float[]){2, 4, 6, 8}, 4);
  check_read(sum, (const float[]){3, 6, 9, 12}, 4);
  tsr_tensor *equal = tsr_mul_scalar(x, 3), *again = tsr_mul_scalar(x, 3);
  CHECK_OK(tsr_assign(x, equal));
  tsr_release(equal);
  check_read(x, (const float[]){9, 18, 27, 36}, 4);
  check_read(again, (const float[]){9, 18, 27, 36}, 4);
  tsr_tensor *square = tsr_mul(x, x), *root = tsr_sqrt(square);
  CHECK_OK(tsr_assign(x, square));
  tsr_release(square);
  check_read(root, (const float[]){9, 18, 27, 36}, 4);
  check_read(x, (const float[]){81, 324, 729, 1296}, 4);
  tsr_release(x), tsr_release(held), tsr_release(sum), tsr_release(again), tsr_release(root);
}

static void at_other_places(tsr_device *device) {
  // The source reads the target at other indices than it is written at.
  tsr_tensor *x = tsr_arange(device, TSR_F32, 0, 8, 1), *turned = tsr_flip(x, 0), *sum = tsr_add(x, turned);
  tsr_tensor *square = tsr_reshape(x, TSR_SHAPE(2, 4)), *upper = tsr_slice(square, 0, 0, 1, 1);
  tsr_tensor *lower = tsr_slice(square, 0, 1, 2, 1), *steps = tsr_arange(device, TSR_F32, 0, 8, 1);
  CHECK_OK(tsr_assign(x, sum));
  tsr_release(sum);
  check_read(x, (const float[]){7, 7, 7, 7, 7, 7, 7, 7}, 8);
  tsr_tensor *product = tsr_mul(turned, steps);
  CHECK_OK(tsr_assign(x, product));
  tsr_release(product);
  check_read(x, (const float[]){0, 7, 14, 21, 28, 35, 42, 49}, 8);
  tsr_tensor *row = tsr_add(upper, lower);
  CHECK_OK(tsr_assign(upper, row));
  tsr_release(row);
  tsr_tensor *all = tsr_add(square, upper);  // the row is read for both rows
  CHECK_OK(tsr_assign(square, all));
  tsr_release(all);
  check_read(x, (const float[]){56, 84, 112, 140, 56, 77, 98, 119}, 8);
  tsr_release(x), tsr_release(turned), tsr_release(square), tsr_release(upper), tsr_release(lower), tsr_release(steps);
}

static void updates_with_readers(tsr_device *device) {
  tsr_tensor *one = tsr_ones(device, TSR_F32, TSR_SHAPE(1)), *sum = tsr_neg(one);
  bool has_kernels = tsr_evaluate(sum) != TSR_ERR_UNSUPPORTED;
  tsr_release(one), tsr_release(sum);
  if (!has_kernels) return;
  with_other_readers(device);
  at_other_places(device);
}

TEST(an_update_leaves_what_others_read_of_its_target) { test_on_every_device(updates_with_readers); }

static void through_views(tsr_device *device) {
  const float zeros[12] = {0};
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(3, 4), zeros, sizeof zeros);
  tsr_tensor *row = tsr_slice(x, 0, 1, 2, 1), *columns = tsr_slice(tsr_transpose(x, 0, 1), 0, 0, 4, 3);
  CHECK_OK(tsr_assign(row, tsr_arange(device, TSR_F32, 1, 5, 1)));                       // broadcast to 1x4
  CHECK_OK(tsr_assign(columns, tsr_full(device, TSR_F32, TSR_SCALAR, 7)));               // columns 0 and 3
  CHECK_OK(tsr_assign(tsr_slice(x, 0, 2, 3, 1), tsr_arange(device, TSR_I32, 0, 4, 1)));  // converted
  check_read(x, (const float[]){7, 0, 0, 7, 7, 2, 3, 7, 0, 1, 2, 3}, 12);
  tsr_tensor *turned = tsr_slice(tsr_flip(x, 1), 0, 0, 1, 1);
  CHECK_OK(tsr_assign(turned, row));
  check_read(tsr_slice(x, 0, 0, 1, 1), (const float[]){7, 3, 2, 7}, 4);
  tsr_tensor *small = tsr_zeros(device, TSR_I8, TSR_SHAPE(5));
  CHECK_OK(tsr_assign(tsr_slice(small, 0, 1, 4, 2), tsr_full(device, TSR_F32, TSR_SHAPE(2), 3.75)));
  int8_t bytes[5];
  CHECK_OK(tsr_read(small, bytes, sizeof bytes));
  CHECK(bytes[0] == 0 && bytes[1] == 3 && bytes[2] == 0 && bytes[3] == 3 && bytes[4] == 0);
}

TEST(any_view_is_written_with_broadcasting_and_conversion) { on_every_device(through_views); }

static void overlapping(tsr_device *device) {
  tsr_tensor *x = tsr_arange(device, TSR_F32, 0, 6, 1);
  CHECK_OK(tsr_assign(tsr_slice(x, 0, 1, 6, 1), tsr_slice(x, 0, 0, 5, 1)));
  check_read(x, (const float[]){0, 0, 1, 2, 3, 4}, 6);
  CHECK_OK(tsr_assign(x, tsr_flip(x, 0)));
  check_read(x, (const float[]){4, 3, 2, 1, 0, 0}, 6);
  CHECK_OK(tsr_assign(x, x));
  CHECK_OK(tsr_assign(x, tsr_add(tsr_flip(x, 0), x)));
  check_read(x, (const float[]){4, 3, 3, 3, 3, 4}, 6);
}

TEST(a_source_that_overlaps_its_target_is_read_as_it_was) { on_every_device(overlapping); }

static void on_pending(tsr_device *device) {
  tsr_tensor *a = four(device, 1, 2, 3, 4), *x = tsr_neg(a), *old = tsr_add(x, x);
  CHECK_OK(tsr_assign(tsr_slice(x, 0, 0, 2, 1), tsr_full(device, TSR_F32, TSR_SCALAR, 5)));
  tsr_tensor *now = tsr_mul_scalar(x, 2);
  check_read(now, (const float[]){10, 10, -6, -8}, 4);
  check_read(old, (const float[]){-2, -4, -6, -8}, 4);
  tsr_tensor *y = tsr_exp(a), *same = tsr_exp(a);  // equal nodes, one of which is overwritten
  CHECK_OK(tsr_assign(y, a));
  tsr_tensor *both = tsr_concat((tsr_tensor *[]){tsr_neg(y), same}, 2, 0);
  float values[8];
  CHECK_OK(tsr_read(both, values, sizeof values));
  for (int i = 0; i < 4; i++) CHECK(values[i] == -(float)(i + 1) && values[4 + i] > (float)(i + 1));
  check_read(y, (const float[]){1, 2, 3, 4}, 4);
}

TEST(what_is_still_pending_can_be_assigned_to) { on_every_device(on_pending); }

static void with_writes(tsr_device *device) {
  tsr_tensor *x = four(device, 1, 2, 3, 4), *two = tsr_full(device, TSR_F32, TSR_SHAPE(4), 2);
  const float nines[4] = {9, 9, 9, 9};
  CHECK_OK(tsr_assign(x, two));
  tsr_tensor *seen = tsr_neg(x);
  CHECK_OK(tsr_write(two, nines, sizeof nines));  // overwrites the source before the assignment has run
  check_read(seen, (const float[]){-2, -2, -2, -2}, 4);
  CHECK_OK(tsr_assign(x, two));
  seen = tsr_neg(x);
  CHECK_OK(tsr_write(tsr_slice(x, 0, 0, 1, 1), (const float[]){1}, sizeof(float)));
  check_read(seen, (const float[]){-9, -9, -9, -9}, 4);
  check_read(x, (const float[]){1, 9, 9, 9}, 4);
}

TEST(assignments_and_writes_keep_their_order) { on_every_device(with_writes); }

static void in_capture(tsr_device *device) {
  tsr_tensor *state = four(device, 1, 2, 3, 4), *step = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  tsr_tensor *before = tsr_neg(state);  // pending when the capture runs, and reads an input of it
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *shown = tsr_mul_scalar(state, 10);
  CHECK_OK(tsr_assign(state, tsr_add(state, step)));
  tsr_tensor *outputs[] = {shown, state};
  CHECK_OK(tsr_capture_end(outputs, 2, &capture));
  check_read(before, (const float[]){-1, -2, -3, -4}, 4);
  check_read(shown, (const float[]){10, 20, 30, 40}, 4);
  check_read(state, (const float[]){2, 3, 4, 5}, 4);
  for (int i = 1; i < 4; i++) {
    tsr_tensor *seen = tsr_neg(state);
    CHECK_OK(tsr_capture_run(capture));
    float base = (float)i;
    check_read(seen, (const float[]){-1 - base, -2 - base, -3 - base, -4 - base}, 4);
    check_read(shown, (const float[]){10 + 10 * base, 20 + 10 * base, 30 + 10 * base, 40 + 10 * base}, 4);
    check_read(state, (const float[]){2 + base, 3 + base, 4 + base, 5 + base}, 4);
  }
  CHECK_OK(tsr_assign(state, step));  // pending when the capture runs: it must run first
  CHECK_OK(tsr_capture_run(capture));
  check_read(state, (const float[]){2, 2, 2, 2}, 4);
  tsr_capture_release(capture);
}

TEST(an_assignment_in_a_capture_is_made_again_each_time) { on_every_device(in_capture); }

static void to_an_input(tsr_device *device) {
  tsr_tensor *x = four(device, 1, 2, 3, 4), *other = four(device, 5, 6, 7, 8);
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_mul_scalar(x, 10);
  CHECK_OK(tsr_capture_end(&y, 1, &capture));
  CHECK_OK(tsr_assign(x, other));
  CHECK_OK(tsr_capture_run(capture));
  check_read(y, (const float[]){50, 60, 70, 80}, 4);
  // The source is a tensor that the capture overwrites.
  CHECK_OK(tsr_assign(tsr_slice(x, 0, 1, 2, 1), tsr_slice(y, 0, 0, 1, 1)));
  CHECK_OK(tsr_capture_run(capture));
  check_read(y, (const float[]){50, 500, 70, 80}, 4);
  tsr_capture_release(capture);
}

TEST(a_capture_reads_what_was_assigned_to_its_inputs_before) { on_every_device(to_an_input); }

TEST(an_assignment_nobody_can_see_is_never_made_and_leaves_nothing) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = four(device, 1, 2, 3, 4), *y = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  CHECK_OK(tsr_assign(x, y));
  CHECK_OK(tsr_assign(x, y));
  uint64_t idle = activity(device);
  tsr_release(x);
  CHECK_EQ_UINT(activity(device), idle);
  x = four(device, 1, 2, 3, 4);
  CHECK_OK(tsr_assign(x, y));
  tsr_tensor *seen = tsr_neg(x);
  tsr_release(x);  // only a recorded operator refers to the value now
  check_read(seen, (const float[]){-1, -1, -1, -1}, 4);
  tsr_release(seen), tsr_release(y);
  tsr_device_release(device);
}

TEST(assignments_over_and_over_need_constant_memory) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(4));
  for (int i = 0; i < 20000; i++) {
    tsr_tensor *more = tsr_add_scalar(x, 1);
    CHECK_OK(tsr_assign(x, more));
    tsr_release(more);
  }
  check_read(x, (const float[]){20000, 20000, 20000, 20000}, 4);
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK(stats.peak_bytes < 1 << 20);
  tsr_release(x);
  tsr_device_release(device);
}

TEST(few_assignments_wait_for_a_tensor_that_nobody_reads) {
  enum { ASSIGNMENTS = 100, MOST_PENDING = 15 };
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(4));
  CHECK_OK(tsr_evaluate(x));
  uint64_t before = activity(device);
  for (uint64_t i = 1; i <= ASSIGNMENTS; i++) {
    tsr_tensor *more = tsr_add_scalar(x, 1);
    CHECK_OK(tsr_assign(x, more));
    tsr_release(more);
    CHECK(activity(device) - before + MOST_PENDING >= i);
  }
  check_read(x, (const float[]){ASSIGNMENTS, ASSIGNMENTS, ASSIGNMENTS, ASSIGNMENTS}, 4);
  CHECK_EQ_UINT(activity(device) - before, ASSIGNMENTS + 1);  // a launch each, and the read
  tsr_release(x);
  tsr_device_release(device);
}

TEST(an_assignment_from_another_device_moves_the_source) {
  tsr_device *device = test_open("cpu"), *other = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(NULL);
  tsr_tensor *x = four(device, 1, 2, 3, 4), *there = four(other, 5, 6, 7, 8);
  tsr_tensor *copy = tsr_to(x, other);
  CHECK_OK(tsr_assign(x, tsr_neg(there)));
  tsr_tensor *back = tsr_to(x, other);
  check_read(back, (const float[]){-5, -6, -7, -8}, 4);
  check_read(copy, (const float[]){1, 2, 3, 4}, 4);
  check_read(x, (const float[]){-5, -6, -7, -8}, 4);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device), tsr_device_release(other);
}

TEST(memory_that_others_see_is_written_at_once) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, 1, 2, 3, 4), *y = NULL;
  struct DLManagedTensor *managed = NULL;
  CHECK_OK(tsr_to_dlpack(x, &managed));
  CHECK_OK(tsr_from_dlpack(device, managed, &y));
  tsr_tensor *old = tsr_neg(y);
  CHECK_OK(tsr_assign(x, tsr_flip(y, 0)));
  check_read(y, (const float[]){4, 3, 2, 1}, 4);
  check_read(old, (const float[]){-1, -2, -3, -4}, 4);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(an_assignment_is_refused_where_a_write_would_be) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, 1, 2, 3, 4), *y = tsr_ones(device, TSR_F32, TSR_SHAPE(2, 4));
  CHECK_STATUS(tsr_assign(x, y), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("assign: a source of 2x4 does not broadcast to the target of [4]");
  CHECK_STATUS(tsr_assign(tsr_expand(x, TSR_SHAPE(2, 4)), y), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("repeats elements");
  CHECK_STATUS(tsr_assign(NULL, x), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_assign(x, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_assign(tsr_slice(x, 0, 2, 2, 1), tsr_ones(device, TSR_F32, TSR_SHAPE(1))));  // an empty target
  check_read(x, (const float[]){1, 2, 3, 4}, 4);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(copies_without_kernels_can_be_assigned) {
  tsr_device *device = test_open("null");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, 1, 2, 3, 4);
  CHECK_OK(tsr_assign(tsr_flip(x, 0), x));
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// --- Failures and threads -----------------------------------------------------------------------------------------------

static tsr_status assign_and_read(tsr_device *device, float *values) {
  tsr_scope *scope = tsr_scope_begin(device);
  if (!scope) return TSR_ERR_OUT_OF_MEMORY;
  tsr_tensor *x = four(device, 1, 2, 3, 4), *old = tsr_neg(x);
  tsr_status status = tsr_assign(tsr_flip(x, 0), tsr_add(x, old));
  if (status == TSR_OK) status = tsr_assign(x, tsr_add(x, tsr_ones(device, TSR_F32, TSR_SCALAR)));
  if (status == TSR_OK) status = tsr_read(tsr_add(x, old), values, 4 * sizeof *values);
  tsr_scope_end(scope);
  return status;
}

static void sweep(const char *kind, tsr_status wanted) {
  for (int n = 1; n < 100; n++) {
    char faults[32];
    float values[4];
    snprintf(faults, sizeof faults, "%s:%d", kind, n);
    tsr_device *device = test_open_with_faults("cpu", faults);
    tsr_status status = assign_and_read(device, values);
    if (status != TSR_OK) {
      CHECK_STATUS(status, wanted);
      CHECK_OK(assign_and_read(device, values));
    }
    for (int i = 0; i < 4; i++) CHECK_NEAR(values[i], -i, 0);
    tsr_memory_stats stats;
    CHECK_OK(tsr_memory_get_stats(device, &stats));
    CHECK_EQ_UINT(stats.in_use_bytes, 0);
    tsr_device_release(device);
    if (status == TSR_OK) return;
  }
  FAIL("the assignments never got through");
}

TEST(every_launch_build_and_copy_of_an_assignment_may_fail) {
  sweep("launch", TSR_ERR_LAUNCH);
  sweep("build", TSR_ERR_BUILD);
  sweep("copy", TSR_ERR_INTERNAL);
}

TEST(every_host_allocation_of_an_assignment_may_fail) {
  tsr_device *device = test_open("cpu");
  float values[4];
  CHECK_OK(assign_and_read(device, values));
  for (uint64_t n = 1; n < 500; n++) {
    tsri_alloc_fail_at(n, false);
    tsr_status status = assign_and_read(device, values);
    uint64_t made = tsri_alloc_fail_at(0, false);
    CHECK(status == TSR_OK || status == TSR_ERR_OUT_OF_MEMORY);
    tsr_memory_stats stats;
    CHECK_OK(tsr_memory_get_stats(device, &stats));
    CHECK_EQ_UINT(stats.in_use_bytes, 0);
    if (made < n) break;
  }
  for (int i = 0; i < 4; i++) CHECK_NEAR(values[i], -i, 0);
  tsr_device_release(device);
}

TEST(an_update_that_is_stopped_at_the_time_out_changes_nothing) {
  enum { COUNT = 1 << 22, TIMES = 8 };
  const tsr_device_desc desc = {.backend = "cpu", .threads = 1, .timeout_ms = 1};
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&desc, &device));
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(COUNT)), *y = tsr_cos(x);
  CHECK_OK(tsr_evaluate(x));
  for (int i = 0; i < TIMES; i++) y = after(tsr_cos(y), y);
  CHECK_OK(tsr_assign(x, y));
  tsr_release(y);  // only the assignment holds it now
  CHECK_STATUS(tsr_evaluate(x), TSR_ERR_TIMEOUT);
  const float *values = tsr_buffer_host(tsri_tensor_buffer(x));
  int changed = 0;
  for (int i = 0; i < COUNT; i++) changed += values[i] != 0;
  CHECK_EQ_INT(changed, 0);
  tsr_release(x);
  tsr_device_release(device);
}

static void *read_in_thread(void *tensor) {
  for (int i = 0; i < 50; i++) {
    tsr_tensor *twice = tsr_add(tensor, tensor);
    float values[4];
    CHECK_OK(tsr_read(twice, values, sizeof values));
    for (int j = 0; j < 4; j++) CHECK(values[j] == 14);
    tsr_release(twice);
  }
  return NULL;
}

TEST(threads_may_read_what_one_has_assigned) {
  tsr_device *device = test_open("cpu");
  for (int round = 0; round < 20; round++) {
    tsr_tensor *x = four(device, 1, 2, 3, 4), *sevens = tsr_full(device, TSR_F32, TSR_SCALAR, 7);
    tsr_tensor *view = tsr_flip(x, 0), *old = tsr_neg(x);
    CHECK_OK(tsr_assign(x, sevens));
    tsr_release(old), tsr_release(sevens);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, read_in_thread, i % 2 ? x : view) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    tsr_release(x), tsr_release(view);
  }
  tsr_device_release(device);
}
