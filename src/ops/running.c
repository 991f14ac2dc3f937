// SPDX-License-Identifier: MIT
// cummax and cummin: one scan gives both results where the device has a kernel for it. Otherwise a scan gives the values, and a scan over the positions of new
// extremes gives the indices.
#include "core/error.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/scan.h"

#include <tessera/ops.h>

// The positions 1, 2, … n - 1 in a tensor of x's rank, along `axis`.
static tsr_tensor *positions(const tsr_tensor *x, int axis, int64_t n) {
  tsr_tensor *list = tsr_arange(x->value->device, TSRI_INDEX_DTYPE, 1, (double)n, 1);
  tsr_shape shape = {.rank = x->layout.shape.rank};
  for (int i = 0; i < shape.rank; i++) shape.dims[i] = i == axis ? -1 : 1;
  return tsri_then(tsr_reshape(list, shape), list);
}

// For elements 1, 2, …: whether an element exceeds all before it. False if it equals the extreme so far, and after a NaN.
static tsr_tensor *is_new(tsr_tensor *x, tsr_tensor *extremes, int axis, bool is_max) {
  tsr_tensor *here = tsr_slice(x, axis, 1, INT64_MAX, 1), *before = tsr_slice(extremes, axis, 0, -1, 1);
  tsr_tensor *is_within = is_max ? tsr_le(here, before) : tsr_ge(here, before), *is_nan = tsr_isnan(before);
  tsr_tensor *is_old = tsr_logical_or(is_within, is_nan), *result = tsr_logical_not(is_old);
  tsri_release_all((tsr_tensor *[]){here, before, is_within, is_nan, is_old}, 5);
  return result;
}

// The index of the extreme so far is the position of the last new extreme, which is the largest of these positions: a running maximum.
static tsr_tensor *places(const tsri_op *op, tsr_tensor *x, tsr_tensor *extremes, int axis, bool is_max) {
  tsr_tensor *fresh = is_new(x, extremes, axis, is_max), *numbers = positions(x, axis, x->layout.shape.dims[axis]);
  tsr_tensor *cast = tsr_cast(fresh, TSRI_INDEX_DTYPE), *marked = tsr_mul(cast, numbers);
  int64_t before[TSR_MAX_RANK] = {0}, after[TSR_MAX_RANK] = {0};
  before[axis] = 1;  // element 0, whose index is 0
  tsr_tensor *padded = tsr_pad(marked, before, after, x->layout.shape.rank, 0);
  tsr_tensor *result = tsri_scan_along(op, padded, axis, TSRI_INDEX_DTYPE, TSRI_SCAN_LARGEST);
  tsri_release_all((tsr_tensor *[]){fresh, numbers, cast, marked, padded}, 5);
  return result;
}

static tsr_tensor *extremes_of(const tsri_op *op, tsr_tensor *x, int axis, bool is_max) {
  tsr_dtype scanned = x->dtype == TSR_BOOL ? TSR_U8 : x->dtype;
  tsr_tensor *values = tsri_scan_along(op, x, axis, scanned, is_max ? TSRI_SCAN_LARGEST : TSRI_SCAN_SMALLEST);
  return x->dtype == TSR_BOOL ? tsri_then(tsr_cast(values, TSR_BOOL), values) : values;
}

// Values and indices by one scan.
static void both(const tsri_op *op, tsr_tensor *x, int axis, bool is_max, tsr_tensor *results[2]) {
  tsr_tensor *numbers = x->dtype == TSR_BOOL ? tsr_cast(x, TSR_U8) : tsr_retain(x);
  tsri_scan_places(op, numbers, axis, is_max, results);
  tsr_release(numbers);
  if (x->dtype == TSR_BOOL) results[0] = tsri_then(tsr_cast(results[0], TSR_BOOL), results[0]);
}

// Values by a scan, and indices by another one if they are wanted.
static void in_turn(const tsri_op *op, tsr_tensor *x, int axis, bool is_max, bool wants_indices,
                    tsr_tensor *results[2]) {
  int64_t n = x->layout.shape.dims[axis];
  results[0] = extremes_of(op, x, axis, is_max);
  if (!wants_indices) results[1] = tsr_retain(results[0]);
  else if (n <= 1) results[1] = tsri_record_zeros(x->value->device, TSRI_INDEX_DTYPE, x->layout.shape);
  else results[1] = places(op, x, results[0], axis, is_max);
}

static tsr_status running(const tsri_op *op, tsr_tensor *x, int axis, bool is_max, tsr_tensor **out_values,
                          tsr_tensor **out_indices) {
  tsr_tensor **outs[2] = {out_values, out_indices};
  tsri_clear_outs(outs, 2);
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_axis(op->name, axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK && x->layout.shape.dims[axis] > INT32_MAX) {
    status = TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: axis %d has %lld elements; an index is i32", op->name, axis,
                       (long long)x->layout.shape.dims[axis]);
  }
  if (status != TSR_OK) return status;
  tsr_tensor *results[2] = {NULL, NULL};
  if (out_indices && x->layout.shape.dims[axis] > 1 && tsri_scan_finds_places(x)) both(op, x, axis, is_max, results);
  else in_turn(op, x, axis, is_max, out_indices != NULL, results);
  return tsri_hand_out(op->name, results, outs, 2);
}

tsr_status tsr_cummax(tsr_tensor *x, int axis, tsr_tensor **out_values, tsr_tensor **out_indices) {
  return running(TSRI_BODY(cummax), x, axis, true, out_values, out_indices);
}

tsr_status tsr_cummin(tsr_tensor *x, int axis, tsr_tensor **out_values, tsr_tensor **out_indices) {
  return running(TSRI_BODY(cummin), x, axis, false, out_values, out_indices);
}
