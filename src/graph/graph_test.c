// SPDX-License-Identifier: MIT
// The lazy graph: what is fused, what is computed once, when it runs, and that a write does not change what was
// recorded before.
#include "graph/graph.h"

#include <math.h>
#include <pthread.h>
#include <tessera/tessera.h>

#include "core/alloc.h"
#include "graph/node.h"
#include "support/devices.h"
#include "support/test.h"

static uint64_t launches(tsr_device *device) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(device, &counters));
  return counters.launches;
}

static float read_one(tsr_tensor *tensor) {
  float value = NAN;
  CHECK_OK(tsr_read(tensor, &value, sizeof value));
  return value;
}

TEST(a_chain_of_element_wise_operators_is_one_kernel) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = tsr_full(device, TSR_F32, TSR_SHAPE(5, 7), 3), *b = tsr_full(device, TSR_F32, TSR_SHAPE(7), -2);
  uint64_t before = launches(device);
  tsr_tensor *y = tsr_relu(tsr_add(tsr_mul(a, b), tsr_full(device, TSR_F32, TSR_SHAPE(5, 1), 8)));
  CHECK_EQ_UINT(launches(device) - before, 0);  // nothing runs until it is read
  float values[35];
  CHECK_OK(tsr_read(y, values, sizeof values));
  CHECK_EQ_UINT(launches(device) - before, 1);
  for (int i = 0; i < 35; i++) CHECK(values[i] == 2);
  CHECK_OK(tsr_read(y, values, sizeof values));
  CHECK_EQ_UINT(launches(device) - before, 1);  // reading again does not compute again
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(equal_operators_are_computed_once_and_those_with_another_attribute_apart) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_arange(device, TSR_F32, 0, 4, 1), *square = tsr_reshape(x, TSR_SHAPE(2, 2));
  float values[4];
  CHECK_OK(tsr_read(square, values, sizeof values));
  uint64_t before = launches(device);
  CHECK_OK(tsr_read(tsr_sub(tsr_cumsum(square, 0), tsr_cumsum(square, 0)), values, sizeof values));
  CHECK_EQ_UINT(launches(device) - before, 2);
  for (int i = 0; i < 4; i++) CHECK(values[i] == 0);
  CHECK_OK(tsr_read(tsr_sub(tsr_cumsum(square, 0), tsr_cumsum(square, 1)), values, sizeof values));
  CHECK(values[0] == 0 && values[1] == 0 && values[2] == 0 && values[3] == -1);  // 0 1 2 4 and 0 1 2 5
  CHECK_OK(tsr_read(tsr_sub(tsr_cumprod(square, 0), tsr_cumsum(square, 0)), values, sizeof values));
  CHECK(values[3] == -1);  // 3 and 4
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(an_element_wise_operator_may_read_as_many_tensors_as_a_kernel_can) {
  static const tsri_op weighted = {.name = "weighted",
                                   .kind = TSRI_OP_ELEMENTWISE,
                                   .expression = "$0 + $1 * 2 + $2 * 3 + $3 * 5 + $4 * 7 + $5 * 11 + $6 * 13"};
  static const float factors[TSRI_MAX_LEAVES] = {1, 2, 3, 5, 7, 11, 13};
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsri_operand_ref inputs[TSRI_MAX_LEAVES];
  float wanted = 0, values[3];
  for (int i = 0; i < TSRI_MAX_LEAVES; i++) {
    inputs[i] = (tsri_operand_ref){tsr_full(device, TSR_F32, TSR_SHAPE(3), i + 1), TSR_F32};
    wanted += factors[i] * (float)(i + 1);
  }
  for (int round = 0; round < 3; round++) {  // planned, from the launch cache, and with another operator
    tsr_tensor *sum = tsri_record_elementwise(&weighted, TSR_F32, inputs, TSRI_MAX_LEAVES, NULL);
    CHECK_OK(tsr_read(round == 2 ? tsr_neg(sum) : sum, values, sizeof values));
    for (int i = 0; i < 3; i++) CHECK(values[i] == (round == 2 ? -wanted : wanted));
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(what_comes_before_and_after_a_reduction_is_in_its_kernel) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(6, 100), 2);
  uint64_t before = launches(device);
  tsr_tensor *y = tsr_sqrt(tsr_sum(tsr_square(x), (int[]){1}, 1, false));
  float values[6];
  CHECK_OK(tsr_read(y, values, sizeof values));
  CHECK_EQ_UINT(launches(device) - before, 1);
  for (int i = 0; i < 6; i++) CHECK_NEAR(values[i], 20, 1e-5);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_row_that_is_broadcast_after_a_reduction_is_read_by_column) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(5, 3, 4)), *row = tsr_arange(device, TSR_F32, 0, 4, 1);
  float values[12];
  CHECK_OK(tsr_read(tsr_add(tsr_sum(x, (int[]){0}, 1, false), row), values, sizeof values));
  for (int i = 0; i < 12; i++) CHECK(values[i] == (float)(5 + i % 4));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(kernels_differ_where_inputs_after_a_reduction_are_read_differently) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(3, 50)), *row = tsr_arange(device, TSR_F32, 1, 4, 1);
  tsr_tensor *one = tsr_full(device, TSR_F32, TSR_SHAPE(1), 7);
  float values[3];
  CHECK_OK(tsr_read(tsr_mul(tsr_sum(x, (int[]){1}, 1, false), row), values, sizeof values));
  for (int i = 0; i < 3; i++) CHECK_NEAR(values[i], 50 * (i + 1), 0);
  CHECK_OK(tsr_read(tsr_mul(tsr_sum(x, (int[]){1}, 1, false), one), values, sizeof values));
  for (int i = 0; i < 3; i++) CHECK_NEAR(values[i], 350, 0);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(bias_and_activation_after_a_matmul_are_in_its_kernel) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  for (int size = 4; size <= 80; size += 38) {  // sizes for each of matmul's kernels
    tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(size, 600), 0.5),
               *w = tsr_full(device, TSR_F32, TSR_SHAPE(600, size), 0.25);
    tsr_tensor *b = tsr_sub_scalar(tsr_arange(device, TSR_F32, 0, size, 1), 77);
    float values[80 * 80], bias[80];
    CHECK_OK(tsr_read(b, bias, (size_t)size * sizeof(float)));
    uint64_t before = launches(device);
    CHECK_OK(tsr_read(tsr_relu(tsr_add(tsr_matmul(x, w), b)), values, (size_t)(size * size) * sizeof(float)));
    CHECK_EQ_UINT(launches(device) - before, 1);
    for (int i = 0; i < size * size; i++) CHECK_NEAR(values[i], fmax(75 + bias[i % size], 0), 1e-4);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(what_stands_before_and_after_a_row_kernel_is_in_it) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_reshape(tsr_arange(device, TSR_F32, 0, 12, 1), TSR_SHAPE(3, 4));
  CHECK_OK(tsr_evaluate(x));
  uint64_t before = launches(device);
  tsr_tensor *y = tsr_mul_scalar(tsr_softmax(tsr_add_scalar(tsr_mul_scalar(x, 0.5), 1), 1), 10);
  float values[12];
  CHECK_OK(tsr_read(y, values, sizeof values));
  CHECK_EQ_UINT(launches(device) - before, 1);
  double sum = 0;
  for (int i = 0; i < 4; i++) sum += exp(0.5 * i);
  for (int i = 0; i < 12; i++) CHECK_NEAR(values[i], 10 * exp(0.5 * (i % 4)) / sum, 1e-5);

  // The kernel's hook reads a bias along the rows. It cannot index the other bias, which a kernel before it adds.
  tsr_tensor *bias = tsr_arange(device, TSR_F32, 0, 4, 1),
             *column = tsr_reshape(tsr_arange(device, TSR_F32, 0, 3, 1), TSR_SHAPE(3, 1));
  CHECK_OK(tsr_evaluate(bias));
  CHECK_OK(tsr_evaluate(column));
  before = launches(device);
  float normal[12], other[12];
  CHECK_OK(tsr_read(tsr_rms_norm(tsr_add(x, bias), NULL, 1e-5), normal, sizeof normal));
  CHECK_EQ_UINT(launches(device) - before, 1);
  CHECK_OK(tsr_read(tsr_rms_norm(tsr_add(x, column), NULL, 1e-5), other, sizeof other));
  CHECK_EQ_UINT(launches(device) - before, 3);
  double squares = 0, others = 0;
  for (int i = 0; i < 4; i++) {
    squares += (double)(8 + 2 * i) * (8 + 2 * i);
    others += (double)(10 + i) * (10 + i);
  }
  CHECK_NEAR(normal[11], 14 / sqrt(squares / 4 + 1e-5), 1e-5);
  CHECK_NEAR(other[11], 13 / sqrt(others / 4 + 1e-5), 1e-5);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// The softmax of element `at`: exp(x[at]) / the sum of exp over the `n` elements of its line, which are `inner` apart.
