// SPDX-License-Identifier: MIT
// Kernels in the shapes used on GPUs (graph/tuning.def) give the same results as in the CPU's: runs the same work on
// two devices, one of which is tuned like a GPU and has none of the CPU's own products, rows and reductions.
#include <math.h>
#include <stdlib.h>
#include <tessera/tessera.h>

#include "graph/node.h"
#include "graph/strided.h"
#include "support/devices.h"
#include "support/test.h"

static const char gpu_shapes[] =
    "fused_bytes=16,fused_row=64,reduce_wide=1,reduce_unroll=2,row_parts=64,row_part_length=64,row_round=24,column_"
    "results=16,"
    "column_group=32,column_items=4096,column_part_length=8,row_held=16,row_group=128,row_wide=1,matmul_blocks=1,"
    "matmul_m=64,"
    "matmul_n=64,matmul_depth=8,matmul_item_m=8,matmul_item_n=8,matmul_small_m=32,matmul_small_n=32,matmul_small_depth="
    "8,"
    "matmul_small_item_m=4,matmul_small_item_n=4,matmul_tiles=2,gemv_group=32,gemv_unroll=2,copy_tile=32,copy_rows=4,"
    "item_rounds=2";

enum { PLAIN, SHAPED, DEVICES };

static tsr_device *devices[DEVICES];
static const tsri_backend *whole;
static tsri_backend without_native;

static void open_devices(void) {
  tsri_graph_state *state = NULL;
  for (int i = 0; i < DEVICES; i++) devices[i] = test_open("cpu");
  CHECK_OK(tsri_graph_state_for(devices[SHAPED], &state));
  CHECK(tsri_tuning_change(&state->tuning, gpu_shapes));
  whole = devices[SHAPED]->backend;
  without_native = *whole;
  without_native.native_ops = NULL;
  devices[SHAPED]->backend = &without_native;
}

static void close_devices(void) {
  devices[SHAPED]->backend = whole;
  for (int i = 0; i < DEVICES; i++) tsr_device_release(devices[i]);
}

typedef tsr_tensor *(*work_fn)(tsr_device *device, int64_t rows, int64_t cols);

static void check_same(work_fn work, int64_t rows, int64_t cols, double bound) {
  float *values[DEVICES];
  int64_t count = 0;
  for (int i = 0; i < DEVICES; i++) {
    tsr_scope *scope = tsr_scope_begin(devices[i]);
    tsr_tensor *made = work(devices[i], rows, cols);
    CHECK_OK(tsr_evaluate(made));  // by itself: a cast after it would end its kernel before the last operators
    tsr_tensor *result = tsr_cast(made, TSR_F32);
    count = tsr_tensor_count(result);
    values[i] = calloc((size_t)count + 1, sizeof **values);
    CHECK_OK(tsr_read(result, values[i], (size_t)count * sizeof **values));
    CHECK_OK(tsr_scope_end(scope));
  }
  for (int64_t i = 0; i < count; i++) {
    double wanted = values[PLAIN][i], is = values[SHAPED][i];
    bool is_same = (isnan(wanted) && isnan(is)) || wanted == is || fabs(is - wanted) <= bound * (1 + fabs(wanted));
    if (!is_same) {
      test_fail(__FILE__, __LINE__, "%lldx%lld: element %lld is %.9g, not %.9g", (long long)rows, (long long)cols,
                (long long)i, is, wanted);
    }
  }
  for (int i = 0; i < DEVICES; i++) free(values[i]);
}

static void check_all(work_fn work, double bound) {
  static const int64_t sizes[][2] = {{1, 1},   {1, 3},    {1, 4},   {3, 5},   {4, 16},   {7, 64},  {64, 7},
                                     {40, 36}, {33, 100}, {5, 523}, {300, 8}, {2, 2000}, {2, 3000}};
  open_devices();
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) check_same(work, sizes[i][0], sizes[i][1], bound);
  close_devices();
}

static tsr_tensor *numbers(tsr_device *device, tsr_dtype dtype, int64_t rows, int64_t cols, uint64_t seed) {
  return tsr_sub_scalar(tsr_rand(device, dtype, TSR_SHAPE(rows, cols), seed), 0.5);
}

// --- Element-wise operators ------------------------------------------------------------------------------------------

static tsr_tensor *chain(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *row = tsr_rand(device, TSR_F32, TSR_SHAPE(cols), 3);
  return tsr_relu(tsr_add(tsr_mul(numbers(device, TSR_F32, rows, cols, 1), row), numbers(device, TSR_F32, rows, 1, 2)));
}
static tsr_tensor *halves(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_add(numbers(device, TSR_F16, rows, cols, 1), numbers(device, TSR_F16, rows, cols, 2));
}
static tsr_tensor *bytes(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_randint(device, TSR_U8, TSR_SHAPE(rows, cols), 0, 256, 1);
  return tsr_where(tsr_gt_scalar(x, 100), x, tsr_add_scalar(x, 7));
}
static tsr_tensor *shifted(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = numbers(device, TSR_F32, rows + 5, cols, 1), *twice = tsr_mul_scalar(x, 2);
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_evaluate(twice));
  return tsr_add(tsr_slice(x, 0, 1, rows + 1, 1), tsr_slice(twice, 0, 4, rows + 4, 1));
}

