// SPDX-License-Identifier: MIT
#include <math.h>

#include "lang/front/check.h"
#include "lang/lang_testing.h"

static int64_t fold_i32(tsri_ir_op op, int64_t a, int64_t b) {
  uint64_t out = 0;
  CHECK(tsri_fold(op, TSR_I32, (uint64_t[]){(uint32_t)a, (uint32_t)b}, &out));
  return (int32_t)(uint32_t)out;
}

static uint64_t fold_u32(tsri_ir_op op, uint64_t a, uint64_t b) {
  uint64_t out = 0;
  CHECK(tsri_fold(op, TSR_U32, (uint64_t[]){a, b}, &out));
  return out;
}

TEST(integers_wrap) {
  CHECK_EQ_INT(fold_i32(TSRI_OP_ADD, INT32_MAX, 1), INT32_MIN);
  CHECK_EQ_INT(fold_i32(TSRI_OP_MUL, INT32_MIN, -1), INT32_MIN);
  CHECK_EQ_INT(fold_i32(TSRI_OP_NEG, INT32_MIN, 0), INT32_MIN);
  CHECK_EQ_INT(fold_i32(TSRI_OP_ABS, INT32_MIN, 0), INT32_MIN);
  CHECK_EQ_UINT(fold_u32(TSRI_OP_SUB, 0, 1), UINT32_MAX);
}

TEST(division_is_defined_everywhere) {
  CHECK_EQ_INT(fold_i32(TSRI_OP_DIV, 7, 0), 7);
  CHECK_EQ_INT(fold_i32(TSRI_OP_REM, 7, 0), 0);
  CHECK_EQ_INT(fold_i32(TSRI_OP_DIV, INT32_MIN, -1), INT32_MIN);
  CHECK_EQ_INT(fold_i32(TSRI_OP_REM, INT32_MIN, -1), 0);
  CHECK_EQ_INT(fold_i32(TSRI_OP_DIV, -7, 2), -3);
  CHECK_EQ_INT(fold_i32(TSRI_OP_REM, -7, 2), -1);
  CHECK_EQ_UINT(fold_u32(TSRI_OP_DIV, 7, 0), 7);
  CHECK_EQ_UINT(fold_u32(TSRI_OP_REM, 7, 0), 0);
}

TEST(shift_counts_are_taken_modulo_the_width) {
  CHECK_EQ_UINT(fold_u32(TSRI_OP_SHL, 1, 33), 2);
  CHECK_EQ_INT(fold_i32(TSRI_OP_SHR, -8, 1), -4);
  CHECK_EQ_INT(fold_i32(TSRI_OP_SHR, -8, 33), -4);
  CHECK_EQ_UINT(fold_u32(TSRI_OP_SHR, 0x80000000u, 31), 1);
}

TEST(bits_are_counted) {
  CHECK_EQ_UINT(fold_u32(TSRI_OP_CLZ, 0, 0), 32);
  CHECK_EQ_UINT(fold_u32(TSRI_OP_CTZ, 0, 0), 32);
  CHECK_EQ_UINT(fold_u32(TSRI_OP_CLZ, 1, 0), 31);
  CHECK_EQ_UINT(fold_u32(TSRI_OP_CTZ, 8, 0), 3);
  CHECK_EQ_UINT(fold_u32(TSRI_OP_POPCOUNT, 0xF0F0, 0), 8);
  CHECK_EQ_UINT(fold_u32(TSRI_OP_MULHI, UINT32_MAX, UINT32_MAX), UINT32_MAX - 1);
}

static double fold_f64(tsri_ir_op op, double a, double b) {
  uint64_t args[2], out = 0;
  memcpy(&args[0], &a, 8);
  memcpy(&args[1], &b, 8);
  CHECK(tsri_fold(op, TSR_F64, args, &out));
  double result;
  memcpy(&result, &out, 8);
  return result;
}

TEST(nan_survives_min_and_max) {
  CHECK_NEAR(fold_f64(TSRI_OP_MIN, (double)NAN, 1), (double)NAN, 0);
  CHECK_NEAR(fold_f64(TSRI_OP_MAX, 1, (double)NAN), (double)NAN, 0);
  CHECK_NEAR(fold_f64(TSRI_OP_MAX, 1, 2), 2, 0);
}

TEST(round_takes_halves_to_even) {
  const double cases[][2] = {{0.5, 0}, {1.5, 2}, {2.5, 2}, {-0.5, 0}, {-1.5, -2}, {2.4, 2}, {2.6, 3}, {1e300, 1e300}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK_NEAR(fold_f64(TSRI_OP_ROUND, cases[i][0], 0), cases[i][1], 0);
}

TEST(division_of_floats_by_zero_gives_infinity) {
  CHECK_NEAR(fold_f64(TSRI_OP_DIV, 1, -0.0), (double)-INFINITY, 0);
  CHECK_NEAR(fold_f64(TSRI_OP_DIV, 0, 0), (double)NAN, 0);
}

TEST(whole_literals_notice_overflow) {
  int64_t out;
  CHECK(tsri_fold_whole(TSRI_OP_MUL, INT64_MIN, 1, &out) && out == INT64_MIN);
  CHECK(!tsri_fold_whole(TSRI_OP_MUL, INT64_MIN, -1, &out));
  CHECK(!tsri_fold_whole(TSRI_OP_MUL, (int64_t)1 << 62, 2, &out));
  CHECK(tsri_fold_whole(TSRI_OP_MUL, -((int64_t)1 << 62), 2, &out) && out == INT64_MIN);
  CHECK(!tsri_fold_whole(TSRI_OP_ADD, INT64_MAX, 1, &out));
  CHECK(!tsri_fold_whole(TSRI_OP_SUB, INT64_MIN, 1, &out));
}

static float folded_to_bf16(tsr_dtype from, int64_t value) {
  uint64_t given = tsr_dtype_bytes(from) == 8 ? (uint64_t)value : (uint32_t)value;
  uint32_t bits = (uint32_t)tsri_fold_convert(from, given, TSR_BF16);
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

// 16842753 is just above the midpoint of two bf16 numbers. f32 would round it to that midpoint, and a second rounding
// could go the wrong way.
TEST(integers_become_bf16_by_one_rounding) {
  CHECK_NEAR((double)folded_to_bf16(TSR_I32, 16842753), 16908288, 0);
  CHECK_NEAR((double)folded_to_bf16(TSR_I64, -16842753), -16908288, 0);
  CHECK_FORM("kernel k(out bf16 y[]) { y[0] = bf16(16842753); }", "16908288");
  CHECK_FORM("kernel k(out bf16 y[]) { y[0] = 16842753; }", "16908288");
  CHECK_FORM("kernel k(out bf16 y[], i32 n) { y[0] = bf16(n); }", "bf16(n)");
}
