// SPDX-License-Identifier: MIT
// Shared by operators on matrices: x is [batch …, rows, columns].
#ifndef TSRI_OPS_MATRIX_H
#define TSRI_OPS_MATRIX_H

#include "graph/graph.h"

// tsri_matrix_check: the tensor must be usable and have two axes or more. tsri_square_check: the last two sizes must also be equal.
//
// Errors: TSR_ERR_SHAPE, with the shape; those of tsri_tensor_check.
tsr_status tsri_matrix_check(const char *caller, const tsr_tensor *x);
tsr_status tsri_square_check(const char *caller, const tsr_tensor *x);

// Checks that a passes tsri_matrix_check, and that b is a vector or matrices with as many rows as a.
tsr_status tsri_sides_check(const char *caller, const tsr_tensor *a, const tsr_tensor *b);

// Sizes of the last two axes of a tensor that passed tsri_matrix_check, and a view with these axes exchanged.
static inline int64_t tsri_rows(const tsr_tensor *x) { return x->layout.shape.dims[x->layout.shape.rank - 2]; }
static inline int64_t tsri_columns(const tsr_tensor *x) { return x->layout.shape.dims[x->layout.shape.rank - 1]; }
tsr_tensor *tsri_matrix_transposed(tsr_tensor *x);

// Shapes with the batch axes of x, followed by the axes rows and columns (tsri_matrix_shape) or by one axis (tsri_vector_shape).
tsr_shape tsri_matrix_shape(const tsr_tensor *x, int64_t rows, int64_t columns);
tsr_shape tsri_vector_shape(const tsr_tensor *x, int64_t size);

// Gives the results of a public function to its caller: *outs[i] = results[i]; results whose outs[i] is NULL are released. If one has failed, all are released,
// no *outs[i] is set, and its status is returned, with the caller's name in the message.
tsr_status tsri_results_give(const char *caller, tsr_tensor *const *results, tsr_tensor **const *outs, int count);

// Records the QR factorisation of x, which is f32 or f64 or a failed tensor.
void tsri_record_qr(const char *caller, tsr_tensor *x, bool is_complete, tsr_tensor **out_q, tsr_tensor **out_r);

// The nodes that factorisations are recorded as, for code that records such a node again (saved captures). x has passed tsri_matrix_check and is f32 or f64.
// lu: both factors in one matrix; the permutation, that is for each row the row of x it was computed from; whether the permutation is odd.
// panel: a matrix with R in its upper triangle; v and w (qr.c).
// rotations: the rotations, applied to the rows of the identity, and x with rotated rows; only the rotations if x is symmetric.
void tsri_record_lu(tsr_tensor *x, tsr_tensor *out_parts[3]);
void tsri_record_panel(tsr_tensor *x, tsr_tensor *out_parts[3]);
void tsri_record_rotations(tsr_tensor *vectors, bool is_symmetric, tsr_tensor *out_parts[2]);

// QR by a native operator for the complete factorisation. Input: the transposed matrix. Results: Q transposed, and the transposed input with R in its first
// columns.
extern const tsri_op tsri_op_qr_whole;

// --- In the run of an operator ---------------------------------------------------------------------------------------

// A batch of row-major matrices that kernels change in place.
typedef struct tsri_matrices {
  tsr_device *device;
  tsr_dtype dtype;
  tsr_buffer *buffer;
  int64_t batch, rows, columns;
} tsri_matrices;

// Output `index` of the run as matrices with the shape of input 0.
tsri_matrices tsri_matrices_of(const tsri_kernel_run *run, int index);

// A batch of matrices that kernels read: strides in elements.
typedef struct tsri_matrix_view {
  tsr_buffer *buffer;
  int64_t at, batch, row, column;
} tsri_matrix_view;

// The arguments of the kernels in kernels/op_factor.tk (documented there), which update the columns of x from `first` on.
typedef struct tsri_matrix_block {
  int64_t first, from, to;
} tsri_matrix_block;
tsr_status tsri_solve_block(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                            bool is_upper, bool is_unit);
tsr_status tsri_minus_product(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                              int64_t top, int64_t bottom, bool is_square);

// As tsri_solve_triangular, in one launch. TSR_ERR_UNSUPPORTED, without a message: for matrices of another size, or not on this device.
tsr_status tsri_solve_whole(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit);

// LU in one launch: of all columns (from 0 to the smaller side of a), or of the block of columns `from` to `to` - 1, if the columns before it are factored. For a
// block, results->block gets a copy of its columns, as from lu_block of op_factor.tk; the rows of the block are solved for the columns to its right, and the caller
// subtracts the product from the rows below. TSR_ERR_UNSUPPORTED: as tsri_solve_whole.
typedef struct tsri_lu_results {
  tsr_buffer *rows, *odd, *block;
} tsri_lu_results;
tsr_status tsri_lu_whole(const tsri_matrices *a, const tsri_lu_results *results, int64_t from, int64_t to);

// Solves with the triangular matrices l, in place in x: in one launch, or block by block.
tsr_status tsri_solve_triangular(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit);

// Fills x with the identity.
tsr_status tsri_set_identity(const tsri_matrices *x);

// Rows or columns of a block in a blocked factorisation.
enum { TSRI_MATRIX_BLOCK = 32 };

#endif
