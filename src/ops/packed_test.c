// SPDX-License-Identifier: MIT
#include "ops/packed.h"

#include <math.h>
#include <tessera/tessera.h>

#include "ops/dlpack_abi.h"
#include "support/devices.h"
#include "support/test.h"

// 2 rows of 5 elements: -8 to -4, then 3 to 7.
static const uint8_t rows_i4[] = {0x98, 0xBA, 0x0C, 0x43, 0x65, 0x07};

static tsr_tensor *two_rows(tsr_device *device) {
  return tsr_from_data(device, TSR_I4, TSR_SHAPE(2, 5), rows_i4, sizeof rows_i4);
}

TEST(packed_elements_are_read_as_they_were_given) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = two_rows(device);
  uint8_t back[6];
  CHECK_OK(tsr_read(x, back, sizeof back));
  CHECK_BYTES(back, rows_i4, sizeof back);
  CHECK_EQ_INT(tsr_tensor_dtype(x), TSR_I4);
  CHECK_EQ_INT(tsr_tensor_count(x), 10);
  CHECK_EQ_INT(tsr_tensor_shape(x).dims[1], 5);
  CHECK_EQ_INT(tsr_tensor_stride(x, 0), 6);
  CHECK_EQ_INT(tsr_tensor_stride(x, 1), 1);
  CHECK_STATUS(tsr_read(x, back, 5), TSR_ERR_SHAPE);
  const uint8_t other[6] = {1, 2, 3, 4, 5, 6};
  CHECK_OK(tsr_write(x, other, sizeof other));
  CHECK_OK(tsr_read(x, back, sizeof back));
  CHECK_BYTES(back, other, sizeof back);
  tsr_release(x);
  tsr_device_release(device);
}

TEST(casts_from_packed_keep_values_and_casts_to_it_saturate_or_keep_low_bits) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  float values[10];
  CHECK_OK(tsr_read(tsr_cast(two_rows(device), TSR_F32), values, sizeof values));
  for (int i = 0; i < 10; i++) CHECK(values[i] == (float)(i < 5 ? i - 8 : i - 2));
  uint8_t bytes[6];
  CHECK_OK(tsr_read(tsr_cast(tsr_cast(two_rows(device), TSR_F32), TSR_I4), bytes, sizeof bytes));
  CHECK_BYTES(bytes, rows_i4, sizeof bytes);
  const float wild[] = {-100, 3.9f, NAN, -0.5f, 7.5f, INFINITY, -3.5f};
  const int8_t saturated[] = {-8, 3, 0, 0, 7, 7, -3}, above_zero[] = {0, 3, 0, 0, 7, 15, 0};
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(7), wild, sizeof wild);
  int8_t small[7];
  CHECK_OK(tsr_read(tsr_cast(tsr_cast(x, TSR_I4), TSR_I8), small, sizeof small));
  CHECK_BYTES(small, saturated, sizeof small);
  CHECK_OK(tsr_read(tsr_cast(tsr_cast(x, TSR_U4), TSR_I8), small, sizeof small));
  CHECK_BYTES(small, above_zero, sizeof small);
  int32_t numbers[4] = {17, -1, 8, 255}, back[4];
  tsr_tensor *whole = tsr_from_data(device, TSR_I32, TSR_SHAPE(4), numbers, sizeof numbers);
  CHECK_OK(tsr_read(tsr_cast(tsr_cast(whole, TSR_I4), TSR_I32), back, sizeof back));
  CHECK(back[0] == 1 && back[1] == -1 && back[2] == -8 && back[3] == -1);
  CHECK_OK(tsr_read(tsr_cast(tsr_cast(tsr_cast(whole, TSR_I4), TSR_U4), TSR_I32), back, sizeof back));
  CHECK(back[0] == 1 && back[1] == 15 && back[2] == 8 && back[3] == 15);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(the_host_converts_packed_elements_as_devices_do) {
  int8_t codes[16];
  uint8_t all[8] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE}, packed[8];
  CHECK_OK(tsr_convert(TSR_I8, codes, TSR_I4, all, 16));
  for (int i = 0; i < 16; i++) CHECK_EQ_INT(codes[i], i < 8 ? i : i - 16);
  CHECK_OK(tsr_convert(TSR_I4, packed, TSR_I8, codes, 16));
  CHECK_BYTES(packed, all, sizeof all);
  double reals[16];
  CHECK_OK(tsr_convert(TSR_F64, reals, TSR_U4, all, 15));
  for (int i = 0; i < 15; i++) CHECK(reals[i] == i);
  CHECK_OK(tsr_convert(TSR_U4, packed, TSR_F64, reals, 15));
  CHECK_BYTES(packed, all, 7);
  CHECK_EQ_UINT(packed[7], 0x0E);
  const double beyond[] = {-9, 8.5, NAN};
  CHECK_OK(tsr_convert(TSR_I4, packed, TSR_F64, beyond, 3));
  CHECK_EQ_UINT(packed[0], 0x78);
  CHECK_EQ_UINT(packed[1], 0);
  static double many[1001];
  static uint8_t small[501];
  for (int i = 0; i < 1001; i++) many[i] = i % 16;
  CHECK_OK(tsr_convert(TSR_U4, small, TSR_F64, many, 1001));
  for (int i = 0; i < 500; i++) CHECK_EQ_UINT(small[i], (unsigned)(2 * i % 16) | (unsigned)((2 * i + 1) % 16) << 4);
}

