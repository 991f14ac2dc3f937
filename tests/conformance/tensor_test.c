// SPDX-License-Identifier: MIT
// Tensors on every device: creating, viewing, moving, reading, writing.
#include <tessera/tensor.h>

#include "support/devices.h"
#include "support/test.h"

static void creation_gives_what_it_says(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  int16_t shorts[6];
  CHECK_OK(tsr_read(tsr_full(device, TSR_I16, TSR_SHAPE(2, 3), -7.9), shorts, sizeof shorts));
  for (int i = 0; i < 6; i++) CHECK_EQ_INT(shorts[i], -7);
  uint16_t halves[2];
  CHECK_OK(tsr_read(tsr_ones(device, TSR_F16, TSR_SHAPE(2)), halves, sizeof halves));
  CHECK_EQ_UINT(halves[1], 0x3C00);
  CHECK_OK(tsr_read(tsr_ones(device, TSR_BF16, TSR_SHAPE(2)), halves, sizeof halves));
  CHECK_EQ_UINT(halves[0], 0x3F80);
  int64_t wide = 0;
  CHECK_OK(tsr_read(tsr_full_int(device, TSR_I64, TSR_SCALAR, INT64_MAX - 1), &wide, sizeof wide));
  CHECK_EQ_INT(wide, INT64_MAX - 1);
  float steps[5];
  CHECK_OK(tsr_read(tsr_arange(device, TSR_F32, 1, -1, -0.4), steps, sizeof steps));
  for (int i = 0; i < 5; i++) CHECK_NEAR(steps[i], 1 - 0.4 * i, 1e-7);
  CHECK_EQ_INT(tsr_tensor_count(tsr_arange(device, TSR_F32, 5, 1, 1)), 0);
  int32_t many[3000];
  CHECK_OK(tsr_read(tsr_arange(device, TSR_I32, 0, 3000, 1), many, sizeof many));
  for (int i = 0; i < 3000; i++) CHECK_EQ_INT(many[i], i);
  uint8_t truth[4];
  CHECK_OK(tsr_read(tsr_full(device, TSR_BOOL, TSR_SHAPE(4), 0.25), truth, sizeof truth));
  CHECK_EQ_INT(truth[3], 1);
  CHECK_OK(tsr_scope_end(scope));
}
TEST(creation_gives_what_it_says_on_every_device) { test_on_every_device(creation_gives_what_it_says); }

static void eye_puts_ones_on_its_diagonal(tsr_device *device) {
  for (int64_t diagonal = -6; diagonal <= 6; diagonal++) {
    float values[4 * 5];
    tsr_tensor *eye = tsr_eye(device, TSR_F32, 4, 5, diagonal);
    CHECK_OK(tsr_read(eye, values, sizeof values));
    for (int row = 0; row < 4; row++) {
      for (int col = 0; col < 5; col++) CHECK(values[row * 5 + col] == (col - row == diagonal ? 1.0f : 0.0f));
    }
    tsr_release(eye);
  }
  tsr_tensor *far = tsr_eye(device, TSR_F32, 2, 2, INT64_MIN), *empty = tsr_eye(device, TSR_F32, 0, 3, 0);
  float values[4] = {1, 1, 1, 1};
  CHECK_OK(tsr_read(far, values, sizeof values));
  CHECK(values[0] == 0 && values[3] == 0);
  CHECK_OK(tsr_error(empty));
  tsr_tensor *wrong = tsr_eye(device, TSR_F32, INT64_MIN, 2, -1), *wide = tsr_eye(device, TSR_F32, 1, 2, INT64_MAX);
  CHECK_STATUS(tsr_error(wrong), TSR_ERR_SHAPE);
  CHECK_OK(tsr_error(wide));
  tsr_release(wrong);
  tsr_release(wide);
  tsr_release(far);
  tsr_release(empty);
}
TEST(eye_puts_ones_on_its_diagonal_on_every_device) { test_on_every_device(eye_puts_ones_on_its_diagonal); }

