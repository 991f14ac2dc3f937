// SPDX-License-Identifier: MIT
// u16, u64 and f8 on every device, compared with C's own arithmetic and with tsr_convert: kernels have none of these types
// (lang/lower/others.h), so what they are made of must behave as they do.
#include <tessera/kernel.h>
#include <tessera/ops.h>

#include <math.h>

#include "support/devices.h"
#include "support/test.h"

// The null backend runs none.
static bool runs_kernels(const tsr_device *device) { return tsr_device_subgroup_size(device) > 0; }

// --- u64 in kernels ----------------------------------------------------------------------------------------------------

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   10,
                                   63,
                                   64,
                                   255,
                                   65536,
                                   UINT64_C(0x7FFFFFFF),
                                   UINT64_C(0x80000000),
                                   UINT64_C(0xFFFFFFFF),
                                   UINT64_C(0x100000000),
                                   UINT64_C(0x123456789ABCDEF0),
                                   UINT64_C(0x7FFFFFFFFFFFFFFF),
                                   UINT64_C(0x8000000000000000),
                                   UINT64_C(0x8000000000000001),
                                   UINT64_C(0x80000000000004FF),
                                   UINT64_C(0x8000010000000001),
                                   UINT64_C(0xFEDCBA9876543210),
                                   UINT64_C(0xFFFFFFFF00000000),
                                   UINT64_C(0xFFFFFFFFFFFFFFFE),
                                   UINT64_MAX};
enum { NUMBERS = sizeof numbers / sizeof *numbers, PAIRS = NUMBERS * NUMBERS, RESULTS = 14 };

static const char u64_source[] =
    "kernel every<WG = 64>(in u64 a[], in u64 b[], out u64 y[], u32 n) {\n"
    "    u32 i = global.x;\n"
    "    if (i >= n) return;\n"
    "    u64 x = a[i], z = b[i];\n"
    "    u64x2 both = u64x2(x, z) / u64x2(z, x);\n"
    "    y[i * 14 + 0] = x / z;\n"
    "    y[i * 14 + 1] = x % z;\n"
    "    y[i * 14 + 2] = min(x, z);\n"
    "    y[i * 14 + 3] = max(x, z);\n"
    "    y[i * 14 + 4] = x >> u32(z);\n"
    "    y[i * 14 + 5] = x << u32(z);\n"
    "    y[i * 14 + 6] = u64(x < z) + u64(x <= z) * 2 + u64(x > z) * 4 + u64(x >= z) * 8 + u64(x == z) * 16 + u64(x != "
    "z) * 32;\n"
    "    y[i * 14 + 7] = x * z + popcount(x) - clz(z) + ctz(x ^ z);\n"
    "    y[i * 14 + 8] = u64(bitcast<u32>(f32(x)));\n"
    "    y[i * 14 + 9] = u64(f32(x)) ^ u64(f32(z) * 0.37);\n"
    "    y[i * 14 + 10] = both.y;\n"
    "    y[i * 14 + 11] = x > z ? x - z : z / 10 % 7;\n"
    "    y[i * 14 + 12] = u64(i32(x)) ^ u64(u16(x)) ^ u64(u8(z)) ^ u64(i64(x)) ^ u64(i8(z));\n"
    "    y[i * 14 + 13] = u64(bf16(x) > 1.0e19) + u64(f16(z) == 7.0) * 2 + u64(f8_e5m2(x) == 10.0) * 4;\n"
    "}\n";

static uint64_t to_u64(float value) {
  uint64_t out = 0;
  CHECK_OK(tsr_convert(TSR_U64, &out, TSR_F32, &value, 1));
  return out;
}

static uint64_t count_of(uint64_t x, bool from_above, bool all) {
  uint64_t count = 0;
  for (int i = 0; i < 64; i++) {
    bool is_set = x >> (from_above ? 63 - i : i) & 1;
    if (all) count += is_set;
    else if (is_set) return (uint64_t)i;
  }
  return all ? count : 64;
}

static float rounded(tsr_dtype dtype, uint64_t x) {
  unsigned char element[8];
  float value = 0;
  CHECK_OK(tsr_convert(dtype, element, TSR_U64, &x, 1));
  CHECK_OK(tsr_convert(TSR_F32, &value, dtype, element, 1));
  return value;
}

