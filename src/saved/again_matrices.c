// SPDX-License-Identifier: MIT
// Factors of matrices, resized images, and recurrent layers. Their nodes are only parts of what public functions compute, so the nodes are checked and recorded here.
#include <math.h>

#include "core/error.h"
#include "graph/transfer.h"
#include "ops/compose.h"
#include "ops/matrix.h"
#include "ops/promote.h"
#include "ops/recurrent.h"
#include "ops/resize.h"
#include "ops/roi.h"
#include "saved/again_families.h"

#include <tessera/ops.h>

static tsr_status wrong(const tsri_again *s, const char *what) {
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %s does not fit", s->op->name, what);
}

// --- Matrices --------------------------------------------------------------------------------------------------------

tsr_tensor *tsri_again_distance(const tsri_again *s) { return tsr_cdist(s->inputs[0], s->inputs[1]); }

// The node has anything above the diagonal; the operator after it does not read that.
tsr_tensor *tsri_again_cholesky(const tsri_again *s) { return tsr_cholesky(s->inputs[0], false); }

tsr_tensor *tsri_again_triangular(const tsri_again *s) {
  const tsri_triangular_attributes *g = TSRI_AGAIN_GIVEN(s, triangular);
  return tsr_triangular_solve(s->inputs[0], s->inputs[1], g->is_upper != 0, g->is_transposed != 0, g->is_unit != 0);
}

// Checks that the input is a matrix of f32 or f64, in which factors are computed, and that the step has `result_count` results.
static tsr_status check_matrix(const tsri_again *s, uint32_t result_count) {
  tsr_status status = tsri_matrix_check(s->op->name, s->inputs[0]);
  bool is_wide = s->inputs[0]->dtype == TSR_F32 || s->inputs[0]->dtype == TSR_F64;
  return status == TSR_OK && (!is_wide || s->result_count != result_count) ? wrong(s, "dtype or number of results")
                                                                           : status;
}

tsr_status tsri_again_lu(const tsri_again *s, tsr_tensor **out) {
  tsr_status status = check_matrix(s, 3);
  if (status == TSR_OK) tsri_record_lu(s->inputs[0], out);
  return status;
}

tsr_status tsri_again_jacobi(const tsri_again *s, tsr_tensor **out) {
  bool is_symmetric = TSRI_AGAIN_GIVEN(s, jacobi)->is_symmetric != 0;
  tsr_status status = check_matrix(s, is_symmetric ? 1 : 2);
  if (status == TSR_OK && is_symmetric) status = tsri_square_check(s->op->name, s->inputs[0]);
  if (status == TSR_OK) tsri_record_rotations(s->inputs[0], is_symmetric, out);
  return status;
}

// All of qr, from the transposed matrix: Q transposed, and R transposed with zeros up to the shape of the input.
static tsr_status again_whole(const tsri_again *s, tsr_tensor **out) {
  tsr_tensor *turned = s->inputs[0], *q = NULL, *r = NULL;
  int64_t n = tsri_rows(turned), m = tsri_columns(turned), columns = TSRI_AGAIN_GIVEN(s, qr)->columns;
  int64_t least = m < n ? m : n;
  if (columns != least && columns != m) return wrong(s, "number of columns");
  tsri_record_qr("qr", tsri_matrix_transposed(turned), columns > least, &q, &r);
  tsr_status status = tsri_tensor_check("qr", r);
  if (status != TSR_OK) return status;
  int64_t before[TSR_MAX_RANK] = {0}, after[TSR_MAX_RANK] = {0};
  after[r->layout.shape.rank - 2] = m - tsri_rows(r);
  out[0] = tsri_matrix_transposed(q);
  out[1] = tsri_matrix_transposed(tsr_pad(r, before, after, r->layout.shape.rank, 0));
  return TSR_OK;
}

tsr_status tsri_again_qr(const tsri_again *s, tsr_tensor **out) {
  bool is_whole = TSRI_AGAIN_GIVEN(s, qr)->is_whole != 0;
  tsr_status status = check_matrix(s, is_whole ? 2 : 3);
  if (status != TSR_OK || is_whole) return status == TSR_OK ? again_whole(s, out) : status;
  tsri_record_panel(s->inputs[0], out);
  return TSR_OK;
}

// --- Images ----------------------------------------------------------------------------------------------------------

tsr_tensor *tsri_again_roi_align(const tsri_again *s) {
  const tsri_roi_attributes *g = TSRI_AGAIN_GIVEN(s, roi);
  tsr_shape shape = s->results[0].shape;
  if (shape.rank != 4) return tsri_again_wrong(s, "rank");
  tsr_roi_desc desc = {.scale = g->scale,
                       .points = g->points,
                       .rows = shape.dims[2],
                       .columns = shape.dims[3],
                       .takes_max = g->is_max != 0,
                       .not_aligned = g->is_aligned == 0};
  return tsr_roi_align(s->inputs[0], s->inputs[1], s->inputs[2], &desc);
}

