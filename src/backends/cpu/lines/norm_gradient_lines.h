// SPDX-License-Identifier: MIT
// Gradients of layer_norm and rms_norm of f32 rows, on one thread.
#ifndef TSRI_CPU_NORM_GRADIENT_LINES_H
#define TSRI_CPU_NORM_GRADIENT_LINES_H

#include "backends/cpu/lines/norm_lines.h"

// For `count` rows of row->n elements, one after the other: stores the gradients of x, plus the elements of `plus` (NULL: 0), to `dx` and adds those of weight and bias to `dweight` and `dbias`. `g` is the result's gradient; row->bias
// is not read.
typedef void (*tsri_norm_gradient_lines)(const tsri_norm_row *row, const float *x, const float *g, const float *plus,
                                         float *dx, float *dweight, float *dbias, int64_t count);

// `simd` as tsri_cpu_simd_level has it.
tsri_norm_gradient_lines tsri_norm_gradient_lines_for(const char *simd);

#endif
