// SPDX-License-Identifier: MIT
// The table of missing operations, one row per dialect.
#include "lang/lower/lacks.h"

#include <string.h>

#define BIT(name) (UINT64_C(1) << TSRI_OP_##name)

_Static_assert(TSRI_OP_COUNT <= 64, "tsri_lacks has one bit per operation");

// The functions of Vulkan and WGSL are not accurate enough, and there are none for f64.
#define MATHS                                                                                                 \
  (BIT(EXP) | BIT(EXP2) | BIT(EXPM1) | BIT(LOG) | BIT(LOG2) | BIT(LOG10) | BIT(LOG1P) | BIT(SIN) | BIT(COS) | \
   BIT(TAN) | BIT(ASIN) | BIT(ACOS) | BIT(ATAN) | BIT(ATAN2) | BIT(SINH) | BIT(COSH) | BIT(TANH) | BIT(ERF) | \
   BIT(POW))

// Compilers may assume that NaN does not occur, so only its bits are a reliable test; and the built-in min and max
// drop NaN.
#define NAN_AWARE (BIT(MIN) | BIT(MAX) | BIT(SIGN) | BIT(ISNAN) | BIT(ISINF) | BIT(ISFINITE))

// Division by 0 is undefined, and so is the smallest integer divided by -1.
#define DIVISION (BIT(DIV) | BIT(REM))
#define UNSIGNED (DIVISION | BIT(MIN) | BIT(MAX))
#define SIGNED   (UNSIGNED | BIT(ABS) | BIT(SIGN))
#define COUNTS   (BIT(POPCOUNT) | BIT(CLZ) | BIT(CTZ))

#define F16  (1u << TSR_F16)
#define BF16 (1u << TSR_BF16)

// Elements smaller than 32 bits. Local arrays of them hold 32-bit values instead, so that they can be in registers.
#define SMALL (TSRI_STORAGE_BYTES | TSRI_STORAGE_HALVES)

#define C_FAMILY(more_f32, more_f64, rounding_, collective_bytes_)                                                \
  {                                                                                                               \
    .f32 = NAN_AWARE | (more_f32), .f64 = NAN_AWARE | (more_f64), .i32 = SIGNED | BIT(CTZ),                       \
    .u32 = UNSIGNED | BIT(CTZ), .i64 = SIGNED | COUNTS, .rounding = (rounding_), .storage = {.in_locals = SMALL}, \
    .collective_bytes = (collective_bytes_), .expression_height = 24, .is_lazy = true                             \
  }

typedef struct row {
  const char *dialect;
  tsri_lacks lacks;
} row;

static const row rows[] = {
    // PoCL's exp, sinh and cosh of f64 overflow too early, or give NaN.
    {"opencl", C_FAMILY(0, BIT(EXP) | BIT(SINH) | BIT(COSH), F16 | BF16, 8)},
    {"cuda", C_FAMILY(0, 0, 0, 8)},
    {"hip", C_FAMILY(0, 0, BF16, 8)},
    {"metal", C_FAMILY(BIT(ERF) | BIT(EXPM1) | BIT(LOG1P), 0, BF16, 4)},
    {"c", C_FAMILY(BIT(RSQRT), BIT(RSQRT), F16 | BF16, 0)},
    {"spirv",
     {.f32 = MATHS | NAN_AWARE,
      .f64 = MATHS | NAN_AWARE | BIT(RSQRT),
      .i32 = SIGNED,
      .u32 = UNSIGNED,
      .i64 = SIGNED | COUNTS,
      .rounding = F16 | BF16,
      .storage = {SMALL, SMALL, SMALL},
      .collective_bytes = 8}},
    // WGSL's comparisons may treat NaN as any number, and its - and abs need not keep the sign of 0. Its 32-bit
    // integers behave as the language requires; there are none of 64 bits (lower/pairs.h). WGSL does not say which items
    // form a subgroup: its shuffles are used on devices that were found to count them as we do (webgpu/probe.c). Its min
    // and max of a subgroup drop NaN, and the order of its sums is not given.
    {"wgsl",
     {.f32 = MATHS | NAN_AWARE | BIT(NEG) | BIT(ABS) | BIT(EQ) | BIT(NE) | BIT(LT) | BIT(LE) | BIT(GT) | BIT(GE),
      .u32 = BIT(MULHI),
      .rounding = F16 | BF16,
      .storage = {SMALL, SMALL, SMALL},
      .collective_bytes = 4,
      .has_load_for_all = true,
      .has_only_shuffles = true,
      .is_free_with_floats = true,
      .has_own_uniformity = true}},
};

tsri_lacks tsri_lacks_of(const char *dialect) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].dialect, dialect) == 0) return rows[i].lacks;
  }
  return (tsri_lacks){0};
}

void tsri_lacks_add(tsri_lacks *lacks, bool has_exact_fma, bool has_exact_divide, bool has_exact_quotient) {
  if (!has_exact_fma) {
    lacks->f32 |= BIT(FMA);
    lacks->f64 |= BIT(FMA);
  }
  if (!has_exact_divide) lacks->f32 |= BIT(SQRT) | (has_exact_quotient ? 0 : BIT(DIV));
}

bool tsri_lacks_op(const tsri_lacks *lacks, tsri_ir_op code, tsr_dtype dtype) {
  switch (dtype) {
    case TSR_F32:
      return lacks->f32 >> code & 1;
    case TSR_F64:
      return lacks->f64 >> code & 1;
    case TSR_I32:
      return lacks->i32 >> code & 1;
    case TSR_U32:
      return lacks->u32 >> code & 1;
    case TSR_I64:
      return lacks->i64 >> code & 1;
    default:
      return false;
  }
}