static double softmax_at(const double *x, int at, int n, int inner) {
  int first = at / (n * inner) * n * inner + at % inner;
  double sum = 0;
  for (int i = 0; i < n; i++) sum += exp(x[first + i * inner]);
  return exp(x[at]) / sum;
}

TEST(a_bias_before_softmax_is_read_by_its_kernel_along_any_axis) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *h = tsr_rand(device, TSR_F32, TSR_SHAPE(100, 16), 1),
             *w = tsr_rand(device, TSR_F32, TSR_SHAPE(16, 10), 2);
  tsr_tensor *bias = tsr_arange(device, TSR_F32, 0, 1, 0.1);
  CHECK_OK(tsr_evaluate(bias));
  float product[1000], values[1000];
  double sums[1000];
  CHECK_OK(tsr_read(tsr_matmul(h, w), product, sizeof product));
  for (int i = 0; i < 1000; i++) sums[i] = product[i] + (float)(i % 10 * 0.1);
  for (int axis = 0; axis < 2; axis++) {
    uint64_t before = launches(device);
    tsr_tensor *y = tsr_mul(tsr_softmax(tsr_add(tsr_matmul(h, w), bias), axis), bias);
    CHECK_OK(tsr_read(y, values, sizeof values));
    CHECK_EQ_UINT(launches(device) - before, 2);  // the product; then bias, softmax and the operators after it
    for (int i = 0; i < 1000; i++) {
      double soft = axis ? softmax_at(sums, i, 10, 1) : softmax_at(sums, i, 100, 10);
      CHECK_NEAR(values[i], soft * (i % 10) * 0.1, 1e-6);
    }
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(equal_expressions_are_computed_once) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(64, 64), 0.5);
  uint64_t before = launches(device);
  tsr_tensor *left = tsr_sum(tsr_exp(x), NULL, 0, false), *right = tsr_sum(tsr_exp(x), NULL, 0, false);
  CHECK_NEAR(read_one(tsr_sub(left, right)), 0, 0);
  CHECK_EQ_UINT(launches(device) - before, 1);  // one kernel: the sum is computed once and subtracted from itself
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

