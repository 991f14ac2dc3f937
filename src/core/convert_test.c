// SPDX-License-Identifier: MIT
// Conversions between element types: every f16 and bf16 number, and rounding compared with a slow reference without bit
// tricks, which searches a sorted list of all numbers of the type.
#include "core/convert.h"

#include <math.h>
#include <tessera/dtype.h>

#include "support/test.h"

// --- The reference ---------------------------------------------------------------------------------------------------

// All non-negative numbers of a 16-bit type in order: the index of a number is its bits. The last entry is infinity,
// with the value it would have if the exponents continued.
typedef struct number_list {
  double values[0x7F81];
  int infinity;
} number_list;

static void fill_list(number_list *list, int fraction_bits, int least_exponent, int infinity) {
  int per_exponent = 1 << fraction_bits;
  for (int i = 0; i <= infinity; i++) {
    int exponent = i / per_exponent, fraction = i % per_exponent;
    list->values[i] =
        exponent == 0 ? ldexp(fraction, least_exponent) : ldexp(per_exponent + fraction, least_exponent + exponent - 1);
  }
  list->infinity = infinity;
}

static const number_list *f16_list(void) {
  static number_list list;
  if (list.infinity == 0) fill_list(&list, 10, -24, 0x7C00);
  return &list;
}

static const number_list *bf16_list(void) {
  static number_list list;
  if (list.infinity == 0) fill_list(&list, 7, -133, 0x7F80);
  return &list;
}

