// SPDX-License-Identifier: MIT
// Operators whose result has as many elements as are found: nonzero, masked_select, unique. They read that number from the device.
#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/promote.h"
#include "runtime/tape.h"

#include <tessera/ops.h>

// --- Finding ---------------------------------------------------------------------------------------------------------

static tsr_status check_count(const char *caller, const tsr_tensor *x) {
  tsr_status status = tsri_tensor_check(caller, x);
  if (status != TSR_OK || x->layout.count <= INT32_MAX) return status;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %lld elements; places are i32", caller, (long long)x->layout.count);
}

// The places of the elements that are not 0 in a list of i32, which has elements of 0 and 1. `*out_numbers` are their running sums. The places are
// where the numbers 1, 2, … first occur in those.
static tsr_status find(tsr_tensor *marks, tsr_tensor **out_numbers, tsr_tensor **out_places) {
  tsr_device *device = marks->value->device;
  tsri_tape_refuses(device, "an operator whose result's size is found on the device");
  tsr_tensor *numbers = tsr_cumsum(marks, 0), *last = tsr_slice(numbers, 0, -1, INT64_MAX, 1);
  int64_t found = 0;
  tsr_status status = marks->layout.count > 0 ? tsr_item_int(last, &found) : TSR_OK;
  tsr_release(last);
  tsr_tensor *wanted = tsr_arange(device, TSRI_INDEX_DTYPE, 1, (double)found + 1, 1);
  *out_places = status == TSR_OK ? tsr_searchsorted(numbers, wanted, false) : tsri_tensor_fail(status);
  *out_numbers = numbers;
  tsr_release(wanted);
  return tsri_tensor_check("find", *out_places);
}

// The places of the elements that are not 0, counted in row-major order.
static tsr_tensor *places_of(tsr_tensor *x) {
  tsr_tensor *truth = tsr_cast(x, TSR_BOOL), *cast = tsr_cast(truth, TSRI_INDEX_DTYPE);
  tsr_tensor *marks = tsr_reshape(cast, TSR_SHAPE(x->layout.count)), *numbers = NULL, *places = NULL;
  tsr_status status = tsri_tensor_check("find", marks);
  if (status == TSR_OK) (void)find(marks, &numbers, &places);
  else places = tsri_tensor_fail(status);
  tsri_release_all((tsr_tensor *[]){truth, cast, marks, numbers}, 4);
  return places;
}

// --- nonzero, masked_select ------------------------------------------------------------------------------------------

// The index along one axis: places divided by its stride, modulo its size.
static tsr_tensor *axis_of(tsr_tensor *places, int64_t stride, int64_t size) {
  tsr_tensor *quotient = tsr_floor_div_scalar(places, (double)stride);
  return tsri_then(tsr_mod_scalar(quotient, (double)size), quotient);
}

tsr_tensor *tsr_nonzero(tsr_tensor *x) {
  tsr_status status = check_count("nonzero", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *places = places_of(x), *axes[TSR_MAX_RANK];
  status = tsri_tensor_check("nonzero", places);
  if (status != TSR_OK) return tsri_tensor_named("nonzero", places);
  int rank = x->layout.shape.rank;
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    axes[i] = axis_of(places, stride, x->layout.shape.dims[i]);
    stride *= x->layout.shape.dims[i];
  }
  tsr_shape none = TSR_SHAPE(places->layout.count, 0);
  tsr_tensor *result =
      rank > 0 ? tsr_stack(axes, rank, 1) : tsri_record_zeros(places->value->device, TSRI_INDEX_DTYPE, none);
  tsri_release_all(axes, rank);
  return tsri_tensor_named("nonzero", tsri_then(result, places));
}

