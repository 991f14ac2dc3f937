// SPDX-License-Identifier: MIT
// Factorisations by a device's native operators: copies to the memory layout that these need, and kernels (kernels/op_native_factor.tk) for what they do not
// compute.
#include "ops/matrix_native.h"

#include "ops/call.h"
#include "ops/promote.h"
#include "runtime/native_op.h"
#include "runtime/tape.h"

static tsri_native_op factor_op(tsr_dtype dtype, tsri_factor_kind kind, int64_t batch, int64_t m, int64_t n) {
  tsri_native_op op = {.kind = TSRI_NATIVE_FACTOR, .dtype = dtype, .result = dtype};
  op.is.factor = (tsri_factor_op){.kind = kind, .batch = batch, .m = m, .n = n, .columns = n};
  return op;
}

// Describes the operator for the matrices of a view. m and n are the view's last two sizes, exchanged if is_transposed.
static tsri_native_op op_for(const tsri_view *x, tsri_factor_kind kind, bool is_transposed) {
  const tsr_shape *shape = &x->layout.shape;
  int64_t rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1];
  return factor_op(x->dtype, kind, x->layout.count / (rows * columns), is_transposed ? columns : rows,
                   is_transposed ? rows : columns);
}

// Queues the operator. It may write to all buffers.
static tsr_status queue_op(tsr_device *device, const tsri_native_op *op, tsr_buffer *const *buffers, int count) {
  return tsri_device_run_op_writing(device, op, buffers, count, count);
}

static tsr_status make_numbers(tsr_device *device, int64_t count, tsr_buffer **out) {
  return tsri_call_scratch(device, count, TSRI_INDEX_DTYPE, out);
}

// --- Cholesky --------------------------------------------------------------------------------------------------------

// Factors the matrices whose info is not 0 again, by one work-group each, so that all columns before the one that fails are right. x: row-major copies of the
// matrices, from element x_at on.
static tsr_status repair(const tsri_matrices *a, tsr_buffer *x, int64_t x_at, tsr_buffer *info) {
  tsri_call call;
  tsri_call_init(&call, a->device, "op_native_factor", "cholesky_again", TSRI_WITH(TSRI_TYPE("T", a->dtype)));
  tsri_call_buffer(&call, "x", x, a->dtype);
  tsri_call_buffer(&call, "a", a->buffer, a->dtype);
  tsri_call_buffer(&call, "info", info, TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "batch", a->batch);
  tsri_call_word(&call, "n", a->columns);
  tsri_call_word(&call, "x_at", x_at);
  return tsri_call_many_groups(&call, a->batch);
}

// The native operators are column-major: a row-major lower triangle is passed as a column-major upper triangle.
tsr_status tsri_native_cholesky(const tsri_view *from, const tsri_matrices *a) {
  tsri_native_op op = op_for(from, TSRI_FACTOR_CHOLESKY, false);
  if (!tsri_device_takes(a->device, &op)) return TSR_ERR_UNSUPPORTED;
  bool is_packed = tsri_layout_is_contiguous(&from->layout);
  tsr_buffer *info = NULL, *copy = NULL;
  tsr_status status = make_numbers(a->device, a->batch, &info);
  if (status == TSR_OK && !is_packed) status = tsri_call_scratch(a->device, from->layout.count, a->dtype, &copy);
  if (status == TSR_OK && !is_packed) status = tsri_copy_packed(from, copy);
  if (status == TSR_OK) status = tsri_copy_packed(from, a->buffer);
  if (status == TSR_OK) {
    tsri_place_bind(&op.is.factor.a, a->buffer);
    tsri_place_bind(&op.is.factor.info, info);
    status = queue_op(a->device, &op, (tsr_buffer *const[]){a->buffer, info}, 2);
  }
  if (status == TSR_OK) status = repair(a, copy ? copy : from->buffer, copy ? 0 : from->layout.offset, info);
  tsr_buffer_release(copy);
  tsr_buffer_release(info);
  return status;
}

// --- LU --------------------------------------------------------------------------------------------------------------

// The view with its last two axes exchanged.
static tsri_view transposed(tsri_view x) {
  int row = x.layout.shape.rank - 2, column = row + 1;
  int64_t rows = x.layout.shape.dims[row], step = x.layout.strides[row];
  x.layout.shape.dims[row] = x.layout.shape.dims[column];
  x.layout.strides[row] = x.layout.strides[column];
  x.layout.shape.dims[column] = rows;
  x.layout.strides[column] = step;
  return x;
}

