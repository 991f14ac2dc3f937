// SPDX-License-Identifier: MIT
// attention_scores and weighted_sum_rows: the two matrix products of attention as separate operators, composed of matmul and element-wise operators, for
// programs that need the scores.
#include <math.h>

#include "core/error.h"
#include "ops/attention.h"
#include "ops/autocast.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

// alpha * a * b over the last two axes. If several neighbouring heads of a share a head of b, they become a separate axis along which b is broadcast.
static tsr_tensor *grouped_product(double alpha, tsr_tensor *a, tsr_tensor *b) {
  tsr_shape x = tsr_tensor_shape(a), y = tsr_tensor_shape(b);
  tsr_shape result = x, apart = {.rank = 5, .dims = {x.dims[0], y.dims[1], 0, x.dims[2], x.dims[3]}};
  result.dims[3] = y.dims[3];
  if (x.dims[1] == y.dims[1]) return tsr_gemm(alpha, a, b, 0, NULL);
  apart.dims[2] = x.dims[1] / y.dims[1];
  tsr_tensor *left = tsr_reshape(a, apart), *right = tsr_unsqueeze(b, 2);
  tsr_tensor *product = tsri_then(tsri_then(tsr_gemm(alpha, left, right, 0, NULL), left), right);
  return tsri_then(tsr_reshape(product, result), product);
}

// --- attention_scores ------------------------------------------------------------------------------------------------

// Position of each key minus position of each query: [batch or 1, 1, queries, keys], i32. Negative for keys before the query.
static tsr_tensor *distances(tsr_device *device, tsr_tensor *lengths, int64_t queries, int64_t keys) {
  tsr_tensor *columns = tsr_arange(device, TSR_I32, 0, (double)keys, 1);
  double shift = lengths ? -(double)queries : (double)(keys - queries);
  tsr_tensor *positions = tsr_arange(device, TSR_I32, shift, shift + (double)queries, 1);
  tsr_tensor *rows = tsri_then(tsr_reshape(positions, TSR_SHAPE(1, 1, queries, 1)), positions);
  if (lengths) {
    tsr_tensor *cast = tsr_cast(lengths, TSR_I32), *last = tsr_reshape(cast, TSR_SHAPE(-1, 1, 1, 1));
    rows = tsri_then(tsri_then(tsri_then(tsr_add(rows, last), last), cast), rows);
  }
  return tsri_then(tsri_then(tsr_sub(columns, rows), columns), rows);
}

// Sets x to -infinity where `hidden` is true. Releases both.
static tsr_tensor *hide(tsr_tensor *x, tsr_tensor *hidden) {
  return tsri_then(tsri_then(tsr_masked_fill(x, hidden, -INFINITY), hidden), x);
}

// Applies the causal mask, the window and the slopes. Releases the scores.
static tsr_tensor *placed(tsr_tensor *scores, const tsr_attention_desc *desc, tsr_dtype wide) {
  if (!desc->causal && !desc->slopes) return scores;
  tsr_shape shape = tsr_tensor_shape(scores);
  tsr_tensor *distance = distances(scores->value->device, desc->lengths, shape.dims[2], shape.dims[3]);
  if (desc->slopes) {
    tsr_tensor *cast = tsr_cast(desc->slopes, wide), *each = tsr_reshape(cast, TSR_SHAPE(shape.dims[1], 1, 1));
    tsr_tensor *far = tsr_cast(distance, wide), *added = tsr_mul(each, far);
    scores = tsri_then(tsr_add(scores, added), scores);
    tsr_tensor *const done[] = {cast, each, far, added};
    tsri_release_all(done, 4);
  }
  if (desc->causal) scores = hide(scores, tsr_gt_scalar(distance, 0));
  if (desc->window) scores = hide(scores, tsr_le_scalar(distance, -(double)desc->window));
  return tsri_then(scores, distance);
}

