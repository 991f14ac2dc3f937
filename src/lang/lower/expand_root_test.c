// SPDX-License-Identifier: MIT
// The square root of f32 from a rough one, compared with the processor's.
#include "lang/lower/expand_testing.h"

static void check_root(const tsri_expansion *x, uint32_t bits) {
  value a = {.u = bits}, is = evaluate(x, a, a), wanted = {.f = sqrtf(a.f)};
  if (isnan(wanted.f) ? isnan(is.f) : is.u == wanted.u) return;
  test_fail(__FILE__, __LINE__, "the root of %a is %a, not %a (%d)", (double)a.f, (double)is.f, (double)wanted.f,
            expand_division_error);
}

// Every exponent, with mantissas at the ends of their range and in between, from roots that are up to 3 ULP off.
static void check_roots(bool fma) {
  static tsri_expansion x;
  tsri_expand(TSRI_OP_SQRT, (tsri_ir_type){TSR_F32, 1}, (tsri_expand_options){.fma = fma}, &x);
  CHECK(!x.has_overflowed);
  uint32_t state = 1;
  for (uint32_t exponent = 0; exponent < 255; exponent++) {
    for (uint32_t i = 0; i < 100; i++) {
      state = state * 1664525 + 1013904223;
      uint32_t mantissa = i < 8 ? i : i < 16 ? 0x7fffff - (i - 8) : state >> 9;
      expand_division_error = (int)(i % 7) - 3;
      check_root(&x, exponent << 23 | mantissa);
    }
  }
}

TEST(roots_are_rounded_correctly_with_fma) { check_roots(true); }
TEST(roots_are_rounded_correctly_without_fma) { check_roots(false); }

// The squares of floats, and the floats next to them, have roots that are exact or nearly so.
TEST(roots_of_squares_and_their_neighbours_are_rounded_correctly) {
  static tsri_expansion x;
  tsri_expand(TSRI_OP_SQRT, (tsri_ir_type){TSR_F32, 1}, (tsri_expand_options){.fma = true}, &x);
  for (uint32_t i = 0; i < 4096; i++) {
    value square = {.f = (float)(i * i)};
    expand_division_error = (int)(i % 7) - 3;
    check_root(&x, square.u);
    check_root(&x, square.u + 1);
    if (i) check_root(&x, square.u - 1);
  }
}

TEST(roots_of_zero_infinity_nan_and_negative_numbers_are_those_of_the_processor) {
  static const uint32_t edges[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                   0x7fc00000, 0x80000001, 0xbf800000, 0xff7fffff};
  static tsri_expansion x;
  tsri_expand(TSRI_OP_SQRT, (tsri_ir_type){TSR_F32, 1}, (tsri_expand_options){.fma = true}, &x);
  expand_division_error = 0;
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) check_root(&x, edges[i]);
}