static tsr_tensor *doubles(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = numbers(device, TSR_F64, rows + 5, cols, 1), *row = tsr_rand(device, TSR_F64, TSR_SHAPE(cols), 3);
  CHECK_OK(tsr_evaluate(x));
  return tsr_add(tsr_mul(tsr_slice(x, 0, 1, rows + 1, 1), tsr_slice(x, 0, 4, rows + 4, 1)), row);
}
static tsr_tensor *doubles_in_one_row(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = numbers(device, TSR_F64, 1, 3 * rows * cols + 5, 1), *list = tsr_reshape(x, TSR_SHAPE(-1));
  CHECK_OK(tsr_evaluate(x));
  tsr_tensor *stepped = tsr_slice(list, 0, 2, 2 + 2 * rows * cols, 2);
  return tsr_add(tsr_mul(tsr_slice(list, 0, 1, 1 + rows * cols, 1), stepped), tsr_slice(list, 0, 0, rows * cols, 1));
}
static tsr_tensor *sliced_doubles(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = numbers(device, TSR_F64, rows, cols + 3, 1);
  CHECK_OK(tsr_evaluate(x));
  return tsr_neg(tsr_slice(x, 1, 1, cols + 1, 1));
}
static tsr_tensor *halves_to_whole(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_mul_scalar(numbers(device, TSR_F16, rows, cols, 1), 99);
  CHECK_OK(tsr_evaluate(x));
  return tsr_cast(x, TSR_I64);
}
static tsr_tensor *whole_to_truth(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_randint(device, TSR_I64, TSR_SHAPE(rows, cols), -9, 9, 1);
  CHECK_OK(tsr_evaluate(x));
  return tsr_gt_scalar(x, 2);
}

TEST(element_wise_kernels_give_the_same_in_lanes) {
  check_all(doubles, 0);
  check_all(doubles_in_one_row, 0);
  check_all(sliced_doubles, 0);
  check_all(halves_to_whole, 0);
  check_all(whole_to_truth, 0);
  check_all(chain, 0);
  check_all(halves, 0);
  check_all(bytes, 0);
  check_all(shifted, 0);
}

// --- Reductions -------------------------------------------------------------------------------------------------------

static tsr_tensor *sum_all(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_sum(tsr_square(numbers(device, TSR_F32, rows, cols, 1)), NULL, 0, false);
}
static tsr_tensor *sum_rows(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_sqrt(tsr_sum(tsr_square(numbers(device, TSR_F32, rows, cols, 1)), (int[]){0}, 1, false));
}
static tsr_tensor *sum_columns(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_sum(numbers(device, TSR_F16, rows, cols, 1), (int[]){1}, 1, false);
}
static tsr_tensor *max_rows(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_max(numbers(device, TSR_F32, rows, cols, 1), (int[]){0}, 1, false);
}
static tsr_tensor *product(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_prod(tsr_add_scalar(numbers(device, TSR_F32, rows, cols, 1), 1), (int[]){1}, 1, false);
}
static tsr_tensor *any_rows(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_any(tsr_gt_scalar(numbers(device, TSR_F32, rows, cols, 1), 0.45), (int[]){0}, 1, false);
}
// Few different numbers, so that there are equal maxima, and some NaN.
static tsr_tensor *ties(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_cast(tsr_randint(device, TSR_I32, TSR_SHAPE(rows, cols), 0, 6, 1), TSR_F32);
  return tsr_where(tsr_eq_scalar(tsr_randint(device, TSR_I32, TSR_SHAPE(rows, cols), 0, 40, 2), 0),
                   tsr_sqrt(tsr_rsub_scalar(x, -1)), x);
}
static tsr_tensor *argmax_columns(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_argmax(ties(device, rows, cols), (int[]){1}, 1, false);
}
static tsr_tensor *argmin_rows(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_argmin(ties(device, rows, cols), (int[]){0}, 1, false);
}

static tsr_tensor *sum_products(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *products = tsr_mul(numbers(device, TSR_F32, rows, cols, 1), numbers(device, TSR_BF16, rows, cols, 2));
  return tsr_add_scalar(tsr_sum(products, (int[]){1}, 1, false), 1);
}

// Rows of two to eight elements, four to an item, and as many of them as do not divide by four.
TEST(short_rows_give_the_same_in_quads) {
  static const work_fn works[] = {sum_columns, sum_products, argmax_columns, product};
  open_devices();
  for (int64_t cols = 2; cols <= 8; cols++) {
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++) {
      check_same(works[i], 64, cols, 1e-3);
      check_same(works[i], 63, cols, 1e-3);
    }
  }
  close_devices();
}

TEST(reductions_give_the_same_in_lanes_and_parts) {
  check_all(sum_all, 1e-6);
  check_all(sum_rows, 1e-6);
  check_all(sum_columns, 1e-3);
  check_all(max_rows, 0);
  check_all(product, 1e-4);
  check_all(any_rows, 0);
  check_all(argmax_columns, 0);
  check_all(argmin_rows, 0);
}

// --- Rows and products ------------------------------------------------------------------------------------------------