TEST(views_of_packed_tensors_begin_at_a_byte) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = two_rows(device);
  int32_t part[4];
  tsr_tensor *columns = tsr_slice(x, -1, 2, 4, 1), *row = tsr_slice(x, 0, 1, TSR_END, 1);
  CHECK(tsr_tensor_shares_memory(x, columns));
  CHECK_OK(tsr_read(tsr_cast(columns, TSR_I32), part, sizeof part));
  CHECK(part[0] == -6 && part[1] == -5 && part[2] == 5 && part[3] == 6);
  float values[5];
  CHECK_OK(tsr_read(tsr_cast(row, TSR_F32), values, sizeof values));
  CHECK(values[0] == 3 && values[4] == 7);
  tsr_tensor *odd = tsr_slice(x, 1, 1, 3, 1), *gaps = tsr_slice(x, 1, 0, TSR_END, 2);
  CHECK_STATUS(tsr_error(odd), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("begins at an even element");
  CHECK_STATUS(tsr_error(gaps), TSR_ERR_UNSUPPORTED);
  CHECK_STATUS(tsr_error(tsr_slice(x, 2, 0, 1, 1)), TSR_ERR_SHAPE);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(other_operators_ask_for_a_cast) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = two_rows(device), *y = tsr_ones(device, TSR_F32, TSR_SHAPE(2, 5));
  tsr_tensor *refused[] = {tsr_add(x, y),
                           tsr_add(y, x),
                           tsr_neg(x),
                           tsr_sum(x, NULL, 0, false),
                           tsr_matmul(x, y),
                           tsr_reshape(x, TSR_SHAPE(10)),
                           tsr_transpose(x, 0, 1),
                           tsr_sort(x, 0, false),
                           tsr_concat((tsr_tensor *[]){y, x}, 2, 0),
                           tsr_bit_cast(x, TSR_U8),
                           tsr_arange(device, TSR_I4, 0, 4, 1),
                           tsr_rand(device, TSR_U4, TSR_SHAPE(3), 1),
                           tsr_randint(device, TSR_U4, TSR_SHAPE(3), 0, 4, 1),
                           tsr_eye(device, TSR_I4, 2, 2, 0),
                           tsr_bit_cast(y, TSR_I4)};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    CHECK_STATUS(tsr_error(refused[i]), TSR_ERR_DTYPE);
    CHECK_LAST_ERROR_HAS("tsr_cast");
  }
  CHECK_STATUS(tsr_assign(y, x), TSR_ERR_DTYPE);
  CHECK_STATUS(tsr_error(tsr_from_data(device, TSR_I4, TSR_SCALAR, rows_i4, 1)), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_error(tsr_cast(tsr_ones(device, TSR_F32, TSR_SCALAR), TSR_U4)), TSR_ERR_SHAPE);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(packed_tensors_are_filled_printed_and_moved) {
  tsr_device *device = test_open("cpu"), *null = test_open("null");
  tsr_scope *scope = tsr_scope_begin(device);
  char text[200];
  CHECK_OK(tsr_format(two_rows(device), text, sizeof text, NULL));
  CHECK_STR(text, "[[-8 -7 -6 -5 -4]\n [ 3  4  5  6  7]]\ni4 2x5 on cpu\n");
  uint8_t bytes[2];
  CHECK_OK(tsr_read(tsr_full(device, TSR_I4, TSR_SHAPE(3), -2), bytes, sizeof bytes));
  CHECK(bytes[0] == 0xEE && bytes[1] == 0xEE);
  CHECK_OK(tsr_read(tsr_zeros(device, TSR_U4, TSR_SHAPE(3)), bytes, sizeof bytes));
  CHECK(bytes[0] == 0 && bytes[1] == 0);
  tsr_tensor *there = tsr_to(two_rows(device), null);
  CHECK_OK(tsr_error(there));
  CHECK_EQ_INT(tsr_tensor_dtype(there), TSR_I4);
  uint8_t back[6];
  CHECK_OK(tsr_read(tsr_to(there, device), back, sizeof back));
  CHECK_BYTES(back, rows_i4, sizeof back);
  CHECK(tsr_device_has_dtype(device, TSR_I4));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
  tsr_device_release(null);
}

