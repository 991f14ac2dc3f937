// SPDX-License-Identifier: MIT
// QR by Householder reflections, in panels of columns: one work-group per matrix computes the reflections of a panel (kernels/op_qr.tk). Matrix products then
// apply them to the columns to its right, and, in reverse order, to the identity, which gives Q. Or by a native operator, if the device has one. Also least
// squares by QR.
#include "core/alloc.h"
#include "core/error.h"
#include "graph/node.h"
#include "graph/transfer.h"
#include "graph/watch.h"
#include "ops/autocast.h"
#include "ops/call.h"
#include "ops/matrix.h"
#include "ops/matrix_native.h"
#include "ops/operators.h"
#include "ops/wide.h"

enum { PANEL = 32 };  // columns, as in the kernel

// --- A panel ---------------------------------------------------------------------------------------------------------

// Results of a panel, all of the input's shape: a matrix with R in its upper triangle, v and w. As tsri_op_qr_whole: those of tsri_native_qr.
tsr_status tsri_run_qr(const tsri_kernel_run *run) {
  tsri_view from = {.buffer = run->inputs[0], .dtype = run->dtype, .layout = run->layouts[0]};
  if (from.layout.count == 0) return TSR_OK;
  const tsri_qr_attributes *given = TSRI_GIVEN(run->node, qr);
  if (given->is_whole) return tsri_native_qr(&from, given->columns, run->outputs[0], run->outputs[1]);
  tsri_matrices a = tsri_matrices_of(run, 0);
  tsr_status status = tsri_call_check("qr", &from.layout);
  if (status == TSR_OK) status = tsri_copy_packed(&from, a.buffer);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, a.device, "op_qr", "qr_panel", TSRI_WITH(TSRI_TYPE("T", a.dtype)));
  tsri_call_buffer(&call, "a", a.buffer, a.dtype);
  tsri_call_buffer(&call, "v", run->outputs[1], a.dtype);
  tsri_call_buffer(&call, "w", run->outputs[2], a.dtype);
  tsri_call_word(&call, "batch", a.batch);
  tsri_call_word(&call, "m", a.rows);
  tsri_call_word(&call, "n", a.columns);
  return tsri_call_many_groups(&call, a.batch);
}

// The reflections of a panel: their product Q is identity - w * v^T.
typedef struct panel {
  tsr_tensor *v, *w;
  int64_t columns;
} panel;

void tsri_record_panel(tsr_tensor *x, tsr_tensor *out_parts[3]) {
  const tsri_op *op = TSRI_BODY(qr);
  tsri_result result = {x->dtype, x->layout.shape};
  tsri_record_kernel_results(op, x->value->device, (const tsri_result[]){result, result, result}, 3, &x, 1,
                             TSRI_GIVE(op, qr, .is_whole = false), out_parts);
}

// Records the panel x, of `columns` columns; x may be a failed tensor. Returns R, columns x columns.
static tsr_tensor *record_panel(tsr_tensor *x, int64_t columns, panel *out) {
  tsr_tensor *made[3] = {NULL, NULL, NULL};
  tsr_status status = tsri_tensor_check("qr", x);
  for (int i = 0; i < 3 && status != TSR_OK; i++) made[i] = tsri_tensor_fail(status);
  if (status == TSR_OK) tsri_record_panel(x, made);
  *out = (panel){.v = made[1], .w = made[2], .columns = columns};
  tsr_tensor *top = tsri_then(tsr_slice(made[0], -2, 0, columns, 1), made[0]);
  return tsri_then(tsr_triu(top, 0), top);
}

// x - left * (right^T * x). Releases x.
static tsr_tensor *reflected(tsr_tensor *x, tsr_tensor *left, tsr_tensor *right) {
  tsr_tensor *turned = tsri_matrix_transposed(right), *inner = tsri_then(tsri_matmul_exact(turned, x), turned);
  return tsri_then(tsri_then(tsri_gemm_exact(-1, left, inner, 1, x), inner), x);
}

// x with rows and columns of zeros around each matrix: `above`, `below`, `left`, `right`. Releases x.
static tsr_tensor *padded(tsr_tensor *x, int64_t above, int64_t below, int64_t left, int64_t right) {
  int rank = tsr_tensor_shape(x).rank;
  int64_t before[TSR_MAX_RANK] = {0}, after[TSR_MAX_RANK] = {0};
  if (tsr_error(x) != TSR_OK || (above | below | left | right) == 0) return x;
  before[rank - 2] = above;
  after[rank - 2] = below;
  before[rank - 1] = left;
  after[rank - 1] = right;
  return tsri_then(tsr_pad(x, before, after, rank, 0), x);
}

