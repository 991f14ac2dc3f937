// SPDX-License-Identifier: MIT
// Singular values and eigenvalues by one-sided Jacobi rotations (kernels/op_jacobi.tk), which are accurate and only ever need pairs of columns; or by a native
// operator of the device for the whole factorisation.
//
// svd: a tall matrix is first reduced to the R of its QR. Rotations V make the columns of W = x V orthogonal; their lengths are the singular values. QR of W,
// whose R is diagonal, gives orthonormal left vectors even if singular values are 0.
// eigh: the right singular vectors of x + c * identity, for a c that makes it positive semidefinite, are the eigenvectors of x.
#include <float.h>
#include <math.h>

#include "core/error.h"
#include "graph/node.h"
#include "graph/transfer.h"
#include "graph/watch.h"
#include "ops/autocast.h"
#include "ops/call.h"
#include "ops/jacobi.h"
#include "ops/matrix.h"
#include "ops/matrix_native.h"
#include "ops/operators.h"

// --- Running ---------------------------------------------------------------------------------------------------------

// SWEEPS: as in the kernel.
enum { SWEEPS = 30 };

// How jacobi_few takes matrices of up to `most` vectors: `team` items for each pair of vectors, or LEAST_TEAM if subgroups have fewer, and work-groups of `each`
// matrices, which have at most 256 items.
typedef struct few_shape {
  int most, team, each;
} few_shape;
static const few_shape few_shapes[] = {{8, 4, 4}, {16, 4, 2}, {32, 8, 1}, {64, 8, 1}, {128, 4, 1}};
enum { FEW_SHAPES = sizeof few_shapes / sizeof few_shapes[0], MOST_FEW = 128, LEAST_TEAM = 4 };

static const few_shape *shape_for(int64_t n) {
  int i = 0;
  while (i < FEW_SHAPES - 1 && few_shapes[i].most < n) i++;
  return &few_shapes[i];
}

// Passes what both kernels take, and launches `groups` work-groups.
static tsr_status launch(tsri_call *call, const tsri_matrices *a, tsr_buffer *v, int64_t groups) {
  double unit = a->dtype == TSR_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
  tsri_call_buffer(call, "a", a->buffer, a->dtype);
  tsri_call_buffer(call, "v", v, a->dtype);
  tsri_call_word(call, "m", a->columns);
  tsri_call_word(call, "n", a->rows);
  tsri_call_real(call, "tolerance", unit * sqrt((double)a->columns));
  return tsri_call_many_groups(call, groups);
}

// Whether a work-group holds its matrices in shared memory. SHARED_BYTES: more is slower than memory that caches hold, even if a device has it.
static bool is_held(const tsri_matrices *a, const few_shape *s) {
  enum { SHARED_BYTES = 48 << 10 };
  int64_t bytes = 2 * s->each * s->most * (s->most + s->team) * (int64_t)tsr_dtype_bytes(a->dtype);
  return bytes <= SHARED_BYTES && bytes <= a->device->limits.shared_bytes;
}

// All sweeps over the matrices `first` to `last` - 1.
static tsr_status launch_few(const tsri_matrices *a, tsr_buffer *v, int64_t first, int64_t last) {
  const few_shape *s = shape_for(a->rows > a->columns ? a->rows : a->columns);
  enum { FEW_ROUNDS = 2 };  // for drivers in software, which take long to compile large kernels
  int team = tsr_device_subgroup_size(a->device) < s->team ? LEAST_TEAM : s->team;
  int rounds = a->device->info.is_software ? FEW_ROUNDS : s->most / team;
  tsri_call call;
  tsri_call_init(
      &call, a->device, "op_jacobi", "jacobi_few",
      TSRI_WITH(TSRI_TYPE("T", a->dtype), TSRI_CONSTANT("MOST", s->most), TSRI_CONSTANT("TEAM", team),
                TSRI_CONSTANT("ROUNDS", rounds), TSRI_CONSTANT("EACH", s->each), TSRI_CONSTANT("HELD", is_held(a, s))));
  tsri_call_word(&call, "first", first);
  tsri_call_word(&call, "batch", last);
  return launch(&call, a, v, (last - first + s->each - 1) / s->each);
}