static void expect(uint64_t x, uint64_t z, uint64_t *y) {
  float single = (float)x;
  uint32_t bits = 0;
  memcpy(&bits, &single, sizeof bits);
  y[0] = z ? x / z : x;
  y[1] = z ? x % z : 0;
  y[2] = x < z ? x : z;
  y[3] = x < z ? z : x;
  y[4] = x >> (z & 63);
  y[5] = x << (z & 63);
  y[6] = (uint64_t)((x < z) + (x <= z) * 2 + (x > z) * 4 + (x >= z) * 8 + (x == z) * 16 + (x != z) * 32);
  y[7] = x * z + count_of(x, false, true) - count_of(z, true, false) + count_of(x ^ z, false, false);
  y[8] = bits;
  y[9] = to_u64((float)x) ^ to_u64((float)z * 0.37f);
  y[10] = x ? z / x : z;
  y[11] = x > z ? x - z : z / 10 % 7;
  y[12] =
      (uint64_t)(int64_t)(int32_t)(uint32_t)x ^ (uint16_t)x ^ (uint8_t)z ^ x ^ (uint64_t)(int64_t)(int8_t)(uint8_t)z;
  y[13] =
      (uint64_t)((rounded(TSR_BF16, x) > 1e19f) + (rounded(TSR_F16, z) == 7) * 2 + (rounded(TSR_F8_E5M2, x) == 10) * 4);
}

static void u64_computes_as_in_c(tsr_device *device) {
  if (!runs_kernels(device)) return;
  static uint64_t a[PAIRS], b[PAIRS], y[PAIRS * RESULTS];
  for (int i = 0; i < PAIRS; i++) {
    a[i] = numbers[i / NUMBERS];
    b[i] = numbers[i % NUMBERS];
  }
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = u64_source, .file_name = "u64.tk"}, &kernel));
  tsr_tensor *left = tsr_from_data(device, TSR_U64, TSR_SHAPE(PAIRS), a, sizeof a);
  tsr_tensor *right = tsr_from_data(device, TSR_U64, TSR_SHAPE(PAIRS), b, sizeof b);
  tsr_tensor *out = tsr_zeros(device, TSR_U64, TSR_SHAPE(PAIRS, RESULTS));
  tsr_arg args[] = {tsr_arg_tensor(left), tsr_arg_tensor(right), tsr_arg_tensor(out), tsr_arg_int(PAIRS)};
  CHECK_OK(tsr_kernel_launch(kernel, (tsr_grid){(PAIRS + 63) / 64, 1, 1}, args, 4));
  CHECK_OK(tsr_read(out, y, sizeof y));
  for (int i = 0; i < PAIRS; i++) {
    uint64_t wanted[RESULTS];
    expect(a[i], b[i], wanted);
    for (int k = 0; k < RESULTS; k++) {
      if (y[i * RESULTS + k] == wanted[k]) continue;
      test_fail(__FILE__, __LINE__, "result %d of %llx and %llx: %llx, not %llx", k, (unsigned long long)a[i],
                (unsigned long long)b[i], (unsigned long long)y[i * RESULTS + k], (unsigned long long)wanted[k]);
    }
  }
  tsr_release(left);
  tsr_release(right);
  tsr_release(out);
  tsr_kernel_release(kernel);
}
TEST(u64_computes_as_in_c_on_every_device) { test_on_every_device(u64_computes_as_in_c); }

