// SPDX-License-Identifier: MIT
// cdist: distances between the rows of two matrices, or of two batches of them.
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/distance_tiles.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

enum { ROWS_PER_ITEM = 4 };

void tsri_distance_pass(const tsri_kernel_run *run, const tsri_distance_sizes *s, tsri_call *call) {
  const tsri_layout *a = &run->layouts[0], *b = &run->layouts[1];
  tsr_dtype dtype = run->input_dtypes[0];
  tsri_call_buffer(call, "a", run->inputs[0], dtype);
  tsri_call_buffer(call, "b", run->inputs[1], dtype);
  tsri_call_buffer(call, "y", run->output, dtype);
  tsri_call_word(call, "m", s->m);
  tsri_call_word(call, "n", s->n);
  tsri_call_word(call, "k", s->k);
  tsri_call_word(call, "a_at", a->offset);
  tsri_call_word(call, "b_at", b->offset);
  tsri_call_word(call, "b_batch", b->strides[0]);
  tsri_call_word(call, "b_row", b->strides[1]);
  tsri_call_word(call, "b_col", b->strides[2]);
}

static tsr_status launch_items(const tsri_kernel_run *run, const tsri_distance_sizes *s) {
  tsr_dtype dtype = run->input_dtypes[0];
  int64_t strips = (s->m + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM, items = s->batch * strips * s->n;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_distance", "distance",
      TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_TYPE("A", tsri_accumulator(dtype)),
                TSRI_CONSTANT("FUSED", run->device->limits.has_exact_fma), TSRI_CONSTANT("ROWS", ROWS_PER_ITEM)));
  tsri_distance_pass(run, s, &call);
  tsri_call_word(&call, "strips", strips);
  tsri_call_word(&call, "items", items);
  return tsri_call_items(&call, items);
}

// Inputs of the same dtype: a, [batch, m, k], contiguous; b, [batch, n, k], any strides.
tsr_status tsri_run_distance(const tsri_kernel_run *run) {
  const tsri_layout *a = &run->layouts[0], *b = &run->layouts[1];
  tsri_distance_sizes sizes = {a->shape.dims[0], a->shape.dims[1], b->shape.dims[1], a->shape.dims[2]};
  if (sizes.batch * sizes.m * sizes.n == 0) return TSR_OK;
  if (sizes.k == 0) return tsri_call_zero(run);
  tsri_layout y;
  tsr_status status = tsri_layout_init("cdist", run->shape, run->input_dtypes[0], &y, NULL);
  if (status == TSR_OK) status = tsri_call_check("cdist", a);
  if (status == TSR_OK) status = tsri_call_check("cdist", b);
  if (status == TSR_OK) status = tsri_call_check("cdist", &y);
  if (status != TSR_OK) return status;
  tsri_distance_tile tile;
  bool has_tile = tsri_distance_choose_tile(run->device, &sizes, run->input_dtypes[0], &tile);
  return has_tile ? tsri_distance_launch_tiles(run, &sizes, &tile) : launch_items(run, &sizes);
}

// x cast to `dtype`, broadcast to the batch shape of `all` and flattened to [batch, rows, k]. by_columns: column-major, so that the elements of a column are
// neighbours in memory.
static tsr_tensor *matrices(tsr_tensor *x, tsr_dtype dtype, tsr_shape all, bool by_columns) {
  int rank = all.rank;
  int64_t batch = 1;
  for (int i = 0; i < rank - 2; i++) batch *= all.dims[i];
  tsr_shape shape = x->layout.shape, wide = all;
  for (int i = 1; i <= 2; i++) wide.dims[rank - i] = shape.dims[shape.rank - i];
  tsr_tensor *steps[6] = {tsr_cast(x, dtype)};
  steps[1] = tsr_expand(steps[0], wide);
  steps[2] = tsr_transpose(steps[1], rank - 2, rank - 1);
  steps[3] = tsr_contiguous(steps[by_columns ? 2 : 1]);
  int64_t rows = wide.dims[rank - 2], k = wide.dims[rank - 1];
  steps[4] = tsr_reshape(steps[3], by_columns ? TSR_SHAPE(batch, k, rows) : TSR_SHAPE(batch, rows, k));
  steps[5] = by_columns ? tsr_transpose(steps[4], 1, 2) : tsr_retain(steps[4]);
  tsri_release_all(steps, 5);
  return steps[5];
}