static tsr_tensor *softmax(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_softmax(tsr_mul_scalar(numbers(device, TSR_F32, rows, cols, 1), 9), 1);
}
static tsr_tensor *scaled_log_softmax(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_add_scalar(tsr_log_softmax(tsr_mul_scalar(numbers(device, TSR_F32, rows, cols, 1), 9), 1), 1);
}
static tsr_tensor *layer_norm(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *weight = tsr_rand(device, TSR_F32, TSR_SHAPE(cols), 2),
             *bias = tsr_rand(device, TSR_F32, TSR_SHAPE(cols), 3);
  return tsr_layer_norm(numbers(device, TSR_F32, rows, cols, 1), weight, bias, 1e-5);
}
static tsr_tensor *rms_norm_relu(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = numbers(device, TSR_F32, rows, cols, 1);
  return tsr_relu(tsr_rms_norm(tsr_mul_scalar(x, 3), tsr_rand(device, TSR_F32, TSR_SHAPE(cols), 2), 1e-5));
}
// Rows of two channels of `cols` elements; a weight and a bias for each of four channels.
static tsr_tensor *group_norm(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_rand(device, TSR_F32, TSR_SHAPE(rows, 4, cols), 1);
  tsr_tensor *weight = tsr_rand(device, TSR_F32, TSR_SHAPE(4), 2), *bias = tsr_rand(device, TSR_F32, TSR_SHAPE(4), 3);
  return tsr_relu(tsr_group_norm(x, 2, weight, bias, 1e-5));
}
// Numbers along the first axis, along the middle one and along both. The middle ones do not begin at the first element of their memory.
static tsr_tensor *norm_by_axes(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_layer_norm(tsr_rand(device, TSR_F32, TSR_SHAPE(rows, 3, cols), 1), NULL, NULL, 1e-5);
  tsr_tensor *first = tsr_rand(device, TSR_F32, TSR_SHAPE(rows, 1, 1), 2);
  tsr_tensor *middle = tsr_slice(tsr_rand(device, TSR_F32, TSR_SHAPE(5, 1), 3), 0, 1, 4, 1);
  return tsr_mul(tsr_add(tsr_mul(x, first), middle), tsr_rand(device, TSR_F32, TSR_SHAPE(rows, 3, 1), 4));
}

// Rows of 16 bits that are computed in f32, and results of 16 bits.
static tsr_tensor *group_norm_of_halves(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_rand(device, TSR_F16, TSR_SHAPE(rows, 4, cols), 1);
  tsr_tensor *weight = tsr_rand(device, TSR_F16, TSR_SHAPE(4), 2), *bias = tsr_rand(device, TSR_F16, TSR_SHAPE(4), 3);
  return tsr_group_norm(x, 2, weight, bias, 1e-5);
}
static tsr_tensor *layer_norm_of_halves(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *bias = tsr_rand(device, TSR_F32, TSR_SHAPE(cols), 3);
  return tsr_layer_norm(numbers(device, TSR_F16, rows, cols, 1), NULL, bias, 1e-5);
}
static tsr_tensor *rms_norm_to_halves(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_rms_norm(numbers(device, TSR_F32, rows, cols, 1), NULL, 1e-5);
  return tsr_cast(tsr_mul(x, tsr_rand(device, TSR_F32, TSR_SHAPE(cols), 2)), TSR_F16);
}
static tsr_tensor *softmax_to_halves(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_cast(tsr_softmax(numbers(device, TSR_F32, rows, cols, 1), 1), TSR_F16);
}
static tsr_tensor *softmax_of_columns_to_halves(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_cast(tsr_log_softmax(numbers(device, TSR_F32, rows, cols, 1), 0), TSR_F16);
}

TEST(rows_kept_in_registers_give_the_same) {
  check_all(group_norm_of_halves, 1e-3);
  check_all(layer_norm_of_halves, 1e-5);
  check_all(rms_norm_to_halves, 1e-3);
  check_all(softmax_to_halves, 1e-3);
  check_all(softmax_of_columns_to_halves, 1e-3);
  check_all(softmax, 1e-6);
  check_all(scaled_log_softmax, 1e-6);
  check_all(layer_norm, 1e-5);
  check_all(rms_norm_relu, 1e-5);
  check_all(group_norm, 1e-5);
  check_all(norm_by_axes, 1e-5);
}

// Statistics of channels that are one run of memory each, and of channels that are a run in each image.
static tsr_tensor *spread_of_rows(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_std(numbers(device, TSR_F32, rows, cols, 1), (int[]){1}, 1, false, 0);
}
static tsr_tensor *batch_norm(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_rand(device, TSR_F32, TSR_SHAPE(rows, 3, cols), 1), *normed = NULL;
  CHECK_OK(tsr_batch_norm_train(x, NULL, NULL, NULL, NULL, 0, 1e-5, &normed));
  return normed;
}

TEST(statistics_of_channels_give_the_same) {
  check_all(spread_of_rows, 1e-5);
  check_all(batch_norm, 1e-5);
}

typedef tsr_tensor *(*norm_fn)(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias);

static tsr_tensor *of_groups(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  return tsr_group_norm(x, 2, weight, bias, 1e-5);
}
static tsr_tensor *of_rows_as_f32(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  tsr_tensor *wide = tsr_cast(x, TSR_F32), *normed = tsr_layer_norm(wide, NULL, NULL, 1e-5);
  (void)weight, (void)bias;
  return tsr_cast(normed, tsr_tensor_dtype(x));
}
static tsr_tensor *softmax_as_f32(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  (void)weight, (void)bias;
  return tsr_cast(tsr_softmax(tsr_cast(x, TSR_F32), -1), tsr_tensor_dtype(x));
}

