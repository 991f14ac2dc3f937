// SPDX-License-Identifier: MIT
// Factors of matrices by a device's native operators (TSRI_NATIVE_FACTOR, TSRI_NATIVE_SOLVE): LAPACK on the CPU, cuSOLVER on CUDA.
//
// Functions that run return TSR_ERR_UNSUPPORTED, without a message, if the device does not take the operator; the caller then runs portable kernels.
#ifndef TSRI_OPS_MATRIX_NATIVE_H
#define TSRI_OPS_MATRIX_NATIVE_H

#include "graph/transfer.h"
#include "ops/matrix.h"

// The lower triangle of a gets the Cholesky factor of that of `from`.
tsr_status tsri_native_cholesky(const tsri_view *from, const tsri_matrices *a);

// a gets the LU factors of `from`; rows and odd as in the operator lu.
tsr_status tsri_native_lu(const tsri_view *from, const tsri_matrices *a, tsr_buffer *rows, tsr_buffer *odd);

// Solves with the triangular matrices l in place in x.
tsr_status tsri_native_solve(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit);

// Whether the device factors such matrices into Q, of which `columns` columns are wanted, and R. If so, tsri_native_qr runs it: `from` has the transposed matrices,
// [batch …, n, m], and so have the results r [n, m], of which the lower triangle is set, and q [columns, m].
bool tsri_has_native_qr(const tsr_tensor *x, int64_t columns);
tsr_status tsri_native_qr(const tsri_view *from, int64_t columns, tsr_buffer *q, tsr_buffer *r);

// `from` has vectors of matrices A as rows: [batch …, n, n], A transposed. As one-sided rotations would: v gets orthonormal vectors V as rows, and w the vectors of A V.
// If is_symmetric, A is symmetric and positive, and w is NULL. Of a matrix with NaN or infinities both are NaN.
tsr_status tsri_native_rotations(const tsri_view *from, bool is_symmetric, tsr_buffer *w, tsr_buffer *v);

#endif
