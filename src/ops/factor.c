// SPDX-License-Identifier: MIT
// Cholesky and LU factors, by blocks of columns (kernels/op_factor.tk): one work-group per matrix factors a block, then many work-groups subtract its product
// from the columns to its right. Also the operators composed of them: solve, inverse, det, slogdet.
#include "core/error.h"
#include "graph/node.h"
#include "graph/transfer.h"
#include "ops/autocast.h"
#include "ops/call.h"
#include "ops/matrix.h"
#include "ops/matrix_native.h"
#include "ops/operators.h"
#include "ops/wide.h"

// --- Running ---------------------------------------------------------------------------------------------------------

// Allocates memory for a copy of a block of columns. `l` describes it: element (i, from + j) of a matrix is element (i, j) of the copy.
static tsr_status make_block(const tsri_matrices *a, tsri_matrix_view *l) {
  return tsri_call_scratch(a->device, a->batch * a->rows * TSRI_MATRIX_BLOCK, a->dtype, &l->buffer);
}

static void set_block(const tsri_matrices *a, const tsri_matrix_block *block, tsri_matrix_view *l) {
  int64_t width = block->to - block->from;
  l->at = -block->from;
  l->batch = a->rows * width;
  l->row = width;
  l->column = 1;
}

static void pass_columns(const tsri_matrices *a, const tsri_matrix_view *l, const tsri_matrix_block *block,
                         tsri_call *call) {
  tsri_call_buffer(call, "a", a->buffer, a->dtype);
  tsri_call_buffer(call, "block", l->buffer, a->dtype);
  tsri_call_word(call, "batch", a->batch);
  tsri_call_word(call, "n", a->columns);
  tsri_call_word(call, "from", block->from);
  tsri_call_word(call, "to", block->to);
}

static tsr_status factor_symmetric(const tsri_matrices *a, const tsri_matrix_view *l, const tsri_matrix_block *block) {
  tsri_call call;
  tsri_call_init(&call, a->device, "op_factor", "cholesky_block", TSRI_WITH(TSRI_TYPE("T", a->dtype)));
  pass_columns(a, l, block, &call);
  tsr_status status = tsri_call_many_groups(&call, a->batch);
  if (status != TSR_OK || block->to == a->rows) return status;
  return tsri_minus_product(a, l, block, block->to, a->rows, true);
}

// Factors a block of columns and, in the rows of the block, the columns to its right.
static tsr_status factor_block(const tsri_kernel_run *run, const tsri_matrices *a, const tsri_matrix_view *l,
                               const tsri_matrix_block *block) {
  tsri_call call;
  tsri_call_init(&call, a->device, "op_factor", "lu_block", TSRI_WITH(TSRI_TYPE("T", a->dtype)));
  pass_columns(a, l, block, &call);
  tsri_call_buffer(&call, "rows", run->outputs[1], TSRI_INDEX_DTYPE);
  tsri_call_buffer(&call, "odd", run->outputs[2], TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "m", a->rows);
  tsr_status status = tsri_call_many_groups(&call, a->batch);
  if (status != TSR_OK || block->to == a->columns) return status;
  return tsri_solve_block(a, l, block, false, true);
}

static tsri_lu_results results_of(const tsri_kernel_run *run, const tsri_matrix_view *l) {
  return (tsri_lu_results){.rows = run->outputs[1], .odd = run->outputs[2], .block = l->buffer};
}

static tsr_status factor_columns(const tsri_kernel_run *run, const tsri_matrices *a, const tsri_matrix_view *l,
                                 const tsri_matrix_block *block) {
  tsri_lu_results results = results_of(run, l);
  tsr_status status = tsri_lu_whole(a, &results, block->from, block->to);
  if (status == TSR_ERR_UNSUPPORTED) status = factor_block(run, a, l, block);
  if (status != TSR_OK || block->to == a->columns || block->to == a->rows) return status;
  return tsri_minus_product(a, l, block, block->to, a->rows, false);
}

// Factors all columns by blocks. `l` has memory for a block.
static tsr_status factor_blocks(const tsri_kernel_run *run, const tsri_matrices *a, tsri_matrix_view *l,
                                bool is_symmetric) {
  int64_t count = a->rows < a->columns ? a->rows : a->columns;
  tsr_status status = TSR_OK;
  for (tsri_matrix_block block = {.to = 0}; block.to < count && status == TSR_OK;) {
    block.from = block.to;
    block.to = block.from + TSRI_MATRIX_BLOCK < count ? block.from + TSRI_MATRIX_BLOCK : count;
    block.first = block.to;
    set_block(a, &block, l);
    status = is_symmetric ? factor_symmetric(a, l, &block) : factor_columns(run, a, l, &block);
  }
  return status;
}