// The launches of a norm after its inputs have been computed.
static uint64_t norm_launches(tsr_device *device, norm_fn norm, tsr_dtype dtype, int64_t pixels) {
  tsr_device_counters before, after;
  tsr_tensor *inputs[] = {tsr_rand(device, dtype, TSR_SHAPE(2, 4, pixels), 1), tsr_rand(device, dtype, TSR_SHAPE(4), 2),
                          tsr_rand(device, dtype, TSR_SHAPE(4), 3)};
  for (int i = 0; i < 3; i++) CHECK_OK(tsr_evaluate(inputs[i]));
  CHECK_OK(tsr_device_get_counters(device, &before));
  CHECK_OK(tsr_evaluate(norm(inputs[0], inputs[1], inputs[2])));
  CHECK_OK(tsr_device_get_counters(device, &after));
  return after.launches - before.launches;
}

TEST(what_follows_and_precedes_rows_in_registers_takes_no_launch) {
  static const norm_fn norms[] = {of_groups, of_rows_as_f32, softmax_as_f32};
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
  static const int64_t pixels[] = {40, 39};  // multiples of four are read and stored four at a time
  open_devices();
  for (int i = 0; i < 3 * 3 * 2; i++) {
    tsr_scope *scope = tsr_scope_begin(devices[SHAPED]);
    CHECK_EQ_UINT(norm_launches(devices[SHAPED], norms[i % 3], dtypes[i / 3 % 3], pixels[i / 9]), 1);
    CHECK_OK(tsr_scope_end(scope));
  }
  close_devices();
}

static tsr_tensor *matmul(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_matmul(numbers(device, TSR_F32, rows, cols, 1), numbers(device, TSR_F32, cols, 68, 2));
}
static tsr_tensor *turned_matmul(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *a = numbers(device, TSR_F32, cols, rows, 1), *b = numbers(device, TSR_F32, 37, cols, 2);
  return tsr_relu(tsr_matmul(tsr_transpose(a, 0, 1), tsr_transpose(b, 0, 1)));
}
static tsr_tensor *gemm(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *a = numbers(device, TSR_F32, rows, cols, 1), *b = numbers(device, TSR_F32, cols, 40, 2);
  return tsr_gemm(2, a, b, 0.5, numbers(device, TSR_F32, rows, 40, 3));
}
// Results of 16 bits whose rows have a multiple of four elements are stored four at a time, with what comes after the product.
static tsr_tensor *narrow_matmul(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_matmul(numbers(device, TSR_F16, rows, cols, 1), numbers(device, TSR_F16, cols, 68, 2));
}
static tsr_tensor *narrow_layer(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *product = narrow_matmul(device, rows, cols), *more = numbers(device, TSR_F16, rows, 68, 4);
  return tsr_relu(tsr_add(tsr_add(product, tsr_rand(device, TSR_F16, TSR_SHAPE(68), 3)), more));
}
static tsr_tensor *gemv(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_gemv(numbers(device, TSR_F32, rows, cols, 1), tsr_rand(device, TSR_F32, TSR_SHAPE(cols), 2));
}
// Rows and a vector that begin at any element, and are long enough to be read four elements at a time.
static tsr_tensor *odd_gemv(tsr_device *device, int64_t rows, int64_t cols) {
  enum { LONG = 1500, FROM_A = 1, FROM_X = 2 };
  tsr_tensor *a = numbers(device, TSR_F32, rows, LONG + cols + FROM_A, 1);
  tsr_tensor *x = tsr_rand(device, TSR_F32, TSR_SHAPE(LONG + cols + FROM_X), 2);
  return tsr_gemv(tsr_slice(a, 1, FROM_A, INT64_MAX, 1), tsr_slice(x, 0, FROM_X, INT64_MAX, 1));
}
// A vector for each matrix.
static tsr_tensor *many_gemv(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *a = tsr_rand(device, TSR_F32, TSR_SHAPE(3, rows, cols), 1);
  tsr_tensor *x = tsr_rand(device, TSR_F32, TSR_SHAPE(3, 1, cols), 2);
  return tsr_add(tsr_matmul(x, tsr_transpose(a, 1, 2)), tsr_transpose(tsr_matmul(a, tsr_transpose(x, 1, 2)), 1, 2));
}

// Factors of 16 bits are read as words. Every finite number of the dtype, times the unit matrix, and an infinity and a NaN in rows of their own.
static void check_every_number(tsr_dtype dtype) {
  enum { COLS = 64, ROWS = 65536 / COLS };
  uint16_t bits[ROWS * COLS], is[ROWS * COLS];
  uint16_t infinity = dtype == TSR_F16 ? 0x7c00 : 0x7f80;
  for (int i = 0; i < ROWS * COLS; i++) bits[i] = (i & 0x7fff) < infinity ? (uint16_t)i : 0;
  bits[ROWS * COLS - COLS] = infinity;
  bits[ROWS * COLS - 1] = 0xffff;
  open_devices();
  tsr_scope *scope = tsr_scope_begin(devices[SHAPED]);
  tsr_tensor *x = tsr_from_data(devices[SHAPED], dtype, TSR_SHAPE(ROWS, COLS), bits, sizeof bits);
  tsr_tensor *y = tsr_matmul(x, tsr_eye(devices[SHAPED], dtype, COLS, COLS, 0));
  CHECK_OK(tsr_read(y, is, sizeof is));
  for (int i = 0; i < (ROWS - 1) * COLS; i++) {
    if (bits[i] != 0x8000) CHECK_EQ_INT(is[i], bits[i]);  // -0 and sums of +0 are +0
  }
  for (int i = (ROWS - 1) * COLS; i < ROWS * COLS; i++)
    CHECK((is[i] & 0x7fff) > infinity);  // 0 times infinity, and NaN
  CHECK_OK(tsr_scope_end(scope));
  close_devices();
}

