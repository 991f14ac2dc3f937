// SPDX-License-Identifier: MIT
// softmax of rows and columns at one SIMD level. Compiled once per level (cmake/isa.cmake).
#include <math.h>

#include "backends/cpu/lanes/most_isa.h"
#include "backends/cpu/lanes/raise_isa.h"
#include "backends/cpu/lines/softmax_lines.h"
#include "core/lines.h"

enum { STRETCH = 2048, SHORT_ROW = 16, ROWS_ACROSS = 128 };

// The language's max: NaN if either is NaN.
#define GREATER(a, b) ((((a) >= (b)) | ((a) != (a))) ? (a) : (b))

// MOST_F32: the larger lanes of a running maximum (`most`) and of x. If the level has an instruction for that, NaN is never chosen.
#if defined(__AVX512F__)
#define MOST_F32(most, x) (f32_vec) _mm512_max_ps((__m512)(x), (__m512)(most))
#elif defined(__AVX2__)
#define MOST_F32(most, x) (f32_vec) _mm256_max_ps((__m256)(x), (__m256)(most))
#else
#define MOST_F32 max_f32_lanes
#endif

#define RAISES          0
#define NAME(x)         x##_f64
#define T               double
#define A               double
#define VEC             f64_vec
#define GREATER_VECTORS max_f64_lanes
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
#undef RAISES

#define RAISES          HAS_RAISE
#define A               float
#define VEC             f32_vec
#define GREATER_VECTORS MOST_F32
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