static void check_values(tsr_tensor *tensor, const float *wanted, int count) {
  float values[16];
  CHECK_OK(tsr_read(tensor, values, (size_t)count * sizeof *values));
  for (int i = 0; i < count; i++) CHECK_NEAR(values[i], wanted[i], 0);
}

TEST(equal_results_that_run_together_have_memory_of_their_own) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  const float v[2] = {1, 2}, w[2] = {100, 200}, sums[2] = {2, 4};
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2), v, sizeof v);
  tsr_tensor *a = tsr_add(x, x), *b = tsr_add(x, x), *c = tsr_add(x, x);
  CHECK_OK(tsr_write(x, w, sizeof w));  // runs all three in one plan
  CHECK(!tsr_tensor_shares_memory(a, b) && !tsr_tensor_shares_memory(b, c));
  CHECK_OK(tsr_write(a, w, sizeof w));
  check_values(b, sums, 2);
  CHECK_OK(tsr_write(b, w, sizeof w));
  check_values(c, sums, 2);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(an_equal_result_read_later_is_a_copy_of_the_first) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  const float v[2] = {1, 2}, w[2] = {100, 200}, sums[2] = {2, 4};
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2), v, sizeof v);
  tsr_tensor *a = tsr_add(x, x), *b = tsr_add(x, x), *row = tsr_softmax(tsr_concat((tsr_tensor *[]){a, b}, 2, 0), 0);
  CHECK_OK(tsr_evaluate(row));          // a and b have been merged
  CHECK_OK(tsr_write(a, w, sizeof w));  // before b is read
  check_values(b, sums, 2);
  check_values(a, w, 2);
  tsr_tensor *first = tsr_rand(device, TSR_F32, TSR_SHAPE(2), 7), *second = tsr_rand(device, TSR_F32, TSR_SHAPE(2), 7);
  float numbers[2];
  CHECK_OK(tsr_evaluate(tsr_concat((tsr_tensor *[]){first, second}, 2, 0)));  // nodes without inputs are merged, too
  CHECK_OK(tsr_read(first, numbers, sizeof numbers));
  CHECK_OK(tsr_write(first, w, sizeof w));
  check_values(second, numbers, 2);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_copy_is_in_the_kernel_of_what_comes_before_it) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_arange(device, TSR_F32, 0, 6, 1), *wide = tsr_reshape(x, TSR_SHAPE(2, 3));
  CHECK_OK(tsr_evaluate(x));
  uint64_t before = launches(device);
  tsr_tensor *flat = tsr_reshape(tsr_transpose(tsr_neg(wide), 0, 1), TSR_SHAPE(6));
  tsr_tensor *rows = tsr_softmax(tsr_transpose(tsr_exp(wide), 0, 1), 1);
  CHECK_EQ_UINT(launches(device) - before, 0);
  check_values(flat, (const float[]){0, -3, -1, -4, -2, -5}, 6);
  CHECK_EQ_UINT(launches(device) - before, 1);
  float values[6];
  CHECK_OK(tsr_read(rows, values, sizeof values));
  CHECK_EQ_UINT(launches(device) - before, 3);  // exp with the transposing copy, then softmax
  for (int i = 0; i < 3; i++) CHECK_NEAR(values[2 * i], 1 / (1 + exp(exp(i + 3) - exp(i))), 1e-5);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(copies_of_copies_are_one_copy_of_bytes) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  const uint16_t bits[4] = {0x7C01, 0x3C00, 0xFC01, 0x0001};  // signalling NaNs keep their bits
  tsr_tensor *x = tsr_from_data(device, TSR_F16, TSR_SHAPE(2, 2), bits, sizeof bits);
  tsr_tensor *turned = tsr_contiguous(tsr_transpose(tsr_contiguous(tsr_flip(x, 0)), 0, 1));
  uint16_t values[4];
  CHECK_OK(tsr_read(turned, values, sizeof values));
  CHECK(values[0] == bits[2] && values[1] == bits[0] && values[2] == bits[3] && values[3] == bits[1]);
  tsr_tensor *wider = tsr_add(tsr_contiguous(tsr_flip(x, 1)), x);  // the copy is fused into another operator's kernel
  CHECK_OK(tsr_evaluate(wider));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