// Whether b shall be column-major. The kernel `distance` reads neighbouring rows of b at once. In tiles b is read along either axis, so it keeps the axis that
// is contiguous, which saves a copy.
static bool reads_columns(tsr_tensor *b, tsr_shape shape, int64_t k, tsr_dtype dtype) {
  tsri_distance_sizes sizes = {1, shape.dims[shape.rank - 2], shape.dims[shape.rank - 1], k};
  for (int i = 0; i < shape.rank - 2; i++) sizes.batch *= shape.dims[i];
  tsri_distance_tile tile;
  if (sizes.batch * sizes.m * sizes.n == 0 || !tsri_distance_choose_tile(b->value->device, &sizes, dtype, &tile))
    return true;
  const tsri_layout *layout = &b->layout;
  int last = layout->shape.rank - 1;
  return layout->strides[last] != 1 && layout->strides[last - 1] == 1;
}

// Records the distances between the rows of a, [batch, m, k], and b, [batch, n, k].
static tsr_tensor *record(tsr_tensor *const *inputs) {
  tsr_device *device = NULL;
  tsr_status status = tsri_tensor_check("cdist", inputs[0]);
  if (status == TSR_OK) status = tsri_tensor_check("cdist", inputs[1]);
  if (status == TSR_OK) status = tsri_record_device("cdist", inputs, 2, &device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape a = inputs[0]->layout.shape, b = inputs[1]->layout.shape;
  return tsri_record_kernel(TSRI_BODY(cdist), device, inputs[0]->dtype, TSR_SHAPE(a.dims[0], a.dims[1], b.dims[1]),
                            inputs, 2, NULL);
}

// Gives the shape of the result; fails if a and b do not match.
static tsr_status result_shape(tsr_shape a, tsr_shape b, tsr_shape *out_shape) {
  char a_text[TSR_SHAPE_TEXT_BYTES], b_text[TSR_SHAPE_TEXT_BYTES];
  if (a.rank < 2 || b.rank < 2 || a.dims[a.rank - 1] != b.dims[b.rank - 1]) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "cdist: takes matrices whose rows have one length, not %s and %s",
                     tsr_shape_format(a, a_text, sizeof a_text), tsr_shape_format(b, b_text, sizeof b_text));
  }
  int64_t m = a.dims[a.rank - 2], n = b.dims[b.rank - 2];
  a.dims[a.rank - 2] = a.dims[a.rank - 1] = b.dims[b.rank - 2] = b.dims[b.rank - 1] = 1;
  tsr_status status = tsri_shape_broadcast("cdist", a, b, out_shape);
  if (status != TSR_OK) return status;
  out_shape->dims[out_shape->rank - 2] = m;
  out_shape->dims[out_shape->rank - 1] = n;
  int64_t count;
  return tsri_shape_check("cdist", *out_shape, &count);
}

tsr_tensor *tsr_cdist(tsr_tensor *a, tsr_tensor *b) {
  tsr_shape shape;
  tsr_status status = tsri_tensor_check("cdist", a);
  if (status == TSR_OK) status = tsri_tensor_check("cdist", b);
  if (status == TSR_OK) status = result_shape(a->layout.shape, b->layout.shape, &shape);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(tsri_promote(a->dtype, b->dtype));
  bool by_columns = reads_columns(b, shape, a->layout.shape.dims[a->layout.shape.rank - 1], dtype);
  tsr_tensor *inputs[2] = {matrices(a, dtype, shape, false), matrices(b, dtype, shape, by_columns)};
  tsr_tensor *distances = record(inputs), *result = tsr_reshape(distances, shape);
  tsri_release_all(inputs, 2);
  return tsri_tensor_named("cdist", tsri_then(result, distances));
}