TEST(products_in_blocks_read_every_number_of_16_bits) {
  check_every_number(TSR_F16);
  check_every_number(TSR_BF16);
}

TEST(products_give_the_same_in_blocks) {
  check_all(matmul, 1e-5);
  check_all(turned_matmul, 1e-5);
  check_all(gemm, 1e-5);
  check_all(gemv, 1e-5);
  check_all(odd_gemv, 1e-5);
  check_all(many_gemv, 1e-5);
  check_all(narrow_matmul, 0x1p-10);
  check_all(narrow_layer, 0x1p-9);
}

static tsr_tensor *flat_matmul(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_relu(tsr_matmul(numbers(device, TSR_F32, rows, cols, 1), numbers(device, TSR_F32, cols, 205, 2)));
}
static tsr_tensor *tall_matmul(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_relu(tsr_matmul(numbers(device, TSR_BF16, 204, cols, 1), numbers(device, TSR_BF16, cols, rows, 2)));
}

// Tiles of few rows and of few columns, with whole and with split sums.
TEST(products_with_few_rows_or_columns_give_the_same_in_thin_tiles) {
  static const int64_t sizes[][2] = {{16, 64}, {16, 2048}, {21, 75}, {32, 1030}};
  open_devices();
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    check_same(flat_matmul, sizes[i][0], sizes[i][1], 1e-5);
    check_same(tall_matmul, sizes[i][0], sizes[i][1], 0x1p-6);
  }
  close_devices();
}

static tsr_tensor *odd_matmul(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_matmul(numbers(device, TSR_BF16, rows, cols, 1), numbers(device, TSR_BF16, cols, 67, 2));
}
static tsr_tensor *odd_layer(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_relu(tsr_add(odd_matmul(device, rows, cols), tsr_rand(device, TSR_BF16, TSR_SHAPE(67), 3)));
}

// Lines that do not begin at multiples of 16 bytes are copied. Of products with 44 rows four elements are copied back at a time, which may be of two lines.
TEST(products_of_aligned_copies_give_the_same_in_blocks) {
  static const int64_t sizes[][2] = {{44, 35}, {33, 100}, {19, 64}};
  tsri_graph_state *state = NULL;
  open_devices();
  CHECK_OK(tsri_graph_state_for(devices[SHAPED], &state));
  CHECK(tsri_tuning_change(&state->tuning, "product_alignment=16,product_padded=1"));
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    check_same(odd_matmul, sizes[i][0], sizes[i][1], 0x1p-7);
    check_same(odd_layer, sizes[i][0], sizes[i][1], 0x1p-6);
    check_same(narrow_layer, sizes[i][0], sizes[i][1], 0x1p-9);
  }
  close_devices();
}

// --- Copies -----------------------------------------------------------------------------------------------------------

// Copies the view's elements with kernels and compares them with reading the view.
static void check_copy(tsr_tensor *view) {
  CHECK_OK(tsr_evaluate(view));
  tsri_view from = tsri_view_of(view);
  tsri_layout packed = tsri_packed_layout(&from.layout);
  size_t total = (size_t)from.layout.count * tsr_dtype_bytes(from.dtype);
  tsr_buffer *to = NULL;
  CHECK_OK(tsr_buffer_create(from.buffer->device, total, 0, &to));
  CHECK_OK(tsri_strided_kernels(&from, to, &packed));
  unsigned char *is = calloc(total, 1), *wanted = calloc(total, 1);
  CHECK_OK(tsr_buffer_download(to, 0, is, total));
  CHECK_OK(tsr_read(view, wanted, total));
  CHECK_BYTES(is, wanted, total);
  free(is);
  free(wanted);
  tsr_buffer_release(to);
}

TEST(kernels_copy_any_view) {
  open_devices();
  static const tsr_dtype dtypes[] = {TSR_U8, TSR_I16, TSR_I32, TSR_I64};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    tsr_scope *scope = tsr_scope_begin(devices[SHAPED]);
    tsr_tensor *x = tsr_randint(devices[SHAPED], dtypes[i], TSR_SHAPE(3, 72, 44), 0, 100, 1);
    CHECK_OK(tsr_evaluate(x));
    check_copy(tsr_transpose(x, 1, 2));
    check_copy(tsr_transpose(x, 0, 2));
    check_copy(tsr_transpose(x, 0, 1));
    check_copy(tsr_transpose(tsr_slice(x, 1, 1, 61, 1), 1, 2));
    check_copy(tsr_slice(x, 2, 4, 40, 1));
    check_copy(tsr_slice(x, 2, 1, 40, 3));
    check_copy(tsr_flip(tsr_transpose(x, 1, 2), 1));
    check_copy(tsr_expand(tsr_slice(x, 1, 2, 3, 1), TSR_SHAPE(3, 5, 44)));
    CHECK_OK(tsr_scope_end(scope));
  }
  close_devices();
}

