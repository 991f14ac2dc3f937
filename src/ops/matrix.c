// SPDX-License-Identifier: MIT
// Shared by operators on matrices: checks, shapes, and solving with triangular matrices in blocks.
#include "ops/matrix.h"

#include "core/error.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/matrix_native.h"

tsr_status tsri_matrix_check(const char *caller, const tsr_tensor *x) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, x);
  if (status != TSR_OK || x->layout.shape.rank >= 2) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: takes matrices, which have 2 axes or more, not %s", caller,
                   tsr_shape_format(x->layout.shape, text, sizeof text));
}

tsr_status tsri_square_check(const char *caller, const tsr_tensor *x) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_matrix_check(caller, x);
  if (status != TSR_OK || tsri_rows(x) == tsri_columns(x)) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: takes square matrices, not %s", caller,
                   tsr_shape_format(x->layout.shape, text, sizeof text));
}

tsr_status tsri_sides_check(const char *caller, const tsr_tensor *a, const tsr_tensor *b) {
  char text[TSR_SHAPE_TEXT_BYTES], other[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_matrix_check(caller, a);
  if (status == TSR_OK) status = tsri_tensor_check(caller, b);
  if (status != TSR_OK) return status;
  int rank = b->layout.shape.rank;
  int64_t rows = rank == 0 ? -1 : b->layout.shape.dims[rank > 1 ? rank - 2 : 0];
  if (rows == tsri_rows(a)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: b is %s; it must be a vector or a matrix with as many rows as a, %s", caller,
                   tsr_shape_format(b->layout.shape, text, sizeof text),
                   tsr_shape_format(a->layout.shape, other, sizeof other));
}

tsr_tensor *tsri_matrix_transposed(tsr_tensor *x) { return tsr_transpose(x, -2, -1); }

tsr_shape tsri_matrix_shape(const tsr_tensor *x, int64_t rows, int64_t columns) {
  tsr_shape shape = x->layout.shape;
  shape.dims[shape.rank - 2] = rows;
  shape.dims[shape.rank - 1] = columns;
  return shape;
}

tsr_shape tsri_vector_shape(const tsr_tensor *x, int64_t size) {
  tsr_shape shape = tsri_matrix_shape(x, size, 0);
  shape.rank--;
  return shape;
}

tsr_status tsri_results_give(const char *caller, tsr_tensor *const *results, tsr_tensor **const *outs, int count) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(caller, results[i]);
  if (status != TSR_OK) tsri_fail_as(caller, status);
  for (int i = 0; i < count; i++) {
    if (status == TSR_OK && outs[i]) *outs[i] = results[i];
    else tsr_release(results[i]);
  }
  return status;
}

// --- In the run of an operator ---------------------------------------------------------------------------------------

tsri_matrices tsri_matrices_of(const tsri_kernel_run *run, int index) {
  const tsr_shape *shape = &run->layouts[0].shape;
  tsri_matrices x = {.device = run->device, .dtype = run->input_dtypes[0], .buffer = run->outputs[index], .batch = 1};
  for (int i = 0; i < shape->rank - 2; i++) x.batch *= shape->dims[i];
  x.rows = shape->dims[shape->rank - 2];
  x.columns = shape->dims[shape->rank - 1];
  return x;
}

static void pass_block(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                       tsri_call *call) {
  tsri_call_buffer(call, "l", l->buffer, x->dtype);
  tsri_call_buffer(call, "x", x->buffer, x->dtype);
  tsri_call_word(call, "batch", x->batch);
  tsri_call_word(call, "m", x->rows);
  tsri_call_word(call, "n", x->columns);
  tsri_call_word(call, "first", block->first);
  tsri_call_word(call, "from", block->from);
  tsri_call_word(call, "to", block->to);
  tsri_call_word(call, "l_at", l->at);
  tsri_call_word(call, "l_batch", l->batch);
  tsri_call_word(call, "l_row", l->row);
  tsri_call_word(call, "l_column", l->column);
}

tsr_status tsri_solve_block(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                            bool is_upper, bool is_unit) {
  tsri_call call;
  tsri_call_init(&call, x->device, "op_factor", "solve_block", TSRI_WITH(TSRI_TYPE("T", x->dtype)));
  pass_block(x, l, block, &call);
  tsri_call_word(&call, "is_upper", is_upper);
  tsri_call_word(&call, "is_unit", is_unit);
  return tsri_call_items(&call, x->batch * (x->columns - block->first));
}

static tsr_status minus_by_kernel(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                                  int64_t top, int64_t bottom, bool is_square) {
  enum { ROWS = 8, GROUP = 64 };  // as in the kernel
  int64_t across = (x->columns - block->first + GROUP - 1) / GROUP, down = (bottom - top + ROWS - 1) / ROWS;
  tsri_call call;
  tsri_call_init(&call, x->device, "op_factor", "minus_product",
                 TSRI_WITH(TSRI_TYPE("T", x->dtype), TSRI_CONSTANT("SQUARE", is_square), TSRI_CONSTANT("ROWS", ROWS),
                           TSRI_CONSTANT("WG", GROUP)));
  pass_block(x, l, block, &call);
  tsri_call_word(&call, "top", top);
  tsri_call_word(&call, "bottom", bottom);
  return tsri_call_many_groups(&call, across * down * x->batch);
}

tsr_status tsri_minus_product(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                              int64_t top, int64_t bottom, bool is_square) {
  tsr_status status = tsri_native_minus(x, l, block, top, bottom, is_square);
  return status == TSR_ERR_UNSUPPORTED ? minus_by_kernel(x, l, block, top, bottom, is_square) : status;
}

tsr_status tsri_solve_triangular(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit) {
  int64_t n = x->rows;
  tsr_status status = tsri_solve_whole(x, l, is_upper, is_unit);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = TSR_OK;
  for (int64_t done = 0; done < n && status == TSR_OK; done += TSRI_MATRIX_BLOCK) {
    int64_t next = done + TSRI_MATRIX_BLOCK < n ? done + TSRI_MATRIX_BLOCK : n;
    tsri_matrix_block block = {.from = is_upper ? n - next : done, .to = is_upper ? n - done : next};
    status = tsri_solve_block(x, l, &block, is_upper, is_unit);
    if (status != TSR_OK || next == n) break;
    status = tsri_minus_product(x, l, &block, is_upper ? 0 : next, is_upper ? n - next : n, false);
  }
  return status;
}

tsr_status tsri_set_identity(const tsri_matrices *x) {
  int64_t items = x->batch * x->rows * x->columns;
  tsri_call call;
  tsri_call_init(&call, x->device, "op_factor", "identity", TSRI_WITH(TSRI_TYPE("T", x->dtype)));
  tsri_call_buffer(&call, "x", x->buffer, x->dtype);
  tsri_call_word(&call, "items", items);
  tsri_call_word(&call, "m", x->rows);
  tsri_call_word(&call, "n", x->columns);
  return tsri_call_items(&call, items);
}