// --- All panels ------------------------------------------------------------------------------------------------------

// The panels of a matrix, and the rows of R that each panel yields.
typedef struct panels {
  panel *list;
  tsr_tensor **rows;
  int count;
} panels;

static void release_panels(panels *p) {
  for (int i = 0; i < p->count; i++) {
    tsr_release(p->list[i].v);
    tsr_release(p->list[i].w);
    tsr_release(p->rows[i]);
  }
  tsri_free(p->list);
  tsri_free(p->rows);
}

// Records the next panel: the first `width` columns of `rest`, the part of the matrix that is not factored yet; `done` columns have been factored. Releases
// rest, and returns what then remains.
static tsr_tensor *next_panel(tsr_tensor *rest, int64_t width, int64_t done, panels *p) {
  tsr_tensor *columns = tsr_slice(rest, -1, 0, width, 1),
             *right = tsri_then(tsr_slice(rest, -1, width, INT64_MAX, 1), rest);
  panel *next = &p->list[p->count];
  tsr_tensor *corner = tsri_then(record_panel(columns, width, next), columns);
  right = reflected(right, next->v, next->w);
  tsr_tensor *parts[2] = {corner, tsr_slice(right, -2, 0, width, 1)};
  tsr_tensor *row = tsri_then(tsri_then(tsr_concat(parts, 2, -1), parts[0]), parts[1]);
  p->rows[p->count++] = padded(row, 0, 0, done, 0);
  return tsri_then(tsr_slice(right, -2, width, INT64_MAX, 1), right);
}

// Records all panels of x, which is usable. `count` columns are factored.
static tsr_status record_panels(const char *caller, tsr_tensor *x, int64_t count, panels *out) {
  size_t panel_count = (size_t)((count + PANEL - 1) / PANEL);
  *out = (panels){.list = tsri_calloc(panel_count + 1, sizeof(panel)),
                  .rows = tsri_calloc(panel_count + 1, sizeof(tsr_tensor *))};
  tsr_status status = TSR_OK;
  if (!out->list || !out->rows) {
    status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for a list of %zu panels", caller, panel_count);
  }
  tsr_tensor *rest = tsr_retain(x);
  for (int64_t done = 0; done < count && status == TSR_OK; done += PANEL) {
    rest = next_panel(rest, count - done < PANEL ? count - done : PANEL, done, out);
    status = tsri_tensor_check(caller, rest);
  }
  tsr_release(rest);
  return status;
}

// Records Q. Starts with the identity of rest_rows x rest_columns. From the last panel to the first, the matrix grows by the panel's rows and columns, and the
// panel's reflections are applied.
static tsr_tensor *record_q(tsr_tensor *x, const panels *p, int64_t rest_rows, int64_t rest_columns) {
  tsr_device *device = x->value->device;
  tsr_tensor *q = tsr_eye(device, x->dtype, rest_rows, rest_columns, 0);
  for (int i = p->count - 1; i >= 0; i--) {
    const panel *at = &p->list[i];
    int64_t size = at->columns;
    tsr_tensor *corner = padded(tsr_eye(device, x->dtype, size, size, 0), 0, rest_rows, 0, rest_columns);
    tsr_tensor *moved = padded(q, size, 0, size, 0);
    q = tsri_then(tsri_then(tsr_add(corner, moved), corner), moved);
    q = reflected(q, at->w, at->v);
    rest_rows += size;
    rest_columns += size;
  }
  tsr_tensor *result = tsr_expand(q, tsri_matrix_shape(x, rest_rows, rest_columns));
  return tsri_then(result, q);
}

// Records R: the rows of all panels, and rows of zeros below them.
static tsr_tensor *record_r(tsr_tensor *x, const panels *p, int64_t count, int64_t rows) {
  if (p->count == 0) return tsr_slice(x, -2, 0, rows, 1);
  return padded(tsr_concat(p->rows, p->count, -2), 0, rows - count, 0, 0);
}

