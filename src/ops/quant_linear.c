// SPDX-License-Identifier: MIT
// Integers with a scale and a zero point, as in ONNX: composed of element-wise operators, which are fused into one kernel. Also i8 with a scale for each
// channel.
#include "core/error.h"
#include "core/tensor.h"
#include "ops/axes.h"
#include "ops/compose.h"
#include "ops/promote.h"
#include "ops/quant.h"

#include <tessera/ops.h>

typedef tsr_tensor *(*operation)(tsr_tensor *, tsr_tensor *);

// f(a, b). Releases both.
static tsr_tensor *both(operation f, tsr_tensor *a, tsr_tensor *b) { return tsri_then(tsri_then(f(a, b), b), a); }

// --- Scales and zero points ------------------------------------------------------------------------------------------

// The shapes in which x and its scales broadcast against each other. If a scale belongs to a block of an axis, that axis of x is split into two axes.
typedef struct spread {
  tsr_shape x, scale;
} spread;

static bool is_blocked(tsr_shape x, tsr_shape scale, int axis) {
  bool fits = scale.rank == x.rank && x.rank < TSR_MAX_RANK;
  for (int i = 0; i < x.rank && fits; i++) {
    fits = i == axis ? scale.dims[i] > 0 && x.dims[i] % scale.dims[i] == 0 : scale.dims[i] == x.dims[i];
  }
  return fits;
}

static tsr_status spread_of(const char *caller, tsr_shape x, tsr_shape scale, int axis, spread *out_spread) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  *out_spread = (spread){.x = x};
  if (scale.rank == 0 || (scale.rank == 1 && scale.dims[0] == 1)) return TSR_OK;
  if (axis < -x.rank || axis >= x.rank) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: there is no axis %d, x is %s", caller, axis, tsr_shape_format(x, a, sizeof a));
  }
  if (axis < 0) axis += x.rank;
  if (scale.rank == 1 && scale.dims[0] == x.dims[axis]) {
    out_spread->scale.rank = x.rank - axis;
    for (int i = 0; i < x.rank - axis; i++) out_spread->scale.dims[i] = i == 0 ? scale.dims[0] : 1;
    return TSR_OK;
  }
  if (!is_blocked(x, scale, axis)) {
    return TSRI_FAIL(TSR_ERR_SHAPE,
                     "%s: x is %s, the scale is %s; it is one number, a list along axis %d, or of blocks of that axis",
                     caller, tsr_shape_format(x, a, sizeof a), tsr_shape_format(scale, b, sizeof b), axis);
  }
  out_spread->x.rank = out_spread->scale.rank = x.rank + 1;
  for (int i = 0; i <= x.rank; i++) {
    int from = i <= axis ? i : i - 1;
    out_spread->scale.dims[i] = i == axis + 1 ? 1 : scale.dims[from];
    out_spread->x.dims[i] = i == axis       ? scale.dims[axis]
                            : i == axis + 1 ? x.dims[axis] / scale.dims[axis]
                                            : x.dims[from];
  }
  return TSR_OK;
}

static tsr_status check_pair(const char *caller, const tsr_tensor *scale, const tsr_tensor *zero_point) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, scale);
  if (status == TSR_OK && !tsri_dtype_is_float(scale->dtype)) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "%s: the scale is a float, not %s", caller, tsr_dtype_name(scale->dtype));
  }
  if (status != TSR_OK || !zero_point) return status;
  status = tsri_tensor_check(caller, zero_point);
  if (status == TSR_OK && (tsri_dtype_is_float(zero_point->dtype) || zero_point->dtype == TSR_BOOL)) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "%s: the zero point is a whole number, not %s", caller,
                       tsr_dtype_name(zero_point->dtype));
  }
  if (status != TSR_OK || tsri_shape_equal(scale->layout.shape, zero_point->layout.shape)) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: the scale is %s, the zero point is %s", caller,
                   tsr_shape_format(scale->layout.shape, a, sizeof a),
                   tsr_shape_format(zero_point->layout.shape, b, sizeof b));
}

// x cast to `dtype` and reshaped.
static tsr_tensor *as(tsr_tensor *x, tsr_dtype dtype, tsr_shape shape) {
  tsr_tensor *cast = tsr_cast(x, dtype);
  return tsri_then(tsr_reshape(cast, shape), cast);
}

// --- quantize_linear, dequantize_linear ------------------------------------------------------------------------------

static tsr_status check_target(tsr_dtype dtype, double *out_least, double *out_most) {
  bool is_signed = dtype == TSR_I8 || dtype == TSR_I16;
  if (!is_signed && dtype != TSR_U8 && dtype != TSR_U16) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "quantize_linear: gives u8, i8, u16 or i16, not %s", tsr_dtype_name(dtype));
  }
  double range = tsr_dtype_bytes(dtype) == 1 ? 256 : 65536;
  *out_least = is_signed ? -range / 2 : 0;
  *out_most = *out_least + range - 1;
  return TSR_OK;
}

tsr_tensor *tsr_quantize_linear(tsr_tensor *x, tsr_tensor *scale, tsr_tensor *zero_point, int axis, tsr_dtype dtype) {
  const char *name = "quantize_linear";
  spread way;
  double least = 0, most = 0;
  tsr_status status = tsri_tensor_check(name, x);
  if (status == TSR_OK) status = check_pair(name, scale, zero_point);
  if (status == TSR_OK) status = check_target(dtype, &least, &most);
  if (status == TSR_OK) status = spread_of(name, x->layout.shape, scale->layout.shape, axis, &way);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype wide = x->dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  tsr_tensor *steps = both(tsr_div, as(x, wide, way.x), as(scale, wide, way.scale));
  tsr_tensor *result = tsri_then(tsr_round(steps), steps);
  if (zero_point) result = both(tsr_add, result, as(zero_point, wide, way.scale));
  tsr_tensor *kept = tsri_then(tsr_clamp(result, least, most), result);
  return tsri_tensor_named(name, tsri_then(as(kept, dtype, x->layout.shape), kept));
}