static int place_below(const number_list *list, double value) {
  int low = 0, high = list->infinity;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (list->values[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

// The bits of the nearest number, and of the even one at a tie. The sum of two neighbours is exact.
static uint16_t reference(const number_list *list, double value) {
  int sign = signbit(value) ? 0x8000 : 0;
  double magnitude = fabs(value);
  int below = place_below(list, magnitude);
  if (below == list->infinity) return (uint16_t)(sign | below);
  double middle = (list->values[below] + list->values[below + 1]) / 2;
  bool is_up = magnitude > middle || (magnitude == middle && below % 2 == 1);
  return (uint16_t)(sign | (is_up ? below + 1 : below));
}

static uint64_t random_u64(void) {  // xorshift*: the same numbers in every run
  static uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * UINT64_C(0x2545F4914F6CDD1D);
}

static float f32_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double f64_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static bool is_nan_16(uint16_t bits, uint16_t infinity) { return (bits & 0x7FFF) > infinity; }

static void check_f32(float value) {
  if (isnan(value)) {
    CHECK(is_nan_16(tsri_f32_to_f16(value), 0x7C00) && is_nan_16(tsri_f32_to_bf16(value), 0x7F80));
    return;
  }
  uint16_t half = reference(f16_list(), value), brain = reference(bf16_list(), value);
  if (tsri_f32_to_f16(value) != half || tsri_f32_to_bf16(value) != brain) {
    test_fail(__FILE__, __LINE__, "f32 %a: f16 %04x not %04x, bf16 %04x not %04x", (double)value,
              tsri_f32_to_f16(value), half, tsri_f32_to_bf16(value), brain);
  }
}

static void check_f64(double value) {
  if (isnan(value)) {
    CHECK(is_nan_16(tsri_f64_to_f16(value), 0x7C00) && is_nan_16(tsri_f64_to_bf16(value), 0x7F80));
    return;
  }
  uint16_t half = reference(f16_list(), value), brain = reference(bf16_list(), value);
  if (tsri_f64_to_f16(value) != half || tsri_f64_to_bf16(value) != brain) {
    test_fail(__FILE__, __LINE__, "f64 %a: f16 %04x not %04x, bf16 %04x not %04x", value, tsri_f64_to_f16(value), half,
              tsri_f64_to_bf16(value), brain);
  }
}

// --- Single elements -------------------------------------------------------------------------------------------------

TEST(every_f16_widens_exactly_and_comes_back) {
  for (int bits = 0; bits <= 0xFFFF; bits++) {
    uint16_t half = (uint16_t)bits;
    float wide = tsri_f16_to_f32(half);
    if (is_nan_16(half, 0x7C00)) {
      CHECK(isnan(wide) && is_nan_16(tsri_f32_to_f16(wide), 0x7C00) && is_nan_16(tsri_f64_to_f16(wide), 0x7C00));
      continue;
    }
    int place = bits & 0x7FFF;
    CHECK(place == 0x7C00 ? isinf(wide) : fabsf(wide) == f16_list()->values[place]);
    CHECK_EQ_INT(signbit(wide) != 0, bits >> 15);
    CHECK_EQ_UINT(tsri_f32_to_f16(wide), half);
    CHECK_EQ_UINT(tsri_f64_to_f16(wide), half);
  }
}

TEST(every_bf16_widens_exactly_and_comes_back) {
  for (int bits = 0; bits <= 0xFFFF; bits++) {
    uint16_t brain = (uint16_t)bits;
    float wide = tsri_bf16_to_f32(brain);
    if (is_nan_16(brain, 0x7F80)) {
      CHECK(isnan(wide) && is_nan_16(tsri_f32_to_bf16(wide), 0x7F80) && is_nan_16(tsri_f64_to_bf16(wide), 0x7F80));
      continue;
    }
    int place = bits & 0x7FFF;
    CHECK(place == 0x7F80 ? isinf(wide) : fabsf(wide) == bf16_list()->values[place]);
    CHECK_EQ_INT(signbit(wide) != 0, bits >> 15);
    CHECK_EQ_UINT(tsri_f32_to_bf16(wide), brain);
    CHECK_EQ_UINT(tsri_f64_to_bf16(wide), brain);
  }
}

// The first, middle and last values of the dropped bits, and their neighbours.
TEST(f32_rounds_as_the_reference_at_every_exponent) {
  static const uint32_t fractions[] = {0,        1,        0x0FFF,   0x1000,   0x1001,   0x1FFF,   0x2000,
                                       0x3000,   0x7FFF,   0x8000,   0x8001,   0xFFFF,   0x10000,  0x17FFF,
                                       0x18000,  0x18001,  0x3FFFFF, 0x400000, 0x400001, 0x7FEFFF, 0x7FF000,
                                       0x7FF001, 0x7F7FFF, 0x7F8000, 0x7F8001, 0x7FFFFF};
  for (uint32_t sign_exponent = 0; sign_exponent < 512; sign_exponent++) {
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
      check_f32(f32_of(sign_exponent << 23 | fractions[i]));
    }
  }
}

TEST(f32_subnormals_of_f16_round_at_every_tie) {
  for (int place = 0; place < 0x800; place++) {
    float tie = (float)((f16_list()->values[place] + f16_list()->values[place + 1]) / 2);
    check_f32(tie);
    check_f32(nextafterf(tie, 0));
    check_f32(nextafterf(tie, 1));
    check_f32(-tie);
  }
}

TEST(f32_rounds_as_the_reference_on_random_bits) {
  for (int i = 0; i < 1000000; i++) check_f32(f32_of((uint32_t)(random_u64() >> 32)));
  for (int i = 0; i < 500000; i++) {  // most random bits are outside of f16's range; these are not
    uint64_t bits = random_u64();
    check_f32(ldexpf((float)(bits & 0xFFFFFF), (int)(bits >> 24) % 48 - 48));
  }
}

// Numbers above and below each tie by less than an f32 can represent: rounding to f32 first would give wrong results.
TEST(f64_rounds_once) {
  static const int steps[] = {1, 7, 64};
  for (int place = 0; place < 0x7C00; place += steps[place % 3]) {
    double tie = (f16_list()->values[place] + f16_list()->values[place + 1]) / 2;
    check_f64(tie), check_f64(-tie), check_f64(nextafter(tie, 0)), check_f64(nextafter(tie, INFINITY));
  }
  for (int place = 0; place < 0x7F80; place += steps[place % 3]) {
    double tie = (bf16_list()->values[place] + bf16_list()->values[place + 1]) / 2;
    check_f64(tie), check_f64(-tie), check_f64(nextafter(tie, 0)), check_f64(nextafter(tie, INFINITY));
  }
  CHECK_EQ_UINT(tsri_f64_to_f16(1 + 0x1p-11), 0x3C00);
  CHECK_EQ_UINT(tsri_f64_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3C01);
  CHECK_EQ_UINT(tsri_f32_to_f16((float)(1 + 0x1p-11 + 0x1p-40)), 0x3C00);  // the result of rounding twice
  CHECK_EQ_UINT(tsri_f64_to_bf16(1 + 0x1p-8 + 0x1p-50), 0x3F81);
}

TEST(f64_rounds_as_the_reference_at_every_exponent) {
  static const uint64_t fractions[] = {0,
                                       1,
                                       UINT64_C(0x20000000000),
                                       UINT64_C(0x20000000001),
                                       UINT64_C(0x60000000000),
                                       UINT64_C(0x100000000000),
                                       UINT64_C(0x100000000001),
                                       UINT64_C(0x300000000000),
                                       UINT64_C(0xFFE0000000000),
                                       UINT64_C(0xFFEFFFFFFFFFF),
                                       UINT64_C(0xFF00000000000),
                                       UINT64_C(0xFFFFFFFFFFFFF)};
  for (uint64_t sign_exponent = 0; sign_exponent < 4096; sign_exponent++) {
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
      check_f64(f64_of(sign_exponent << 52 | fractions[i]));
    }
  }
  for (int i = 0; i < 200000; i++) check_f64(ldexp((double)(int64_t)random_u64(), (int)(random_u64() % 320) - 220));
}

#if defined(__FLT16_MAX__)
static uint16_t bits_of_half(_Float16 half) {
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
}

TEST(f16_agrees_with_the_compilers_own) {
  for (int i = 0; i < 300000; i++) {
    float value = f32_of((uint32_t)(random_u64() >> 32));
    double wide = ldexp((double)(int64_t)random_u64(), (int)(random_u64() % 48) - 90);
    if (!isnan(value)) CHECK_EQ_UINT(tsri_f32_to_f16(value), bits_of_half((_Float16)value));
    CHECK_EQ_UINT(tsri_f64_to_f16(wide), bits_of_half((_Float16)wide));
  }
}
#endif

// As above, for an integer, which a double may not hold exactly from 2^53 on; the numbers around it are then integers
// too. (long double could hold it, but not under valgrind.)
static uint16_t reference_int(const number_list *list, int64_t value) {
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  int below = place_below(list, (double)magnitude);
  if (magnitude >> 53 == 0 || below == list->infinity) return reference(list, (double)value);
  while ((uint64_t)list->values[below] > magnitude) below--;
  uint64_t down = magnitude - (uint64_t)list->values[below], up = (uint64_t)list->values[below + 1] - magnitude;
  bool is_up = down > up || (down == up && below % 2 == 1);
  return (uint16_t)((value < 0 ? 0x8000 : 0) | (is_up ? below + 1 : below));
}

static void check_i64(int64_t value) {
  uint16_t f16 = 0;
  CHECK_OK(tsr_convert(TSR_F16, &f16, TSR_I64, &value, 1));
  CHECK_EQ_UINT(f16, reference_int(f16_list(), value));
  CHECK_EQ_UINT(tsri_i64_to_bf16(value), reference_int(bf16_list(), value));
}

TEST(integers_round_once_to_the_narrow_floats) {
  for (int64_t i = -70000; i <= 70000; i++) check_i64(i);
  for (int shift = 8; shift < 63; shift++) {  // ties of bf16 at each magnitude, and their neighbours
    int64_t one = INT64_C(1) << shift, half = one >> 8;
    for (int64_t i = -2; i <= 2; i++)
      check_i64(one + half + i), check_i64(-one - half - i), check_i64(one + 3 * half + i);
  }
  for (int i = 0; i < 100000; i++) check_i64((int64_t)random_u64() >> (random_u64() % 60));
  check_i64(INT64_MAX), check_i64(INT64_MIN), check_i64(INT64_MIN + 1);
}

TEST(nan_keeps_its_sign_and_becomes_quiet) {
  CHECK_EQ_UINT(tsri_f32_to_f16(f32_of(0xFF800001)), 0xFE00);
  CHECK_EQ_UINT(tsri_f32_to_bf16(f32_of(0x7F800001)), 0x7FC0);
  CHECK_EQ_UINT(tsri_f64_to_f16(f64_of(UINT64_C(0xFFF8000000000000))), 0xFE00);
}

// --- Arrays ----------------------------------------------------------------------------------------------------------

static double converted(tsr_dtype dst, tsr_dtype src, double value) {
  unsigned char from[8], to[8];
  double back = 0;
  CHECK_OK(tsr_convert(src, from, TSR_F64, &value, 1));
  CHECK_OK(tsr_convert(dst, to, src, from, 1));
  CHECK_OK(tsr_convert(TSR_F64, &back, dst, to, 1));
  return back;
}

static int64_t converted_int(tsr_dtype dst, double value) {
  int64_t out = 0;
  unsigned char to[8];
  CHECK_OK(tsr_convert(dst, to, TSR_F64, &value, 1));
  CHECK_OK(tsr_convert(TSR_I64, &out, dst, to, 1));
  return out;
}

// 0, 1 and 96 exist in every dtype but bool, which converts 1 and 96 to 1.
TEST(every_pair_carries_small_numbers) {
  for (int src = 0; src < TSR_DTYPE_COUNT; src++) {
    for (int dst = 0; dst < TSR_DTYPE_COUNT; dst++) {
      double large = src == TSR_BOOL || dst == TSR_BOOL ? 1 : 96;
      CHECK_NEAR(converted((tsr_dtype)dst, (tsr_dtype)src, 0), 0, 0);
      CHECK_NEAR(converted((tsr_dtype)dst, (tsr_dtype)src, 1), 1, 0);
      CHECK_NEAR(converted((tsr_dtype)dst, (tsr_dtype)src, 96), large, 0);
    }
  }
}

// Blocks and their remainders: 1000 elements, at unaligned addresses.
TEST(every_pair_converts_long_unaligned_arrays) {
  enum { COUNT = 1000 };
  static unsigned char from[COUNT * 8 + 1], to[COUNT * 8 + 2], one[8];
  for (int src = 0; src < TSR_DTYPE_COUNT; src++) {
    size_t src_bytes = tsr_dtype_bytes((tsr_dtype)src);
    for (int i = 0; i < COUNT; i++) {
      double value = i % 120;
      CHECK_OK(tsr_convert((tsr_dtype)src, from + 1 + (size_t)i * src_bytes, TSR_F64, &value, 1));
    }
    for (int dst = 0; dst < TSR_DTYPE_COUNT; dst++) {
      size_t dst_bytes = tsr_dtype_bytes((tsr_dtype)dst);
      to[COUNT * dst_bytes + 1] = 0xA5;
      CHECK_OK(tsr_convert((tsr_dtype)dst, to + 1, (tsr_dtype)src, from + 1, COUNT));
      CHECK_EQ_UINT(to[COUNT * dst_bytes + 1], 0xA5);
      for (size_t i = 0; i < COUNT; i++) {
        CHECK_OK(tsr_convert((tsr_dtype)dst, one, (tsr_dtype)src, from + 1 + i * src_bytes, 1));
        CHECK_BYTES(to + 1 + i * dst_bytes, one, dst_bytes);
      }
    }
  }
}

TEST(equal_sizes_convert_in_place) {
  int32_t memory[600];
  for (int i = 0; i < 600; i++) memory[i] = i - 300;
  CHECK_OK(tsr_convert(TSR_F32, memory, TSR_I32, memory, 600));
  CHECK_OK(tsr_convert(TSR_U32, memory, TSR_F32, memory, 600));
  for (int i = 0; i < 600; i++) CHECK_EQ_INT(memory[i], i < 300 ? 0 : i - 300);
}

TEST(floats_saturate_to_integers) {
  static const struct {
    tsr_dtype dtype;
    int64_t least, most;
  } table[] = {{TSR_U8, 0, 255},         {TSR_I8, -128, 127},
               {TSR_I16, -32768, 32767}, {TSR_I32, INT32_MIN, INT32_MAX},
               {TSR_U32, 0, UINT32_MAX}, {TSR_I64, INT64_MIN, INT64_MAX},
               {TSR_U16, 0, UINT16_MAX}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    CHECK_EQ_INT(converted_int(table[i].dtype, INFINITY), table[i].most);
    CHECK_EQ_INT(converted_int(table[i].dtype, -INFINITY), table[i].least);
    CHECK_EQ_INT(converted_int(table[i].dtype, 1e300), table[i].most);
    CHECK_EQ_INT(converted_int(table[i].dtype, -1e300), table[i].least);
    CHECK_EQ_INT(converted_int(table[i].dtype, (double)table[i].most), table[i].most);
    CHECK_EQ_INT(converted_int(table[i].dtype, (double)table[i].least), table[i].least);
    CHECK_EQ_INT(converted_int(table[i].dtype, NAN), 0);
    CHECK_EQ_INT(converted_int(table[i].dtype, 2.99), 2);
    CHECK_EQ_INT(converted_int(table[i].dtype, -0.99), 0);
    if (table[i].least < 0) CHECK_EQ_INT(converted_int(table[i].dtype, -2.99), -2);
  }
  CHECK_EQ_INT(converted_int(TSR_U8, 255.9), 255);
  // The greatest double below 2^63.
  CHECK_EQ_INT(converted_int(TSR_I64, 9223372036854774784.0), INT64_C(9223372036854774784));
}

TEST(integers_keep_their_low_bits) {
  const int64_t values[] = {0x1234567890ABCDEF, -1, 256, 40000};
  uint8_t u8[4];
  int8_t i8[4];
  int16_t i16[4];
  uint32_t u32[4];
  CHECK_OK(tsr_convert(TSR_U8, u8, TSR_I64, values, 4));
  CHECK_OK(tsr_convert(TSR_I8, i8, TSR_I64, values, 4));
  CHECK_OK(tsr_convert(TSR_I16, i16, TSR_I64, values, 4));
  CHECK_OK(tsr_convert(TSR_U32, u32, TSR_I64, values, 4));
  CHECK_EQ_INT(u8[0], 0xEF);
  CHECK_EQ_INT(u8[1], 255);
  CHECK_EQ_INT(u8[2], 0);
  CHECK_EQ_INT(i8[0], -17);
  CHECK_EQ_INT(i16[3], 40000 - 65536);
  CHECK_EQ_UINT(u32[0], 0x90ABCDEF);
  CHECK_EQ_UINT(u32[1], UINT32_MAX);
}

TEST(u64_keeps_its_bits_among_integers_and_its_value_among_floats) {
  const uint64_t values[] = {0, 1, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 1024, (UINT64_C(1) << 63) + 1025};
  double doubles[6];
  float floats[6];
  int64_t signs[6];
  CHECK_OK(tsr_convert(TSR_F64, doubles, TSR_U64, values, 6));
  CHECK_OK(tsr_convert(TSR_F32, floats, TSR_U64, values, 6));
  CHECK_OK(tsr_convert(TSR_I64, signs, TSR_U64, values, 6));
  for (int i = 0; i < 6; i++) {
    CHECK(doubles[i] == (double)values[i]);
    CHECK(floats[i] == (float)values[i]);
    CHECK_EQ_INT(signs[i], (int64_t)values[i]);
  }
  // 1 above a tie of bf16: rounded once.
  uint64_t above = (UINT64_C(1) << 63) + (UINT64_C(1) << 55) + 1;
  uint16_t brain = 0;
  CHECK_OK(tsr_convert(TSR_BF16, &brain, TSR_U64, &above, 1));
  CHECK(tsri_bf16_to_f32(brain) == 0x1.02p63f);
}

TEST(floats_saturate_to_u64) {
  const double values[] = {0x1p63, 18446744073709549568.0, 0x1p64, INFINITY, -1, -INFINITY, NAN, 2.9, -0.5};
  const uint64_t wanted[] = {UINT64_C(1) << 63, UINT64_C(18446744073709549568), UINT64_MAX, UINT64_MAX, 0, 0, 0, 2, 0};
  uint64_t out[9];
  CHECK_OK(tsr_convert(TSR_U64, out, TSR_F64, values, 9));
  for (int i = 0; i < 9; i++) CHECK_EQ_UINT(out[i], wanted[i]);
}

// --- f8 ----------------------------------------------------------------------------------------------------------------

static double f8_of(tsr_dtype dtype, uint8_t code) {
  double value = 0;
  CHECK_OK(tsr_convert(TSR_F64, &value, dtype, &code, 1));
  return value;
}

static uint8_t f8_code(tsr_dtype dtype, double value) {
  uint8_t from_f64 = 0, from_f32 = 0;
  CHECK_OK(tsr_convert(dtype, &from_f64, TSR_F64, &value, 1));
  float narrow = (float)value;
  CHECK_OK(tsr_convert(dtype, &from_f32, TSR_F32, &narrow, 1));
  if ((double)narrow == value) CHECK_EQ_UINT(from_f32, from_f64);
  return from_f64;
}

static const number_list *f8_list(tsr_dtype dtype) {
  static number_list e4m3, e5m2;
  if (e4m3.infinity == 0) fill_list(&e4m3, 3, -9, 0x7F);
  if (e5m2.infinity == 0) fill_list(&e5m2, 2, -16, 0x7C);
  return dtype == TSR_F8_E4M3 ? &e4m3 : &e5m2;
}

// The list ends with the code that follows the largest number: infinity, and for e4m3 NaN.
TEST(every_f8_widens_exactly_and_comes_back) {
  const tsr_dtype dtypes[] = {TSR_F8_E4M3, TSR_F8_E5M2};
  for (int d = 0; d < 2; d++) {
    const number_list *list = f8_list(dtypes[d]);
    for (int bits = 0; bits < 256; bits++) {
      double value = f8_of(dtypes[d], (uint8_t)bits);
      int place = bits & 0x7F;
      if (place > list->infinity || (dtypes[d] == TSR_F8_E4M3 && place == list->infinity)) {
        CHECK(isnan(value) && isnan(f8_of(dtypes[d], f8_code(dtypes[d], value))));
        continue;
      }
      CHECK(place == list->infinity ? isinf(value) : fabs(value) == list->values[place]);
      CHECK_EQ_INT(signbit(value) != 0, bits >> 7);
      CHECK_EQ_UINT(f8_code(dtypes[d], value), bits);
    }
  }
  CHECK(f8_of(TSR_F8_E4M3, 0x7E) == 448 && f8_of(TSR_F8_E5M2, 0x7B) == 57344);
}

// Every number between two neighbours goes to the nearer one, the middle to the even one, and beyond the largest number to
// infinity (e5m2) or NaN (e4m3).
TEST(f8_rounds_to_the_nearest_and_ties_to_even) {
  const tsr_dtype dtypes[] = {TSR_F8_E4M3, TSR_F8_E5M2};
  for (int d = 0; d < 2; d++) {
    const number_list *list = f8_list(dtypes[d]);
    for (int i = 0; i < list->infinity; i++) {
      double low = list->values[i], high = list->values[i + 1], middle = (low + high) / 2;
      int even = i % 2 ? i + 1 : i;
      CHECK_EQ_UINT(f8_code(dtypes[d], middle), even);
      CHECK_EQ_UINT(f8_code(dtypes[d], nextafter(middle, 0)), i);
      CHECK_EQ_UINT(f8_code(dtypes[d], nextafter(middle, INFINITY)), i + 1);
      CHECK_EQ_UINT(f8_code(dtypes[d], -nextafter(middle, INFINITY)), 0x80 | (i + 1));
    }
    CHECK_EQ_UINT(f8_code(dtypes[d], INFINITY), list->infinity);
    CHECK_EQ_UINT(f8_code(dtypes[d], -1e300), 0x80 | list->infinity);
    CHECK_EQ_UINT(f8_code(dtypes[d], -1e-300), 0x80);
  }
}

TEST(integers_round_once_to_f8) {
  const int64_t values[] = {17, -19, 464, 465, INT64_MAX, INT64_MIN};
  uint8_t codes[6];
  CHECK_OK(tsr_convert(TSR_F8_E4M3, codes, TSR_I64, values, 6));
  CHECK(f8_of(TSR_F8_E4M3, codes[0]) == 16 && f8_of(TSR_F8_E4M3, codes[1]) == -20);
  CHECK(f8_of(TSR_F8_E4M3, codes[2]) == 448 && isnan(f8_of(TSR_F8_E4M3, codes[3])));
  CHECK_EQ_UINT(codes[4], 0x7F);
  CHECK_EQ_UINT(codes[5], 0xFF);
  CHECK_OK(tsr_convert(TSR_F8_E5M2, codes, TSR_I64, values, 6));
  CHECK_EQ_UINT(codes[4], 0x7C);
}

TEST(large_integers_round_once_to_f32) {
  // 1 above a tie: converting through f64 would round it to the tie.
  const int64_t value = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;
  float out = 0;
  CHECK_OK(tsr_convert(TSR_F32, &out, TSR_I64, &value, 1));
  CHECK(out == 0x1.000002p60f);
}

TEST(bool_is_zero_or_one_whatever_byte_was_stored) {
  const uint8_t bytes[] = {0, 1, 2, 255};
  uint8_t bools[4];
  float floats[4];
  CHECK_OK(tsr_convert(TSR_BOOL, bools, TSR_BOOL, bytes, 4));
  CHECK_OK(tsr_convert(TSR_F32, floats, TSR_BOOL, bytes, 4));
  for (int i = 0; i < 4; i++) {
    CHECK_EQ_INT(bools[i], i > 0);
    CHECK(floats[i] == (i > 0 ? 1.0f : 0.0f));
  }
  CHECK_EQ_INT(converted_int(TSR_BOOL, NAN), 1);
  CHECK_EQ_INT(converted_int(TSR_BOOL, -0.0), 0);
  CHECK_EQ_INT(converted_int(TSR_BOOL, 1e-320), 1);
  CHECK_EQ_INT(converted_int(TSR_BOOL, -INFINITY), 1);
}

TEST(minus_zero_nan_and_infinity_pass_between_floats) {
  const tsr_dtype floats[] = {TSR_F16, TSR_BF16, TSR_F32, TSR_F64};
  for (int s = 0; s < 4; s++) {
    for (int d = 0; d < 4; d++) {
      CHECK(signbit(converted(floats[d], floats[s], -0.0)));
      CHECK(isnan(converted(floats[d], floats[s], NAN)));
      CHECK(converted(floats[d], floats[s], -INFINITY) == -INFINITY);
      CHECK(converted(floats[d], floats[s], INFINITY) == INFINITY);
    }
  }
}

TEST(convert_names_what_is_wrong) {
  float memory[2] = {0};
  CHECK_STATUS(tsr_convert(TSR_F32, NULL, TSR_F32, memory, 2), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("dst is NULL with 2 elements");
  CHECK_STATUS(tsr_convert(TSR_F32, memory, TSR_F16, NULL, 2), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("src is NULL");
  CHECK_STATUS(tsr_convert((tsr_dtype)99, memory, TSR_F32, memory, 1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("dst_dtype is 99");
  CHECK_STATUS(tsr_convert(TSR_F32, memory, (tsr_dtype)-1, memory, 1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("src_dtype is -1");
  CHECK_STATUS(tsr_convert(TSR_F64, memory, TSR_U8, memory, SIZE_MAX / 4), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("from u8 to f64 are more than memory can hold");
  CHECK_OK(tsr_convert(TSR_F32, NULL, TSR_F16, NULL, 0));
}
