// SPDX-License-Identifier: MIT
// Operators on views with permuted axes: results lie in memory as their inputs do (graph/order.h), and have the numbers
// of the same operator on a contiguous copy.
#include "graph/node.h"
#include "ops/ops_testing.h"

static void check_strides(const tsr_tensor *tensor, int64_t a, int64_t b) {
  CHECK_EQ_INT(tensor->layout.strides[0], a);
  CHECK_EQ_INT(tensor->layout.strides[1], b);
}

TEST(a_result_lies_in_memory_as_its_inputs_do) {
  begin();
  tsr_tensor *x = tsr_transpose(count_up(TSR_F32, TSR_SHAPE(3, 4)), 0, 1), *row = count_up(TSR_F32, TSR_SHAPE(3));
  check_strides(tsr_relu(x), 1, 4);
  check_strides(tsr_add(x, tsr_neg(x)), 1, 4);
  check_strides(tsr_add(row, x), 1, 4);
  check_strides(tsr_lt_scalar(x, 3), 1, 4);
  CHECK(tsr_tensor_is_contiguous(tsr_contiguous(tsr_relu(x))));
  finish();
}

TEST(inputs_in_different_orders_give_a_row_major_result) {
  begin();
  tsr_tensor *x = tsr_transpose(count_up(TSR_F32, TSR_SHAPE(3, 4)), 0, 1), *y = count_up(TSR_F32, TSR_SHAPE(4, 3));
  check_strides(tsr_add(x, y), 3, 1);
  check_strides(tsr_add(y, x), 3, 1);
  check_strides(tsr_add(tsr_expand(count_up(TSR_F32, TSR_SHAPE(4, 1)), TSR_SHAPE(4, 3)), y), 3, 1);
  finish();
}

static void check_same(tsr_tensor *is, tsr_tensor *wanted) {
  CHECK(tsri_shape_equal(is->layout.shape, wanted->layout.shape));
  bool are_close = false;
  CHECK_OK(tsr_read(tsr_allclose(is, wanted, is->dtype == TSR_BF16 ? 0.01 : 1e-5, 1e-5, true), &are_close,
                    sizeof are_close));
  CHECK(are_close);
}

static void check_operators(tsr_tensor *x) {
  tsr_tensor *plain = tsr_contiguous(x),
             *scale = tsr_add_scalar(tsr_rand(dev, TSR_F32, TSR_SHAPE(x->layout.shape.dims[3]), 7), 1);
  check_same(tsr_sub(tsr_mul(x, scale), tsr_exp(x)), tsr_sub(tsr_mul(plain, scale), tsr_exp(plain)));
  check_same(tsr_cast(x, TSR_F64), tsr_cast(plain, TSR_F64));
  for (uint32_t axes = 0; axes < 16; axes++) {
    int list[4], count = 0;
    for (int i = 0; i < 4; i++) {
      if (axes >> i & 1u) list[count++] = i;
    }
    if (count == 0) continue;
    check_same(tsr_sum(x, list, count, false), tsr_sum(plain, list, count, false));
    check_same(tsr_max(tsr_mul_scalar(x, 2), list, count, true), tsr_max(tsr_mul_scalar(plain, 2), list, count, true));
    check_same(tsr_argmin(x, list, count, false), tsr_argmin(plain, list, count, false));
    check_same(tsr_add_scalar(tsr_var(x, list, count, false, 0), 1),
               tsr_add_scalar(tsr_var(plain, list, count, false, 0), 1));
  }
}

TEST(operators_on_permuted_axes_have_the_numbers_of_a_copy) {
  static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 3, 1}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 0, 2, 1}};
  begin();
  tsr_tensor *whole = tsr_rand(dev, TSR_F32, TSR_SHAPE(3, 4, 1, 5), 3);
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    tsr_tensor *x = tsr_permute(whole, orders[i], 4);
    check_operators(x);
    check_operators(tsr_flip(x, 1));
    check_operators(tsr_permute(tsr_slice(whole, 3, 0, 5, 2), orders[i], 4));
  }
  finish();
}

// Enough elements that the CPU packs them before it reduces them.
TEST(reductions_of_strided_elements_have_the_numbers_of_a_copy) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_BF16, TSR_I32};
  begin();
  for (int i = 0; i < 4; i++) {
    tsr_tensor *whole = tsr_cast(tsr_mul_scalar(tsr_rand(dev, TSR_F32, TSR_SHAPE(84, 3, 210), 3), 50), dtypes[i]);
    tsr_tensor *strided = tsr_slice(tsr_slice(whole, 2, 1, 210, 3), 0, 1, 83, 1);
    tsr_tensor *views[] = {strided, tsr_transpose(strided, 0, 2), tsr_flip(strided, 2), tsr_flip(strided, 0)};
    for (int v = 0; v < 4; v++) {
      tsr_tensor *plain = tsr_contiguous(views[v]);
      for (int axes = 1; axes < 8; axes++) {
        int list[3], count = 0;
        for (int axis = 0; axis < 3; axis++) {
          if (axes >> axis & 1) list[count++] = axis;
        }
        check_same(tsr_sum(views[v], list, count, false), tsr_sum(plain, list, count, false));
        check_same(tsr_min(views[v], list, count, true), tsr_min(plain, list, count, true));
        check_same(tsr_mean(views[v], list, count, false), tsr_mean(plain, list, count, false));
        check_same(tsr_argmax(views[v], list, count, false), tsr_argmax(plain, list, count, false));
      }
    }
  }
  finish();
}

