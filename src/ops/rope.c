// SPDX-License-Identifier: MIT
// Rotary position embedding, composed of element-wise operators. Pairs are viewed as an axis of size 2; the rotated row is x * cos + (x with each pair
// exchanged) * sin, where the sine for each pair's first element is negated. Only the table of angles is stored.
#include <math.h>

#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"
#include "ops/promote.h"

#include <tessera/ops.h>

static const char name[] = "rope";

// How many elements of the last axis are rotated.
static int64_t rotated_size(const tsr_tensor *x, const tsr_rope_desc *desc) {
  return desc->size != 0 ? desc->size : x->layout.shape.dims[x->layout.shape.rank - 1];
}

static tsr_status check_x(const tsr_tensor *x, const tsr_rope_desc *desc) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = x->layout.shape;
  if (shape.rank < 1 || shape.rank >= TSR_MAX_RANK) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "rope: x is %s; it has 1 to %d axes", tsr_shape_format(shape, text, sizeof text),
                     TSR_MAX_RANK - 1);
  }
  int64_t size = rotated_size(x, desc), last = shape.dims[shape.rank - 1];
  if (size < 0 || size % 2 != 0 || size > last) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "rope: %lld elements of the last axis of %s are rotated; they are pairs",
                     (long long)size, tsr_shape_format(shape, text, sizeof text));
  }
  return TSR_OK;
}

static tsr_status check_positions(const tsr_tensor *x, const tsr_tensor *positions) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_shape rows = x->layout.shape, both = {0};
  rows.rank--;
  if (tsri_shape_broadcast(name, rows, positions->layout.shape, &both) == TSR_OK && tsri_shape_equal(both, rows))
    return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "rope: positions are %s, which is not broadcast to the rows of x, %s",
                   tsr_shape_format(positions->layout.shape, a, sizeof a), tsr_shape_format(rows, b, sizeof b));
}

static tsr_status check_desc(const tsr_tensor *x, const tsr_rope_desc *desc) {
  if (!(desc->base >= 0) || !isfinite(desc->base) || !isfinite(desc->scale)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "rope: base is %g and scale %g; they are numbers, base above 0",
                     desc->base, desc->scale);
  }
  if (!desc->frequencies) return TSR_OK;
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(name, desc->frequencies);
  if (status != TSR_OK) return status;
  tsr_shape shape = desc->frequencies->layout.shape;
  int64_t pairs = rotated_size(x, desc) / 2;
  if (desc->base != 0) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "rope: takes .base or .frequencies, not both");
  if (shape.rank == 1 && shape.dims[0] == pairs) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "rope: frequencies are %s, there are %lld pairs",
                   tsr_shape_format(shape, text, sizeof text), (long long)pairs);
}

// Frequencies base^(-2 i / size) of the pairs i. tsr_linspace computes the exponents in f64.
static tsr_tensor *frequencies(tsr_device *device, int64_t pairs, tsr_dtype wide, const tsr_rope_desc *desc) {
  if (desc->frequencies) return tsr_cast(desc->frequencies, wide);
  double base = desc->base != 0 ? desc->base : 10000;
  tsr_tensor *powers = tsr_linspace(device, wide, 0, -log2(base) * (double)(pairs - 1) / (double)pairs, pairs);
  return tsri_then(tsr_exp2(powers), powers);
}

// The angle of each pair, [positions …, pairs].
static tsr_tensor *angles(tsr_tensor *x, tsr_tensor *positions, int64_t pairs, tsr_dtype wide,
                          const tsr_rope_desc *desc) {
  tsr_tensor *turns = frequencies(x->value->device, pairs, wide, desc);
  if (desc->scale != 0) turns = tsri_then(tsr_mul_scalar(turns, desc->scale), turns);
  tsr_tensor *cast = tsr_cast(positions, wide), *column = tsri_then(tsr_unsqueeze(cast, -1), cast);
  return tsri_then(tsri_then(tsr_mul(column, turns), column), turns);
}

