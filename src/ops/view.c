// SPDX-License-Identifier: MIT
// View operators: each makes a layout (core/layout.c) over the same value.
#include "core/error.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/compose.h"
#include "ops/packed.h"

#include <tessera/ops.h>

// Finishes a view operator: returns the view, or a failed tensor.
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
  tsr_status status = tsri_tensor_check_any("slice", tensor);
  if (status == TSR_OK && tsri_dtype_is_packed(tensor->dtype))
    return tsri_packed_slice(tensor, axis, start, stop, step);
  if (status == TSR_OK) status = tsri_layout_slice(&tensor->layout, axis, start, stop, step, &view);
  return finish(tensor, status, &view);
}

// Applies a key to a packed tensor, one item at a time; the functions for the items report what they do not support.
static tsr_tensor *view_packed(tsr_tensor *tensor, const tsr_key *items, int count) {
  tsr_tensor *view = tsri_tensor_view(tensor, &tensor->layout);
  for (int i = 0, axis = 0; i < count; i++) {
    const tsr_key *item = &items[i];
    if (item->kind == TSR_KEY_RANGE) {
      view = tsri_then(tsr_slice(view, axis++, item->start, item->stop, item->step), view);
    } else if (item->kind == TSR_KEY_NEW) {
      view = tsri_then(tsr_unsqueeze(view, axis++), view);
    } else {
      int64_t stop = item->start == -1 ? TSR_END : item->start + 1;
      view = tsri_then(tsr_slice(view, axis, item->start, stop, 1), view);
      view = tsri_then(tsr_squeeze(view, axis), view);
    }
  }
  return tsri_tensor_named("view", view);
}

tsr_tensor *tsr_view(tsr_tensor *tensor, const tsr_key *items, int item_count) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check_any("view", tensor);
  if (status == TSR_OK) status = tsri_layout_view(&tensor->layout, items, item_count, &view);
  if (status == TSR_OK && tsri_dtype_is_packed(tensor->dtype)) return view_packed(tensor, items, item_count);
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

tsr_tensor *tsr_flip_axes(tsr_tensor *x, const int *axes, int axis_count) {
  uint32_t set = 0;
  tsri_layout view;
  tsr_status status = tsri_tensor_check("flip_axes", x);
  if (status == TSR_OK) status = tsri_axis_set("flip_axes", x->layout.shape.rank, axes, axis_count, &set);
  if (status == TSR_OK) view = x->layout;
  for (int i = 0; status == TSR_OK && i < x->layout.shape.rank; i++) {
    tsri_layout before = view;
    if (set >> i & 1u) status = tsri_layout_flip(&before, i, &view);
  }
  return finish(x, status, &view);
}

tsr_tensor *tsr_diagonal(tsr_tensor *x, int64_t offset, int axis_a, int axis_b) {
  tsri_layout view;
  tsr_status status = tsri_tensor_check("diagonal", x);
  if (status == TSR_OK) status = tsri_layout_diagonal(&x->layout, offset, axis_a, axis_b, &view);
  return finish(x, status, &view);
}

tsr_tensor *tsr_moveaxis(tsr_tensor *x, int from, int to) {
  tsri_layout view;
  int axes[TSR_MAX_RANK], rank = 0;
  tsr_status status = tsri_tensor_check("moveaxis", x);
  if (status == TSR_OK) status = tsri_axis("moveaxis", from, rank = x->layout.shape.rank, &from);
  if (status == TSR_OK) status = tsri_axis("moveaxis", to, rank, &to);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  for (int i = 0, next = 0; i < rank; i++) {
    next += next == from;
    axes[i] = i == to ? from : next++;
  }
  status = tsri_layout_permute(&x->layout, axes, rank, &view);
  return finish(x, status, &view);
}

// Quarter turns: 1 reverses axis_b, then swaps both; 2 reverses both; 3 swaps both, then reverses axis_b.
tsr_tensor *tsr_rot90(tsr_tensor *x, int64_t times, int axis_a, int axis_b) {
  tsr_status status = tsri_tensor_check("rot90", x);
  if (status == TSR_OK) status = tsri_axis("rot90", axis_a, x->layout.shape.rank, &axis_a);
  if (status == TSR_OK) status = tsri_axis("rot90", axis_b, x->layout.shape.rank, &axis_b);
  if (status == TSR_OK && axis_a == axis_b) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "rot90: axis %d is named twice", axis_a);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int turns = (int)((times % 4 + 4) % 4);
  tsr_tensor *result = turns == 1 || turns == 2 ? tsr_flip(x, axis_b) : tsri_tensor_view(x, &x->layout);
  if (turns == 2) result = tsri_then(tsr_flip(result, axis_a), result);
  if (turns % 2) result = tsri_then(tsr_transpose(result, axis_a, axis_b), result);
  if (turns == 3) result = tsri_then(tsr_flip(result, axis_b), result);
  return tsri_tensor_named("rot90", result);
}
