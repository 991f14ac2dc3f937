// SPDX-License-Identifier: MIT
// QR by Householder reflections, in blocks of columns (kernels/op_qr.tk): one work-group per matrix makes the reflections of a block, then many apply them to
// the columns to the right of it. Q is what all reflections, in reverse order, make of the identity. And least squares by it.
#include "core/error.h"
#include "graph/node.h"
#include "graph/transfer.h"
#include "ops/call.h"
#include "ops/matrix.h"
#include "ops/operators.h"
#include "ops/wide.h"

// --- Running ---------------------------------------------------------------------------------------------------------

// The reflections of a batch of matrices: `count` for each.
typedef struct reflections {
  tsr_buffer *v, *scale;
  int64_t count;
} reflections;

static void pass_reflections(const tsri_matrices *x, const reflections *r, int64_t from, int64_t to, tsri_call *call) {
  tsri_call_buffer(call, "v", r->v, x->dtype);
  tsri_call_buffer(call, "scale", r->scale, x->dtype);
  tsri_call_word(call, "batch", x->batch);
  tsri_call_word(call, "m", x->rows);
  tsri_call_word(call, "n", x->columns);
  tsri_call_word(call, "count", r->count);
  tsri_call_word(call, "from", from);
  tsri_call_word(call, "to", to);
}

static tsr_status make_reflections(const tsri_matrices *a, const reflections *r, int64_t from, int64_t to) {
  tsri_call call;
  tsri_call_init(&call, a->device, "op_qr", "qr_block", TSRI_WITH(TSRI_TYPE("T", a->dtype)));
  pass_reflections(a, r, from, to, &call);
  tsri_call_buffer(&call, "a", a->buffer, a->dtype);
  return tsri_call_many_groups(&call, a->batch);
}

static tsr_status reflect(const tsri_matrices *x, const reflections *r, int64_t first, int64_t from, int64_t to,
                          bool is_reversed) {
  enum { COLUMNS = 64 };  // of a work-group, as in the kernel
  tsri_call call;
  tsri_call_init(&call, x->device, "op_qr", "reflect", TSRI_WITH(TSRI_TYPE("T", x->dtype)));
  pass_reflections(x, r, from, to, &call);
  tsri_call_buffer(&call, "x", x->buffer, x->dtype);
  tsri_call_word(&call, "first", first);
  tsri_call_word(&call, "is_reversed", is_reversed);
  return tsri_call_many_groups(&call, x->batch * ((x->columns - first + COLUMNS - 1) / COLUMNS));
}

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

// a becomes R.
static tsr_status reduce(const tsri_matrices *a, const reflections *r) {
  tsr_status status = TSR_OK;
  for (int64_t from = 0, to = 0; from < r->count && status == TSR_OK; from = to) {
    to = lesser(from + TSRI_MATRIX_BLOCK, r->count);
    status = make_reflections(a, r, from, to);
    if (status == TSR_OK && to < a->columns) status = reflect(a, r, to, from, to, false);
  }
  return status;
}

static tsr_status make_q(const tsri_matrices *q, const reflections *r) {
  tsr_status status = tsri_set_identity(q);
  for (int64_t to = r->count, from = 0; to > 0 && status == TSR_OK; to = from) {
    from = (to - 1) / TSRI_MATRIX_BLOCK * TSRI_MATRIX_BLOCK;
    status = reflect(q, r, from, from, to,
                     true);  // columns before `from` are still those of the identity, and 0 in these rows
  }
  return status;
}

// Results: Q, and a matrix of the input's shape whose upper triangle is R.
tsr_status tsri_run_qr(const tsri_kernel_run *run) {
  tsri_view from = {.buffer = run->inputs[0], .dtype = run->dtype, .layout = run->layouts[0]};
  tsri_matrices a = tsri_matrices_of(run, 1), q = tsri_matrices_of(run, 0);
  q.columns = run->shape.dims[run->shape.rank - 1];
  if (q.batch * q.rows * q.columns == 0) return TSR_OK;
  if (from.layout.count == 0) return tsri_set_identity(&q);
  reflections r = {.count = lesser(a.rows, a.columns)};
  tsr_status status = tsri_call_check("qr", &from.layout);
  if (status == TSR_OK) status = tsri_copy_packed(&from, a.buffer);
  if (status == TSR_OK) status = tsri_call_scratch(a.device, a.batch * a.rows * r.count, a.dtype, &r.v);
  if (status == TSR_OK) status = tsri_call_scratch(a.device, a.batch * r.count, a.dtype, &r.scale);
  if (status == TSR_OK) status = reduce(&a, &r);
  if (status == TSR_OK) status = make_q(&q, &r);
  tsr_buffer_release(r.v);
  tsr_buffer_release(r.scale);
  return status;
}

