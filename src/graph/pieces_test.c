// SPDX-License-Identifier: MIT
// Tensors larger than what a kernel can see at once: work in pieces gives what work at once gives, or says why it cannot.
#include "runtime/device.h"
#include "support/devices.h"
#include "support/test.h"

enum { ROWS = 96, COLS = 500, COUNT = ROWS * COLS, SEEN_BYTES = 64 << 10 };  // 192 kB of f32

// Runs `make` on a device without and with the limit and compares the results bit by bit, or nearly for sums.
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
  return tsr_add(x, tsr_slice(x, 0, 3, 4, 1));  // one row for all of them
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
  compare(sum_all, 1, 64);  // of 4e9: half a step of f32 is 128
  compare(most_of_all, 1, 0);
  compare(sum_rows, ROWS, 0);
  compare(sum_columns, COLS, 0);
  compare(centred_columns, COLS, 8);
  compare(largest_in_rows, ROWS, 0);
}

TEST(what_cannot_be_done_in_pieces_says_how_much_is_seen_at_once) {
  tsr_device *device = test_open("cpu");
  device->limits.max_binding_bytes = SEEN_BYTES;
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(ROWS, COLS), 1), *y = tsr_softmax(x, -1);
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
  tsr_release(x);
  tsr_device_release(device);
}