// --- u64 in operators --------------------------------------------------------------------------------------------------

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void u64_is_ordered_beyond_i64(tsr_device *device) {
  if (!runs_kernels(device)) return;
  uint64_t given[NUMBERS], sorted[NUMBERS], is[NUMBERS], one[4];
  for (int i = 0; i < NUMBERS; i++) sorted[i] = given[i] = numbers[i * 7 % NUMBERS];
  qsort(sorted, NUMBERS, sizeof *sorted, compare_u64);
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, TSR_U64, TSR_SHAPE(NUMBERS), given, sizeof given);
  CHECK_OK(tsr_read(tsr_sort(x, 0, false), is, sizeof is));
  CHECK_BYTES(is, sorted, sizeof is);
  uint64_t sum = 0;
  for (int i = 0; i < NUMBERS; i++) sum += given[i];
  CHECK_OK(tsr_read(tsr_max(x, NULL, 0, false), &one[0], 8));
  CHECK_OK(tsr_read(tsr_min(tsr_slice(x, 0, 1, TSR_END, 1), NULL, 0, false), &one[1], 8));
  CHECK_OK(tsr_read(tsr_sum(x, NULL, 0, false), &one[2], 8));
  CHECK_OK(tsr_read(tsr_clamp(tsr_full(device, TSR_U64, TSR_SHAPE(1), INFINITY), 3, INFINITY), &one[3], 8));
  CHECK_EQ_UINT(one[0], UINT64_MAX);
  CHECK_EQ_UINT(one[1], sorted[1]);
  CHECK_EQ_UINT(one[2], sum);
  CHECK_EQ_UINT(one[3], UINT64_MAX);
  int32_t order[2];
  CHECK_OK(tsr_read(tsr_argmax(x, TSR_AXES(0), false), &order[0], 4));
  CHECK_OK(tsr_read(tsr_argmin(x, TSR_AXES(0), false), &order[1], 4));
  CHECK(given[order[0]] == UINT64_MAX && given[order[1]] == 0);
  tsr_tensor *largest = NULL, *at = NULL;
  CHECK_OK(tsr_cummax(x, 0, &largest, &at));
  CHECK_OK(tsr_read(largest, is, sizeof is));
  CHECK_EQ_UINT(is[NUMBERS - 1], UINT64_MAX);
  int64_t item = 1;
  CHECK_STATUS(tsr_item_int(tsr_max(x, NULL, 0, false), &item), TSR_ERR_DTYPE);
  CHECK_LAST_ERROR_HAS("18446744073709551615 does not fit int64_t");
  CHECK_EQ_INT(item, 0);
  CHECK_OK(tsr_scope_end(scope));
}
TEST(u64_is_ordered_beyond_i64_on_every_device) { test_on_every_device(u64_is_ordered_beyond_i64); }

// Such an index is out of range; as an i64 it would count from the end.
static void u64_indices_beyond_i64_are_out_of_range(tsr_device *device) {
  if (!runs_kernels(device)) return;
  const uint64_t indices[] = {UINT64_MAX, 1, UINT64_C(1) << 63};
  int32_t taken[3];
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_arange(device, TSR_I32, 5, 8, 1);
  tsr_tensor *at = tsr_from_data(device, TSR_U64, TSR_SHAPE(3), indices, sizeof indices);
  CHECK_OK(tsr_read(tsr_index_select(x, 0, at), taken, sizeof taken));
  CHECK(taken[0] == 0 && taken[1] == 6 && taken[2] == 0);
  CHECK_OK(tsr_read(tsr_gather_nd(x, tsr_reshape(at, TSR_SHAPE(3, 1))), taken, sizeof taken));
  CHECK(taken[0] == 0 && taken[1] == 6 && taken[2] == 0);
  CHECK_OK(tsr_scope_end(scope));
}
TEST(u64_indices_beyond_i64_are_out_of_range_on_every_device) {
  test_on_every_device(u64_indices_beyond_i64_are_out_of_range);
}

// --- f8 and u16 ----------------------------------------------------------------------------------------------------------