tsr_tensor *tsr_dequantize_linear(tsr_tensor *x, tsr_tensor *scale, tsr_tensor *zero_point, int axis) {
  const char *name = "dequantize_linear";
  spread way;
  tsr_status status = tsri_tensor_check(name, x);
  if (status == TSR_OK) status = check_pair(name, scale, zero_point);
  if (status == TSR_OK && (tsri_dtype_is_float(x->dtype) || x->dtype == TSR_BOOL)) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "dequantize_linear: takes whole numbers, not %s", tsr_dtype_name(x->dtype));
  }
  if (status == TSR_OK) status = spread_of(name, x->layout.shape, scale->layout.shape, axis, &way);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype wide = scale->dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  tsr_dtype whole = tsr_dtype_bytes(x->dtype) < 4 ? TSR_I32 : x->dtype;
  tsr_tensor *steps = as(x, whole, way.x);
  if (zero_point) steps = both(tsr_sub, steps, as(zero_point, whole, way.scale));
  tsr_tensor *real = tsri_then(tsr_cast(steps, wide), steps);
  tsr_tensor *scaled = both(tsr_mul, real, as(scale, wide, way.scale));
  return tsri_tensor_named(name, tsri_then(as(scaled, scale->dtype, x->layout.shape), scaled));
}

// --- dynamic_quantize_linear -----------------------------------------------------------------------------------------

// min(x, 0) over all elements of x, or max(x, 0) if is_largest, in f32.
static tsr_tensor *end_of(tsr_tensor *x, bool is_largest) {
  if (x->layout.count == 0) return tsr_zeros(x->value->device, TSR_F32, TSR_SCALAR);
  tsr_tensor *end = is_largest ? tsr_max(x, NULL, 0, false) : tsr_min(x, NULL, 0, false);
  tsr_tensor *cast = tsri_then(tsr_cast(end, TSR_F32), end);
  return tsri_then(is_largest ? tsr_maximum_scalar(cast, 0) : tsr_minimum_scalar(cast, 0), cast);
}

// x with its zeros replaced by 1. Releases x.
static tsr_tensor *not_zero(tsr_tensor *x) {
  tsr_tensor *is_zero = tsr_eq_scalar(x, 0);
  return both(tsr_add, x, is_zero);
}

tsr_status tsr_dynamic_quantize_linear(tsr_tensor *x, tsr_tensor **out_y, tsr_tensor **out_scale,
                                       tsr_tensor **out_zero_point) {
  const char *name = "dynamic_quantize_linear";
  tsr_tensor **const outs[] = {out_y, out_scale, out_zero_point};
  tsri_clear_outs(outs, 3);
  tsr_status status = tsri_tensor_check(name, x);
  if (status != TSR_OK) return status;
  tsr_tensor *least = end_of(x, false), *range = both(tsr_sub, end_of(x, true), tsr_retain(least));
  tsr_tensor *scale = not_zero(tsri_then(tsr_div_scalar(range, 255), range));
  tsr_tensor *below = tsri_then(tsr_neg(least), least);
  tsr_tensor *zero_point = tsr_quantize_linear(below, scale, NULL, 0, TSR_U8);
  tsr_release(below);
  tsr_tensor *results[] = {tsr_quantize_linear(x, scale, zero_point, 0, TSR_U8), scale, zero_point};
  return tsri_hand_out(name, results, outs, 3);
}

// --- i8 with a scale for each channel --------------------------------------------------------------------------------

// The largest magnitude of each slice of x along `axis`, in f32; 0 for slices without elements.
static tsr_tensor *largest_along(tsr_tensor *x, int axis) {
  tsr_shape shape = x->layout.shape;
  if (x->layout.count == 0) return tsr_zeros(x->value->device, TSR_F32, TSR_SHAPE(shape.dims[axis]));
  int axes[TSR_MAX_RANK], count = 0;
  for (int i = 0; i < shape.rank; i++) {
    if (i != axis) axes[count++] = i;
  }
  tsr_tensor *cast = tsr_cast(x, TSR_F32), *sizes = tsri_then(tsr_abs(cast), cast);
  return count > 0 ? tsri_then(tsr_max(sizes, axes, count, false), sizes) : sizes;
}

tsr_status tsr_quantize_channels(tsr_tensor *x, int axis, tsr_tensor **out_values, tsr_tensor **out_scale) {
  const char *name = "quantize_channels";
  tsr_tensor **const outs[] = {out_values, out_scale};
  tsri_clear_outs(outs, 2);
  tsr_status status = tsri_tensor_check(name, x);
  if (status == TSR_OK) status = tsri_axis(name, axis, x->layout.shape.rank, &axis);
  if (status != TSR_OK) return status;
  tsr_tensor *largest = largest_along(x, axis);
  tsr_tensor *scale = not_zero(tsri_then(tsr_div_scalar(largest, 127), largest));
  tsr_tensor *results[] = {tsr_quantize_linear(x, scale, NULL, axis, TSR_I8), scale};
  return tsri_hand_out(name, results, outs, 2);
}