static void views_read_and_write_through(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *base = tsr_reshape(tsr_arange(device, TSR_I32, 0, 24, 1), TSR_SHAPE(2, 3, 4));
  tsr_tensor *view = tsr_flip(tsr_slice(tsr_transpose(base, 0, 2), 0, 1, TSR_END, 2), 1);  // 2x3x2
  CHECK(tsr_tensor_shares_memory(base, view));
  CHECK(!tsr_tensor_is_contiguous(view));
  int32_t values[12];
  CHECK_OK(tsr_read(view, values, sizeof values));
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 3; j++) {
      for (int k = 0; k < 2; k++) CHECK_EQ_INT(values[(i * 3 + j) * 2 + k], k * 12 + (2 - j) * 4 + (1 + 2 * i));
    }
  }
  for (int i = 0; i < 12; i++) values[i] = 1000 + i;
  CHECK_OK(tsr_write(view, values, sizeof values));
  int32_t all[24], again[12];
  CHECK_OK(tsr_read(base, all, sizeof all));
  for (int i = 0; i < 24; i++) CHECK((i % 4 % 2 == 1) == (all[i] >= 1000));
  CHECK_OK(tsr_read(view, again, sizeof again));
  CHECK_BYTES(again, values, sizeof values);

  tsr_tensor *packed = tsr_contiguous(view), *flat = tsr_reshape(view, TSR_SHAPE(-1));
  CHECK(!tsr_tensor_shares_memory(packed, view) && tsr_tensor_is_contiguous(packed));
  CHECK(!tsr_tensor_shares_memory(flat, view));
  CHECK_OK(tsr_read(packed, again, sizeof again));
  CHECK_BYTES(again, values, sizeof values);
  CHECK_OK(tsr_read(flat, again, sizeof again));
  CHECK_BYTES(again, values, sizeof values);
  CHECK(tsr_tensor_shares_memory(tsr_contiguous(base), base));

  tsr_tensor *wide = tsr_expand(tsr_slice(base, 0, 0, 1, 1), TSR_SHAPE(2, -1, -1));
  CHECK_STATUS(tsr_write(wide, all, sizeof all), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("repeats elements");
  CHECK_OK(tsr_read(wide, all, sizeof all));
  CHECK_BYTES(all, all + 12, 48);
  CHECK_OK(tsr_scope_end(scope));
}
TEST(views_read_and_write_through_on_every_device) { test_on_every_device(views_read_and_write_through); }

static void empty_tensors_work(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *empty = tsr_zeros(device, TSR_F64, TSR_SHAPE(3, 0, 2));
  CHECK_OK(tsr_read(empty, NULL, 0));
  CHECK_OK(tsr_write(empty, NULL, 0));
  CHECK_OK(tsr_error(tsr_contiguous(tsr_transpose(empty, 0, 2))));
  CHECK_OK(tsr_error(tsr_reshape(empty, TSR_SHAPE(0, 7))));
  CHECK_OK(tsr_error(tsr_flip(tsr_to(empty, device), 1)));
  CHECK_OK(tsr_error(tsr_from_data(device, TSR_F32, TSR_SHAPE(0), NULL, 0)));
  bool is_equal = false;
  CHECK_OK(tsr_equal(empty, empty, &is_equal));
  CHECK(is_equal);
  CHECK_OK(tsr_scope_end(scope));
}
TEST(empty_tensors_work_on_every_device) { test_on_every_device(empty_tensors_work); }

TEST(tensors_move_between_any_two_devices) {
  enum { MOST = 16 };
  tsr_device *devices[MOST];
  int count = test_open_all(devices, MOST);
  tsr_scope *scope = tsr_scope_begin(NULL);
  for (int i = 0; i < count; i++) {
    tsr_tensor *base = tsr_reshape(tsr_arange(devices[i], TSR_F32, 0, 35, 1), TSR_SHAPE(5, 7));
    tsr_tensor *view = tsr_transpose(tsr_slice(base, 1, 5, 0, -2), 0, 1);
    for (int j = 0; j < count; j++) {
      tsr_tensor *moved = tsr_to(view, devices[j]);
      CHECK(tsr_tensor_device(moved) == devices[j]);
      CHECK(tsr_tensor_shares_memory(moved, view) == (i == j));
      bool is_equal = false;
      CHECK_OK(tsr_equal(moved, view, &is_equal));
      CHECK(is_equal);
    }
  }
  CHECK_OK(tsr_scope_end(scope));
  for (int i = 0; i < count; i++) tsr_device_release(devices[i]);
}