// Hides keys at or after each sequence's length, and applies the mask. Releases the scores.
static tsr_tensor *masked(tsr_tensor *scores, tsr_tensor *mask, tsr_tensor *lengths, tsr_dtype wide) {
  if (lengths) {
    tsr_tensor *columns = tsr_arange(scores->value->device, TSR_I32, 0, (double)tsr_tensor_shape(scores).dims[3], 1);
    tsr_tensor *cast = tsr_cast(lengths, TSR_I32), *last = tsr_reshape(cast, TSR_SHAPE(-1, 1, 1, 1));
    tsr_tensor *is_hidden = tsr_ge(columns, last);
    tsr_release(columns);
    tsr_release(cast);
    tsr_release(last);
    scores = hide(scores, is_hidden);
  }
  if (!mask) return scores;
  if (mask->dtype == TSR_BOOL) return hide(scores, tsr_logical_not(mask));
  tsr_tensor *added = tsr_cast(mask, wide);
  return tsri_then(tsri_then(tsr_add(scores, added), added), scores);
}

// cap * tanh(scores / cap). Releases the scores.
static tsr_tensor *capped(tsr_tensor *scores, double cap) {
  if (cap == 0) return scores;
  scores = tsri_then(tsr_div_scalar(scores, cap), scores);
  scores = tsri_then(tsr_tanh(scores), scores);
  return tsri_then(tsr_mul_scalar(scores, cap), scores);
}

tsr_tensor *tsr_attention_scores(tsr_tensor *q, tsr_tensor *k, tsr_tensor *mask, const tsr_attention_desc *desc) {
  static const tsr_attention_desc usual;
  static const char name[] = "attention_scores";
  if (!desc) desc = &usual;
  tsri_attention_inputs in = {.q = q, .k = k, .mask = mask};
  int64_t keys = 0;
  tsr_status status = tsri_attention_check(name, &in, desc, &keys);
  if (status == TSR_OK && desc->blocks) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: does not read .blocks of the description", name);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(tsri_promote(q->dtype, k->dtype));
  dtype = tsri_autocast(TSRI_BODY(attention_scores), dtype);
  tsr_dtype wide = tsri_accumulator(dtype);
  tsr_tensor *left = tsr_cast(q, dtype), *cast = tsr_cast(k, dtype),
             *right = tsri_then(tsr_transpose(cast, 2, 3), cast);
  tsr_tensor *product = grouped_product(tsri_attention_scale(q, desc), left, right);
  tsr_release(left);
  tsr_release(right);
  status = tsri_tensor_check(name, product);
  if (status != TSR_OK) return tsri_tensor_named(name, product);
  tsr_tensor *scores = capped(tsri_then(tsr_cast(product, wide), product), desc->softcap);
  scores = masked(placed(scores, desc, wide), mask, desc->lengths, wide);
  return tsri_tensor_named(name, tsri_then(tsr_cast(scores, dtype), scores));
}

// --- weighted_sum_rows -----------------------------------------------------------------------------------------------

tsr_tensor *tsr_weighted_sum_rows(tsr_tensor *weights, tsr_tensor *v) {
  static const char name[] = "weighted_sum_rows";
  tsr_status status = tsri_tensor_check(name, weights);
  if (status == TSR_OK) status = tsri_tensor_check(name, v);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape w = weights->layout.shape, rows = v->layout.shape;
  if (w.rank != 4 || rows.rank != 4 || w.dims[0] != rows.dims[0] || w.dims[3] != rows.dims[2] ||
      (rows.dims[1] > 0 ? w.dims[1] % rows.dims[1] != 0 : w.dims[1] != 0)) {
    char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
    return tsri_tensor_fail(
        TSRI_FAIL(TSR_ERR_SHAPE,
                  "%s: weights are %s, v is %s; they are [batch, heads, queries, keys] and [batch, kv "
                  "heads, keys, size], and kv heads divide the heads",
                  name, tsr_shape_format(w, a, sizeof a), tsr_shape_format(rows, b, sizeof b)));
  }
  tsr_dtype dtype = tsri_promote_float(tsri_promote(weights->dtype, v->dtype));
  dtype = tsri_autocast(TSRI_BODY(weighted_sum_rows), dtype);
  tsr_tensor *left = tsr_cast(weights, dtype), *right = tsr_cast(v, dtype);
  return tsri_tensor_named(name, tsri_then(tsri_then(grouped_product(1, left, right), left), right));
}