// Factors all columns: in one launch, or by blocks.
static tsr_status factor_all(const tsri_kernel_run *run, const tsri_matrices *a, tsri_matrix_view *l,
                             bool is_symmetric) {
  if (is_symmetric) return factor_blocks(run, a, l, true);
  tsri_lu_results results = results_of(run, l);
  tsr_status status = tsri_lu_whole(a, &results, 0, a->rows < a->columns ? a->rows : a->columns);
  return status == TSR_ERR_UNSUPPORTED ? factor_blocks(run, a, l, false) : status;
}

// Factors by a native operator. TSR_ERR_UNSUPPORTED, without a message: the device has none for it.
static tsr_status factor_native(const tsri_kernel_run *run, const tsri_view *from, const tsri_matrices *a,
                                bool is_symmetric) {
  return is_symmetric ? tsri_native_cholesky(from, a) : tsri_native_lu(from, a, run->outputs[1], run->outputs[2]);
}

static tsr_status factor(const tsri_kernel_run *run, bool is_symmetric) {
  tsri_view from = {.buffer = run->inputs[0], .dtype = run->input_dtypes[0], .layout = run->layouts[0]};
  if (from.layout.count == 0) return TSR_OK;
  tsri_matrices a = tsri_matrices_of(run, 0);
  tsri_matrix_view l = {.buffer = NULL};
  tsr_status status = tsri_call_check(run->node->op->name, &from.layout);
  if (status != TSR_OK) return status;
  status = factor_native(run, &from, &a, is_symmetric);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = tsri_copy_packed(&from, a.buffer);
  if (status == TSR_OK) status = make_block(&a, &l);
  if (status == TSR_OK) status = factor_all(run, &a, &l, is_symmetric);
  tsr_buffer_release(l.buffer);
  return status;
}

tsr_status tsri_run_cholesky(const tsri_kernel_run *run) { return factor(run, true); }
tsr_status tsri_run_lu(const tsri_kernel_run *run) { return factor(run, false); }

// Inputs: the triangular matrices, which have at most one batch axis or are contiguous, and the right-hand sides.
tsr_status tsri_run_triangular(const tsri_kernel_run *run) {
  const tsri_layout *l = &run->layouts[0];
  const tsri_triangular_attributes *given = TSRI_GIVEN(run->node, triangular);
  tsri_view from = {.buffer = run->inputs[1], .dtype = run->dtype, .layout = run->layouts[1]};
  if (from.layout.count == 0) return TSR_OK;
  int last = run->shape.rank - 1, rank = l->shape.rank;
  tsri_matrices x = {
      .device = run->device, .dtype = run->dtype, .buffer = run->output, .columns = run->shape.dims[last]};
  x.rows = run->shape.dims[last - 1];
  x.batch = from.layout.count / (x.rows * x.columns);
  tsri_matrix_view view = {.buffer = run->inputs[0], .at = l->offset, .batch = rank > 2 ? l->strides[0] : 0};
  // Several batch axes: the matrices are contiguous. Strides of axes with one element do not say how far apart they are.
  if (rank > 3) view.batch = x.rows * x.rows;
  view.row = l->strides[given->is_transposed ? rank - 1 : rank - 2];
  view.column = l->strides[given->is_transposed ? rank - 2 : rank - 1];
  tsr_status status = tsri_call_check("triangular_solve", l);
  if (status == TSR_OK) status = tsri_call_check("triangular_solve", &from.layout);
  if (status == TSR_OK) status = tsri_copy_packed(&from, run->output);
  if (status != TSR_OK) return status;
  bool is_upper = given->is_upper != given->is_transposed;
  status = tsri_native_solve(&x, &view, is_upper, given->is_unit);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  return tsri_solve_triangular(&x, &view, is_upper, given->is_unit);
}

// --- Cholesky --------------------------------------------------------------------------------------------------------

