// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

#include "runtime/device.h"

// start + i * step computed on the host and converted: the contract of tsr_arange.
static void check_rule(tsr_tensor *is, tsr_dtype dtype, double start, double step, int64_t count, double last) {
  static unsigned char values[MOST_VALUES * 8], wanted[8];
  size_t element = tsr_dtype_bytes(dtype);
  CHECK(count <= MOST_VALUES);
  CHECK_OK(tsr_read(is, values, (size_t)count * element));
  for (int64_t i = 0; i < count; i++) {
    double product = (double)i * step, value = i + 1 == count ? last : start + product;
    CHECK_OK(tsr_convert(dtype, wanted, TSR_F64, &value, 1));
    CHECK_BYTES(values + (size_t)i * element, wanted, element);
  }
}

static void check_every_dtype(void) {
  for (int i = 0; i < TSR_DTYPE_COUNT; i++) {
    tsr_dtype dtype = (tsr_dtype)i;
    check_rule(tsr_arange(dev, dtype, -3.7, 100, 0.1), dtype, -3.7, 0.1, 1037, -3.7 + 1036 * 0.1);
    check_rule(tsr_arange(dev, dtype, 5, 125, 3), dtype, 5, 3, 40, 122);
    // Outside of u8: converted like tsr_convert does.
    check_rule(tsr_arange(dev, dtype, 250, -10, -7), dtype, 250, -7, 38, -9);
    double step = (70000.5 - 0.3) / 998;
    check_rule(tsr_linspace(dev, dtype, 0.3, 70000.5, 999), dtype, 0.3, step, 999, 70000.5);
  }
}

TEST(sequences_are_the_bits_that_f64_gives_on_the_host) {
  begin();
  check_every_dtype();
  finish();
}

TEST(sequences_are_the_same_bits_without_f64_on_the_device) {
  begin();
  dev->limits.dtype_arithmetic &= ~(1u << TSR_F64);
  check_every_dtype();
  finish();
}

TEST(sequences_are_the_same_bits_where_a_kernel_cannot_see_them_whole) {
  begin();
  dev->limits.max_binding_bytes = 512;
  check_every_dtype();
  finish();
}

TEST(arange_of_i64_is_exact_beyond_what_doubles_hold) {
  begin();
  const double start = 9007199254740992.0;  // 2^53: start + 1 is not a double
  int64_t values[6];
  CHECK_OK(tsr_read(tsr_arange(dev, TSR_I64, start, start + 6, 1), values, sizeof values));
  for (int i = 0; i < 6; i++) CHECK_EQ_INT(values[i], INT64_C(9007199254740992) + i);
  tsr_tensor *across = tsr_arange(dev, TSR_I64, -9223372036854775808.0, 9223372036854774784.0, 4611686018427387904.0);
  CHECK_EQ_INT(tsr_tensor_shape(across).dims[0], 4);
  CHECK_OK(tsr_read(across, values, 4 * sizeof values[0]));
  CHECK_EQ_INT(values[0], INT64_MIN);
  CHECK_EQ_INT(values[3], INT64_C(4611686018427387904));
  CHECK_STATUS(tsr_error(tsr_arange(dev, TSR_I64, -9223372036854775808.0, 9223372036854774784.0, 1)), TSR_ERR_SHAPE);
  finish();
}

TEST(a_sequence_takes_no_memory_before_it_runs) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .memory_limit = 1 << 20}, &device));
  tsr_tensor *made[] = {tsr_linspace(device, TSR_U8, 0, 255, 1 << 30), tsr_arange(device, TSR_U8, 0, 1 << 30, 1),
                        tsr_eye(device, TSR_U8, 1 << 15, 1 << 15, 0)};
  for (int i = 0; i < 3; i++) {
    CHECK_OK(tsr_error(made[i]));
    CHECK_STATUS(tsr_evaluate(made[i]), TSR_ERR_OUT_OF_MEMORY);
    tsr_release(made[i]);
  }
  tsr_device_release(device);
}

TEST(eye_has_its_diagonal_where_it_is_asked_for) {
  begin();
  CHECK_VALUES(tsr_eye(dev, TSR_F16, 2, 3, 0), TSR_F16, TSR_SHAPE(2, 3), 0, 1, 0, 0, 0, 1, 0);
  CHECK_VALUES(tsr_eye(dev, TSR_BOOL, 2, 3, 1), TSR_BOOL, TSR_SHAPE(2, 3), 0, 0, 1, 0, 0, 0, 1);
  CHECK_VALUES(tsr_eye(dev, TSR_I64, 3, 2, -1), TSR_I64, TSR_SHAPE(3, 2), 0, 0, 0, 1, 0, 0, 1);
  CHECK_VALUES(tsr_eye(dev, TSR_F32, 2, 2, -2), TSR_F32, TSR_SHAPE(2, 2), 0, 0, 0, 0, 0);
  CHECK_VALUES(tsr_eye(dev, TSR_F32, 2, 2, INT64_MIN), TSR_F32, TSR_SHAPE(2, 2), 0, 0, 0, 0, 0);
  dev->limits.max_group_size = 0;  // the device runs no kernels
  CHECK_VALUES(tsr_eye(dev, TSR_F16, 2, 3, 1), TSR_F16, TSR_SHAPE(2, 3), 0, 0, 1, 0, 0, 0, 1);
  CHECK_STATUS(tsr_error(tsr_eye(dev, TSR_F32, INT64_MAX, INT64_MAX, -5)), TSR_ERR_SHAPE);
  finish();
}