// Computes `rows` and `odd` of tsri_native_lu from the native function's list of row exchanges.
static tsr_status order_rows(tsr_device *device, const tsri_factor_op *op, tsr_buffer *exchanges, tsr_buffer *rows,
                             tsr_buffer *odd) {
  tsri_call call;
  tsri_call_init(&call, device, "op_native_factor", "order_of_rows", TSRI_WITH(TSRI_CONSTANT("WG", 64)));
  tsri_call_buffer(&call, "exchanges", exchanges, TSRI_INDEX_DTYPE);
  tsri_call_buffer(&call, "rows", rows, TSRI_INDEX_DTYPE);
  tsri_call_buffer(&call, "odd", odd, TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "items", op->batch * op->m);
  tsri_call_word(&call, "m", op->m);
  tsri_call_word(&call, "count", op->m < op->n ? op->m : op->n);
  return tsri_call_items(&call, op->batch * op->m);
}

static tsr_status run_lu(const tsri_matrices *a, tsri_native_op *op, tsr_buffer *turned, tsr_buffer *rows,
                         tsr_buffer *odd) {
  tsr_buffer *exchanges = NULL;
  bool is_ordered = (op->parts & TSRI_FACTOR_ORDERED) != 0;
  tsri_factor_op *factor = &op->is.factor;
  int64_t count = factor->m < factor->n ? factor->m : factor->n;
  tsr_status status = is_ordered ? TSR_OK : make_numbers(a->device, a->batch * count, &exchanges);
  if (status == TSR_OK) {
    tsr_buffer *const buffers[] = {turned, is_ordered ? rows : exchanges, odd};
    tsri_place_bind(&factor->a, turned);
    tsri_place_bind(&factor->rows, buffers[1]);
    tsri_place_bind(&factor->odd, odd);
    status = queue_op(a->device, op, buffers, 3);
  }
  if (status == TSR_OK && !is_ordered) status = order_rows(a->device, factor, exchanges, rows, odd);
  tsr_buffer_release(exchanges);
  return status;
}

tsr_status tsri_native_lu(const tsri_view *from, const tsri_matrices *a, tsr_buffer *rows, tsr_buffer *odd) {
  tsri_native_op op = op_for(from, TSRI_FACTOR_LU, false);
  op.parts = TSRI_FACTOR_ORDERED;
  if (!tsri_device_takes(a->device, &op)) op.parts = 0;
  if (!tsri_device_takes(a->device, &op)) return TSR_ERR_UNSUPPORTED;
  tsri_view source = transposed(*from);
  tsr_buffer *turned = NULL;
  tsr_status status = tsri_call_scratch(a->device, from->layout.count, a->dtype, &turned);
  if (status == TSR_OK) status = tsri_copy_packed(&source, turned);
  if (status == TSR_OK) status = run_lu(a, &op, turned, rows, odd);
  if (status == TSR_OK) {
    tsri_view factors = {.buffer = turned, .dtype = a->dtype, .layout = tsri_packed_layout(&source.layout)};
    factors = transposed(factors);
    status = tsri_copy_packed(&factors, a->buffer);
  }
  tsr_buffer_release(turned);
  return status;
}

// --- Triangular matrices ---------------------------------------------------------------------------------------------

tsr_status tsri_native_solve(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit) {
  tsri_native_op op = {.kind = TSRI_NATIVE_SOLVE, .dtype = x->dtype, .result = x->dtype};
  tsri_solve_op *solve = &op.is.solve;
  *solve = (tsri_solve_op){.batch = x->batch, .m = x->rows, .n = x->columns, .row = l->row, .column = l->column};
  solve->batch_step = l->batch;
  solve->is_upper = is_upper;
  solve->is_unit = is_unit;
  solve->l.offset = (size_t)l->at * tsr_dtype_bytes(x->dtype);
  if (!tsri_device_takes(x->device, &op)) return TSR_ERR_UNSUPPORTED;
  tsri_place_bind(&solve->l, l->buffer);
  tsri_place_bind(&solve->x, x->buffer);
  return tsri_device_run_op(x->device, &op, (tsr_buffer *const[]){x->buffer, l->buffer}, 2);
}

// --- Products to subtract ---------------------------------------------------------------------------------------------