TEST(dlpack_carries_packed_rows) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = two_rows(device), *back = NULL;
  struct DLManagedTensor *managed = NULL;
  CHECK_OK(tsr_to_dlpack(x, &managed));
  CHECK_EQ_INT(managed->tensor.dtype.code, DL_INT);
  CHECK_EQ_INT(managed->tensor.dtype.bits, 4);
  CHECK(managed->tensor.shape[0] == 2 && managed->tensor.shape[1] == 5);
  CHECK(managed->tensor.strides[0] == 6 && managed->tensor.strides[1] == 1);
  CHECK_OK(tsr_from_dlpack(device, managed, &back));
  CHECK_EQ_INT(tsr_tensor_dtype(back), TSR_I4);
  CHECK_EQ_INT(tsr_tensor_shape(back).dims[1], 5);
  uint8_t bytes[6];
  CHECK_OK(tsr_read(back, bytes, sizeof bytes));
  CHECK_BYTES(bytes, rows_i4, sizeof bytes);
  tsr_release(back);
  CHECK_OK(tsr_to_dlpack(x, &managed));
  managed->tensor.strides[0] = 5;  // the second row would begin inside a byte
  CHECK_STATUS(tsr_from_dlpack(device, managed, &back), TSR_ERR_UNSUPPORTED);
  managed->tensor.strides = NULL;
  CHECK_STATUS(tsr_from_dlpack(device, managed, &back), TSR_ERR_UNSUPPORTED);
  managed->deleter(managed);
  tsr_release(x);
  tsr_device_release(device);
}

static void packed_casts_work(tsr_device *device) {
  if (tsr_device_subgroup_size(device) == 0) return;
  tsr_scope *scope = tsr_scope_begin(device);
  uint8_t bytes[6];
  CHECK_OK(tsr_read(tsr_cast(tsr_cast(two_rows(device), TSR_F32), TSR_I4), bytes, sizeof bytes));
  CHECK_BYTES(bytes, rows_i4, sizeof bytes);
  CHECK_OK(tsr_scope_end(scope));
}
TEST(packed_casts_work_on_every_device) { test_on_every_device(packed_casts_work); }