TEST(inputs_on_two_devices_meet_on_the_more_compatible_one) {
  tsr_device *cpu = test_open("cpu"), *null = test_open("null");
  tsr_scope *scope = tsr_scope_begin(NULL);
  tsr_tensor *a = tsr_ones(cpu, TSR_F32, TSR_SHAPE(4)), *b = tsr_ones(null, TSR_F32, TSR_SHAPE(4));
  bool is_equal = false;
  CHECK_OK(tsr_equal(a, b, &is_equal));
  CHECK(is_equal);
  tsr_device_counters on_cpu, on_null;
  CHECK_OK(tsr_device_get_counters(cpu, &on_cpu));
  CHECK_OK(tsr_device_get_counters(null, &on_null));
  CHECK_EQ_UINT(on_cpu.implicit_moves, 0);  // null stands after cpu in the list
  CHECK_EQ_UINT(on_null.implicit_moves, 1);
  CHECK_EQ_UINT(on_null.explicit_moves, 0);  // a move is one or the other
  CHECK_OK(tsr_error(tsr_to(a, null)));
  CHECK_OK(tsr_device_get_counters(null, &on_null));
  CHECK_EQ_UINT(on_null.explicit_moves, 1);
  CHECK_EQ_UINT(on_null.implicit_moves, 1);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
  tsr_device_release(null);

  CHECK_OK(tsr_config_set("mix", "error"));
  cpu = test_open("cpu");
  null = test_open("null");
  CHECK_OK(tsr_config_set("mix", NULL));
  scope = tsr_scope_begin(NULL);
  a = tsr_ones(cpu, TSR_F32, TSR_SHAPE(4)), b = tsr_ones(null, TSR_F32, TSR_SHAPE(4));
  CHECK_STATUS(tsr_equal(a, b, &is_equal), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("tsr_to");
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
  tsr_device_release(null);
}

TEST(falling_back_to_the_host_is_counted_and_refused_when_strict) {
  tsr_device *device = test_open("null");
  tsr_tensor *base = tsr_zeros(device, TSR_F32, TSR_SHAPE(3, 4)), *view = tsr_transpose(base, 0, 1);
  tsr_tensor *packed = tsr_contiguous(view);
  CHECK_OK(tsr_error(packed));
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(device, &counters));
  CHECK_EQ_UINT(counters.fallbacks, 0);  // recorded, not run
  CHECK_OK(tsr_evaluate(packed));
  CHECK_OK(tsr_device_get_counters(device, &counters));
  CHECK_EQ_UINT(counters.fallbacks, 1);
  tsr_release(packed);
  tsr_release(view);
  tsr_release(base);
  tsr_device_release(device);

  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "null", .strict = TSR_ON}, &device));
  base = tsr_zeros(device, TSR_F32, TSR_SHAPE(3, 4));
  view = tsr_transpose(base, 0, 1);
  packed = tsr_contiguous(view);
  CHECK_STATUS(tsr_evaluate(packed), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("strict");
  tsr_release(packed);
  tsr_release(view);
  tsr_release(base);
  tsr_device_release(device);
}

TEST(equality_follows_values_not_bits) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  float zeros[2] = {0.0f, -0.0f}, nan = 0.0f / (zeros[0] * 1.0f);
  bool is_equal = false;
  tsr_tensor *a = tsr_from_data(device, TSR_F32, TSR_SHAPE(1), &zeros[0], 4);
  tsr_tensor *b = tsr_from_data(device, TSR_F32, TSR_SHAPE(1), &zeros[1], 4);
  tsr_tensor *c = tsr_from_data(device, TSR_F32, TSR_SHAPE(1), &nan, 4);
  CHECK_OK(tsr_equal(a, b, &is_equal));
  CHECK(is_equal);
  CHECK_OK(tsr_equal(c, c, &is_equal));
  CHECK(!is_equal);
  CHECK_OK(tsr_equal(a, tsr_zeros(device, TSR_F64, TSR_SHAPE(1)), &is_equal));
  CHECK(!is_equal);
  CHECK_OK(tsr_equal(a, tsr_zeros(device, TSR_F32, TSR_SHAPE(1, 1)), &is_equal));
  CHECK(!is_equal);
  CHECK_STATUS(tsr_equal(a, b, NULL), TSR_ERR_INVALID_ARGUMENT);
  uint8_t truths[2] = {1, 2};  // both mean true
  tsr_tensor *one = tsr_from_data(device, TSR_BOOL, TSR_SHAPE(1), &truths[0], 1);
  CHECK_OK(tsr_equal(one, tsr_from_data(device, TSR_BOOL, TSR_SHAPE(1), &truths[1], 1), &is_equal));
  CHECK(is_equal);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}