static uint64_t allocations(tsr_device *device) {
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  return stats.allocations;
}

// Uses two devices of one backend, so that it runs on every machine.
TEST(a_move_between_devices_is_made_when_it_is_needed_of_what_was_there) {
  tsr_device *from = test_open("cpu"), *to = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(NULL);
  const float v[4] = {1, 2, 3, 4}, w[4] = {9, 9, 9, 9};
  tsr_tensor *x = tsr_from_data(from, TSR_F32, TSR_SHAPE(2, 2), v, sizeof v);
  tsr_tensor *here = tsr_from_data(to, TSR_F32, TSR_SHAPE(2, 2), v, sizeof v);
  uint64_t before = launches(from) + launches(to) + allocations(from) + allocations(to);
  tsr_tensor *plain = tsr_to(x, to), *turned = tsr_to(tsr_transpose(tsr_neg(x), 0, 1), to);
  tsr_tensor *sum = tsr_add(tsr_mul_scalar(plain, 2), turned), *back = tsr_neg(tsr_to(sum, from));
  tsr_tensor *mixed = tsr_add(x, here), *unread = tsr_to(x, to);
  CHECK_EQ_UINT(launches(from) + launches(to) + allocations(from) + allocations(to), before);
  CHECK_OK(tsr_write(x, w, sizeof w));  // runs the readers of x on its own device only
  check_values(back, (const float[]){-1, -1, -4, -4}, 4);
  check_values(sum, (const float[]){1, 1, 4, 4}, 4);
  check_values(mixed, (const float[]){2, 4, 6, 8}, 4);
  CHECK_OK(tsr_write(here, w, sizeof w));
  check_values(unread, v, 4);
  CHECK(tsr_tensor_device(back) == from && tsr_tensor_device(sum) == to);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(from), tsr_device_release(to);
}

