// SPDX-License-Identifier: MIT
// Numbers that kernels have as parameters: what they cost, and that they are the numbers that were asked for in every dtype and use.
#include "graph/number.h"

#include <math.h>
#include <string.h>
#include <tessera/tessera.h>

#include "graph/node.h"
#include "support/devices.h"
#include "support/test.h"

static tsr_device_counters counters_of(tsr_device *device) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(device, &counters));
  return counters;
}

static void costs_no_launch_on(tsr_device *device) {
  if (!test_device_computes(device) || strcmp(device->backend->name, "cpu") == 0) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(3), (float[]){-1, 2, 5}, 12);
  CHECK_OK(tsr_evaluate(x));
  for (int i = 0; i < 3; i++) {  // planned at first, then from the launch caches
    tsr_device_counters before = counters_of(device);
    tsr_tensor *low = tsr_full(device, TSR_F32, TSR_SCALAR, i), *high = tsr_full(device, TSR_F32, TSR_SHAPE(1), 3);
    tsr_tensor *y = tsr_minimum(tsr_maximum(x, low), high);
    CHECK_OK(tsr_evaluate(y));
    tsr_device_counters after = counters_of(device);
    CHECK_EQ_UINT(after.launches - before.launches, 1);
    CHECK(tsri_pending_node(low->value) && tsri_pending_node(high->value));  // no memory was filled
    float found[3];
    CHECK_OK(tsr_read(y, found, sizeof found));
    CHECK(found[0] == (float)i && found[1] == 2 && found[2] == 3);
  }
  CHECK_OK(tsr_scope_end(scope));
}

TEST(a_number_that_a_kernel_reads_costs_no_launch) { test_on_every_device(costs_no_launch_on); }

// The number alone, and what is selected from it and another tensor, which no arithmetic changes.
static void check_number(tsr_device *device, tsr_dtype dtype, double value) {
  unsigned char wanted[8] = {0}, alone[8] = {0}, chosen[2][8] = {{0}};
  size_t bytes = tsr_dtype_bytes(dtype);
  if (!(device->limits.dtype_storage >> dtype & 1u)) return;
  CHECK_OK(tsr_convert(dtype, wanted, TSR_F64, &value, 1));
  tsr_tensor *number = tsr_full(device, dtype, TSR_SCALAR, value);
  tsr_tensor *truths = tsr_from_data(device, TSR_BOOL, TSR_SHAPE(2), (unsigned char[]){1, 0}, 2);
  tsr_tensor *both = tsr_where(truths, number, tsr_zeros(device, dtype, TSR_SHAPE(2)));
  unsigned char list[16];
  CHECK_OK(tsr_read(both, list, 2 * bytes));
  memcpy(chosen[0], list, bytes);
  memcpy(chosen[1], list + bytes, bytes);
  CHECK_OK(tsr_read(number, alone, bytes));
  CHECK_BYTES(alone, wanted, bytes);
  CHECK_BYTES(chosen[0], wanted, bytes);
  CHECK_BYTES(chosen[1], (unsigned char[8]){0}, bytes);
}

static void dtypes_on(tsr_device *device) {
  static const tsr_dtype dtypes[] = {TSR_BOOL, TSR_U8,  TSR_I8,  TSR_U16, TSR_I16,  TSR_U32,
                                     TSR_I32,  TSR_U64, TSR_I64, TSR_F16, TSR_BF16, TSR_F32};
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    check_number(device, dtypes[i], 1);
    if (dtypes[i] != TSR_BOOL) check_number(device, dtypes[i], 101);
    if (tsr_dtype_kind_of(dtypes[i]) == TSR_KIND_INT) check_number(device, dtypes[i], -77);
    if (tsr_dtype_kind_of(dtypes[i]) != TSR_KIND_FLOAT) continue;
    check_number(device, dtypes[i], 0.1);
    check_number(device, dtypes[i], INFINITY);
    check_number(device, dtypes[i], -INFINITY);
  }
  CHECK_OK(tsr_scope_end(scope));
}

TEST(numbers_have_the_bytes_of_their_dtype) { test_on_every_device(dtypes_on); }

static void rest_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  // What no f64 holds.
  int64_t whole = 0, large = INT64_C(9007199254740993);
  CHECK_OK(tsr_read(tsr_full_int(device, TSR_I64, TSR_SCALAR, large), &whole, sizeof whole));
  CHECK_EQ_INT(whole, large);
  // NaN; a product and a sum of numbers alone; a number that many kernels read.
  float found = 0, list[2];
  CHECK_OK(tsr_read(tsr_full(device, TSR_F32, TSR_SCALAR, NAN), &found, sizeof found));
  CHECK(isnan(found));
  tsr_tensor *two = tsr_full(device, TSR_F32, TSR_SHAPE(1, 1), 2), *x = tsr_ones(device, TSR_F32, TSR_SHAPE(2, 1));
  CHECK_OK(tsr_read(tsr_mul(two, tsr_add(two, two)), &found, sizeof found));
  CHECK_NEAR(found, 8, 0);
  CHECK_OK(tsr_read(tsr_matmul(tsr_mul(x, two), two), list, sizeof list));
  CHECK(list[0] == 4 && list[1] == 4);
  CHECK_OK(tsr_read(tsr_sum(tsr_add(tsr_softmax(tsr_add(x, two), 0), two), NULL, 0, false), &found, sizeof found));
  CHECK_NEAR(found, 5, 1e-6);
  // Written in place while pending, and read before and after.
  tsr_tensor *kept = tsr_add_scalar(two, 1);
  CHECK_OK(tsr_assign(two, tsr_mul_scalar(two, 5)));
  CHECK_OK(tsr_read(kept, &found, sizeof found));
  CHECK_NEAR(found, 3, 0);
  CHECK_OK(tsr_read(two, &found, sizeof found));
  CHECK_NEAR(found, 10, 0);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(numbers_can_be_read_combined_and_written) { test_on_every_device(rest_on); }

// A capture that reads a number from before it, and one from within it, and runs again after the first was written.
static void captured_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2), (float[]){1, 2}, 8);
  tsr_tensor *before = tsr_full(device, TSR_F32, TSR_SCALAR, 10);
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_add(tsr_mul(x, before), tsr_full(device, TSR_F32, TSR_SCALAR, 0.5));
  CHECK_OK(tsr_capture_end(&y, 1, &capture));
  float found[2];
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tsr_write(before, (float[]){(float)(10 + i)}, 4));
    CHECK_OK(tsr_capture_run(capture));
    CHECK_OK(tsr_read(y, found, sizeof found));
    CHECK(found[0] == (float)(10 + i) + 0.5f && found[1] == (float)(20 + 2 * i) + 0.5f);
  }
  tsr_capture_release(capture);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(captures_read_numbers_from_before_them) { test_on_every_device(captured_on); }

TEST(only_numbers_that_an_f64_holds_are_recorded) {
  double value = 0;
  int64_t large = INT64_C(9007199254740993), small = -5;
  CHECK(!tsri_number_fits(TSR_I64, (const unsigned char *)&large, &value));
  CHECK(tsri_number_fits(TSR_I64, (const unsigned char *)&small, &value));
  CHECK_NEAR(value, -5, 0);
  float minus_zero = -0.0f;
  CHECK(tsri_number_fits(TSR_F32, (const unsigned char *)&minus_zero, &value));
  CHECK(signbit(value));
}