tsr_tensor *tsr_cholesky(tsr_tensor *x, bool upper) {
  const tsri_op *op = TSRI_BODY(cholesky);
  tsr_status status = tsri_square_check(op->name, x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *wide = tsri_widened(x);
  status = tsri_tensor_check(op->name, wide);
  if (status != TSR_OK) return tsri_then(tsri_tensor_fail(status), wide);
  tsr_tensor *square = tsri_record_kernel(op, wide->value->device, wide->dtype, wide->layout.shape, &wide, 1, NULL);
  tsr_tensor *lower = tsri_then(tsri_then(tsr_tril(square, 0), square), wide);
  if (upper) lower = tsri_then(tsri_matrix_transposed(lower), lower);
  return tsri_narrowed(op->name, lower, x->dtype);
}

// --- LU --------------------------------------------------------------------------------------------------------------

// The results of a node of lu: both factors in one matrix; for each row of it, the index of the row of x it was computed from (the permutation); and whether
// this permutation is odd.
typedef struct lu_parts {
  tsr_tensor *factors, *rows, *odd;
} lu_parts;

static void release_parts(lu_parts *lu) {
  tsr_release(lu->factors);
  tsr_release(lu->rows);
  tsr_release(lu->odd);
}

void tsri_record_lu(tsr_tensor *x, tsr_tensor *out_parts[3]) {
  tsr_shape rows = tsri_vector_shape(x, tsri_rows(x)), batch = rows;
  batch.rank--;
  const tsri_result results[3] = {{x->dtype, x->layout.shape}, {TSRI_INDEX_DTYPE, rows}, {TSRI_INDEX_DTYPE, batch}};
  tsri_record_kernel_results(TSRI_BODY(lu), x->value->device, results, 3, &x, 1, NULL, out_parts);
}

// Records LU. x has a float dtype that kernels compute in, or is a failed tensor.
static lu_parts record_lu(const char *caller, tsr_tensor *x) {
  tsr_tensor *made[3] = {NULL, NULL, NULL};
  tsr_status status = tsri_tensor_check(caller, x);
  if (status == TSR_OK) tsri_record_lu(x, made);
  for (int i = 0; i < 3 && status != TSR_OK; i++) made[i] = tsri_tensor_fail(status);
  return (lu_parts){made[0], made[1], made[2]};
}

// The permutation of matrices without columns: the identity.
static tsr_tensor *rows_in_order(tsr_tensor *x) {
  tsr_tensor *order = tsr_arange(x->value->device, TSRI_INDEX_DTYPE, 0, (double)tsri_rows(x), 1);
  return tsri_then(tsr_expand(order, tsri_vector_shape(x, tsri_rows(x))), order);
}

tsr_status tsr_lu(tsr_tensor *x, tsr_tensor **out_factors, tsr_tensor **out_rows) {
  if (out_factors) *out_factors = NULL;
  if (out_rows) *out_rows = NULL;
  tsr_status status = tsri_matrix_check("lu", x);
  if (status != TSR_OK) return status;
  tsr_tensor *wide = tsri_widened(x);
  lu_parts lu = record_lu("lu", wide);
  if (tsri_columns(x) == 0) lu.rows = tsri_then(rows_in_order(x), lu.rows);
  tsr_tensor *results[2] = {tsri_narrowed("lu", lu.factors, x->dtype), lu.rows};
  tsr_release(lu.odd);
  tsr_release(wide);
  return tsri_results_give("lu", results, (tsr_tensor * *const[]){out_factors, out_rows}, 2);
}

// --- Solving ---------------------------------------------------------------------------------------------------------

// The matrices and the right-hand sides of solve and triangular_solve, in one dtype and with the same batch axes. A vector b becomes a matrix with one column.
typedef struct system_parts {
  tsr_tensor *a, *b;
  bool is_vector;
} system_parts;

// x broadcast to the batch axes `batch`. Releases x.
static tsr_tensor *with_batch(tsr_tensor *x, tsr_shape batch) {
  if (tsr_error(x) != TSR_OK) return x;
  batch.dims[batch.rank] = tsri_rows(x);
  batch.dims[batch.rank + 1] = tsri_columns(x);
  batch.rank += 2;
  return tsri_then(tsr_expand(x, batch), x);
}

// Prepares *out in the dtype in which the system is solved; the result is cast to the promoted dtype of a and b by finish_system.
static tsr_status start_system(const char *caller, tsr_tensor *a, tsr_tensor *b, system_parts *out) {
  tsr_status status = tsri_square_check(caller, a);
  if (status == TSR_OK) status = tsri_sides_check(caller, a, b);
  if (status != TSR_OK) return status;
  tsr_dtype dtype = tsri_accumulator(tsri_promote_float(tsri_promote(a->dtype, b->dtype)));
  out->is_vector = b->layout.shape.rank == 1;
  out->a = tsr_cast(a, dtype);
  out->b = tsr_cast(b, dtype);
  if (out->is_vector) out->b = tsri_then(tsr_unsqueeze(out->b, 1), out->b);
  tsr_shape batch = {.rank = 0}, a_batch = a->layout.shape, b_batch = b->layout.shape;
  a_batch.rank -= 2;
  b_batch.rank = out->is_vector ? 0 : b_batch.rank - 2;
  status = tsri_shape_broadcast(caller, a_batch, b_batch, &batch);
  if (status == TSR_OK && !tsri_shape_equal(a_batch, batch) && tsr_tensor_count(a) > 0) {
    bool is_one = a->layout.count == tsri_rows(a) * tsri_rows(a);
    tsr_shape one = TSR_SHAPE(tsri_rows(a), tsri_rows(a));
    out->a = is_one ? tsri_then(tsr_reshape(out->a, one), out->a) : with_batch(out->a, batch);
  }
  if (status == TSR_OK) out->b = with_batch(out->b, batch);
  return status;
}

static void release_system(system_parts *s) {
  tsr_release(s->a);
  tsr_release(s->b);
}

// Records the solution of triangular systems. There is one matrix in `l`, or as many as in b. Releases b.
static tsr_tensor *record_triangular(tsr_tensor *l, tsr_tensor *b, bool is_upper, bool is_transposed, bool is_unit) {
  const tsri_op *op = TSRI_BODY(triangular_solve);
  tsr_tensor *packed = tsr_tensor_shape(l).rank > 3 ? tsr_contiguous(l) : tsr_retain(l);
  tsr_tensor *inputs[2] = {packed, b}, *result = NULL;
  tsr_device *device = NULL;
  tsr_status status = tsri_tensor_check(op->name, packed);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, b);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, 2, &device);
  if (status != TSR_OK) result = tsri_tensor_fail(status);
  else {
    result = tsri_record_kernel(
        op, device, b->dtype, b->layout.shape, inputs, 2,
        TSRI_GIVE(op, triangular, .is_upper = is_upper, .is_transposed = is_transposed, .is_unit = is_unit));
  }
  return tsri_then(tsri_then(result, packed), b);
}

