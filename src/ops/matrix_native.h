// SPDX-License-Identifier: MIT
// Factors of matrices by a device's native operators (TSRI_NATIVE_FACTOR, TSRI_NATIVE_SOLVE): LAPACK on the CPU, cuSOLVER on CUDA.
//
// Functions that run return TSR_ERR_UNSUPPORTED, without a message, if the device does not take the operator; the caller then runs portable kernels.
#ifndef TSRI_OPS_MATRIX_NATIVE_H
#define TSRI_OPS_MATRIX_NATIVE_H

#include "graph/transfer.h"
#include "ops/matrix.h"

// Computes the Cholesky factor of `from`, whose lower triangle is read, into the lower triangle of a.
tsr_status tsri_native_cholesky(const tsri_view *from, const tsri_matrices *a);

// Computes the LU factors of `from` into a; rows and odd are as for the operator lu.
tsr_status tsri_native_lu(const tsri_view *from, const tsri_matrices *a, tsr_buffer *rows, tsr_buffer *odd);

// Solves with the triangular matrices l, in place in x.
tsr_status tsri_native_solve(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit);

// As tsri_minus_product: computes the product into a scratch buffer, and subtracts that. TSR_ERR_UNSUPPORTED also if that is slower.
tsr_status tsri_native_minus(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                             int64_t top, int64_t bottom, bool is_square);

// Whether the device factors matrices like x into Q, with `columns` columns, and R. If so, tsri_native_qr computes them. All are transposed: `from` is [batch
// …, n, m], r is [n, m], of which the lower triangle is set, and q is [columns, m].
bool tsri_has_native_qr(const tsr_tensor *x, int64_t columns);
tsr_status tsri_native_qr(const tsri_view *from, int64_t columns, tsr_buffer *q, tsr_buffer *r);

// Computes what one-sided Jacobi rotations would. `from` is [batch …, n, n] with the columns of matrices A as its rows (A transposed). v gets orthonormal
// vectors V as rows, and w the columns of A V as rows. is_symmetric: A is symmetric and positive semidefinite, and w is NULL. For a matrix with NaN or
// infinities, both are NaN.
tsr_status tsri_native_rotations(const tsri_view *from, bool is_symmetric, tsr_buffer *w, tsr_buffer *v);

#endif