// As many matrices at a time as have few enough multiplications that no launch takes long, but enough to keep a device busy.
static tsr_status sweep_few(const tsri_matrices *a, tsr_buffer *v) {
  enum { LEAST = 512, MULTIPLICATIONS = 1 << 30 };
  int64_t each = MULTIPLICATIONS / (a->rows * a->rows * a->columns);
  if (each < LEAST) each = LEAST;
  tsr_status status = TSR_OK;
  for (int64_t first = 0; first < a->batch && status == TSR_OK; first += each) {
    status = launch_few(a, v, first, first + each < a->batch ? first + each : a->batch);
  }
  return status;
}

static tsr_status launch_round(const tsri_matrices *a, tsr_buffer *v, tsr_buffer *turned, int64_t sweep,
                               int64_t round) {
  tsri_call call;
  tsri_call_init(&call, a->device, "op_jacobi", "jacobi_many", TSRI_WITH(TSRI_TYPE("T", a->dtype)));
  tsri_call_buffer(&call, "turned", turned, TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "batch", a->batch);
  tsri_call_word(&call, "sweep", sweep);
  tsri_call_word(&call, "round", round);
  return launch(&call, a, v, a->batch * ((a->rows + 1) / 2));
}

static tsr_status sweep_many(const tsri_matrices *a, const tsri_matrices *v) {
  int64_t rounds = a->rows + a->rows % 2 - 1;
  tsr_buffer *turned = NULL;
  tsr_status status = tsri_set_identity(v);
  if (status == TSR_OK) status = tsri_call_scratch(a->device, SWEEPS * a->batch, TSRI_INDEX_DTYPE, &turned);
  if (status == TSR_OK) status = tsr_buffer_fill(turned, 0, tsr_buffer_bytes(turned), &(unsigned char){0}, 1);
  for (int64_t i = 0; i < SWEEPS * rounds && status == TSR_OK; i++) {
    status = launch_round(a, v->buffer, turned, i / rounds, i % rounds);
  }
  tsr_buffer_release(turned);
  return status;
}

static tsr_status rotate(const tsri_view *from, const tsri_matrices *a, const tsri_matrices *v) {
  tsr_status status = tsri_copy_packed(from, a->buffer);
  if (status != TSR_OK) return status;
  bool is_few = a->rows <= MOST_FEW && a->columns <= MOST_FEW && tsr_device_subgroup_size(a->device) >= LEAST_TEAM;
  return is_few ? sweep_few(a, v->buffer) : sweep_many(a, v);
}

// Results: the rotations (applied to the rows of the identity) and, unless the input is symmetric, the input with rotated rows.
tsr_status tsri_run_jacobi(const tsri_kernel_run *run) {
  tsri_view from = {.buffer = run->inputs[0], .dtype = run->dtype, .layout = run->layouts[0]};
  if (from.layout.count == 0) return TSR_OK;
  bool is_symmetric = TSRI_GIVEN(run->node, jacobi)->is_symmetric != 0;
  tsri_matrices a = tsri_matrices_of(run, 0), v = a;
  tsr_buffer *scratch = NULL;
  v.columns = v.rows;
  a.buffer = is_symmetric ? NULL : run->outputs[1];
  tsr_status status = tsri_call_check("svd", &from.layout);
  if (status != TSR_OK) return status;
  status = tsri_native_rotations(&from, is_symmetric, a.buffer, v.buffer);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = is_symmetric ? tsri_call_scratch(a.device, from.layout.count, a.dtype, &scratch) : TSR_OK;
  if (is_symmetric) a.buffer = scratch;
  if (status == TSR_OK) status = rotate(&from, &a, &v);
  tsr_buffer_release(scratch);
  return status;
}

// --- What both are made of -------------------------------------------------------------------------------------------

// x with orthogonal columns (w), and the rotations that made them so (v). w is NULL if x is symmetric.
typedef struct rotated {
  tsr_tensor *w, *v;
} rotated;

