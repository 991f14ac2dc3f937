// SPDX-License-Identifier: MIT
// Shared by operators on matrices: x is [batch …, rows, columns].
#ifndef TSRI_OPS_MATRIX_H
#define TSRI_OPS_MATRIX_H

#include "graph/graph.h"

// Checks that the tensor is usable and has two axes or more; tsri_square_check also that the last two have one size.
//
// Errors: TSR_ERR_SHAPE, with the shape; those of tsri_tensor_check.
tsr_status tsri_matrix_check(const char *caller, const tsr_tensor *x);
tsr_status tsri_square_check(const char *caller, const tsr_tensor *x);

// Checks that a passes tsri_matrix_check, and that b is a vector, or has matrices, with as many rows as a.
tsr_status tsri_sides_check(const char *caller, const tsr_tensor *a, const tsr_tensor *b);

// Sizes of the last two axes of a tensor that passed tsri_matrix_check, and a view with these axes exchanged.
static inline int64_t tsri_rows(const tsr_tensor *x) { return x->layout.shape.dims[x->layout.shape.rank - 2]; }
static inline int64_t tsri_columns(const tsr_tensor *x) { return x->layout.shape.dims[x->layout.shape.rank - 1]; }
tsr_tensor *tsri_matrix_transposed(tsr_tensor *x);

// The batch axes of x, followed by rows and columns, or by one axis.
tsr_shape tsri_matrix_shape(const tsr_tensor *x, int64_t rows, int64_t columns);
tsr_shape tsri_vector_shape(const tsr_tensor *x, int64_t size);

// Hands results over to a caller of a public function: `outs[i]`, which may be NULL, gets results[i]. If one has failed, all are
// released, none is handed over, and its status is returned with the caller's name in the message.
tsr_status tsri_results_give(const char *caller, tsr_tensor *const *results, tsr_tensor **const *outs, int count);

// Records Q and R of x, which is f32 or f64 or has failed.
void tsri_record_qr(const char *caller, tsr_tensor *x, bool is_complete, tsr_tensor **out_q, tsr_tensor **out_r);

// What the nodes of factors compute, for those who record one again. x has passed tsri_matrix_check and is f32 or f64.
// lu: both factors in one matrix, for each of its rows the row of x that it was made of, and whether an odd number of exchanges made that order.
// panel: R in the upper triangle of a matrix, v and w (qr.c). rotations: those of the rows of x, and what they make of x; a symmetric x has the first alone.
void tsri_record_lu(tsr_tensor *x, tsr_tensor *out_parts[3]);
void tsri_record_panel(tsr_tensor *x, tsr_tensor *out_parts[3]);
void tsri_record_rotations(tsr_tensor *vectors, bool is_symmetric, tsr_tensor *out_parts[2]);

// The whole of qr by a native operator. Input: the transposed matrix; results: Q transposed, and the transposed input with R in its first columns.
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

// Kernels of kernels/op_factor.tk, whose comments say what they compute: on columns `first` and following of x.
typedef struct tsri_matrix_block {
  int64_t first, from, to;
} tsri_matrix_block;
tsr_status tsri_solve_block(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                            bool is_upper, bool is_unit);
tsr_status tsri_minus_product(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                              int64_t top, int64_t bottom, bool is_square);

// Solves with the triangular matrices l, block by block, in place in x.
tsr_status tsri_solve_triangular(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit);

// Fills x with the identity.
tsr_status tsri_set_identity(const tsri_matrices *x);

// Rows or columns of a block.
enum { TSRI_MATRIX_BLOCK = 32 };

#endif
