// SPDX-License-Identifier: MIT
// Shared by operators on matrices: checks, shapes, and solving with triangular matrices in blocks.
#include "ops/matrix.h"

#include "core/error.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "runtime/native_op.h"

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

// The product that tsri_minus_product subtracts, h x w elements for each matrix of the batch.
typedef struct minus {
  const tsri_matrices *x;
  const tsri_matrix_view *l;
  const tsri_matrix_block *block;
  int64_t top, h, w;
  bool is_square;
} minus;

static tsri_matrix matrix_at(const tsri_matrix_view *view, int64_t i, int64_t j, int64_t row, int64_t column,
                             size_t bytes) {
  return (tsri_matrix){.at.offset = (size_t)(view->at + i * view->row + j * view->column) * bytes,
                       .row = row,
                       .column = column,
                       .batch = {view->batch}};
}

// Describes the product as a native operator, without buffers.
static tsri_native_op describe(const minus *o) {
  const tsri_matrices *x = o->x;
  size_t bytes = tsr_dtype_bytes(x->dtype);
  tsri_matrix_view rows = {.batch = x->rows * x->columns, .row = x->columns, .column = 1};
  tsri_native_op op = {.kind = TSRI_NATIVE_PRODUCT, .dtype = x->dtype, .result = x->dtype};
  tsri_product_op *p = &op.is.product;
  *p = (tsri_product_op){.m = o->h, .n = o->w, .k = o->block->to - o->block->from, .alpha = 1};
  p->batch_rank = x->batch > 1;
  p->batch_dims[0] = x->batch;
  p->a = matrix_at(o->l, o->top, o->block->from, o->l->row, o->l->column, bytes);
  if (o->is_square) p->b = matrix_at(o->l, o->block->first, o->block->from, o->l->column, o->l->row, bytes);
  else p->b = matrix_at(&rows, o->block->from, o->block->first, rows.row, 1, bytes);
  return op;
}

// Computes the product into `y`, [batch, h, w].
static tsr_status multiply(const minus *o, tsri_native_op *op, tsr_buffer *y) {
  tsri_product_op *p = &op->is.product;
  tsri_place_bind(&p->a.at, o->l->buffer);
  tsri_place_bind(&p->b.at, o->is_square ? o->l->buffer : o->x->buffer);
  tsri_place_bind(&p->y, y);
  return tsri_device_run_op(o->x->device, op, (tsr_buffer *const[]){y, o->l->buffer, o->x->buffer}, 3);
}

static tsr_status subtract(const minus *o, tsr_buffer *y) {
  enum { GROUP = 256 };  // as in the kernel
  tsri_call call;
  tsri_call_init(&call, o->x->device, "op_factor", "subtract",
                 TSRI_WITH(TSRI_TYPE("T", o->x->dtype), TSRI_CONSTANT("WG", GROUP)));
  tsri_call_buffer(&call, "x", o->x->buffer, o->x->dtype);
  tsri_call_buffer(&call, "y", y, o->x->dtype);
  tsri_call_word(&call, "batch", o->x->batch);
  tsri_call_word(&call, "m", o->x->rows);
  tsri_call_word(&call, "n", o->x->columns);
  tsri_call_word(&call, "top", o->top);
  tsri_call_word(&call, "first", o->block->first);
  tsri_call_word(&call, "height", o->h);
  tsri_call_word(&call, "width", o->w);
  return tsri_call_many_groups(&call, o->x->batch * o->h * ((o->w + GROUP - 1) / GROUP));
}

// Computes the product natively into a scratch buffer, and subtracts that. TSR_ERR_UNSUPPORTED, without a message, if that is slower or not possible.
static tsr_status minus_native(const minus *o) {
  enum { SMALL = 64 };
  tsri_native_op op = describe(o);
  if (o->h < SMALL || o->w < SMALL || !tsri_device_takes(o->x->device, &op)) return TSR_ERR_UNSUPPORTED;
  tsr_buffer *y = NULL;
  tsr_status status = tsri_call_scratch(o->x->device, o->x->batch * o->h * o->w, o->x->dtype, &y);
  if (status == TSR_OK) status = multiply(o, &op, y);
  if (status == TSR_OK) status = subtract(o, y);
  tsr_buffer_release(y);
  return status;
}

static tsr_status minus_by_kernel(const minus *o) {
  enum { ROWS = 8, GROUP = 64 };  // as in the kernel
  int64_t across = (o->w + GROUP - 1) / GROUP, down = (o->h + ROWS - 1) / ROWS;
  tsri_call call;
  tsri_call_init(&call, o->x->device, "op_factor", "minus_product",
                 TSRI_WITH(TSRI_TYPE("T", o->x->dtype), TSRI_CONSTANT("SQUARE", o->is_square),
                           TSRI_CONSTANT("ROWS", ROWS), TSRI_CONSTANT("WG", GROUP)));
  pass_block(o->x, o->l, o->block, &call);
  tsri_call_word(&call, "top", o->top);
  tsri_call_word(&call, "bottom", o->top + o->h);
  return tsri_call_many_groups(&call, across * down * o->x->batch);
}

tsr_status tsri_minus_product(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                              int64_t top, int64_t bottom, bool is_square) {
  minus o = {.x = x, .l = l, .block = block, .top = top, .h = bottom - top, .w = x->columns - block->first};
  o.is_square = is_square;
  tsr_status status = minus_native(&o);
  return status == TSR_ERR_UNSUPPORTED ? minus_by_kernel(&o) : status;
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