// The solution x in the shape and dtype of the result. Releases x.
static tsr_tensor *finish_system(const char *caller, tsr_tensor *x, const tsr_tensor *a, const tsr_tensor *b,
                                 bool is_vector) {
  tsr_tensor *shaped = is_vector ? tsri_then(tsr_squeeze(x, -1), x) : x;
  return tsri_narrowed(caller, shaped, tsri_promote(a->dtype, b->dtype));
}

tsr_tensor *tsr_triangular_solve(tsr_tensor *a, tsr_tensor *b, bool upper, bool transposed, bool unit) {
  system_parts s = {.a = NULL};
  tsr_status status = start_system("triangular_solve", a, b, &s);
  tsr_tensor *x = status == TSR_OK ? record_triangular(s.a, tsr_retain(s.b), upper, transposed, unit) : NULL;
  release_system(&s);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return finish_system("triangular_solve", x, a, b, s.is_vector);
}

// The rows of b in the order of the permutation. Releases b.
static tsr_tensor *exchange_rows(tsr_tensor *b, tsr_tensor *rows) {
  if (tsr_error(b) != TSR_OK) return b;
  tsr_tensor *column = tsr_unsqueeze(rows, -1), *indices = tsri_then(tsr_expand(column, b->layout.shape), column);
  tsr_tensor *result = tsr_gather(b, b->layout.shape.rank - 2, indices);
  return tsri_then(tsri_then(result, indices), b);
}

static tsr_tensor *solve(const char *caller, const system_parts *s) {
  lu_parts lu = record_lu(caller, s->a);
  tsr_tensor *b = exchange_rows(tsr_retain(s->b), lu.rows);
  tsr_tensor *y = record_triangular(lu.factors, b, false, false, true);
  tsr_tensor *x = record_triangular(lu.factors, y, true, false, false);
  release_parts(&lu);
  return x;
}

tsr_tensor *tsr_solve(tsr_tensor *a, tsr_tensor *b) {
  system_parts s = {.a = NULL};
  tsr_status status = start_system("solve", a, b, &s);
  tsr_tensor *x = status == TSR_OK ? solve("solve", &s) : NULL;
  release_system(&s);
  return status == TSR_OK ? finish_system("solve", x, a, b, s.is_vector) : tsri_tensor_fail(status);
}

