// SPDX-License-Identifier: MIT
// View operators: each is a layout rule of core/layout.c over the same buffer.
#include "core/tensor.h"
#include "graph/graph.h"

// Finishes a view operator: a new tensor, or the failure.
static tsr_tensor *finish(const tsr_tensor *tensor, tsr_status status, const tsri_layout *view) {
  return status == TSR_OK ? tsri_tensor_view(tensor, view) : tsri_tensor_fail(status);
}

tsr_tensor *tsr_reshape(tsr_tensor *tensor, tsr_shape shape) {
  tsri_layout view;
  bool is_view = false;
  tsr_status status = tsri_tensor_check("reshape", tensor);
  if (status == TSR_OK) status = tsri_layout_reshape(&tensor->layout, shape, &view, &is_view);
  if (status != TSR_OK || is_view) return finish(tensor, status, &view);
  return tsri_record_copy(tensor, &view);
}

tsr_tensor *tsr_transpose(tsr_tensor *tensor, int axis_a, int axis_b) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check("transpose", tensor);
  if (status == TSR_OK) status = tsri_layout_transpose(&tensor->layout, axis_a, axis_b, &view);
  return finish(tensor, status, &view);
}

tsr_tensor *tsr_permute(tsr_tensor *tensor, const int *axes, int axis_count) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check("permute", tensor);
  if (status == TSR_OK) status = tsri_layout_permute(&tensor->layout, axes, axis_count, &view);
  return finish(tensor, status, &view);
}

tsr_tensor *tsr_slice(tsr_tensor *tensor, int axis, int64_t start, int64_t stop, int64_t step) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check("slice", tensor);
  if (status == TSR_OK) status = tsri_layout_slice(&tensor->layout, axis, start, stop, step, &view);
  return finish(tensor, status, &view);
}

tsr_tensor *tsr_expand(tsr_tensor *tensor, tsr_shape shape) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check("expand", tensor);
  if (status == TSR_OK) status = tsri_layout_expand(&tensor->layout, shape, &view);
  return finish(tensor, status, &view);
}

tsr_tensor *tsr_squeeze(tsr_tensor *tensor, int axis) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check("squeeze", tensor);
  if (status == TSR_OK) status = tsri_layout_squeeze(&tensor->layout, axis, &view);
  return finish(tensor, status, &view);
}

tsr_tensor *tsr_squeeze_all(tsr_tensor *tensor) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check("squeeze_all", tensor);
  if (status == TSR_OK) tsri_layout_squeeze_all(&tensor->layout, &view);
  return finish(tensor, status, &view);
}

tsr_tensor *tsr_unsqueeze(tsr_tensor *tensor, int axis) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check("unsqueeze", tensor);
  if (status == TSR_OK) status = tsri_layout_unsqueeze(&tensor->layout, axis, &view);
  return finish(tensor, status, &view);
}

tsr_tensor *tsr_flip(tsr_tensor *tensor, int axis) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check("flip", tensor);
  if (status == TSR_OK) status = tsri_layout_flip(&tensor->layout, axis, &view);
  return finish(tensor, status, &view);
}