void tsri_record_rotations(tsr_tensor *vectors, bool is_symmetric, tsr_tensor *out_parts[2]) {
  const tsri_op *op = TSRI_BODY(svd);
  const void *given = TSRI_GIVE(op, jacobi, .is_symmetric = is_symmetric);
  tsr_device *device = vectors->value->device;
  tsr_shape square = tsri_matrix_shape(vectors, tsri_rows(vectors), tsri_rows(vectors));
  const tsri_result results[2] = {{vectors->dtype, square}, {vectors->dtype, vectors->layout.shape}};
  if (is_symmetric) out_parts[0] = tsri_record_kernel(op, device, vectors->dtype, square, &vectors, 1, given);
  else tsri_record_kernel_results(op, device, results, 2, &vectors, 1, given, out_parts);
}

static rotated record_rotations(tsr_tensor *x, bool is_symmetric) {
  tsr_tensor *vectors = tsri_matrix_transposed(x), *made[2] = {NULL, NULL};
  tsr_status status = tsri_tensor_check("svd", vectors);
  if (status == TSR_OK) tsri_record_rotations(vectors, is_symmetric, made);
  for (int i = 0; i < 2 - is_symmetric && status != TSR_OK; i++) made[i] = tsri_tensor_fail(status);
  tsr_release(vectors);
  return (rotated){.v = tsri_then(tsri_matrix_transposed(made[0]), made[0]),
                   .w = is_symmetric ? NULL : tsri_then(tsri_matrix_transposed(made[1]), made[1])};
}

// The largest magnitude in each matrix, [batch …, 1, 1]; 1 for a matrix of zeros. After a division by it, no square overflows or underflows.
static tsr_tensor *scale_of(tsr_tensor *x) {
  tsr_tensor *sizes = tsr_abs(x), *most = tsri_then(tsr_max(sizes, TSR_AXES(-2, -1), true), sizes);
  tsr_tensor *is_zero = tsr_eq_scalar(most, 0);
  return tsri_then(tsri_then(tsr_masked_fill(most, is_zero, 1), most), is_zero);
}

// The columns of x in the order of `order`, [batch …, columns]. Releases x.
static tsr_tensor *reordered(tsr_tensor *x, tsr_tensor *order) {
  tsr_tensor *row = tsr_unsqueeze(order, -2), *indices = tsri_then(tsr_expand(row, tsr_tensor_shape(x)), row);
  tsr_tensor *result = tsr_gather(x, -1, indices);
  return tsri_then(tsri_then(result, indices), x);
}

// x [batch …, n] in the order of `order`, times the scale of its matrix. Releases x.
static tsr_tensor *rescaled(tsr_tensor *x, tsr_tensor *order, tsr_tensor *scale) {
  tsr_tensor *sorted = tsri_then(tsr_gather(x, -1, order), x), *factor = tsr_squeeze(scale, -1);
  return tsri_then(tsri_then(tsr_mul(sorted, factor), sorted), factor);
}

// --- Singular values -------------------------------------------------------------------------------------------------

// The columns of w, which are orthogonal, normalised to length 1, the longest first. Releases w.
static tsr_tensor *directions(tsr_tensor *w) {
  tsr_tensor *q = NULL, *r = NULL;
  tsri_record_qr("svd", w, false, &q, &r);
  tsr_release(w);
  tsr_tensor *diagonal = tsr_diagonal(r, 0, -2, -1), *row = tsri_then(tsr_unsqueeze(diagonal, -2), diagonal);
  tsr_tensor *is_turned = tsri_then(tsr_lt_scalar(row, 0), row), *opposite = tsr_neg(q);
  tsr_tensor *result = tsr_where(is_turned, opposite, q);
  return tsri_then(tsri_then(tsri_then(tsri_then(result, is_turned), opposite), q), r);
}