TEST(a_sum_of_strided_rows_has_the_bits_of_contiguous_ones) {
  begin();
  tsr_tensor *strided = tsr_slice(tsr_rand(dev, TSR_F32, TSR_SHAPE(9, 7, 601), 3), 2, 1, 601, 2);
  tsr_tensor *views[] = {strided, tsr_transpose(strided, 0, 1), tsr_flip(strided, 0)};
  for (int i = 0; i < 3; i++) {
    bool is_equal = false;
    tsr_tensor *plain = tsr_contiguous(views[i]);
    CHECK_OK(tsr_evaluate(plain));
    tsr_tensor *is = tsr_sum(views[i], (int[]){2}, 1, false), *wanted = tsr_sum(plain, (int[]){2}, 1, false);
    CHECK_OK(tsr_evaluate(is));
    CHECK_OK(tsr_evaluate(wanted));
    CHECK_OK(tsr_equal(is, wanted, &is_equal));
    CHECK(is_equal);
  }
  finish();
}

// The operator behind the view reads its producer's numbers directly, in one kernel.
// Along every axis of views with permuted axes, of few and of many columns.
TEST(softmax_and_running_sums_of_permuted_axes_have_the_numbers_of_a_copy) {
  static const int64_t shapes[][3] = {{4, 5, 70}, {70, 2, 3}, {1, 300, 7}};
  static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}};
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16};
  begin();
  for (int i = 0; i < 3 * 4 * 2; i++) {
    const int64_t *dims = shapes[i % 3];
    tsr_tensor *whole = tsr_cast(tsr_rand(dev, TSR_F32, TSR_SHAPE(dims[0], dims[1], dims[2]), 4), dtypes[i / 12]);
    tsr_tensor *x = tsr_permute(whole, orders[i / 3 % 4], 3), *plain = tsr_contiguous(x);
    for (int axis = 0; axis < 3; axis++) {
      check_same(tsr_softmax(x, axis), tsr_softmax(plain, axis));
      check_same(tsr_log_softmax(tsr_mul_scalar(x, 2), axis), tsr_log_softmax(tsr_mul_scalar(plain, 2), axis));
      check_same(tsr_cumsum(x, axis), tsr_cumsum(plain, axis));
      check_same(tsr_cumprod(x, axis), tsr_cumprod(plain, axis));
      check_same(tsr_logcumsumexp(x, axis), tsr_logcumsumexp(plain, axis));
    }
  }
  finish();
}

TEST(transposed_views_are_joined_as_they_lie) {
  begin();
  tsr_tensor *x = tsr_transpose(count_up(TSR_F32, TSR_SHAPE(3, 2)), 0, 1), *y = tsr_add_scalar(x, 10);
  tsr_tensor *columns = tsr_concat((tsr_tensor *[]){x, y}, 2, 1), *rows = tsr_concat((tsr_tensor *[]){x, y}, 2, 0);
  CHECK_VALUES(columns, TSR_F32, TSR_SHAPE(2, 6), 0, 0, 2, 4, 10, 12, 14, 1, 3, 5, 11, 13, 15);
  CHECK_VALUES(rows, TSR_F32, TSR_SHAPE(4, 3), 0, 0, 2, 4, 1, 3, 5, 10, 12, 14, 11, 13, 15);
  check_strides(columns, 1, 2);
  check_strides(rows, 1, 4);
  tsr_tensor *mixed = tsr_concat((tsr_tensor *[]){x, tsr_contiguous(y)}, 2, 1);
  CHECK_VALUES(mixed, TSR_F32, TSR_SHAPE(2, 6), 0, 0, 2, 4, 10, 12, 14, 1, 3, 5, 11, 13, 15);
  check_strides(mixed, 6, 1);
  finish();
}

// Rows of a few elements, of more than a stretch, and few of a great many, which are summed in blocks.
TEST(a_strided_matrix_times_a_vector_has_the_numbers_of_a_copy) {
  static const int64_t shapes[][2] = {{1, 5}, {33, 7}, {300, 64}, {3, 5000}, {2, 70001}, {1, 140000}};
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_BF16};
  begin();
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      int64_t m = shapes[i][0], k = shapes[i][1];
      tsr_tensor *whole = tsr_cast(tsr_rand(dev, TSR_F32, TSR_SHAPE(m, 2 * k), 5), dtypes[d]);
      tsr_tensor *a = tsr_slice(whole, 1, 0, 2 * k, 2), *plain = tsr_contiguous(a);
      tsr_tensor *x = tsr_cast(tsr_rand(dev, TSR_F32, TSR_SHAPE(k), 6), dtypes[d]);
      check_same(tsr_gemv(a, x), tsr_gemv(plain, x));
      check_same(tsr_gemv(plain, x), tsr_sum(tsr_mul(plain, x), (int[]){1}, 1, false));
      check_same(tsr_matmul(x, tsr_transpose(a, 0, 1)), tsr_gemv(plain, x));
    }
  }
  finish();
}

TEST(chains_of_transposed_views_are_fused) {
  begin();
  tsr_tensor *x = tsr_rand(dev, TSR_F32, TSR_SHAPE(30, 40), 5);
  CHECK_OK(tsr_evaluate(x));
  tsr_tensor *y = tsr_relu(tsr_transpose(tsr_mul_scalar(tsr_transpose(tsr_neg(x), 0, 1), 2), 0, 1));
  CHECK(tsr_tensor_is_contiguous(y));
  check_same(y, tsr_relu(tsr_mul_scalar(tsr_neg(x), 2)));
  finish();
}