// --- Operators -------------------------------------------------------------------------------------------------------

void tsri_record_qr(const char *caller, tsr_tensor *x, bool is_complete, tsr_tensor **out_q, tsr_tensor **out_r) {
  const tsri_op *op = TSRI_BODY(qr);
  tsr_status status = tsri_tensor_check(caller, x);
  if (status != TSR_OK) {
    *out_q = tsri_tensor_fail(status);
    *out_r = tsri_tensor_fail(status);
    return;
  }
  int64_t m = tsri_rows(x), columns = is_complete ? m : lesser(m, tsri_columns(x));
  const tsri_result results[2] = {{x->dtype, tsri_matrix_shape(x, m, columns)}, {x->dtype, x->layout.shape}};
  tsr_tensor *made[2] = {NULL, NULL};
  tsri_record_kernel_results(op, x->value->device, results, 2, &x, 1, NULL, made);
  tsr_tensor *rows = tsri_then(tsr_slice(made[1], -2, 0, columns, 1), made[1]);
  *out_q = made[0];
  *out_r = tsri_then(tsr_triu(rows, 0), rows);
}

tsr_status tsr_qr(tsr_tensor *x, bool complete, tsr_tensor **out_q, tsr_tensor **out_r) {
  if (out_q) *out_q = NULL;
  if (out_r) *out_r = NULL;
  tsr_status status = tsri_matrix_check("qr", x);
  if (status != TSR_OK) return status;
  tsr_tensor *wide = tsri_widened(x), *made[2] = {NULL, NULL};
  tsri_record_qr("qr", wide, complete, &made[0], &made[1]);
  tsr_release(wide);
  for (int i = 0; i < 2; i++) made[i] = tsri_narrowed("qr", made[i], x->dtype);
  return tsri_results_give("qr", made, (tsr_tensor * *const[]){out_q, out_r}, 2);
}

// At least as many rows as columns: R x = Q^T b.
static tsr_tensor *least_squares(tsr_tensor *a, tsr_tensor *b) {
  tsr_tensor *q = NULL, *r = NULL;
  tsri_record_qr("lstsq", a, false, &q, &r);
  tsr_tensor *turned = tsri_then(tsri_matrix_transposed(q), q);
  tsr_tensor *right = tsri_then(tsr_matmul(turned, b), turned);
  return tsri_then(tsri_then(tsr_triangular_solve(r, right, true, false, false), right), r);
}

// More columns than rows: a^T = Q R, and of all x with R^T Q^T x = b the shortest is Q times the solution of R^T y = b.
static tsr_tensor *shortest_solution(tsr_tensor *a, tsr_tensor *b) {
  tsr_tensor *q = NULL, *r = NULL, *turned = tsri_matrix_transposed(a);
  tsri_record_qr("lstsq", turned, false, &q, &r);
  tsr_release(turned);
  tsr_tensor *y = tsri_then(tsr_triangular_solve(r, b, true, true, false), r);
  return tsri_then(tsri_then(tsr_matmul(q, y), q), y);
}

tsr_tensor *tsr_lstsq(tsr_tensor *a, tsr_tensor *b) {
  tsr_status status = tsri_sides_check("lstsq", a, b);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote(a->dtype, b->dtype), wide = tsri_accumulator(tsri_promote_float(dtype));
  bool is_vector = b->layout.shape.rank == 1, is_tall = tsri_rows(a) >= tsri_columns(a);
  tsr_tensor *left = tsr_cast(a, wide), *right = tsr_cast(b, wide);
  if (is_vector) right = tsri_then(tsr_unsqueeze(right, 1), right);
  tsr_tensor *x = is_tall ? least_squares(left, right) : shortest_solution(left, right);
  tsr_release(left);
  tsr_release(right);
  if (is_vector) x = tsri_then(tsr_squeeze(x, -1), x);
  return tsri_narrowed("lstsq", x, dtype);
}