// For the nodes of roi_align's gradient: checks their inputs by recording a roi_align of the same inputs, which is never run.
static bool check_roi(const tsri_again *s, tsr_tensor *x, tsr_tensor *regions, tsr_tensor *images,
                      const int64_t *parts) {
  const tsri_roi_attributes *g = TSRI_AGAIN_GIVEN(s, roi);
  tsr_roi_desc desc = {.scale = g->scale, .points = g->points, .rows = parts[0], .columns = parts[1]};
  return parts[0] >= 1 && parts[1] >= 1 && tsr_error(tsr_roi_align(x, regions, images, &desc)) == TSR_OK;
}

tsr_tensor *tsri_again_roi_weights(const tsri_again *s) {
  const tsri_roi_attributes *g = TSRI_AGAIN_GIVEN(s, roi);
  tsr_tensor *regions = s->inputs[0];
  tsr_shape shape = s->results[0].shape;
  bool fits = shape.rank == 3 && shape.dims[2] <= INT32_MAX && regions->layout.shape.rank == 2 &&
              tsri_dtype_is_float(regions->dtype) && g->is_max >> 1 == 0;
  if (!fits) return tsri_again_wrong(s, "an input");
  tsr_tensor *images = tsr_zeros(s->device, TSR_I32, TSR_SHAPE(regions->layout.shape.dims[0]));
  tsr_tensor *x = tsr_zeros(s->device, regions->dtype, TSR_SHAPE(1, 1, 1, 1));
  if (!check_roi(s, x, regions, images, (int64_t[]){shape.dims[1], 1})) return tsri_again_wrong(s, "an attribute");
  return tsri_roi_weights(g, regions, (int)g->is_max, shape.dims[1], shape.dims[2]);
}

tsr_status tsri_again_roi_places(const tsri_again *s, tsr_tensor **out) {
  tsr_tensor *x = s->inputs[0], *regions = s->inputs[1], *images = s->inputs[2];
  tsr_shape all = s->results[0].shape;
  bool fits = s->result_count == 2 && all.rank == 5 && images->dtype == TSR_I32 && x->dtype == regions->dtype &&
              tsri_dtype_is_float(x->dtype) && check_roi(s, x, regions, images, &all.dims[3]);
  if (!fits) return wrong(s, "an input");
  tsr_shape shape = {.rank = 5,
                     .dims = {4, regions->layout.shape.dims[0], x->layout.shape.dims[1], all.dims[3], all.dims[4]}};
  const tsri_result results[2] = {{TSR_I32, shape}, {tsri_accumulator(x->dtype), shape}};
  tsri_record_kernel_results(s->op, s->device, results, 2, s->inputs, 3, s->given, out);
  return TSR_OK;
}

static int64_t taps_of(int64_t mode) { return mode == TSR_RESIZE_NEAREST ? 1 : mode == TSR_RESIZE_LINEAR ? 2 : 4; }

tsr_status tsri_again_resize_table(const tsri_again *s, tsr_tensor **out) {
  const tsri_positions_attributes *g = TSRI_AGAIN_GIVEN(s, positions);
  const int64_t most = INT32_MAX / 4;
  bool fits = s->result_count == 2 && g->mode >= TSR_RESIZE_NEAREST && g->mode <= TSR_RESIZE_CUBIC &&
              g->rounding >= 0 && g->rounding <= TSR_RESIZE_CEIL && g->n >= 1 && g->n <= INT32_MAX && g->m >= 0 &&
              g->m <= most && isfinite(g->step) && isfinite(g->start) && isfinite(g->cubic) && g->is_crop >> 1 == 0 &&
              g->excludes >> 1 == 0;
  tsr_dtype wide = g->is_f64 ? TSR_F64 : TSR_F32;
  if (!fits) return wrong(s, "an attribute");
  tsr_shape shape = TSR_SHAPE(g->m * taps_of(g->mode));
  const tsri_result results[2] = {{TSR_I32, shape}, {wide, shape}};
  tsri_record_kernel_results(s->op, s->device, results, 2, NULL, 0, g, out);
  return TSR_OK;
}

// The kernels read tables from the start of their memory.
static tsr_tensor *at_start(tsr_tensor *x) {
  if (tsri_layout_is_row_major(&x->layout) && x->layout.offset == 0) return x;
  tsri_layout packed = tsri_packed_layout(&x->layout);
  return tsri_record_copy(x, &packed);
}

tsr_tensor *tsri_again_resize_plane(const tsri_again *s) {
  const tsri_plane_attributes *g = TSRI_AGAIN_GIVEN(s, plane);
  tsr_tensor *x = s->inputs[0];
  tsr_shape shape = s->results[0].shape, from = x->layout.shape;
  tsr_dtype dtype = s->results[0].dtype;
  bool is_linear = g->mode == TSR_RESIZE_LINEAR;
  bool fits = (is_linear || g->mode == TSR_RESIZE_NEAREST) && g->rounding >= 0 && g->rounding <= TSR_RESIZE_CEIL &&
              g->first >> 1 == 0 && isfinite(g->row_step) && isfinite(g->row_start) && isfinite(g->column_step) &&
              isfinite(g->column_start) && from.rank >= 2 && from.rank == shape.rank && x->layout.count > 0;
  fits = fits && (is_linear ? tsri_dtype_is_float(x->dtype) && tsri_dtype_is_float(dtype) : x->dtype == dtype);
  for (int i = 0; i + 2 < shape.rank && fits; i++) fits = from.dims[i] == shape.dims[i];
  for (int i = 0; i < 2 && fits; i++) fits = shape.dims[shape.rank - 1 - i] <= INT32_MAX / 4;
  return fits ? tsri_resize_planes(x, shape, dtype, g) : tsri_again_wrong(s, "an attribute");
}

