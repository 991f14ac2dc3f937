// SPDX-License-Identifier: MIT
// Running sums of each dtype at one SIMD level. Compiled once per level (cmake/isa.cmake). Integers are added as unsigned numbers of at least 32 bits, which wrap.
#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/rows/scan_lines.h"

enum { SEGMENTS = 8, SEGMENT = 128, MOST_COLUMNS = 512, FEW_COLUMNS = 16 };

#define GET(x) ((A)(x))
#define PUT(a) ((T)(a))

#define NAME(x) x##_f32
#define T       float
#define A       float
#define SUM     f32
#include "scan_lines.inc"
#undef NAME
#undef T
#undef A
#undef SUM

#define NAME(x) x##_f64
#define T       double
#define A       double
#define SUM     f64
#include "scan_lines.inc"
#undef NAME
#undef T
#undef A
#undef SUM

#define NAME(x) x##_32
#define T       uint32_t
#define A       uint32_t
#define SUM     whole
#include "scan_lines.inc"
#undef NAME
#undef T
#undef A

#define NAME(x) x##_64
#define T       uint64_t
#define A       uint64_t
#include "scan_lines.inc"
#undef NAME
#undef T
#undef A
#undef SUM
#undef GET
#undef PUT

#define T   uint16_t
#define A   float
#define SUM f32

#define NAME(x) x##_f16
#define GET(x)  f32_of_f16(x)
#define PUT(a)  f16_of_f32(a)
#include "scan_lines.inc"
#undef NAME
#undef GET
#undef PUT

#define NAME(x) x##_bf16
#define GET(x)  f32_of_bf16(x)
#define PUT(a)  bf16_of_f32(a)
#include "scan_lines.inc"

const tsri_scan_lines *const ISA_NAME(tsri_scan_lines_)[TSR_DTYPE_COUNT] = {
    [TSR_F32] = &lines_f32, [TSR_F64] = &lines_f64, [TSR_F16] = &lines_f16, [TSR_BF16] = &lines_bf16,
    [TSR_I32] = &lines_32,  [TSR_U32] = &lines_32,  [TSR_I64] = &lines_64,
};
