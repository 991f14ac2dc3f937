// SPDX-License-Identifier: MIT
// softmax of rows and columns at one SIMD level. Compiled once per level (cmake/isa.cmake).
#include <math.h>

#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/lines/softmax_lines.h"

enum { STRETCH = 2048, SHORT_ROW = 16, ROWS_ACROSS = 128 };

typedef float f32_vec ISA_IN_VECTORS;
typedef double f64_vec ISA_IN_VECTORS;
typedef int32_t i32_vec ISA_IN_VECTORS;
typedef int64_t i64_vec ISA_IN_VECTORS;

// The language's max: NaN if either is NaN.
#define GREATER(a, b) ((((a) >= (b)) | ((a) != (a))) ? (a) : (b))
#if defined(__GNUC__)
static inline f32_vec greater_f32(f32_vec a, f32_vec b) {
  i32_vec is_a = (a >= b) | (a != a);
  return (f32_vec)(((i32_vec)a & is_a) | ((i32_vec)b & ~is_a));
}
static inline f64_vec greater_f64(f64_vec a, f64_vec b) {
  i64_vec is_a = (a >= b) | (a != a);
  return (f64_vec)(((i64_vec)a & is_a) | ((i64_vec)b & ~is_a));
}
#else
static inline f32_vec greater_f32(f32_vec a, f32_vec b) { return GREATER(a, b); }
static inline f64_vec greater_f64(f64_vec a, f64_vec b) { return GREATER(a, b); }
#endif

#define NAME(x)         x##_f64
#define T               double
#define A               double
#define VEC             f64_vec
#define GREATER_VECTORS greater_f64
#define GET(x)          (x)
#define PUT(a)          (a)
#define MATH(m, f)      (m)->f64[TSRI_MATH_##f]
#include "softmax_lines.inc"
#undef NAME
#undef T
#undef A
#undef VEC
#undef GREATER_VECTORS
#undef MATH

#define A               float
#define VEC             f32_vec
#define GREATER_VECTORS greater_f32
#define MATH(m, f)      (m)->f32[TSRI_MATH_##f]

#define NAME(x) x##_f32
#define T       float
#include "softmax_lines.inc"
#undef NAME
#undef T
#undef GET
#undef PUT

#define T uint16_t

#define NAME(x) x##_f16
#define GET(x)  f32_of_f16(x)
#define PUT(a)  f16_of_f32(a)
#include "softmax_lines.inc"
#undef NAME
#undef GET
#undef PUT

#define NAME(x) x##_bf16
#define GET(x)  f32_of_bf16(x)
#define PUT(a)  bf16_of_f32(a)
#include "softmax_lines.inc"

const tsri_softmax_lines *const ISA_NAME(tsri_softmax_lines_)[TSR_DTYPE_COUNT] = {
    [TSR_F32] = &lines_f32,
    [TSR_F64] = &lines_f64,
    [TSR_F16] = &lines_f16,
    [TSR_BF16] = &lines_bf16,
};