tsr_tensor *tsri_again_resize(const tsri_again *s) {
  const tsri_taps_attributes *g = TSRI_AGAIN_GIVEN(s, taps);
  tsr_tensor *x = s->inputs[0], *indices = s->inputs[1], *weights = s->inputs[2];
  tsr_shape shape = s->results[0].shape, from = x->layout.shape;
  bool fits = g->axis >= 0 && g->axis < shape.rank && from.rank == shape.rank && (g->taps == 2 || g->taps == 4) &&
              tsri_dtype_is_float(x->dtype) && tsri_dtype_is_float(s->results[0].dtype) && indices->dtype == TSR_I32 &&
              (weights->dtype == TSR_F32 || weights->dtype == TSR_F64);
  if (!fits) return tsri_again_wrong(s, "an input");
  int64_t m = shape.dims[g->axis];
  from.dims[g->axis] = m;
  fits = tsri_shape_equal(from, shape) && m <= INT32_MAX / 4 && indices->layout.count == m * g->taps &&
         weights->layout.count == m * g->taps && (x->layout.count > 0 || m == 0);
  if (!fits) return tsri_again_wrong(s, "a shape");
  tsr_tensor *inputs[3] = {tsr_contiguous(x), at_start(indices), at_start(weights)};
  tsr_status status = TSR_OK;
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsri_tensor_check(s->op->name, inputs[i]);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(s->op, s->device, s->results[0].dtype, shape, inputs, 3, g);
}

// --- Recurrent layers ------------------------------------------------------------------------------------------------

// Whether inputs and results of the steps have the shapes that *r says, and its dtype.
static bool are_steps(const tsri_again *s, const tsri_recurrence *r, const tsr_recurrent_desc *desc) {
  int64_t depth = tsri_recurrent_depth(r);
  tsr_shape state = TSR_SHAPE(r->batch, r->hidden);
  const tsr_shape wanted[3] = {TSR_SHAPE(r->steps, r->batch, r->gates * r->hidden),
                               TSR_SHAPE(r->hidden / depth, r->gates, r->hidden, depth), state};
  bool fits = s->result_count == (r->gates == 4 ? 3u : 2u) && (r->wide == TSR_F32 || r->wide == TSR_F64);
  for (uint32_t i = 0; i < s->input_count; i++) fits = fits && s->inputs[i]->dtype == r->wide;
  for (int i = 0; i < 3 && fits; i++) fits = tsri_shape_equal(s->inputs[i]->layout.shape, wanted[i]);
  if (fits && desc->cell) fits = tsri_shape_equal(desc->cell->layout.shape, state);
  if (fits && desc->bias_hidden)
    fits = tsri_shape_equal(desc->bias_hidden->layout.shape, TSR_SHAPE(r->gates * r->hidden));
  return fits;
}

tsr_status tsri_again_recurrent(const tsri_again *s, tsr_tensor **out) {
  const tsri_recurrent_attributes *g = TSRI_AGAIN_GIVEN(s, recurrent);
  tsr_shape states = s->results[0].shape;
  bool is_lstm = g->gates == 4;
  uint32_t count = 3u + is_lstm + (g->has_bias != 0);
  if (s->input_count != count || states.rank != 3 || states.dims[2] > INT32_MAX || g->gates < 1 || g->gates > 4 ||
      g->gates == 2 || (g->relu && g->gates != 1)) {
    return wrong(s, "an attribute or the number of inputs");
  }
  tsr_recurrent_desc desc = {.hidden = s->inputs[2], .relu = g->relu != 0, .reverse = g->reverse != 0};
  if (is_lstm) desc.cell = s->inputs[3];
  if (g->has_bias) desc.bias_hidden = s->inputs[count - 1];
  tsri_recurrence r = {.name = s->op->name,
                       .gates = (int)g->gates,
                       .desc = &desc,
                       .steps = states.dims[0],
                       .batch = states.dims[1],
                       .hidden = states.dims[2],
                       .wide = s->results[0].dtype};
  if (!are_steps(s, &r, &desc)) return wrong(s, "an input");
  tsr_tensor *turned = tsr_permute(s->inputs[1], (const int[]){1, 2, 0, 3}, 4);
  tsr_tensor *weight = tsri_then(tsr_reshape(turned, TSR_SHAPE(r.gates * r.hidden, r.hidden)), turned);
  tsr_status status = tsri_tensor_check(s->op->name, weight);
  if (status == TSR_OK) status = tsri_recurrent_states(&r, s->inputs[0], weight, out);
  tsr_release(weight);
  return status;
}
