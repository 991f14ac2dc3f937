// SPDX-License-Identifier: MIT
// Sets of axes, and views that remove or move axes.
#include "ops/axes.h"

#include "core/error.h"
#include "graph/order.h"

tsr_status tsri_axis_set(const char *caller, int rank, const int *axes, int axis_count, uint32_t *out_axes) {
  if (axis_count < 0 || (axis_count > 0 && !axes)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %d axes given, %s", caller, axis_count,
                     axes ? "which is no count" : "but the list is NULL");
  }
  uint32_t set = 0;
  for (int i = 0; i < axis_count; i++) {
    int axis = 0;
    tsr_status status = tsri_axis(caller, axes[i], rank, &axis);
    if (status != TSR_OK) return status;
    if (set >> axis & 1u) return TSRI_FAIL(TSR_ERR_SHAPE, "%s: axis %d is named twice", caller, axis);
    set |= 1u << axis;
  }
  *out_axes = axis_count > 0 ? set : (1u << rank) - 1;
  return TSR_OK;
}

tsr_tensor *tsri_drop_axes(tsr_tensor *tensor, uint32_t axes) {
  tsr_status status = tsri_tensor_check("squeeze", tensor);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_layout view = tensor->layout;
  view.shape.rank = 0;
  for (int i = 0; i < tensor->layout.shape.rank; i++) {
    if (axes >> i & 1u) continue;
    view.shape.dims[view.shape.rank] = tensor->layout.shape.dims[i];
    view.strides[view.shape.rank++] = tensor->layout.strides[i];
  }
  return tsri_tensor_view(tensor, &view);
}

tsr_tensor *tsri_axis_to_end(tsr_tensor *tensor, int axis) {
  int rank = tensor->layout.shape.rank, axes[TSR_MAX_RANK];
  for (int i = 0; i < rank; i++) axes[i] = i < axis ? i : i + 1 < rank ? i + 1 : axis;
  return tsr_permute(tensor, axes, rank);
}

tsr_tensor *tsri_axis_from_end(tsr_tensor *tensor, int axis) {
  int rank = tsr_tensor_shape(tensor).rank, axes[TSR_MAX_RANK];
  for (int i = 0; i < rank; i++) axes[i] = i < axis ? i : i == axis ? rank - 1 : i - 1;
  return tsr_permute(tensor, axes, rank);
}

tsr_tensor *tsri_along_in_order(tsr_tensor *x, int axis, tsri_along run, const void *user) {
  tsri_order order;
  if (!tsri_order_find_of(&x, 1, &order)) return run(user, x, axis);
  int back[TSR_MAX_RANK] = {0};
  for (int i = 0; i < order.rank; i++) back[order.axes[i]] = i;
  tsr_tensor *view = tsr_permute(x, order.axes, order.rank);
  if (tsr_error(view) != TSR_OK) return view;
  tsr_tensor *made = run(user, view, back[axis]), *result = tsr_permute(made, back, order.rank);
  tsr_release(view);
  tsr_release(made);
  return result;
}

bool tsri_suits_order(const tsr_tensor *x, int axis, int64_t short_column) {
  int64_t stride = x->layout.strides[axis];
  return stride == 1 || stride == -1 || x->layout.shape.dims[axis] <= short_column;
}