// Left vectors of an m x n matrix with m >= n whose R was decomposed: Q times `left`, followed by the columns that Q (complete or reduced) has beyond n.
// Releases left.
static tsr_tensor *lifted(tsr_tensor *q, tsr_tensor *left, int64_t n, bool is_full) {
  tsr_tensor *columns = tsr_slice(q, -1, 0, n, 1),
             *u = tsri_then(tsri_then(tsri_matmul_exact(columns, left), left), columns);
  if (!is_full) return u;
  tsr_tensor *parts[2] = {u, tsr_slice(q, -1, n, INT64_MAX, 1)};
  return tsri_then(tsri_then(tsr_concat(parts, 2, -1), parts[0]), parts[1]);
}

// Decomposes x, which has at least as many rows as columns and is usable.
static tsri_singular decompose_tall(tsr_tensor *x, bool is_full) {
  tsr_tensor *scale = scale_of(x), *unit = tsr_div(x, scale), *q = NULL, *core = NULL;
  bool is_tall = tsri_rows(x) > tsri_columns(x);
  if (is_tall) {
    tsri_record_qr("svd", unit, is_full, &q, &core);
    core = tsri_then(tsr_slice(core, -2, 0, tsri_columns(x), 1), core);
  } else core = tsr_retain(unit);
  rotated r = record_rotations(core, false);
  tsr_tensor *lengths = tsr_norm(r.w, 2, TSR_AXES(-2), false), *order = tsr_argsort(lengths, -1, true);
  tsri_singular s = {.s = rescaled(lengths, order, scale), .v = reordered(r.v, order)};
  s.u = directions(reordered(r.w, order));
  if (is_tall) s.u = lifted(q, s.u, tsri_columns(x), is_full);
  tsr_release(order);
  tsr_release(core);
  tsr_release(q);
  tsr_release(unit);
  tsr_release(scale);
  return s;
}

// The result for matrices without elements: no singular values, and identity matrices as vectors.
static tsri_singular decompose_nothing(tsr_tensor *x, bool is_full) {
  tsr_device *device = x->value->device;
  tsr_tensor *u = tsr_eye(device, x->dtype, tsri_rows(x), is_full ? tsri_rows(x) : 0, 0);
  tsr_tensor *v = tsr_eye(device, x->dtype, tsri_columns(x), is_full ? tsri_columns(x) : 0, 0);
  tsr_tensor *s = tsr_zeros(device, x->dtype, tsri_vector_shape(x, 0));
  return (tsri_singular){
      .s = s,
      .u = tsri_then(tsr_expand(u, tsri_matrix_shape(x, tsri_rows(x), tsr_tensor_shape(u).dims[1])), u),
      .v = tsri_then(tsr_expand(v, tsri_matrix_shape(x, tsri_columns(x), tsr_tensor_shape(v).dims[1])), v)};
}

tsri_singular tsri_decompose(const char *caller, tsr_tensor *x, bool is_full) {
  tsr_tensor *wide = tsri_widened(x);
  tsr_status status = tsri_tensor_check(caller, wide);
  tsri_whole_begin();
  tsri_singular s = {NULL, NULL, NULL};
  if (status != TSR_OK) {
    s = (tsri_singular){tsri_tensor_fail(status), tsri_tensor_fail(status), tsri_tensor_fail(status)};
  } else if (tsri_rows(x) == 0 || tsri_columns(x) == 0) {
    s = decompose_nothing(wide, is_full);
  } else if (tsri_rows(x) >= tsri_columns(x)) {
    s = decompose_tall(wide, is_full);
  } else {
    tsr_tensor *turned = tsri_matrix_transposed(wide);
    tsri_singular other = decompose_tall(turned, is_full);
    s = (tsri_singular){.u = other.v, .s = other.s, .v = other.u};
    tsr_release(turned);
  }
  tsri_whole_end(&(tsri_whole){.op = TSRI_BODY(svd),
                               .inputs = &wide,
                               .input_count = 1,
                               .outputs = (tsr_tensor *[]){s.u, s.s, s.v},
                               .output_count = 3});
  tsr_release(wide);
  return s;
}

void tsri_singular_release(tsri_singular *s) {
  tsr_release(s->u);
  tsr_release(s->s);
  tsr_release(s->v);
}