TEST(a_hundred_moves_to_and_fro_are_not_too_many) {
  tsr_device *one = test_open("cpu"), *other = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(NULL);
  tsr_tensor *x = tsr_zeros(one, TSR_F32, TSR_SHAPE(1));
  for (int i = 0; i < 100; i++) x = tsr_add_scalar(tsr_to(x, i % 2 ? one : other), 1);
  CHECK_NEAR(read_one(x), 100, 0);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(one), tsr_device_release(other);
}

static void *read_in_thread(void *tensor) {
  check_values(tensor, (const float[]){2, 2}, 2);
  return NULL;
}

TEST(threads_may_read_one_move_at_the_same_time) {
  tsr_device *one = test_open("cpu"), *other = test_open("cpu");
  for (int round = 0; round < 20; round++) {
    tsr_tensor *x = tsr_ones(one, TSR_F32, TSR_SHAPE(2)), *twice = tsr_add(x, x), *there = tsr_to(twice, other);
    tsr_tensor *back = tsr_to(there, one);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, read_in_thread, i % 2 ? back : there) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    tsr_release(x), tsr_release(twice), tsr_release(there), tsr_release(back);
  }
  tsr_device_release(one), tsr_device_release(other);
}

TEST(a_node_takes_any_number_of_inputs) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  enum { PARTS = 100 };
  tsr_tensor *parts[PARTS];
  float values[PARTS];
  for (int i = 0; i < PARTS; i++) parts[i] = tsr_full(device, TSR_F32, TSR_SHAPE(1), i);
  uint64_t before = allocations(device);
  tsr_tensor *all = tsr_concat(parts, PARTS, 0);
  CHECK_OK(tsr_read(all, values, sizeof values));
  CHECK_EQ_UINT(allocations(device) - before, 1);  // no memory for intermediate results
  for (int i = 0; i < PARTS; i++) CHECK_NEAR(values[i], i, 0);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// An operator with three results: a copy of its input, and two that are filled with constants.
static int filled;
static tsr_status run_three(const tsri_kernel_run *run) {
  filled++;
  CHECK_EQ_INT(run->output_count, 3);
  CHECK(run->outputs[0] == run->output);
  tsr_status status = tsri_buffer_copy(run->output, 0, run->inputs[0], 0, tsr_buffer_bytes(run->output));
  for (int i = 1; i < 3 && status == TSR_OK; i++) {
    float number = (float)i;
    status = tsr_buffer_fill(run->outputs[i], 0, tsr_buffer_bytes(run->outputs[i]), &number, sizeof number);
  }
  return status;
}