// Matrices that are shorter than a tile on one side or on both, and axes of which a tile takes two.
TEST(kernels_transpose_any_shape) {
  static const int64_t matrices[][2] = {{16, 600}, {600, 16}, {12, 601}, {601, 9}, {9, 11}, {20, 24}, {100, 30}};
  static const tsr_dtype dtypes[] = {TSR_U8, TSR_I16, TSR_I32, TSR_I64};
  open_devices();
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    tsr_scope *scope = tsr_scope_begin(devices[SHAPED]);
    tsr_tensor *all = tsr_randint(devices[SHAPED], dtypes[i], TSR_SHAPE(9604), 0, 100, 1),
               *first = tsr_slice(all, 0, 0, 9600, 1);
    CHECK_OK(tsr_evaluate(all));
    for (size_t j = 0; j < sizeof matrices / sizeof matrices[0]; j++) {
      int64_t rows = matrices[j][0], cols = matrices[j][1];
      check_copy(tsr_transpose(tsr_reshape(tsr_slice(all, 0, 4, 4 + rows * cols, 1), TSR_SHAPE(rows, cols)), 0, 1));
    }
    tsr_tensor *four = tsr_reshape(first, TSR_SHAPE(3, 16, 5, 40)),
               *five = tsr_reshape(first, TSR_SHAPE(4, 5, 4, 6, 20));
    check_copy(tsr_permute(four, (int[]){3, 2, 1, 0}, 4));
    check_copy(tsr_permute(four, (int[]){2, 3, 1, 0}, 4));
    check_copy(tsr_permute(tsr_slice(four, 3, 1, 38, 1), (int[]){3, 1, 2, 0}, 4));
    check_copy(tsr_flip(tsr_permute(four, (int[]){3, 2, 1, 0}, 4), 3));
    check_copy(tsr_permute(five, (int[]){4, 3, 2, 1, 0}, 5));
    check_copy(tsr_permute(five, (int[]){3, 4, 2, 0, 1}, 5));
    CHECK_OK(tsr_scope_end(scope));
  }
  close_devices();
}

// --- Pads -------------------------------------------------------------------------------------------------------------

static tsr_tensor *pad_matrix(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_pad(numbers(device, TSR_F32, rows, cols, 1), (int64_t[]){2, 3}, (int64_t[]){1, 0}, 2, 0.5);
}

static tsr_tensor *pad_view(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *turned = tsr_transpose(numbers(device, TSR_BF16, rows, cols, 2), 0, 1);
  return tsr_pad(tsr_flip(turned, 0), (int64_t[]){0, 1}, (int64_t[]){2, 2}, 2, -3);
}

static tsr_tensor *pad_images(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *images = tsr_reshape(numbers(device, TSR_F32, 6 * rows, cols, 3), TSR_SHAPE(3, rows, cols, 2));
  return tsr_pad(images, (int64_t[]){0, 1, 2, 0}, (int64_t[]){0, 0, 1, 0}, 4, 1);
}

static tsr_tensor *pad_whole_numbers(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_randint(device, TSR_I64, TSR_SHAPE(rows, cols), -9, 9, 4);
  return tsr_pad(x, (int64_t[]){0, 1}, (int64_t[]){1, 0}, 2, -(double)(INT64_C(1) << 40));
}

static tsr_tensor *pad_four_axes(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_reshape(numbers(device, TSR_F32, 4 * rows, cols, 5), TSR_SHAPE(2, 2, rows, cols));
  return tsr_pad(x, (int64_t[]){1, 0, 1, 1}, (int64_t[]){0, 1, 0, 1}, 4, 2);
}

static tsr_tensor *pad_nothing(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_transpose(numbers(device, TSR_F32, rows, cols, 2), 0, 1);
  return tsr_pad(x, (int64_t[]){0, 0}, (int64_t[]){0, 0}, 2, 1);
}

TEST(pads_in_one_pass_give_the_same) {
  check_all(pad_nothing, 0);
  check_all(pad_matrix, 0);
  check_all(pad_view, 0);
  check_all(pad_images, 0);
  check_all(pad_whole_numbers, 0);
  check_all(pad_four_axes, 0);
}

// --- Joins and indices of elements of 8 bytes ---------------------------------------------------------------------------

static tsr_tensor *whole_numbers(tsr_device *device, int64_t rows, int64_t cols, uint64_t seed) {
  return tsr_randint(device, TSR_I64, TSR_SHAPE(rows, cols), -99, 99, seed);
}

static tsr_tensor *join_whole(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *parts[] = {whole_numbers(device, rows, 2 * cols, 1), whole_numbers(device, rows, 4, 2),
                         whole_numbers(device, rows, cols, 3)};
  return tsr_concat(parts, 3, 1);
}

static tsr_tensor *join_stepped(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = whole_numbers(device, rows, 2 * cols, 1);
  CHECK_OK(tsr_evaluate(x));
  return tsr_concat((tsr_tensor *[]){tsr_slice(x, 1, 0, 2 * cols, 2), x}, 2, 1);
}

static tsr_tensor *take_rows(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_embedding(whole_numbers(device, rows, cols, 1), tsr_randint(device, TSR_I64, TSR_SHAPE(33), 0, rows, 2));
}

static tsr_tensor *take_columns(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_index_select(whole_numbers(device, rows, cols, 1), 1,
                          tsr_randint(device, TSR_I64, TSR_SHAPE(14), 0, cols, 2));
}