tsr_status tsr_svd(tsr_tensor *x, bool full, tsr_tensor **out_u, tsr_tensor **out_s, tsr_tensor **out_vt) {
  if (out_u) *out_u = NULL;
  if (out_s) *out_s = NULL;
  if (out_vt) *out_vt = NULL;
  tsr_status status = tsri_matrix_check("svd", x);
  if (status != TSR_OK) return status;
  tsri_singular s = tsri_decompose("svd", x, full);
  tsr_tensor *results[3] = {s.u, s.s, tsri_then(tsri_matrix_transposed(s.v), s.v)};
  for (int i = 0; i < 3; i++) results[i] = tsri_narrowed("svd", results[i], x->dtype);
  return tsri_results_give("svd", results, (tsr_tensor * *const[]){out_u, out_s, out_vt}, 3);
}

// --- Eigenvalues -----------------------------------------------------------------------------------------------------

// The symmetric matrix whose lower triangle is that of x.
static tsr_tensor *symmetric(tsr_tensor *x) {
  tsr_tensor *lower = tsr_tril(x, 0), *strict = tsr_tril(x, -1),
             *upper = tsri_then(tsri_matrix_transposed(strict), strict);
  return tsri_then(tsri_then(tsr_add(lower, upper), lower), upper);
}

// x + c * identity, where c is the largest row sum of magnitudes, which is at least the magnitude of every eigenvalue.
static tsr_tensor *shifted(tsr_tensor *x) {
  int64_t n = tsri_rows(x);
  tsr_tensor *sums = tsr_norm(x, 1, TSR_AXES(-1), true), *most = tsri_then(tsr_max(sums, TSR_AXES(-2), true), sums);
  tsr_tensor *one = tsr_eye(x->value->device, x->dtype, n, n, 0);
  return tsri_then(tsri_then(tsr_fma(one, most, x), most), one);
}

// v^T x v for each column of v (Rayleigh quotients): their error is of the order of the square of v's error.
static tsr_tensor *eigenvalues(tsr_tensor *x, tsr_tensor *v) {
  tsr_tensor *moved = tsri_matmul_exact(x, v), *products = tsri_then(tsr_mul(moved, v), moved);
  return tsri_then(tsr_sum(products, TSR_AXES(-2), false), products);
}

static void decompose_symmetric(tsr_tensor *x, tsr_tensor **out_values, tsr_tensor **out_vectors) {
  tsr_tensor *whole = symmetric(x), *scale = scale_of(whole), *unit = tsri_then(tsr_div(whole, scale), whole);
  tsr_tensor *positive = tsr_error(unit) == TSR_OK ? shifted(unit) : tsr_retain(unit);
  rotated r = record_rotations(positive, true);
  tsr_tensor *values = eigenvalues(unit, r.v), *order = tsr_argsort(values, -1, false);
  *out_values = rescaled(values, order, scale);
  *out_vectors = reordered(r.v, order);
  tsr_release(order);
  tsr_release(positive);
  tsr_release(unit);
  tsr_release(scale);
}

tsr_status tsr_eigh(tsr_tensor *x, tsr_tensor **out_values, tsr_tensor **out_vectors) {
  if (out_values) *out_values = NULL;
  if (out_vectors) *out_vectors = NULL;
  tsr_status status = tsri_square_check("eigh", x);
  if (status != TSR_OK) return status;
  tsr_tensor *wide = tsri_widened(x), *results[2] = {NULL, NULL};
  if (tsri_rows(x) == 0) {
    results[0] = tsr_zeros(x->value->device, tsr_tensor_dtype(wide), tsri_vector_shape(x, 0));
    results[1] = tsr_retain(wide);
  } else {
    tsri_whole_begin();
    decompose_symmetric(wide, &results[0], &results[1]);
    tsri_whole_end(
        &(tsri_whole){.op = TSRI_BODY(eigh), .inputs = &wide, .input_count = 1, .outputs = results, .output_count = 2});
  }
  tsr_release(wide);
  for (int i = 0; i < 2; i++) results[i] = tsri_narrowed("eigh", results[i], x->dtype);
  return tsri_results_give("eigh", results, (tsr_tensor * *const[]){out_values, out_vectors}, 2);
}
