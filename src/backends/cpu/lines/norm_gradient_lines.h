// SPDX-License-Identifier: MIT
// Gradients of layer_norm and rms_norm of f32 rows, on one thread.
#ifndef TSRI_CPU_NORM_GRADIENT_LINES_H
#define TSRI_CPU_NORM_GRADIENT_LINES_H

#include "backends/cpu/lines/norm_lines.h"

// Processes `count` contiguous rows of row->n elements. Stores the gradient of x, plus `plus` (NULL: 0), in `dx`, and adds the gradients of weight and bias to
// `dweight` and `dbias`. `g` is the gradient of the result. row->bias is not read.
typedef void (*tsri_norm_gradient_lines)(const tsri_norm_row *row, const float *x, const float *g, const float *plus,
                                         float *dx, float *dweight, float *dbias, int64_t count);

// Returns the function; `simd`: a result of tsri_cpu_simd_level.
tsri_norm_gradient_lines tsri_norm_gradient_lines_for(const char *simd);

#endif