// The product that tsri_native_minus subtracts, h x w elements for each matrix of the batch.
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
static tsri_native_op describe_minus(const minus *o) {
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
  tsri_call_init(&call, o->x->device, "op_native_factor", "subtract",
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

tsr_status tsri_native_minus(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                             int64_t top, int64_t bottom, bool is_square) {
  enum { SMALL = 64 };  // smaller products are faster by a kernel
  minus o = {.x = x, .l = l, .block = block, .top = top, .h = bottom - top, .w = x->columns - block->first};
  o.is_square = is_square;
  tsri_native_op op = describe_minus(&o);
  if (o.h < SMALL || o.w < SMALL || !tsri_device_takes(x->device, &op)) return TSR_ERR_UNSUPPORTED;
  tsr_buffer *y = NULL;
  tsr_status status = tsri_call_scratch(x->device, x->batch * o.h * o.w, x->dtype, &y);
  if (status == TSR_OK) status = multiply(&o, &op, y);
  if (status == TSR_OK) status = subtract(&o, y);
  tsr_buffer_release(y);
  return status;
}

// --- QR --------------------------------------------------------------------------------------------------------------

bool tsri_has_native_qr(const tsr_tensor *x, int64_t columns) {
  int64_t m = tsri_rows(x), n = tsri_columns(x);
  if (x->layout.count == 0) return false;
  tsri_native_op op = factor_op(x->dtype, TSRI_FACTOR_QR, x->layout.count / (m * n), m, n);
  op.is.factor.columns = columns;
  return tsri_device_takes(x->value->device, &op);
}

tsr_status tsri_native_qr(const tsri_view *from, int64_t columns, tsr_buffer *q, tsr_buffer *r) {
  tsri_native_op op = op_for(from, TSRI_FACTOR_QR, true);
  op.is.factor.columns = columns;
  tsr_status status = tsri_copy_packed(from, r);
  if (status != TSR_OK) return status;
  tsri_place_bind(&op.is.factor.a, r);
  tsri_place_bind(&op.is.factor.q, q);
  return queue_op(q->device, &op, (tsr_buffer *const[]){q, r}, 2);
}

// --- Eigenvalues and singular values ---------------------------------------------------------------------------------

// Scales the left vectors u by their singular values, and sets the vectors of matrices that failed to NaN. u may be NULL.
static tsr_status settle(tsr_device *device, const tsri_native_op *op, tsr_buffer *u, tsr_buffer *v, tsr_buffer *s,
                         tsr_buffer *info) {
  const tsri_factor_op *factor = &op->is.factor;
  tsri_call call;
  tsri_call_init(&call, device, "op_native_factor", u ? "settle_singular" : "settle_symmetric",
                 TSRI_WITH(TSRI_TYPE("T", op->dtype)));
  if (u) tsri_call_buffer(&call, "u", u, op->dtype);
  tsri_call_buffer(&call, "v", v, op->dtype);
  tsri_call_buffer(&call, "s", s, op->dtype);
  tsri_call_buffer(&call, "info", info, TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "batch", factor->batch);
  tsri_call_word(&call, "n", factor->n);
  return tsri_call_many_groups(&call, factor->batch * factor->n);
}

// Scratch buffers of an operator. a: the matrices, if they are not factored in place; s: singular values or eigenvalues; info: the operator's status of each
// matrix.
typedef struct factor_work {
  tsr_buffer *a, *s, *info;
} factor_work;

static tsr_status make_work(tsr_device *device, const tsri_native_op *op, bool is_symmetric, factor_work *out) {
  const tsri_factor_op *factor = &op->is.factor;
  int64_t values = factor->batch * factor->n;
  tsr_status status = tsri_call_scratch(device, values, op->dtype, &out->s);
  if (status == TSR_OK) status = make_numbers(device, factor->batch, &out->info);
  if (status == TSR_OK && !is_symmetric) status = tsri_call_scratch(device, values * factor->m, op->dtype, &out->a);
  return status;
}

static tsr_status decompose(const tsri_view *from, tsri_native_op *op, const factor_work *with, tsr_buffer *w,
                            tsr_buffer *v) {
  tsri_factor_op *factor = &op->is.factor;
  tsr_buffer *a = w ? with->a : v, *const buffers[] = {v, with->s, with->info, a, w};
  tsr_status status = tsri_copy_packed(from, a);
  if (status != TSR_OK) return status;
  tsri_place_bind(&factor->a, a);
  tsri_place_bind(&factor->s, with->s);
  tsri_place_bind(&factor->info, with->info);
  if (w) {
    tsri_place_bind(&factor->u, w);
    tsri_place_bind(&factor->v, v);
  }
  status = queue_op(v->device, op, buffers, w ? 5 : 3);
  return status == TSR_OK ? settle(v->device, op, w, v, with->s, with->info) : status;
}

tsr_status tsri_native_rotations(const tsri_view *from, bool is_symmetric, tsr_buffer *w, tsr_buffer *v) {
  tsri_native_op op = op_for(from, is_symmetric ? TSRI_FACTOR_EIGH : TSRI_FACTOR_SVD, true);
  if (op.is.factor.m != op.is.factor.n || !tsri_device_takes(v->device, &op)) return TSR_ERR_UNSUPPORTED;
  factor_work with = {.a = NULL};
  tsr_status status = make_work(v->device, &op, is_symmetric, &with);
  if (status == TSR_OK) status = decompose(from, &op, &with, is_symmetric ? NULL : w, v);
  tsr_buffer_release(with.a);
  tsr_buffer_release(with.s);
  tsr_buffer_release(with.info);
  return status;
}