// Every code to f32 and back, and f32 numbers around every rounding boundary.
static void f8_converts_as_on_the_host(tsr_device *device, tsr_dtype dtype) {
  enum { COUNT = 128 * 5 };
  uint8_t codes[256], back[256], wanted_codes[COUNT], is_codes[COUNT];
  float floats[256], wanted[256], edges[COUNT];
  for (int i = 0; i < 256; i++) codes[i] = (uint8_t)i;
  CHECK_OK(tsr_convert(TSR_F32, wanted, dtype, codes, 256));
  for (int i = 0; i < 128; i++) {
    float low = isfinite(wanted[i]) ? wanted[i] : 1e30f,
          high = i < 127 && isfinite(wanted[i + 1]) ? wanted[i + 1] : 1e31f;
    float middle = low + (high - low) / 2;
    const float around[5] = {middle, nextafterf(middle, 0), -nextafterf(middle, INFINITY), low, -high};
    memcpy(&edges[5 * i], around, sizeof around);
  }
  edges[0] = INFINITY, edges[1] = -INFINITY, edges[2] = 464, edges[3] = 465, edges[4] = -61440;
  CHECK_OK(tsr_convert(dtype, wanted_codes, TSR_F32, edges, COUNT));
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, dtype, TSR_SHAPE(256), codes, sizeof codes), *wide = tsr_cast(x, TSR_F32);
  CHECK_OK(tsr_read(wide, floats, sizeof floats));
  CHECK_OK(tsr_read(tsr_cast(wide, dtype), back, sizeof back));
  for (int i = 0; i < 256; i++) {
    CHECK(isnan(wanted[i]) ? isnan(floats[i]) : memcmp(&floats[i], &wanted[i], 4) == 0);
    if (!isnan(wanted[i])) CHECK_EQ_UINT(back[i], codes[i]);
  }
  tsr_tensor *y = tsr_cast(tsr_from_data(device, TSR_F32, TSR_SHAPE(COUNT), edges, sizeof edges), dtype);
  CHECK_OK(tsr_read(y, is_codes, sizeof is_codes));
  for (int i = 0; i < COUNT; i++) {
    if (is_codes[i] != wanted_codes[i]) {
      test_fail(__FILE__, __LINE__, "%s of %a: %02x, not %02x", tsr_dtype_name(dtype), (double)edges[i], is_codes[i],
                wanted_codes[i]);
    }
  }
  CHECK_OK(tsr_scope_end(scope));
}

static void both_f8_convert_as_on_the_host(tsr_device *device) {
  if (!runs_kernels(device)) return;
  f8_converts_as_on_the_host(device, TSR_F8_E4M3);
  f8_converts_as_on_the_host(device, TSR_F8_E5M2);
}
TEST(f8_converts_as_on_the_host_on_every_device) { test_on_every_device(both_f8_convert_as_on_the_host); }

static void f8_rounds_f64_once(tsr_device *device) {
  if (!runs_kernels(device) || !tsr_device_has_dtype(device, TSR_F64)) return;
  const double values[] = {1.0625 + 1e-12, 1.0625 - 1e-12,        1.0625, 464 + 1e-10,
                           -1e300,         0x1p-10 * (1 + 1e-12), 1e-310, NAN};
  uint8_t wanted[8], is[8];
  CHECK_OK(tsr_convert(TSR_F8_E4M3, wanted, TSR_F64, values, 8));
  tsr_tensor *x = tsr_from_data(device, TSR_F64, TSR_SHAPE(8), values, sizeof values), *y = tsr_cast(x, TSR_F8_E4M3);
  CHECK_OK(tsr_read(y, is, sizeof is));
  for (int i = 0; i < 8; i++) CHECK_EQ_UINT(is[i] & (i == 7 ? 0x7F : 0xFF), wanted[i] & (i == 7 ? 0x7F : 0xFF));
  tsr_release(x);
  tsr_release(y);
}
TEST(f8_rounds_f64_once_on_every_device) { test_on_every_device(f8_rounds_f64_once); }

static void u16_wraps_and_saturates(tsr_device *device) {
  if (!runs_kernels(device)) return;
  const uint16_t values[] = {0, 1, 32767, 32768, 65535};
  const float floats[] = {-3, 65535.5f, 1e9f, 40000.7f, NAN};
  const uint16_t saturated[] = {0, 65535, 65535, 40000, 0};
  uint16_t is[5];
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, TSR_U16, TSR_SHAPE(5), values, sizeof values);
  CHECK_OK(tsr_read(tsr_add(x, x), is, sizeof is));
  for (int i = 0; i < 5; i++) CHECK_EQ_UINT(is[i], (uint16_t)(values[i] + values[i]));
  CHECK_OK(tsr_read(tsr_sort(x, 0, true), is, sizeof is));
  for (int i = 0; i < 5; i++) CHECK_EQ_UINT(is[i], values[4 - i]);
  tsr_tensor *y = tsr_cast(tsr_from_data(device, TSR_F32, TSR_SHAPE(5), floats, sizeof floats), TSR_U16);
  CHECK_OK(tsr_read(y, is, sizeof is));
  CHECK_BYTES(is, saturated, sizeof is);
  CHECK_OK(tsr_scope_end(scope));
}
TEST(u16_wraps_and_saturates_on_every_device) { test_on_every_device(u16_wraps_and_saturates); }
