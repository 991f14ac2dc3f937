// SPDX-License-Identifier: MIT
// Compares expansions of conversions with tsr_convert.
#include "lang/lower/expand_testing.h"
#include "support/test.h"

static uint64_t random_state = 1;
static double random_unit(void) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(random_state >> 11) * 0x1p-53;
}

// --- Integers to bf16 -------------------------------------------------------------------------------------------------

// Integers near powers of two, near the midpoint of two neighbouring bf16 numbers, and arbitrary ones.
static uint64_t random_integer(int i) {
  uint64_t bits = (uint64_t)(random_unit() * 0x1p53) << 32 ^ (uint64_t)(random_unit() * 0x1p53);
  int power = (int)(random_unit() * 64);
  uint64_t near = UINT64_C(1) << power, last = power > 7 ? near >> 7 : 1;
  if (i % 4 == 1) return near + (bits & 7) - 3;
  if (i % 4 == 2) return near + (bits >> 8 & 127) * last + last / 2 + (bits & 3) - 1;
  if (i % 4 == 3) return 0 - (near + (bits >> 8 & 127) * last + last / 2 + (bits & 3) - 1);
  return bits >> (power & 63);
}

TEST(integers_become_bf16_by_one_rounding) {
  static const tsr_dtype dtypes[] = {TSR_I32, TSR_U32, TSR_I64};
  static tsri_expansion x;
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    CHECK(tsri_expand_has_convert(TSR_BF16, dtypes[d]));
    tsri_expand_convert(TSR_BF16, (tsri_ir_type){(uint8_t)dtypes[d], 1}, (tsri_expand_options){0}, &x);
    CHECK(!x.has_overflowed);
    for (int i = 0; i < test_rounds(200000); i++) {
      value from = {.w = i == 0 ? 16842753 : random_integer(i)}, none = {.w = 0};
      uint16_t half = 0;
      float wanted = 0;
      CHECK_STATUS(tsr_convert(TSR_BF16, &half, dtypes[d], &from, 1), TSR_OK);
      CHECK_STATUS(tsr_convert(TSR_F32, &wanted, TSR_BF16, &half, 1), TSR_OK);
      float is = evaluate(&x, from, none).f;
      if (is != wanted) {
        test_fail(__FILE__, __LINE__, "%s %016llx: %a, not %a", tsr_dtype_name(dtypes[d]), (unsigned long long)from.w,
                  (double)is, (double)wanted);
      }
    }
  }
}

// --- Floats -----------------------------------------------------------------------------------------------------------

// Integers and halves at the limits of the integer types, the limits of f16, and arbitrary bits.
static double random_double(int i) {
  static const double ends[] = {0,       127.5,  128,     255,      255.5,   32767.9, 32768, 0x1p31,
                                0x1p32,  0x1p63, 0x1p-24, 0x1p-25,  65504,   65519,   65520, 0x1p16,
                                0x1p-14, 0.5,    NAN,     INFINITY, 0x1p127, 3.4e38};
  enum { COUNT = sizeof ends / sizeof *ends };
  if (i < 6 * COUNT) {
    double end = ends[i / 6], next = i % 3 == 0 ? end : nextafter(end, i % 3 == 1 ? -INFINITY : INFINITY);
    return i % 6 < 3 ? next : -next;
  }
  value bits = {.w = (uint64_t)(random_unit() * 0x1p53) << 32 ^ (uint64_t)(random_unit() * 0x1p53)};
  return i % 2 ? bits.d : ldexp(random_unit() - 0.5, (int)(random_unit() * 80) - 30);
}

// The result of tsr_convert, read back as the value type.
static value expected(tsr_dtype to, tsr_dtype from, value x) {
  unsigned char stored[8] = {0};
  value is = {.w = 0};
  CHECK_OK(tsr_convert(to, stored, from, &x, 1));
  CHECK_OK(tsr_convert(tsri_ir_compute_dtype(to), &is, to, stored, 1));
  return is;
}

static void check_floats(tsr_dtype to, tsr_dtype from, tsri_expand_options options) {
  static tsri_expansion x;
  CHECK(tsri_expand_has_convert(to, from));
  tsri_expand_convert(to, (tsri_ir_type){(uint8_t)from, 1}, options, &x);
  CHECK(!x.has_overflowed);
  bool gives_float = x.nodes[x.result].type.dtype == TSR_F32;
  for (int i = 0; i < test_rounds(20000); i++) {
    double number = random_double(i);
    value a = from == TSR_F64 ? (value){.d = number} : (value){.f = (float)number};
    value is = evaluate(&x, a, (value){.w = 0}), wanted = expected(to, from, a);
    bool same = gives_float && isnan(is.f) ? isnan(wanted.f) : is.w == wanted.w;
    if (!same) {
      test_fail(__FILE__, __LINE__, "%s %a to %s: %llx, not %llx", tsr_dtype_name(from), number, tsr_dtype_name(to),
                (unsigned long long)is.w, (unsigned long long)wanted.w);
    }
  }
}

