// SPDX-License-Identifier: MIT
// Puts gradients back to the positions that a view has read (place.h).
#include "grad/place.h"

#include "core/error.h"
#include "ops/compose.h"

#include <tessera/ops.h>

// Sums over the axes along which the view repeats elements (stride 0), unless the rule has done so.
static tsr_tensor *sum_repeated(tsr_tensor *gradient, tsri_layout *view) {
  int axes[TSR_MAX_RANK], count = 0;
  for (int i = 0; i < view->shape.rank; i++) {
    if (view->strides[i] != 0 || view->shape.dims[i] <= 1) continue;
    if (tsr_tensor_shape(gradient).dims[i] > 1) axes[count++] = i;
    view->count /= view->shape.dims[i];
    view->shape.dims[i] = 1;
  }
  return count ? tsr_sum(gradient, axes, count, true) : gradient;
}

// Flips axes with negative strides.
static tsr_tensor *turn(tsr_tensor *gradient, tsri_layout *view) {
  for (int i = 0; i < view->shape.rank; i++) {
    if (view->strides[i] >= 0 || view->shape.dims[i] <= 1) continue;
    view->offset += view->strides[i] * (view->shape.dims[i] - 1);
    view->strides[i] = -view->strides[i];
    gradient = tsr_flip(gradient, i);
  }
  return gradient;
}

// Brings the axes into the order of memory: the one with the longest step first.
static tsr_tensor *order(tsr_tensor *gradient, tsri_layout *view) {
  int axes[TSR_MAX_RANK], rank = view->shape.rank;
  for (int i = 0; i < rank; i++) {
    int at = i;
    while (at > 0 && view->strides[axes[at - 1]] < view->strides[i]) at--;
    for (int j = i; j > at; j--) axes[j] = axes[j - 1];
    axes[at] = i;
  }
  tsri_layout ordered;
  if (tsri_layout_permute(view, axes, rank, &ordered) != TSR_OK) return tsri_tensor_fail(TSR_ERR_INTERNAL);
  *view = ordered;
  return tsr_permute(gradient, axes, rank);
}

// Zeros with the gradient in the places of the view.
static tsr_tensor *place_into_zeros(tsr_tensor *gradient, const tsri_layout *view, tsr_shape shape) {
  tsr_tensor *whole = tsr_zeros(gradient->value->device, gradient->dtype, shape);
  tsr_status status = tsri_tensor_check("grad", whole);
  if (status == TSR_OK) status = tsr_assign(tsri_tensor_view(whole, view), gradient);
  return status == TSR_OK ? whole : tsri_tensor_fail(status);
}

tsr_tensor *tsri_grad_place(tsr_tensor *gradient, const tsri_layout *view, tsr_shape shape) {
  int64_t count = 1;
  tsri_layout rest = *view;
  for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
  if (tsri_shape_equal(view->shape, shape) && tsri_layout_is_row_major(view)) return gradient;
  gradient = order(turn(sum_repeated(gradient, &rest), &rest), &rest);
  bool is_all = rest.count == count && rest.offset == 0 && tsri_layout_is_contiguous(&rest);
  tsr_status status = tsri_tensor_check("grad", gradient);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return is_all ? tsr_reshape(gradient, shape) : place_into_zeros(gradient, &rest, shape);
}

tsr_status tsri_grad_place_into(tsr_tensor *whole, tsr_tensor *gradient, const tsri_layout *view) {
  tsri_layout rest = *view;
  gradient = order(turn(sum_repeated(gradient, &rest), &rest), &rest);
  tsr_status status = tsri_tensor_check("grad", gradient);
  return status == TSR_OK ? tsr_assign(tsri_tensor_view(whole, &rest), gradient) : status;
}

bool tsri_grad_run_of(const tsri_layout *view, tsr_shape shape, grad_run *out_run) {
  int64_t count = 1, length = 1, step = 0;
  bool is_known[TSR_MAX_RANK];
  for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
  for (int i = 0; i < view->shape.rank; i++) {
    if (view->strides[i] < 0) return false;
    is_known[i] = view->shape.dims[i] <= 1 || view->strides[i] == 0;
  }
  // Axes whose elements are side by side, the innermost first.
  for (int i = view->shape.rank - 1; i >= 0; i--) {
    if (is_known[i] || view->strides[i] != length) continue;
    length *= view->shape.dims[i];
    is_known[i] = true;
    i = view->shape.rank;
  }
  for (int i = 0; i < view->shape.rank; i++) {
    if (!is_known[i] && (step == 0 || view->strides[i] < step)) step = view->strides[i];
  }
  for (int i = 0; i < view->shape.rank; i++) {
    if (!is_known[i] && view->strides[i] % step != 0) return false;
  }
  if (step == 0) step = count;
  *out_run = (grad_run){view->offset % (step > 0 ? step : 1), length, step};
  return length < count && out_run->first + length <= step;
}

bool tsri_grad_are_apart(const grad_run *a, const grad_run *b) {
  return a->step == b->step && (a->first + a->length <= b->first || b->first + b->length <= a->first);
}

bool tsri_grad_are_parts(const tsri_layout *const *views, int view_count, int64_t count) {
  enum { MOST = 8 };
  grad_run runs[MOST];
  int64_t sum = 0;
  if (view_count < 2 || view_count > MOST) return false;
  for (int i = 0; i < view_count; i++) {
    if (tsri_layout_may_overlap(views[i]) || !tsri_grad_run_of(views[i], TSR_SHAPE(count), &runs[i])) return false;
    for (int j = 0; j < i; j++) {
      if (!tsri_grad_are_apart(&runs[i], &runs[j])) return false;
    }
    sum += views[i]->count;
  }
  return sum == count;
}

tsr_tensor *tsri_grad_read(tsr_tensor *whole, const tsri_layout *view) {
  tsr_shape shape = tsr_tensor_shape(whole);
  if (tsri_shape_equal(view->shape, shape) && tsri_layout_is_row_major(view)) {
    return tsri_tensor_view(whole, &whole->layout);
  }
  tsr_tensor *packed = tsr_contiguous(whole);
  if (packed->status != TSR_OK) return packed;
  tsri_layout shifted = *view;
  shifted.offset += packed->layout.offset;
  return tsri_then(tsri_tensor_view(packed, &shifted), packed);
}
