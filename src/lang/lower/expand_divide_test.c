// SPDX-License-Identifier: MIT
// Division of f32 from a rough one, compared with the processor's.
#include "lang/lower/expand_testing.h"

static uint64_t random_state = 3;
static uint32_t random_word(void) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(random_state >> 32);
}

typedef struct division {
  tsri_expansion near, far, is_far;
} division;

static void expand_division(division *out, bool fma) {
  tsri_ir_type type = {TSR_F32, 1};
  tsri_expand(TSRI_OP_DIV, type, (tsri_expand_options){.fma = fma}, &out->near);
  tsri_expand(TSRI_OP_DIV, type, (tsri_expand_options){.fma = fma, .far = true}, &out->far);
  tsri_expand_is_far(TSRI_OP_DIV, type, &out->is_far);
  CHECK(!out->near.has_overflowed && !out->far.has_overflowed && !out->is_far.has_overflowed);
}

static void check_quotient(const division *d, bool always_far, value a, value b) {
  bool far = always_far || evaluate(&d->is_far, a, b).u != 0;
  value is = evaluate(far ? &d->far : &d->near, a, b), wanted = {.f = a.f / b.f};
  bool is_same = isnan(wanted.f) ? isnan(is.f) : is.u == wanted.u;
  if (!is_same) {
    test_fail(__FILE__, __LINE__, "%a / %a is %a, not %a (%s, %d)", (double)a.f, (double)b.f, (double)is.f,
              (double)wanted.f, far ? "far" : "near", expand_division_error);
  }
}

enum { PAIRS = 20000 };

static void check_random(bool fma) {
  static division d;
  expand_division(&d, fma);
  for (int i = 0; i < PAIRS; i++) {
    expand_division_error = (int)(random_word() % 5) - 2;
    value a = {.u = random_word()}, b = {.u = random_word()};
    check_quotient(&d, false, a, b);
    a.u = (a.u & 0x807fffff) | (127 - 31 + random_word() % 63) << 23;
    b.u = (b.u & 0x807fffff) | (127 - 31 + random_word() % 63) << 23;
    check_quotient(&d, false, a, b);
    check_quotient(&d, true, a, b);
  }
}

TEST(quotients_are_rounded_correctly_with_fma) { check_random(true); }
TEST(quotients_are_rounded_correctly_without_fma) { check_random(false); }

// Subnormal quotients, where a second rounding would show, and quotients near overflow.
TEST(quotients_at_the_ends_of_the_range_are_rounded_correctly) {
  static division d;
  expand_division(&d, true);
  for (int i = 0; i < PAIRS; i++) {
    expand_division_error = (int)(random_word() % 5) - 2;
    value a = {.u = (random_word() & 0x807fffff) | (1 + random_word() % 40) << 23};
    value b = {.u = (random_word() & 0x807fffff) | (127 + random_word() % 40) << 23};
    check_quotient(&d, false, a, b);
    a.u &= 0x803fffff;  // subnormal
    check_quotient(&d, false, a, b);
    check_quotient(&d, false, b, a);
  }
}

TEST(mantissas_that_are_hard_to_divide_by_are_rounded_correctly) {
  static division d;
  expand_division(&d, true);
  for (uint32_t i = 0; i < PAIRS; i++) {
    expand_division_error = (int)(random_word() % 5) - 2;
    value a = {.u = 0x3f800000 | (random_word() & 0x7fffff)};
    check_quotient(&d, false, a, (value){.u = 0x3fffffff - i % 8});
    check_quotient(&d, false, (value){.u = 0x3fffffff - i % 16}, a);
    check_quotient(&d, false, a, (value){.u = 0x3f800000 + i % 8});
  }
}

TEST(zero_infinity_nan_and_the_largest_numbers_divide_as_on_the_processor) {
  static const uint32_t edges[] = {0,          1,          0x7fffff,   0x800000,   0x3f800000, 0x7e800000,
                                   0x7f7fffff, 0x7f800000, 0x7fc00000, 0x7f800001, 0x34000000, 0x00400000};
  static division d;
  expand_division(&d, true);
  enum { COUNT = sizeof edges / sizeof *edges };
  for (int i = 0; i < 2 * COUNT; i++) {
    for (int j = 0; j < 2 * COUNT; j++) {
      value a = {.u = edges[i / 2] | (uint32_t)(i & 1) << 31}, b = {.u = edges[j / 2] | (uint32_t)(j & 1) << 31};
      check_quotient(&d, false, a, b);
    }
  }
}
