// SPDX-License-Identifier: MIT
// Norms of rows at one SIMD level. Compiled once per level (cmake/isa.cmake).
#include <math.h>

#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/lines/norm_lines.h"

enum { STRETCH = 2048, SHORT_ROW = 16, ROWS_ACROSS = 128, TOGETHER = 4, FEW = 512 };

typedef float f32_vec ISA_IN_VECTORS;
typedef double f64_vec ISA_IN_VECTORS;

#define NAME(x) x##_f64
#define T       double
#define A       double
#define VEC     f64_vec
#define GET(x)  (x)
#define PUT(a)  (a)
#define SQRT(a) sqrt(a)
#include "norm_lines.inc"
#undef NAME
#undef T
#undef A
#undef VEC
#undef SQRT

#define A       float
#define VEC     f32_vec
#define SQRT(a) sqrtf(a)

#define NAME(x) x##_f32
#define T       float
#include "norm_lines.inc"
#undef NAME
#undef T
#undef GET
#undef PUT

#define T uint16_t

#define NAME(x) x##_f16
#define GET(x)  f32_of_f16(x)
#define PUT(a)  f16_of_f32(a)
#include "norm_lines.inc"
#undef NAME
#undef GET
#undef PUT

#define NAME(x) x##_bf16
#define GET(x)  f32_of_bf16(x)
#define PUT(a)  bf16_of_f32(a)
#include "norm_lines.inc"

const tsri_norm_lines ISA_NAME(tsri_norm_lines_)[TSR_DTYPE_COUNT] = {
    [TSR_F32] = rows_f32,
    [TSR_F64] = rows_f64,
    [TSR_F16] = rows_f16,
    [TSR_BF16] = rows_bf16,
};
