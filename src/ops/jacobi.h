// SPDX-License-Identifier: MIT
// Singular values of matrices, for operators composed of them.
#ifndef TSRI_OPS_JACOBI_H
#define TSRI_OPS_JACOBI_H

#include "ops/wide.h"

// x = u * diag(s) * v^T, with s [batch …, k] in descending order, in f32 or f64.
typedef struct tsri_singular {
  tsr_tensor *u, *s, *v;
} tsri_singular;

// Decomposes x, which has passed tsri_matrix_check. is_full: u and v are square. Results that are not used are not computed.
tsri_singular tsri_decompose(const char *caller, tsr_tensor *x, bool is_full);
void tsri_singular_release(tsri_singular *s);

#endif
