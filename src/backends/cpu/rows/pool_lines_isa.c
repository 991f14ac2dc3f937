// SPDX-License-Identifier: MIT
// Windows of pooling at one SIMD level. Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/rows/pool_lines.h"

#define NAME(x) x##_f32
#define T       float
#include "pool_lines.inc"
#undef NAME
#undef T

#define NAME(x) x##_f64
#define T       double
#include "pool_lines.inc"

const tsri_pool_lines *const ISA_NAME(tsri_pool_lines_)[2] = {&lines_f32, &lines_f64};
