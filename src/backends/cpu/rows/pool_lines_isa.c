// SPDX-License-Identifier: MIT
// Pooling windows at one SIMD level. Compiled once per level (cmake/isa.cmake).
#include <string.h>

#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/rows/pool_lines.h"

// Loops over windows two elements wide use vectors of 32 bytes, which compilers translate for any level. EVEN and ODD take every second element of two vectors;
// LOW and HIGH interleave two vectors.
#if !defined(__wasm__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12))
#define HAS_PAIRS   1
#define PAIRS_BYTES 32
#define ISA_SHUFFLE __builtin_shufflevector
#define EVEN_f32    0, 2, 4, 6, 8, 10, 12, 14
#define ODD_f32     1, 3, 5, 7, 9, 11, 13, 15
#define LOW_f32     0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_f32    4, 12, 5, 13, 6, 14, 7, 15
#define EVEN_f64    0, 2, 4, 6
#define ODD_f64     1, 3, 5, 7
#define LOW_f64     0, 4, 1, 5
#define HIGH_f64    2, 6, 3, 7
#else
#define HAS_PAIRS 0
#endif

#define NAME(x) x##_f32
#define T       float
#define INT     int32_t
#include "pool_lines.inc"
#undef NAME
#undef T
#undef INT

#define NAME(x) x##_f64
#define T       double
#define INT     int64_t
#include "pool_lines.inc"

const tsri_pool_lines *const ISA_NAME(tsri_pool_lines_)[2] = {&lines_f32, &lines_f64};
