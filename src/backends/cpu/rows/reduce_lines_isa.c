// SPDX-License-Identifier: MIT
// Sums, maxima and minima of rows and columns at one SIMD level. Compiled once per level (cmake/isa.cmake).
#include <math.h>

#include "backends/cpu/lanes/most_isa.h"
#include "backends/cpu/rows/reduce_lines.h"
#include "core/lines.h"

// SHORT_ROW: rows and columns with fewer elements are accumulated in order, as kernels do.
enum { SHORT_ROW = 32, ROWS_ACROSS = 256, STRETCH = 4096, COLUMN_STRETCH = 256, FEW_COLUMNS = 64, MOST_STREAMS = 8 };

typedef uint32_t u32_vec ISA_IN_VECTORS;

#define GET(x)             ((A)(x))
#define PUT(a)             ((T)(a))
#define PLUS(a, b)         ((a) + (b))
#define PLUS_VECTORS(a, b) ((a) + (b))

#define LEAST (-INFINITY)
#define MOST  INFINITY

#define DTYPE(x) x##_f32
#define T        float
#define A        float
#define VEC      f32_vec
#define MOST_OF  max_f32_lanes
#define LEAST_OF min_f32_lanes
#include "reduce_kinds.inc"
#undef DTYPE
#undef T
#undef A
#undef VEC
#undef MOST_OF
#undef LEAST_OF

#define DTYPE(x) x##_f64
#define T        double
#define A        double
#define VEC      f64_vec
#define MOST_OF  max_f64_lanes
#define LEAST_OF min_f64_lanes
#include "reduce_kinds.inc"
#undef DTYPE
#undef T
#undef A
#undef VEC
#undef MOST_OF
#undef LEAST_OF
#undef GET
#undef PUT

#define T        uint16_t
#define A        float
#define VEC      f32_vec
#define MOST_OF  max_f32_lanes
#define LEAST_OF min_f32_lanes

#define DTYPE(x) x##_f16
#define GET(x)   f32_of_f16(x)
#define PUT(a)   f16_of_f32(a)
#include "reduce_kinds.inc"
#undef DTYPE
#undef GET
#undef PUT

#define DTYPE(x) x##_bf16
#define GET(x)   f32_of_bf16(x)
#define PUT(a)   bf16_of_f32(a)
#include "reduce_kinds.inc"
#undef DTYPE
#undef GET
#undef PUT
#undef T
#undef A
#undef VEC
#undef MOST_OF
#undef LEAST_OF
#undef LEAST
#undef MOST
#undef PLUS
#undef PLUS_VECTORS

// Integer sums wrap.
#define DTYPE(x)           x##_i32
#define T                  int32_t
#define A                  int32_t
#define GET(x)             (x)
#define PUT(a)             (a)
#define LEAST              INT32_MIN
#define MOST               INT32_MAX
#define PLUS(a, b)         ((int32_t)((uint32_t)(a) + (uint32_t)(b)))
#define PLUS_VECTORS(a, b) ((i32_vec)((u32_vec)(a) + (u32_vec)(b)))
#define VEC                i32_vec
#define MOST_OF            max_i32_lanes
#define LEAST_OF           min_i32_lanes
#include "reduce_kinds.inc"

#define ROW(kind)                                                                                \
  {                                                                                              \
    [TSR_F32] = &kind##_lines_f32, [TSR_F64] = &kind##_lines_f64, [TSR_F16] = &kind##_lines_f16, \
    [TSR_BF16] = &kind##_lines_bf16, [TSR_I32] = &kind##_lines_i32                               \
  }
const tsri_reduce_lines *const ISA_NAME(tsri_reduce_lines_)[TSRI_REDUCTIONS][TSR_DTYPE_COUNT] = {
    [TSRI_REDUCTION_SUM] = ROW(sum),
    [TSRI_REDUCTION_MAX] = ROW(max),
    [TSRI_REDUCTION_MIN] = ROW(min),
};