TEST(elements_of_8_bytes_are_joined_and_taken_the_same) {
  check_all(join_whole, 0);
  check_all(join_stepped, 0);
  check_all(take_rows, 0);
  check_all(take_columns, 0);
}

// --- Scatters ---------------------------------------------------------------------------------------------------------

static tsr_tensor *scatter_rows(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *to = tsr_randint(device, TSR_I64, TSR_SHAPE(rows, cols), 0, cols, 6);
  return tsr_scatter_add(numbers(device, TSR_F32, rows, cols, 7), 1, to, numbers(device, TSR_F32, rows, cols, 8));
}

// Rows of 2,100 and 4,100 targets are more than a work-group holds, by the size of its shared memory.
TEST(scatters_of_rows_in_halves_give_the_same) {
  open_devices();
  check_same(scatter_rows, 600, 2100, 1e-6);
  check_same(scatter_rows, 300, 4100, 1e-6);
  close_devices();
}

// --- Searches, counts, windows and points --------------------------------------------------------------------------------

// A sorted list with equal elements and some NaN at its end, of rows * cols elements.
static tsr_tensor *sorted_list(tsr_device *device, tsr_dtype dtype, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_reshape(numbers(device, TSR_F32, rows, cols, 1), TSR_SHAPE(rows * cols));
  tsr_tensor *list = tsr_cast(tsr_round(tsr_mul_scalar(x, 300)), dtype);
  if (tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT) list = tsr_masked_fill(list, tsr_gt_scalar(x, 0.45), NAN);
  return tsr_sort(list, 0, false);
}

static tsr_tensor *places(tsr_device *device, tsr_dtype dtype, int64_t rows, int64_t cols) {
  tsr_tensor *list = sorted_list(device, dtype, rows, cols);
  tsr_tensor *others =
      tsr_mul_scalar(tsr_reshape(numbers(device, TSR_F32, rows, cols, 2), TSR_SHAPE(rows * cols)), 320);
  tsr_tensor *values = tsr_concat((tsr_tensor *[]){list, tsr_cast(others, dtype)}, 2, 0);
  return tsr_stack((tsr_tensor *[]){tsr_searchsorted(list, values, false), tsr_searchsorted(list, values, true)}, 2, 0);
}
static tsr_tensor *places_f32(tsr_device *device, int64_t rows, int64_t cols) {
  return places(device, TSR_F32, rows, cols);
}
static tsr_tensor *places_f64(tsr_device *device, int64_t rows, int64_t cols) {
  return places(device, TSR_F64, rows, cols);
}
static tsr_tensor *places_bf16(tsr_device *device, int64_t rows, int64_t cols) {
  return places(device, TSR_BF16, rows, cols);
}
static tsr_tensor *places_i64(tsr_device *device, int64_t rows, int64_t cols) {
  return places(device, TSR_I64, rows, cols);
}
static tsr_tensor *places_in_nan(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *list = tsr_full(device, TSR_F32, TSR_SHAPE(rows * cols), NAN),
             *values = numbers(device, TSR_F32, rows, 3, 1);
  return tsr_searchsorted(
      list, tsr_concat((tsr_tensor *[]){values, tsr_slice(tsr_reshape(list, TSR_SHAPE(rows, cols)), 1, 0, 1, 1)}, 2, 1),
      true);
}

TEST(searches_that_begin_in_shared_memory_give_the_same) {
  check_all(places_f32, 0);
  check_all(places_f64, 0);
  check_all(places_bf16, 0);
  check_all(places_i64, 0);
  check_all(places_in_nan, 0);
}

static tsr_tensor *counts(tsr_device *device, int64_t rows, int64_t cols) {
  return tsr_histogram(numbers(device, TSR_F32, rows, 1, 1), cols, -0.5, 0.5);
}

// The smaller the counts are, the more work-groups must share the elements: in shared memory, or at once in the result.
TEST(counts_in_shared_memory_and_in_the_result_are_the_same) {
  open_devices();
  check_same(counts, 20000, 7, 0);
  check_same(counts, 20000, 3000, 0);
  check_same(counts, 900000, 3000, 0);
  check_same(counts, 20000, 9001, 0);
  close_devices();
}

// Poolings of both kinds with a window of `size` along `axes` axes, as one list.
static tsr_tensor *pools_of(tsr_tensor *x, int axes, int64_t size, int64_t stride, int64_t padding) {
  tsr_pool_desc desc = {.rounds_up = size != 3};
  for (int i = 0; i < axes; i++) {
    desc.size[i] = size;
    desc.stride[i] = stride;
    desc.before[i] = desc.after[i] = padding;
  }
  tsr_tensor *largest = tsr_max_pool(x, &desc), *mean = tsr_avg_pool(x, &desc);
  desc.counts_padding = true;
  tsr_tensor *padded = tsr_avg_pool(x, &desc), *all[] = {largest, mean, padded};
  return tsr_stack(all, 3, 0);
}