static const tsri_op three_op = {.name = "three", .kind = TSRI_OP_KERNEL, .run = run_three};

static void record_three(tsr_device *device, tsr_tensor *x, tsr_tensor **out) {
  const tsri_result results[3] = {{TSR_F32, TSR_SHAPE(4)}, {TSR_F32, TSR_SHAPE(2, 1)}, {TSR_F32, TSR_SHAPE(3)}};
  tsri_record_kernel_results(&three_op, device, results, 3, &x, 1, NULL, out);
  filled = 0;
}

TEST(a_node_gives_any_number_of_results_by_one_run) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  const float v[4] = {1, 2, 3, 4};
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(4), v, sizeof v), *three[3];
  record_three(device, tsr_neg(x), three);
  check_values(tsr_add(three[1], three[1]), (const float[]){2, 2}, 2);  // reading one result computes all of them
  check_values(three[0], (const float[]){-1, -2, -3, -4}, 4);
  check_values(three[2], (const float[]){2, 2, 2}, 3);
  CHECK_EQ_INT(filled, 1);
  record_three(device, x, three);
  tsr_tensor *last = tsr_neg(three[2]);
  // Results that are released before they are computed.
  tsr_release(tsr_keep(three[0])), tsr_release(tsr_keep(three[1]));
  check_values(last, (const float[]){-2, -2, -2}, 3);
  record_three(device, x, three);
  CHECK_OK(tsr_assign(three[1], tsr_full(device, TSR_F32, TSR_SCALAR, 9)));
  check_values(three[1], (const float[]){9, 9}, 2);
  check_values(three[0], v, 4);
  CHECK_EQ_INT(filled, 1);
  record_three(device, x, three);  // never run
  CHECK_OK(tsr_scope_end(scope));
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
  tsr_device_release(device);
}

TEST(every_host_allocation_of_an_operator_with_three_results_may_fail) {
  for (uint64_t n = 1; n < 500; n++) {
    tsr_device *device = test_open("cpu");
    const float v[4] = {1, 2, 3, 4};
    float values[3];
    tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(4), v, sizeof v), *three[3];
    tsri_alloc_fail_at(n, false);
    record_three(device, x, three);
    tsr_status status = tsr_read(three[2], values, sizeof values);
    uint64_t made = tsri_alloc_fail_at(0, false);
    if (status != TSR_OK) CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    for (int i = 0; i < 3; i++) tsr_release(three[i]);
    tsr_release(x);
    tsr_memory_stats stats;
    CHECK_OK(tsr_memory_get_stats(device, &stats));
    CHECK_EQ_UINT(stats.in_use_bytes, 0);
    tsr_device_release(device);
    if (made < n) return;
  }
  FAIL("it never got through");
}

TEST(a_value_that_two_kernels_need_is_computed_once) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(16, 16), 1);
  tsr_tensor *shared = tsr_exp(x);
  tsr_tensor *total = tsr_add(tsr_sum(shared, (int[]){0}, 1, false), tsr_sum(shared, (int[]){1}, 1, false));
  uint64_t before = launches(device);
  float values[16];
  CHECK_OK(tsr_read(total, values, sizeof values));
  CHECK_NEAR(values[5], 32 * exp(1), 1e-3);
  CHECK_EQ_UINT(launches(device) - before, 3);  // exp; one sum; the other sum fused with the addition
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(what_nobody_reads_never_runs) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(8));
  uint64_t before = launches(device);
  for (int i = 0; i < 100; i++) tsr_exp(x);
  CHECK_OK(tsr_scope_end(scope));
  CHECK_EQ_UINT(launches(device) - before, 0);
  tsr_device_release(device);
}

