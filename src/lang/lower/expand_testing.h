// SPDX-License-Identifier: MIT
// For tests of expansions: evaluates an expansion one expression at a time.
#ifndef TSRI_LANG_EXPAND_TESTING_H
#define TSRI_LANG_EXPAND_TESTING_H

#include <math.h>
#include <string.h>

#include "lang/lower/expand.h"
#include "support/test.h"

typedef union value {
  float f;
  double d;
  uint32_t u;
  uint64_t w;
} value;

static int
    expand_division_error;  // of a relaxed division, (inverse) square root or exp2 of f32, in units of the last place

static inline value off_by_error(const tsri_ir_expr *n, value a) {
  if (n->lane == 1 && isnormal(a.f)) a.u += (uint32_t)expand_division_error;
  return a;
}

static inline value run_f32(const tsri_ir_expr *n, value a, value b, value c) {
  switch ((tsri_ir_op)n->op) {
    case TSRI_OP_ADD:
      return (value){.f = a.f + b.f};
    case TSRI_OP_SUB:
      return (value){.f = a.f - b.f};
    case TSRI_OP_MUL:
      return (value){.f = a.f * b.f};
    case TSRI_OP_DIV:
      return off_by_error(n, (value){.f = a.f / b.f});
    case TSRI_OP_FMA:
      return (value){.f = fmaf(a.f, b.f, c.f)};
    case TSRI_OP_NEG:
      return (value){.f = -a.f};
    case TSRI_OP_ABS:
      return (value){.f = fabsf(a.f)};
    case TSRI_OP_SQRT:
      return off_by_error(n, (value){.f = sqrtf(a.f)});
    case TSRI_OP_RSQRT:
      return off_by_error(n, (value){.f = (float)(1 / sqrt((double)a.f))});
    case TSRI_OP_EXP2:
      return off_by_error(n, (value){.f = exp2f(a.f)});
    case TSRI_OP_MIN:  // relaxed: either operand, if one is NaN
      return (value){.f = a.f < b.f ? a.f : b.f};
    case TSRI_OP_MAX:
      return (value){.f = a.f > b.f ? a.f : b.f};
    case TSRI_OP_TRUNC:
      return (value){.f = truncf(a.f)};
    default:
      test_fail(__FILE__, __LINE__, "no f32 operation %d here", n->op);
  }
}

static inline value run_f64(const tsri_ir_expr *n, value a, value b, value c) {
  switch ((tsri_ir_op)n->op) {
    case TSRI_OP_ADD:
      return (value){.d = a.d + b.d};
    case TSRI_OP_SUB:
      return (value){.d = a.d - b.d};
    case TSRI_OP_MUL:
      return (value){.d = a.d * b.d};
    case TSRI_OP_DIV:
      return (value){.d = a.d / b.d};
    case TSRI_OP_FMA:
      return (value){.d = fma(a.d, b.d, c.d)};
    case TSRI_OP_NEG:
      return (value){.d = -a.d};
    case TSRI_OP_SQRT:
      return (value){.d = sqrt(a.d)};
    case TSRI_OP_TRUNC:
      return (value){.d = trunc(a.d)};
    default:
      test_fail(__FILE__, __LINE__, "no f64 operation %d here", n->op);
  }
}

// Divides like a dialect: the divisor must not be 0 or -1.
static inline uint64_t run_divide(tsri_ir_op op, tsr_dtype dtype, uint64_t x, uint64_t y) {
  bool is_div = op == TSRI_OP_DIV;
  if (dtype == TSR_U32) {
    CHECK(y != 0);
    return is_div ? x / y : x % y;
  }
  int64_t a = dtype == TSR_I64 ? (int64_t)x : (int32_t)(uint32_t)x;
  int64_t b = dtype == TSR_I64 ? (int64_t)y : (int32_t)(uint32_t)y;
  CHECK(b != 0 && b != -1);
  return (uint64_t)(is_div ? a / b : a % b);
}

static inline value run_int(const tsri_ir_expr *n, tsr_dtype dtype, value a, value b) {
  bool is_wide = dtype == TSR_I64;
  int width = is_wide ? 64 : 32;
  uint64_t x = is_wide ? a.w : a.u, y = is_wide ? b.w : b.u, r = 0;
  uint32_t count = b.u & (uint32_t)(width - 1);
  switch ((tsri_ir_op)n->op) {
    case TSRI_OP_ADD:
      r = x + y;
      break;
    case TSRI_OP_SUB:
      r = x - y;
      break;
    case TSRI_OP_MUL:
      r = x * y;
      break;
    case TSRI_OP_MULHI:
      r = x * y >> 32;
      break;
    case TSRI_OP_CLZ:
      r = x == 0 ? (uint64_t)width : (uint64_t)(__builtin_clzll(x) - (64 - width));
      break;
    case TSRI_OP_NEG:
      r = 0 - x;
      break;
    case TSRI_OP_DIV:
    case TSRI_OP_REM:
      r = run_divide((tsri_ir_op)n->op, dtype, x, y);
      break;
    case TSRI_OP_POPCOUNT:
      r = (uint64_t)__builtin_popcountll(x);
      break;
    case TSRI_OP_CTZ:
      r = x == 0 ? (uint64_t)width : (uint64_t)__builtin_ctzll(x);
      break;
    case TSRI_OP_AND:
      r = x & y;
      break;
    case TSRI_OP_OR:
      r = x | y;
      break;
    case TSRI_OP_XOR:
      r = x ^ y;
      break;
    case TSRI_OP_SHL:
      r = x << count;
      break;
    case TSRI_OP_SHR:
      if (dtype == TSR_U32) r = x >> count;
      else r = (uint64_t)((is_wide ? (int64_t)x : (int64_t)(int32_t)x) >> count);
      break;
    default:
      test_fail(__FILE__, __LINE__, "no integer operation %d here", n->op);
  }
  return (value){.w = is_wide ? r : (uint32_t)r};
}