tsr_tensor *tsr_inverse(tsr_tensor *x) {
  tsr_status status = tsri_square_check("inverse", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *ones =
      tsr_eye(x->value->device, tsri_accumulator(tsri_promote_float(x->dtype)), tsri_rows(x), tsri_rows(x), 0);
  tsr_tensor *result = tsri_then(tsr_solve(x, ones), ones);
  return tsri_narrowed("inverse", result, x->dtype);
}

// --- Determinants ----------------------------------------------------------------------------------------------------

// What the determinant is computed from: the diagonal of the factors, and the sign of the permutation (1 or -1).
typedef struct pivots {
  tsr_tensor *diagonal, *sign;
} pivots;

static pivots record_pivots(const char *caller, tsr_tensor *x) {
  tsr_tensor *wide = tsri_widened(x);
  lu_parts lu = record_lu(caller, wide);
  pivots p = {.diagonal = tsr_diagonal(lu.factors, 0, -2, -1)};
  tsr_tensor *odd = tsr_cast(lu.odd, tsr_tensor_dtype(wide)), *twice = tsri_then(tsr_mul_scalar(odd, 2), odd);
  p.sign = tsri_then(tsr_rsub_scalar(twice, 1), twice);
  release_parts(&lu);
  tsr_release(wide);
  return p;
}

// The result for matrices without elements: a tensor with `number` for each matrix of the batch.
static tsr_tensor *of_nothing(tsr_tensor *x, double number) {
  tsr_shape shape = tsri_vector_shape(x, 0);
  shape.rank--;
  return tsr_full(x->value->device, tsri_promote_float(x->dtype), shape, number);
}

tsr_tensor *tsr_det(tsr_tensor *x) {
  tsr_status status = tsri_square_check("det", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (tsri_rows(x) == 0) return of_nothing(x, 1);
  pivots p = record_pivots("det", x);
  tsr_tensor *size = tsri_then(tsr_prod(p.diagonal, TSR_AXES(-1), false), p.diagonal);
  tsr_tensor *result = tsri_then(tsri_then(tsr_mul(size, p.sign), size), p.sign);
  return tsri_narrowed("det", result, x->dtype);
}

static tsr_tensor *log_of_size(tsr_tensor *diagonal) {
  tsr_tensor *size = tsr_abs(diagonal), *log = tsri_then(tsr_log(size), size);
  return tsri_then(tsr_sum(log, TSR_AXES(-1), false), log);
}

static tsr_tensor *sign_of_all(const pivots *p) {
  tsr_tensor *signs = tsr_sign(p->diagonal), *sign = tsri_then(tsr_prod(signs, TSR_AXES(-1), false), signs);
  return tsri_then(tsr_mul(sign, p->sign), sign);
}

tsr_status tsr_slogdet(tsr_tensor *x, tsr_tensor **out_sign, tsr_tensor **out_log) {
  if (out_sign) *out_sign = NULL;
  if (out_log) *out_log = NULL;
  tsr_status status = tsri_square_check("slogdet", x);
  if (status != TSR_OK) return status;
  tsr_tensor *results[2] = {NULL, NULL};
  if (tsri_rows(x) == 0) {
    results[0] = of_nothing(x, 1);
    results[1] = of_nothing(x, 0);
  } else {
    pivots p = record_pivots("slogdet", x);
    results[0] = tsri_narrowed("slogdet", sign_of_all(&p), x->dtype);
    results[1] = tsri_narrowed("slogdet", log_of_size(p.diagonal), x->dtype);
    tsr_release(p.diagonal);
    tsr_release(p.sign);
  }
  return tsri_results_give("slogdet", results, (tsr_tensor * *const[]){out_sign, out_log}, 2);
}

// --- Powers ----------------------------------------------------------------------------------------------------------

static tsr_tensor *identity_like(tsr_tensor *x) {
  tsr_tensor *one = tsr_eye(x->value->device, x->dtype, tsri_rows(x), tsri_rows(x), 0);
  return tsri_then(tsr_expand(one, x->layout.shape), one);
}

// x to the power `power`, by repeated squaring. Releases x.
static tsr_tensor *power_of(tsr_tensor *x, uint64_t power) {
  tsr_tensor *result = NULL;
  for (; power > 0; power >>= 1) {
    if (power & 1) result = result ? tsri_then(tsri_matmul_exact(result, x), result) : tsr_retain(x);
    if (power > 1) x = tsri_then(tsri_matmul_exact(x, x), x);
  }
  tsr_release(x);
  return result;
}

tsr_tensor *tsr_matrix_power(tsr_tensor *x, int64_t power) {
  tsr_status status = tsri_square_check("matrix_power", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *wide = tsri_widened(x);
  status = tsri_tensor_check("matrix_power", wide);
  if (status != TSR_OK) return tsri_tensor_named("matrix_power", wide);
  if (power == 0) return tsri_narrowed("matrix_power", tsri_then(identity_like(wide), wide), x->dtype);
  tsr_tensor *base = power < 0 ? tsri_then(tsr_inverse(wide), wide) : wide;
  uint64_t count = power < 0 ? -(uint64_t)power : (uint64_t)power;
  return tsri_narrowed("matrix_power", power_of(base, count), x->dtype);
}