TEST(writing_does_not_change_what_was_recorded_before) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(1), 1), *y = tsr_add_scalar(x, 10);
  tsr_tensor *z = tsr_mul(y, y);
  CHECK_OK(tsr_write(x, &(float){5}, sizeof(float)));
  tsr_tensor *after = tsr_add_scalar(x, 10);
  CHECK_NEAR(read_one(y), 11, 0);
  CHECK_NEAR(read_one(z), 121, 0);
  CHECK_NEAR(read_one(after), 15, 0);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(views_of_pending_tensors_work) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_reshape(tsr_arange(device, TSR_F32, 0, 12, 1), TSR_SHAPE(3, 4));
  tsr_tensor *doubled = tsr_mul_scalar(x, 2);
  tsr_tensor *view = tsr_flip(tsr_slice(tsr_transpose(doubled, 0, 1), 0, 1, TSR_END, 2), 1);  // 2x3
  tsr_tensor *sum =
      tsr_add(view, tsr_reshape(tsr_mul_scalar(tsr_arange(device, TSR_F32, 0, 6, 1), 1), TSR_SHAPE(2, 3)));
  float values[6];
  CHECK_OK(tsr_read(sum, values, sizeof values));
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 3; j++) CHECK_NEAR(values[i * 3 + j], 2 * ((2 - j) * 4 + 1 + 2 * i) + i * 3 + j, 0);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_hundred_thousand_operators_deep_is_not_too_deep) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(2)), *start = x;
  tsr_scope *scope = tsr_scope_begin(device);  // keeps every tensor alive until the end
  for (int i = 0; i < 100000; i++) x = tsr_add_scalar(x, 1);
  float values[2];
  CHECK_OK(tsr_read(x, values, sizeof values));
  CHECK_NEAR(values[1], 100000, 0);
  CHECK_OK(tsr_scope_end(scope));
  tsr_release(start);
  tsr_device_release(device);
}

TEST(a_wide_graph_of_pending_operators_works) {
  enum { LEAVES = 20000 };
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  static tsr_tensor *row[LEAVES];
  tsr_tensor *one = tsr_ones(device, TSR_F32, TSR_SHAPE(3));
  for (int i = 0; i < LEAVES; i++) row[i] = tsr_mul_scalar(one, i);
  for (int count = LEAVES; count > 1; count = (count + 1) / 2) {
    for (int i = 0; i < count / 2; i++) row[i] = tsr_add(row[2 * i], row[2 * i + 1]);
    if (count % 2) row[count / 2] = row[count - 1];
  }
  float values[3];
  CHECK_OK(tsr_read(row[0], values, sizeof values));
  CHECK_NEAR(values[0], (double)LEAVES * (LEAVES - 1) / 2, 64);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_million_operators_need_constant_memory) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(4));
  for (int i = 0; i < 1000000; i++) {
    tsr_tensor *next = tsr_add_scalar(x, 1);
    tsr_release(x);
    x = next;
  }
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK(stats.peak_bytes < (1u << 20));
  float values[4];
  CHECK_OK(tsr_read(x, values, sizeof values));
  CHECK_NEAR(values[3], 1000000, 0);
  tsr_release(x);
  tsr_device_release(device);
}

TEST(eager_mode_runs_each_operator_by_itself) {
  CHECK_OK(tsr_config_set("eager", "on"));
  tsr_device *device = test_open("cpu");
  CHECK_OK(tsr_config_set("eager", NULL));
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(1), 3);
  uint64_t before = launches(device);
  tsr_tensor *y = tsr_neg(tsr_square(x));
  CHECK_EQ_UINT(launches(device) - before, 2);
  CHECK_NEAR(read_one(y), -9, 0);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(kernels_are_shared_by_structure_and_numbers_are_parameters) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(1), 3);
  for (int i = 0; i < 50; i++) CHECK_NEAR(read_one(tsr_add_scalar(tsr_mul_scalar(x, i), 1)), 3 * i + 1, 0);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// --- Failures -------------------------------------------------------------------------------------------------------

