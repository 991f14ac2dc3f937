// SPDX-License-Identifier: MIT
// Tensors larger than what a kernel can bind: launches in pieces give the same results as one launch, or explain why
// they cannot.
#include "runtime/device.h"
#include "support/devices.h"
#include "support/test.h"

enum { ROWS = 96, COLS = 500, COUNT = ROWS * COLS, SEEN_BYTES = 64 << 10 };  // 192 kB of f32

// Runs `make` on a device without and with the limit, and compares the results: bit by bit, or within a bound for sums.
static void compare(tsr_tensor *(*make)(tsr_tensor *x), int64_t count, double bound) {
  static float whole[COUNT], pieces[COUNT];
  static int32_t numbers[COUNT];
  for (int i = 0; i < COUNT; i++) numbers[i] = (i * 7919) % 1009 - 500;
  for (int turn = 0; turn < 2; turn++) {
    tsr_device *device = test_open("cpu");
    if (turn == 1) device->limits.max_binding_bytes = SEEN_BYTES;
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_tensor *given = tsr_from_data(device, TSR_I32, TSR_SHAPE(ROWS, COLS), numbers, sizeof numbers);
    tsr_tensor *x = tsr_cast(given, TSR_F32), *result = make(x);
    CHECK_OK(tsr_read(result, turn ? pieces : whole, (size_t)count * sizeof(float)));
    CHECK_OK(tsr_scope_end(scope));
    tsr_device_release(device);
  }
  for (int64_t i = 0; i < count; i++) CHECK_NEAR(pieces[i], whole[i], bound);
}

static tsr_tensor *chain(tsr_tensor *x) { return tsr_relu(tsr_add_scalar(tsr_mul(x, x), -100)); }
static tsr_tensor *beside_a_row(tsr_tensor *x) {
  return tsr_add(x, tsr_slice(x, 0, 3, 4, 1));  // one row, broadcast to all rows
}
static tsr_tensor *backwards(tsr_tensor *x) { return tsr_add(tsr_flip(x, 0), tsr_flip(x, 1)); }

TEST(element_wise_work_in_pieces_is_the_same) {
  compare(chain, COUNT, 0);
  compare(beside_a_row, COUNT, 0);
  compare(backwards, COUNT, 0);
}

static tsr_tensor *sum_all(tsr_tensor *x) { return tsr_sum(chain(x), NULL, 0, false); }
static tsr_tensor *most_of_all(tsr_tensor *x) { return tsr_max(x, NULL, 0, false); }
static tsr_tensor *sum_rows(tsr_tensor *x) { return tsr_sum(x, (int[]){1}, 1, false); }
static tsr_tensor *sum_columns(tsr_tensor *x) { return tsr_mul_scalar(tsr_sum(x, (int[]){0}, 1, false), 2); }
static tsr_tensor *centred_columns(tsr_tensor *x) {
  return tsr_sub(tsr_sum(x, (int[]){0}, 1, false), tsr_sum(tsr_mul(x, x), (int[]){0}, 1, false));
}
static tsr_tensor *largest_in_rows(tsr_tensor *x) { return tsr_cast(tsr_argmax(x, (int[]){1}, 1, false), TSR_F32); }

TEST(reductions_in_pieces_are_the_same) {
  compare(sum_all, 1, 64);  // the sum is about 4e9, where half a step of f32 is 128
  compare(most_of_all, 1, 0);
  compare(sum_rows, ROWS, 0);
  compare(sum_columns, COLS, 0);
  compare(centred_columns, COLS, 8);
  compare(largest_in_rows, ROWS, 0);
}

// Few long rows, each cut into parts. The results of the rows are written one by one, at offsets of 4, 8 and 12 bytes.
static void reduce_long_rows(tsr_device *device) {
  enum { FEW = 4, LONG = 40000 };
  static float values[FEW * LONG];
  for (int i = 0; i < FEW * LONG; i++) values[i] = (float)(i / LONG * LONG + i * 7919 % LONG - 100);
  device->limits.max_binding_bytes = 192 << 10;
  if (device->limits.binding_alignment) device->limits.binding_alignment = 256;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(FEW, LONG), values, sizeof values);
  float most[FEW], twice[FEW], sums[FEW];
  tsr_status status = tsr_read(tsr_max(x, (int[]){1}, 1, false), most, sizeof most);
  if (status == TSR_OK) {
    CHECK_OK(tsr_read(tsr_mul_scalar(tsr_min(x, (int[]){1}, 1, false), 2), twice, sizeof twice));
    CHECK_OK(tsr_read(tsr_sum(tsr_sign(x), (int[]){1}, 1, false), sums, sizeof sums));
    for (int i = 0; i < FEW; i++) {
      CHECK_NEAR(most[i], i * LONG + LONG - 101, 0);
      CHECK_NEAR(twice[i], 2 * (i * LONG - 100), 0);
      CHECK_NEAR(sums[i], i == 0 ? LONG - 201 : LONG, 0);  // 100 elements below 0, and one that is 0
    }
  } else {
    CHECK_STATUS(status, TSR_ERR_UNSUPPORTED);  // a device without kernels
  }
  CHECK_OK(tsr_scope_end(scope));
}

TEST(few_long_rows_in_pieces_have_a_result_each) { test_on_every_device(reduce_long_rows); }

static tsr_tensor *odd_rows(tsr_tensor *x) {
  return tsr_neg(tsr_slice(x, 1, 0, COLS - 1, 1));  // 499 elements: row offsets are not multiples of 256 bytes
}

TEST(rows_whose_results_no_binding_begins_at_are_the_same) {
  static float values[ROWS * (COLS - 1)];
  tsr_device *device = test_open("cpu");
  device->limits.max_binding_bytes = 8 << 10;  // four rows
  device->limits.binding_alignment = 256;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_reshape(tsr_arange(device, TSR_F32, 0, COUNT, 1), TSR_SHAPE(ROWS, COLS));
  CHECK_OK(tsr_read(odd_rows(x), values, sizeof values));
  for (int i = 0; i < ROWS * (COLS - 1); i++) {
    CHECK_NEAR(values[i], -(i / (COLS - 1) * COLS + i % (COLS - 1)), 0);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(what_cannot_be_done_in_pieces_says_how_much_is_seen_at_once) {
  tsr_device *device = test_open("cpu");
  device->limits.max_binding_bytes = SEEN_BYTES;
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(ROWS, COLS), 1), *doubled = tsr_mul_scalar(x, 2);
  tsr_tensor *y = tsr_rms_norm(doubled, NULL, 1e-5);  // with a multiplication on the way into it, a kernel
  tsr_tensor *first = tsr_argmax(x, (int[]){0}, 1, false);
  static float values[COUNT];
  static int32_t places[COLS];
  CHECK_STATUS(tsr_read(y, values, sizeof values), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("187.5 KiB");
  CHECK_LAST_ERROR_HAS("sees 64.0 KiB at once");
  CHECK_STATUS(tsr_read(first, places, sizeof places), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("argmax: an input lies too far apart");
  tsr_release(first);
  tsr_release(y);
  tsr_release(doubled);
  tsr_release(x);
  tsr_device_release(device);
}