static tsr_tensor *windows_of_lines(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_reshape(numbers(device, TSR_F32, rows, cols, 1), TSR_SHAPE(1, rows, cols));
  return pools_of(tsr_masked_fill(x, tsr_gt_scalar(x, 0.499), NAN), 1, 5, 2, 2);
}
static tsr_tensor *windows_of_planes(tsr_device *device, int64_t rows, int64_t cols) {
  return pools_of(tsr_reshape(numbers(device, TSR_F16, 6 * rows, cols, 1), TSR_SHAPE(2, 3, rows, cols)), 2, 3, 1, 1);
}
static tsr_tensor *windows_side_by_side(tsr_device *device, int64_t rows, int64_t cols) {
  return pools_of(tsr_reshape(numbers(device, TSR_F32, 6 * rows, cols, 1), TSR_SHAPE(2, 3, rows, cols)), 2, 2, 2, 1);
}
static tsr_tensor *windows_of_turned_planes(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_reshape(numbers(device, TSR_F32, 6 * rows, cols, 1), TSR_SHAPE(2, 3, rows, cols));
  return pools_of(tsr_flip(tsr_transpose(x, 2, 3), 2), 2, 4, 3, 2);
}
static tsr_tensor *windows_with_channels_last(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_pool_desc desc = {.size = {3, 2}, .stride = {1, 2}, .before = {1, 1}, .after = {1, 0}, .channels_last = true};
  return tsr_max_pool(tsr_reshape(numbers(device, TSR_F32, 6 * rows, cols, 1), TSR_SHAPE(2, rows, cols, 3)), &desc);
}
static tsr_tensor *windows_of_boxes(tsr_device *device, int64_t rows, int64_t cols) {
  return pools_of(tsr_reshape(numbers(device, TSR_F32, 9 * rows, cols, 1), TSR_SHAPE(1, 1, 9, rows, cols)), 3, 3, 2, 1);
}

TEST(blocks_of_pooled_results_are_the_same) {
  check_all(windows_of_planes, 1e-3);
  check_all(windows_side_by_side, 1e-6);
  check_all(windows_of_turned_planes, 1e-6);
  check_all(windows_with_channels_last, 0);
  open_devices();
  check_same(windows_of_lines, 70, 1001, 1e-6);  // large enough for a kernel of their own
  check_same(windows_of_lines, 70, 1000, 1e-6);
  check_same(windows_of_lines, 69, 998, 1e-6);
  check_same(windows_of_boxes, 41, 160, 1e-6);
  close_devices();
}

static tsr_tensor *gradient_of_boxes(tsr_device *device, int64_t rows, int64_t cols) {
  tsr_pool_desc desc = {.size = {1, 3, 2}, .stride = {1, 2, 1}, .before = {0, 1, 1}};
  tsr_tensor *x = tsr_round(tsr_mul_scalar(numbers(device, TSR_F32, 2 * rows, cols, 1), 5)), *gradient = NULL;
  x = tsr_reshape(x, TSR_SHAPE(1, 2, 1, rows, cols));
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(x));
  tsr_tensor *y = tsr_max_pool(x, &desc);
  CHECK_OK(tsr_grad(tsr_sum(tsr_mul(y, tsr_add_scalar(y, 1)), NULL, 0, false), NULL, &x, 1, &gradient));
  CHECK_OK(tsr_grad_end());
  return gradient;
}

TEST(gradients_of_windows_over_three_axes_go_to_the_same_elements) {
  open_devices();
  check_same(gradient_of_boxes, 7, 9, 0);
  check_same(gradient_of_boxes, 33, 64, 0);
  close_devices();
}

// Points between and beyond the elements of images, NaN among them, of rows x cols for images of 9 x 12.
static tsr_tensor *points_of(tsr_device *device, int64_t images, int64_t rows, int64_t cols) {
  tsr_tensor *x = tsr_mul_scalar(numbers(device, TSR_F32, images * rows, cols * 2, 2), 2.6);
  return tsr_reshape(tsr_masked_fill(x, tsr_gt_scalar(x, 1.29), NAN), TSR_SHAPE(images, rows, cols, 2));
}
static tsr_tensor *sampled(tsr_device *device, int64_t rows, int64_t cols, tsr_grid_desc desc) {
  tsr_tensor *x = tsr_reshape(numbers(device, TSR_F32, 2 * 5 * 9, 12, 1), TSR_SHAPE(2, 5, 9, 12));
  return tsr_grid_sample(tsr_masked_fill(x, tsr_gt_scalar(x, 0.49), INFINITY), points_of(device, 2, rows, cols), &desc);
}
static tsr_tensor *sampled_with_zeros(tsr_device *device, int64_t rows, int64_t cols) {
  return sampled(device, rows, cols, (tsr_grid_desc){0});
}
static tsr_tensor *sampled_with_border(tsr_device *device, int64_t rows, int64_t cols) {
  return sampled(device, rows, cols, (tsr_grid_desc){.padding = TSR_GRID_BORDER, .align_corners = true});
}
static tsr_tensor *sampled_nearest(tsr_device *device, int64_t rows, int64_t cols) {
  return sampled(device, rows, cols, (tsr_grid_desc){.mode = TSR_GRID_NEAREST, .padding = TSR_GRID_REFLECTION});
}
static tsr_tensor *sampled_cubic(tsr_device *device, int64_t rows, int64_t cols) {
  return sampled(device, rows, cols, (tsr_grid_desc){.mode = TSR_GRID_CUBIC});
}

TEST(points_of_images_in_shared_memory_are_the_same) {
  check_all(sampled_with_zeros, 0);
  check_all(sampled_with_border, 0);
  check_all(sampled_nearest, 0);
  check_all(sampled_cubic, 0);
}