static tsr_status training_like_step(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  if (!scope) return tsr_last_error_status();
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(8, 16), 0.25), *w = tsr_full(device, TSR_F32, TSR_SHAPE(16), 0.5);
  tsr_tensor *hidden = tsr_tanh(tsr_mul(x, w)), *mean = tsr_mean(hidden, (int[]){1}, 1, true);
  tsr_tensor *loss = tsr_sum(tsr_square(tsr_sub(hidden, mean)), NULL, 0, false);
  tsr_tensor *step = tsr_sub(w, tsr_mul_scalar(tsr_sum(hidden, (int[]){0}, 1, false), 0.1));
  float value = 0, weights[16];
  tsr_status status = tsr_read(loss, &value, sizeof value);
  if (status == TSR_OK) status = tsr_read(step, weights, sizeof weights);
  if (status == TSR_OK) status = tsr_write(w, weights, sizeof weights);
  CHECK_OK(tsr_scope_end(scope));
  return status;
}

static void sweep(const char *kind, tsr_status wanted) {
  for (int n = 1; n < 200; n++) {
    char faults[32];
    snprintf(faults, sizeof faults, "%s:%d", kind, n);
    tsr_device *device = test_open_with_faults("cpu", faults);
    tsr_status status = training_like_step(device);
    if (status != TSR_OK) {
      CHECK_STATUS(status, wanted);
      CHECK_OK(training_like_step(device));
    }
    tsr_memory_stats stats;
    CHECK_OK(tsr_memory_get_stats(device, &stats));
    CHECK_EQ_UINT(stats.in_use_bytes, 0);
    tsr_device_release(device);
    if (status == TSR_OK) {
      CHECK(n > 1);
      return;
    }
  }
  FAIL("the step never got through");
}

TEST(every_launch_and_build_of_a_fused_step_may_fail) {
  sweep("launch", TSR_ERR_LAUNCH);
  sweep("build", TSR_ERR_BUILD);
  sweep("copy", TSR_ERR_INTERNAL);
}

TEST(every_host_allocation_of_a_fused_step_may_fail) {
  for (uint64_t n = 1; n < 5000; n++) {
    tsr_device *device = test_open("cpu");
    tsri_alloc_fail_at(n, false);
    tsr_status status = training_like_step(device);
    uint64_t made = tsri_alloc_fail_at(0, false);
    if (status != TSR_OK) CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    tsr_memory_stats stats;
    CHECK_OK(tsr_memory_get_stats(device, &stats));
    CHECK_EQ_UINT(stats.in_use_bytes, 0);
    CHECK_OK(training_like_step(device));
    tsr_device_release(device);
    if (made < n) return;
  }
  FAIL("the step never got through");
}

// --- Threads ------------------------------------------------------------------------------------------------------

enum { ROUNDS = 20000 };

static void *record_and_release(void *tensor) {
  for (int i = 0; i < ROUNDS; i++) tsr_release(tsr_neg(tensor));
  return NULL;
}

TEST(a_thread_may_release_what_another_threads_write_runs) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(4), 1);
  CHECK_OK(tsr_evaluate(x));
  tsr_tensor *kept = tsr_neg(x);  // stays in the pending list while other nodes come and go
  pthread_t thread;
  float values[4] = {1, 1, 1, 1};
  CHECK_EQ_INT(pthread_create(&thread, NULL, record_and_release, x), 0);
  tsr_status status = TSR_OK;
  for (int i = 0; i < ROUNDS && status == TSR_OK; i++) {
    status = tsr_write(x, values, sizeof values);
    tsr_release(kept);
    kept = tsr_neg(x);
  }
  CHECK_EQ_INT(pthread_join(thread, NULL), 0);
  CHECK_OK(status);
  const tsri_graph_state *state = tsri_graph_of(device);
  CHECK_EQ_UINT(state->pending_count, 1);
  CHECK(state->pending == tsri_pending_node(kept->value));
  tsr_release(kept);
  CHECK(state->pending == NULL);
  tsr_release(x);
  tsr_device_release(device);
}