const tsri_op tsri_op_qr_whole = {.name = "qr",
                                  .kind = TSRI_OP_KERNEL,
                                  .is_for_device = true,
                                  .run = tsri_run_qr,
                                  .attribute_set = TSRI_SET_qr,
                                  .attribute_bytes = sizeof(tsri_qr_attributes)};

// Records the factorisation by a native operator, whose input and results are transposed.
static void record_native(tsr_tensor *x, int64_t columns, tsr_tensor **out_q, tsr_tensor **out_r) {
  const tsri_op *op = &tsri_op_qr_whole;
  tsr_tensor *turned = tsri_matrix_transposed(x), *made[2] = {NULL, NULL};
  tsr_status status = tsri_tensor_check("qr", turned);
  for (int i = 0; i < 2 && status != TSR_OK; i++) made[i] = tsri_tensor_fail(status);
  if (status == TSR_OK) {
    const tsri_result results[2] = {{x->dtype, tsri_matrix_shape(turned, columns, tsri_rows(x))},
                                    {x->dtype, turned->layout.shape}};
    tsri_record_kernel_results(op, x->value->device, results, 2, &turned, 1,
                               TSRI_GIVE(op, qr, .is_whole = true, .columns = columns), made);
  }
  tsr_release(turned);
  *out_q = tsri_then(tsri_matrix_transposed(made[0]), made[0]);
  tsr_tensor *square = tsri_then(tsri_matrix_transposed(made[1]), made[1]);
  tsr_tensor *rows = tsri_then(tsr_slice(square, -2, 0, columns, 1), square);
  *out_r = tsri_then(tsr_triu(rows, 0), rows);
}

// Records the factorisation by panels. Q has `more` columns beyond those of the panels.
static tsr_status record_portable(const char *caller, tsr_tensor *x, int64_t count, int64_t more, tsr_tensor **out_q,
                                  tsr_tensor **out_r) {
  panels p = {.list = NULL};
  tsr_status status = record_panels(caller, x, count, &p);
  if (status == TSR_OK) {
    *out_q = record_q(x, &p, tsri_rows(x) - count, more);
    *out_r = record_r(x, &p, count, count + more);
  }
  release_panels(&p);
  return status;
}

void tsri_record_qr(const char *caller, tsr_tensor *x, bool is_complete, tsr_tensor **out_q, tsr_tensor **out_r) {
  tsr_status status = tsri_tensor_check(caller, x);
  int64_t m = status == TSR_OK ? tsri_rows(x) : 0, n = status == TSR_OK ? tsri_columns(x) : 0, count = m < n ? m : n;
  int64_t more = is_complete ? m - count : 0;
  tsri_whole_begin();
  if (status == TSR_OK && tsri_has_native_qr(x, count + more)) record_native(x, count + more, out_q, out_r);
  else if (status == TSR_OK) status = record_portable(caller, x, count, more, out_q, out_r);
  if (status != TSR_OK) *out_q = tsri_tensor_fail(status);
  if (status != TSR_OK) *out_r = tsri_tensor_fail(status);
  tsri_whole_end(&(tsri_whole){.op = TSRI_BODY(qr),
                               .inputs = &x,
                               .input_count = 1,
                               .outputs = (tsr_tensor *[]){*out_q, *out_r},
                               .output_count = 2});
}

// --- Operators -------------------------------------------------------------------------------------------------------

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

// At least as many rows as columns: solves R x = Q^T b.
static tsr_tensor *least_squares(tsr_tensor *a, tsr_tensor *b) {
  tsr_tensor *q = NULL, *r = NULL;
  tsri_record_qr("lstsq", a, false, &q, &r);
  tsr_tensor *turned = tsri_then(tsri_matrix_transposed(q), q);
  tsr_tensor *right = tsri_then(tsri_matmul_exact(turned, b), turned);
  return tsri_then(tsri_then(tsr_triangular_solve(r, right, true, false, false), right), r);
}

// More columns than rows: a^T = Q R. Of all x with R^T Q^T x = b, the shortest is Q y with R^T y = b.
static tsr_tensor *shortest_solution(tsr_tensor *a, tsr_tensor *b) {
  tsr_tensor *q = NULL, *r = NULL, *turned = tsri_matrix_transposed(a);
  tsri_record_qr("lstsq", turned, false, &q, &r);
  tsr_release(turned);
  tsr_tensor *y = tsri_then(tsr_triangular_solve(r, b, true, true, false), r);
  return tsri_then(tsri_then(tsri_matmul_exact(q, y), q), y);
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
