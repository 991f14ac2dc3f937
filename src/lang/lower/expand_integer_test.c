// SPDX-License-Identifier: MIT
// Expansions of integer operations, at the limits of the range and in between.
#include <inttypes.h>

#include "lang/lower/expand_testing.h"
#include "support/test.h"

static const int64_t numbers[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  7,
                                  -7,
                                  255,
                                  65536,
                                  -65537,
                                  0x12345678,
                                  INT32_MAX,
                                  INT32_MIN,
                                  INT32_MIN + 1,
                                  INT64_MAX,
                                  INT64_MIN,
                                  INT64_C(1) << 32,
                                  -(INT64_C(1) << 32),
                                  0x80000001};
#define NUMBER_COUNT (sizeof numbers / sizeof *numbers)

static int64_t in_type(tsr_dtype dtype, uint64_t bits) {
  return dtype == TSR_I64 ? (int64_t)bits : dtype == TSR_I32 ? (int32_t)(uint32_t)bits : (int64_t)(uint32_t)bits;
}

static int width_of(tsr_dtype dtype) { return dtype == TSR_I64 ? 64 : 32; }

// The definitions of ir_ops.h. x and y are sign-extended if the dtype is signed.
static uint64_t expected(tsri_ir_op op, tsr_dtype dtype, int64_t x, int64_t y) {
  uint64_t bits = dtype == TSR_I64 ? (uint64_t)x : (uint32_t)x;
  int width = width_of(dtype), places = 0;
  switch (op) {
    case TSRI_OP_DIV:
      return y == 0 ? (uint64_t)x : y == -1 ? 0 - (uint64_t)x : (uint64_t)(x / y);
    case TSRI_OP_REM:
      return y == 0 || y == -1 ? 0 : (uint64_t)(x % y);
    case TSRI_OP_MIN:
      return (uint64_t)(x < y ? x : y);
    case TSRI_OP_MAX:
      return (uint64_t)(x > y ? x : y);
    case TSRI_OP_ABS:
      return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    case TSRI_OP_SIGN:
      return (uint64_t)((x > 0) - (x < 0));
    case TSRI_OP_MULHI:
      return (uint64_t)(uint32_t)x * (uint32_t)y >> 32;
    case TSRI_OP_POPCOUNT:
      for (; bits; bits >>= 1) places += (int)(bits & 1);
      return (uint64_t)places;
    case TSRI_OP_CLZ:
      while (places < width && !(bits >> (width - 1 - places) & 1)) places++;
      return (uint64_t)places;
    default:
      while (places < width && !(bits >> places & 1)) places++;
      return (uint64_t)places;
  }
}

static void check(tsri_ir_op op, tsr_dtype dtype, bool has_remainder) {
  static tsri_expansion x;
  tsri_ir_type type = {(uint8_t)dtype, 1};
  CHECK(tsri_expand_has(op, type));
  tsri_expand(op, type, (tsri_expand_options){.remainder = has_remainder}, &x);
  CHECK(!x.has_overflowed);
  for (size_t i = 0; i < NUMBER_COUNT * NUMBER_COUNT; i++) {
    int64_t a = in_type(dtype, (uint64_t)numbers[i / NUMBER_COUNT]),
            b = in_type(dtype, (uint64_t)numbers[i % NUMBER_COUNT]);
    uint64_t mask = dtype == TSR_I64 ? UINT64_MAX : UINT32_MAX;
    uint64_t is = evaluate(&x, (value){.w = (uint64_t)a & mask}, (value){.w = (uint64_t)b & mask}).w & mask;
    uint64_t wanted = expected(op, dtype, a, b) & mask;
    if (is == wanted) continue;
    test_fail(__FILE__, __LINE__, "%s of %s %" PRId64 " and %" PRId64 " is %" PRIx64 ", not %" PRIx64,
              tsri_ir_op_infos[op].name, tsr_dtype_name(dtype), a, b, is, wanted);
  }
}

TEST(division_is_defined_for_every_divisor_and_divides_by_none_that_is_not) {
  static const tsr_dtype dtypes[] = {TSR_I32, TSR_U32, TSR_I64};
  for (int i = 0; i < 3; i++) {
    check(TSRI_OP_DIV, dtypes[i], true);
    check(TSRI_OP_REM, dtypes[i], true);
    check(TSRI_OP_REM, dtypes[i], false);
  }
}

TEST(smaller_larger_and_sizes_of_integers_are_as_defined) {
  static const tsr_dtype dtypes[] = {TSR_I32, TSR_I64, TSR_U32};
  for (int i = 0; i < 3; i++) {
    check(TSRI_OP_MIN, dtypes[i], true);
    check(TSRI_OP_MAX, dtypes[i], true);
    if (dtypes[i] == TSR_U32) continue;
    check(TSRI_OP_ABS, dtypes[i], true);
    check(TSRI_OP_SIGN, dtypes[i], true);
  }
}

TEST(bits_are_counted_by_halves) {
  check(TSRI_OP_POPCOUNT, TSR_I64, true);
  check(TSRI_OP_CLZ, TSR_I64, true);
  check(TSRI_OP_CTZ, TSR_I64, true);
  check(TSRI_OP_CTZ, TSR_I32, true);
  check(TSRI_OP_CTZ, TSR_U32, true);
  check(TSRI_OP_MULHI, TSR_U32, true);
}