static bool expand_nan_is_less;  // the result of relaxed comparisons with NaN

static inline bool run_test(const tsri_ir_expr *n, tsr_dtype dtype, value a, value b) {
  bool is_f64 = dtype == TSR_F64, is_f32 = dtype == TSR_F32;
  bool is_unordered = (is_f64 && isunordered(a.d, b.d)) || (is_f32 && isunordered(a.f, b.f));
  if (n->lane == 1 && is_unordered) return expand_nan_is_less;
  switch ((tsri_ir_op)n->op) {
    case TSRI_OP_LE:
      return is_f64 ? a.d <= b.d : a.f <= b.f;
    case TSRI_OP_GE:
      return is_f64 ? a.d >= b.d : a.f >= b.f;
    case TSRI_OP_LT:
      return is_f64             ? a.d < b.d
             : is_f32           ? a.f < b.f
             : dtype == TSR_I64 ? (int64_t)a.w < (int64_t)b.w
             : dtype == TSR_I32 ? (int32_t)a.u < (int32_t)b.u
                                : a.u < b.u;
    case TSRI_OP_EQ:
      return is_f64 ? a.d == b.d : is_f32 ? a.f == b.f : dtype == TSR_I64 ? a.w == b.w : a.u == b.u;
    case TSRI_OP_NE:
      return is_f64 ? a.d != b.d : is_f32 ? a.f != b.f : dtype == TSR_I64 ? a.w != b.w : a.u != b.u;
    case TSRI_OP_AND:
      return a.u && b.u;
    case TSRI_OP_OR:
      return a.u || b.u;
    case TSRI_OP_NOT:
      return !a.u;
    case TSRI_OP_ISNAN:
      return is_f64 ? isnan(a.d) : isnan(a.f);
    default:
      test_fail(__FILE__, __LINE__, "no test %d here", n->op);
  }
}

static inline value run_convert(const tsri_ir_expr *n, tsr_dtype of, value a) {
  tsr_dtype to = (tsr_dtype)n->dtype;
  uint16_t half = 0;
  value is = {.w = 0};
  if (n->lane == 1 && (of == TSR_F32 || of == TSR_F64)) {  // the operand is in range, so C's conversion is defined
    double x = of == TSR_F64 ? a.d : (double)a.f;
    CHECK(x > -0x1p63 && x < 0x1p63);
    return (value){.w = n->type.dtype == TSR_I64 ? (uint64_t)(int64_t)x : (uint32_t)(int64_t)x};
  }
  CHECK(n->lane != 1 || a.u < 1u << 24);
  if (to == TSR_F16 || to == TSR_BF16) {
    (void)tsr_convert(to, &half, of, &a, 1);
    (void)tsr_convert(TSR_F32, &is, to, &half, 1);
  } else {
    (void)tsr_convert(to, &is, of, &a, 1);
  }
  return is;
}

static inline value run_node(const tsri_expansion *x, const tsri_ir_expr *n, const value *v, const value *args) {
  value a = v[n->kind == TSRI_EXPR_CONST ? 0 : n->a];
  tsr_dtype of =
      n->kind == TSRI_EXPR_OP || n->kind == TSRI_EXPR_CONVERT ? (tsr_dtype)x->nodes[n->a].type.dtype : TSR_BOOL;
  switch (n->kind) {
    case TSRI_EXPR_VAR:
      return args[n->object];
    case TSRI_EXPR_CONST:
      return (value){.w = n->bits};
    case TSRI_EXPR_BITCAST:
      return a;
    case TSRI_EXPR_CONVERT:
      return run_convert(n, of, a);
    default:
      break;
  }
  if (n->op == TSRI_OP_SELECT) return a.u ? v[n->b] : v[n->c];
  if (n->type.dtype == TSR_BOOL) return (value){.w = run_test(n, of, a, v[n->b])};
  if (n->type.dtype == TSR_F32) return run_f32(n, a, v[n->b], v[n->c]);
  if (n->type.dtype == TSR_F64) return run_f64(n, a, v[n->b], v[n->c]);
  return run_int(n, (tsr_dtype)n->type.dtype, a, v[n->b]);
}

static inline value evaluate_three(const tsri_expansion *x, value a, value b, value c) {
  value values[TSRI_EXPAND_MAX] = {{.w = 0}}, args[3] = {a, b, c};
  for (uint32_t i = 1; i < x->count; i++) values[i] = run_node(x, &x->nodes[i], values, args);
  return values[x->result];
}

static inline value evaluate(const tsri_expansion *x, value first, value second) {
  return evaluate_three(x, first, second, (value){.w = 0});
}

#endif