// function(angles), reshaped to broadcast to rows of pairs; `axis` is the axis of the two elements of a pair.
static tsr_tensor *table(tsr_tensor *of, tsr_tensor *(*function)(tsr_tensor *), int axis) {
  tsr_tensor *values = function(of);
  return tsri_then(tsr_unsqueeze(values, axis), values);
}

// -1 and 1 along the axis of size 2.
static tsr_tensor *signs(tsr_device *device, tsr_dtype wide, bool is_last) {
  tsr_tensor *both = tsr_linspace(device, wide, -1, 1, 2);
  return is_last ? both : tsri_then(tsr_unsqueeze(both, 1), both);
}

// Rotates pairs, [..., 2, pairs], or [..., pairs, 2] if the elements of a pair are neighbours (is_last).
static tsr_tensor *rotate(tsr_tensor *pairs, tsr_tensor *turned, bool is_last, tsr_device *device) {
  int axis = is_last ? -1 : -2;
  tsr_dtype wide = tsr_tensor_dtype(pairs);
  tsr_tensor *cosines = table(turned, tsr_cos, axis), *sines = table(turned, tsr_sin, axis);
  tsr_tensor *sign = signs(device, wide, is_last), *crossed = tsr_mul(sines, sign), *flipped = tsr_flip(pairs, axis);
  tsr_tensor *along = tsr_mul(pairs, cosines), *result = tsr_fma(flipped, crossed, along);
  tsr_tensor *const done[] = {cosines, sines, sign, crossed, flipped, along};
  tsri_release_all(done, 6);
  return result;
}

// The first `size` elements of each row, rotated.
static tsr_tensor *rotated(tsr_tensor *x, tsr_tensor *positions, int64_t size, tsr_dtype dtype,
                           const tsr_rope_desc *desc) {
  tsr_dtype wide = tsri_accumulator(dtype);
  tsr_tensor *part = tsr_slice(x, -1, 0, size, 1), *cast = tsri_then(tsr_cast(part, wide), part);
  tsr_shape shape = x->layout.shape, paired = shape;
  shape.dims[shape.rank - 1] = size;
  paired.rank++;
  paired.dims[shape.rank - 1] = desc->interleaved ? size / 2 : 2;
  paired.dims[shape.rank] = desc->interleaved ? 2 : size / 2;
  tsr_tensor *pairs = tsri_then(tsr_reshape(cast, paired), cast);
  tsr_tensor *turned = angles(x, positions, size / 2, wide, desc);
  tsr_tensor *result = tsri_then(tsri_then(rotate(pairs, turned, desc->interleaved, x->value->device), pairs), turned);
  result = tsri_then(tsr_reshape(result, shape), result);
  return tsri_then(tsr_cast(result, dtype), result);
}

tsr_tensor *tsr_rope(tsr_tensor *x, tsr_tensor *positions, const tsr_rope_desc *desc) {
  static const tsr_rope_desc usual;
  if (!desc) desc = &usual;
  tsr_status status = tsri_tensor_check(name, x);
  if (status == TSR_OK) status = tsri_tensor_check(name, positions);
  if (status == TSR_OK) status = check_x(x, desc);
  if (status == TSR_OK) status = check_positions(x, positions);
  if (status == TSR_OK) status = check_desc(x, desc);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(x->dtype);
  int64_t size = rotated_size(x, desc), last = x->layout.shape.dims[x->layout.shape.rank - 1];
  if (x->layout.count == 0 || size == 0) return tsri_tensor_named(name, tsr_cast(x, dtype));
  tsr_tensor *result = rotated(x, positions, size, dtype, desc);
  if (size < last) {
    tsr_tensor *rest = tsr_slice(x, -1, size, last, 1), *cast = tsri_then(tsr_cast(rest, dtype), rest);
    tsr_tensor *parts[2] = {result, cast};
    result = tsri_then(tsri_then(tsr_concat(parts, 2, -1), result), cast);
  }
  return tsri_tensor_named(name, result);
}
