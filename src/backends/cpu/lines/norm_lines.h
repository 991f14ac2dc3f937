// SPDX-License-Identifier: MIT
// layer_norm and rms_norm of rows, on one thread and for one dtype.
#ifndef TSRI_CPU_NORM_LINES_H
#define TSRI_CPU_NORM_LINES_H

#include "backends/cpu/cpu.h"

// The parameters that are the same for all rows.
typedef struct tsri_norm_row {
  int64_t n;  // not 0
  double eps;
  bool is_centred;
  const void *weight, *bias;  // in the type that rows are computed in: f32, or f64 for f64. NULL: none
} tsri_norm_row;

// Normalises `count` contiguous rows. f16 and bf16 are computed in f32 and rounded once.
typedef void (*tsri_norm_lines)(const tsri_norm_row *row, const void *x, void *y, int64_t count);

// Returns the function; `dtype` is a float, `simd` a result of tsri_cpu_simd_level.
tsri_norm_lines tsri_norm_lines_for(const char *simd, tsr_dtype dtype);

#endif