tsr_tensor *tsr_masked_select(tsr_tensor *x, tsr_tensor *mask) {
  tsr_shape shape = {0};
  tsr_status status = tsri_tensor_check("masked_select", x);
  if (status == TSR_OK) status = tsri_tensor_check("masked_select", mask);
  if (status == TSR_OK) status = tsri_shape_broadcast("masked_select", x->layout.shape, mask->layout.shape, &shape);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *all = tsr_expand(x, shape), *chosen = tsr_expand(mask, shape), *result = NULL;
  status = tsri_tensor_check("masked_select", all);
  if (status == TSR_OK) status = check_count("masked_select", chosen);
  if (status == TSR_OK) {
    tsr_tensor *places = places_of(chosen);
    result = tsri_then(tsr_take(all, places), places);
  } else {
    result = tsri_tensor_fail(status);
  }
  tsri_release_all((tsr_tensor *[]){all, chosen}, 2);
  return tsri_tensor_named("masked_select", result);
}

// --- unique ----------------------------------------------------------------------------------------------------------

// 1 where a sorted list has another element than before. NaN equals NaN; it comes last, so that all are NaN after the first.
static tsr_tensor *mark_first(tsr_tensor *sorted) {
  int64_t n = sorted->layout.count;
  if (n == 0) return tsri_record_zeros(sorted->value->device, TSRI_INDEX_DTYPE, TSR_SHAPE(0));
  tsr_tensor *later = tsr_slice(sorted, 0, 1, n, 1), *earlier = tsr_slice(sorted, 0, 0, n - 1, 1);
  tsr_tensor *is_same = tsr_eq(later, earlier), *is_nan = tsr_isnan(earlier), *is_old = tsr_logical_or(is_same, is_nan);
  tsr_tensor *is_new = tsr_logical_not(is_old), *cast = tsr_cast(is_new, TSRI_INDEX_DTYPE);
  tsr_tensor *result = tsr_pad(cast, (int64_t[]){1}, (int64_t[]){0}, 1, 1);
  tsri_release_all((tsr_tensor *[]){later, earlier, is_same, is_nan, is_old, is_new, cast}, 7);
  return result;
}

// Which of the found elements each element of x is: the sorted ones are numbered, and go back to where they were.
static tsr_tensor *inverse_of(tsr_tensor *numbers, tsr_tensor *order, tsr_shape shape) {
  tsr_tensor *from_zero = tsr_sub_scalar(numbers, 1);
  tsr_tensor *back = tsri_then(tsr_scatter(from_zero, 0, order, from_zero), from_zero);
  return tsri_then(tsr_reshape(back, shape), back);
}

// The counts: the distance from the first of each to the first of the next, or to the end.
static tsr_tensor *counts_of(tsr_tensor *firsts, int64_t n) {
  if (n == 0) return tsr_cast(firsts, TSRI_INDEX_DTYPE);
  tsr_tensor *next = tsr_slice(firsts, 0, 1, INT64_MAX, 1);
  tsr_tensor *ends = tsri_then(tsr_pad(next, (int64_t[]){0}, (int64_t[]){1}, 1, (double)n), next);
  return tsri_then(tsr_sub(ends, firsts), ends);
}

tsr_status tsr_unique(tsr_tensor *x, tsr_tensor **out_values, tsr_tensor **out_inverse, tsr_tensor **out_counts) {
  tsr_tensor **outs[3] = {out_values, out_inverse, out_counts};
  tsri_clear_outs(outs, 3);
  tsr_status status = check_count("unique", x);
  if (status != TSR_OK) return status;
  tsr_tensor *flat = tsr_reshape(x, TSR_SHAPE(x->layout.count)), *order = tsr_argsort(flat, 0, false);
  tsr_tensor *sorted = tsr_take(flat, order), *marks = NULL, *numbers = NULL, *firsts = NULL;
  status = tsri_tensor_check("unique", sorted);
  if (status == TSR_OK) marks = mark_first(sorted);
  if (status == TSR_OK) status = tsri_tensor_check("unique", marks);
  if (status == TSR_OK) status = find(marks, &numbers, &firsts);
  if (status == TSR_OK) {
    tsr_tensor *results[3] = {tsr_take(sorted, firsts), inverse_of(numbers, order, x->layout.shape),
                              counts_of(firsts, x->layout.count)};
    status = tsri_hand_out("unique", results, outs, 3);
  } else {
    tsri_fail_as("unique", status);
  }
  tsri_release_all((tsr_tensor *[]){flat, order, sorted, marks, numbers, firsts}, 6);
  return status;
}