TEST(floats_become_integers_bool_f16_and_bf16_as_tsr_convert_makes_them) {
  static const tsr_dtype dtypes[] = {TSR_BOOL, TSR_U8, TSR_I8, TSR_I16, TSR_I32, TSR_U32, TSR_I64, TSR_F16, TSR_BF16};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    check_floats(dtypes[i], TSR_F32, (tsri_expand_options){0});
    check_floats(dtypes[i], TSR_F32, (tsri_expand_options){.trusts_nan = true});
    check_floats(dtypes[i], TSR_F64, (tsri_expand_options){.trusts_nan = true});
    expand_nan_is_less = i % 2 == 0;
    check_floats(dtypes[i], TSR_F32, (tsri_expand_options){.nan_by_bits = true});
  }
  expand_nan_is_less = false;
}

TEST(every_half_is_read_and_written_as_tsr_convert_does) {
  static const tsr_dtype dtypes[] = {TSR_F16, TSR_BF16, TSR_BF16};
  static tsri_expansion encode, decode;
  for (int d = 0; d < 3; d++) {
    tsri_expand_encode(dtypes[d], 1, (tsri_expand_options){.trusts_nan = d == 2}, &encode);
    tsri_expand_decode(dtypes[d], 1, &decode);
    for (uint32_t bits = 0; bits < 65536; bits++) {
      uint16_t half = (uint16_t)bits;
      value is = evaluate(&decode, (value){.w = bits}, (value){.w = 0}), wanted = {.w = 0};
      CHECK_OK(tsr_convert(TSR_F32, &wanted, dtypes[d], &half, 1));
      CHECK(is.u == wanted.u || (isnan(is.f) && isnan(wanted.f)));
      value near = {.u = is.u + (bits * 2654435761u >> 19) - 4096};  // a number between its neighbours
      CHECK_OK(tsr_convert(dtypes[d], &half, TSR_F32, &near, 1));
      uint32_t written = evaluate(&encode, near, (value){.w = 0}).u;
      bool is_nan = (written & 0x7fff) > (dtypes[d] == TSR_F16 ? 0x7c00u : 0x7f80u);
      CHECK(written == half || (is_nan && isnan(near.f)));
    }
  }
}

// A lower half decides only by whether it is 0, below, at or above the middle, so these stand for all floats.
TEST(floats_of_every_upper_half_are_rounded_to_bf16) {
  static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  static const tsri_expand_options options[] = {
      {0}, {.trusts_nan = true}, {.trusts_nan = true, .by_products = true}, {.by_products = true}};
  enum { LOWER = 6, FORMS = 4 };
  static tsri_expansion encode[FORMS];
  for (int f = 0; f < FORMS; f++) tsri_expand_encode(TSR_BF16, 1, options[f], &encode[f]);
  for (uint32_t i = 0; i < 65536 * LOWER; i++) {
    value x = {.w = (i / LOWER) << 16 | lower[i % LOWER]};
    uint16_t wanted = 0;
    CHECK_OK(tsr_convert(TSR_BF16, &wanted, TSR_F32, &x.u, 1));
    for (int f = 0; f < FORMS; f++) {
      uint32_t is = evaluate(&encode[f], x, (value){.w = 0}).u;
      CHECK(isnan(x.f) ? (is & 0x7fff) > 0x7f80 && is < 0x10000 : is == wanted);
    }
  }
}

TEST(bf16_in_the_upper_half_is_the_same) {
  static tsri_expansion low, upper;
  for (int by_products = 0; by_products < 2; by_products++) {
    tsri_expand_options options = {.trusts_nan = true, .by_products = by_products != 0};
    tsri_expand_encode(TSR_BF16, 1, options, &low);
    options.upper = true;
    tsri_expand_encode(TSR_BF16, 1, options, &upper);
    for (int i = 0; i < test_rounds(100000); i++) {
      value x = {.w = (uint32_t)(random_unit() * 0x1p32)};
      CHECK_EQ_UINT(evaluate(&upper, x, (value){.w = 0}).u >> 16, evaluate(&low, x, (value){.w = 0}).u);
    }
  }
}

TEST(words_become_f32_by_one_rounding) {
  static tsri_expansion x;
  tsri_expand_convert(TSR_F32, (tsri_ir_type){TSR_U32, 1}, (tsri_expand_options){0}, &x);
  for (int i = 0; i < test_rounds(100000); i++) {
    uint32_t word = i < 64 ? 0xffffffffu << (i / 2) << (i & 1) : (uint32_t)random_integer(i);
    CHECK(evaluate(&x, (value){.w = word}, (value){.w = 0}).f == (float)word);
  }
}
