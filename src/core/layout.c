// SPDX-License-Identifier: MIT
// Layouts and views.
#include "core/layout.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

// Sets row-major strides. A size of 0 counts as 1, so that strides are defined and small.
static void set_row_major(tsri_layout *layout) {
  int64_t stride = 1;
  for (int i = layout->shape.rank - 1; i >= 0; i--) {
    layout->strides[i] = stride;
    if (layout->shape.dims[i] > 1) stride *= layout->shape.dims[i];
  }
}

tsr_status tsri_layout_init(const char *caller, tsr_shape shape, tsr_dtype dtype, tsri_layout *out_layout,
                            size_t *out_bytes) {
  int64_t count = 0, bytes = 0;
  tsr_status status = tsri_shape_check(caller, shape, &count);
  if (status != TSR_OK) return status;
  if (!tsri_mul_i64(count, (int64_t)tsr_dtype_bytes(dtype), &bytes) || (uint64_t)bytes > SIZE_MAX / 2) {
    char text[TSR_SHAPE_TEXT_BYTES];
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %s elements of %s are more bytes than memory can address", caller,
                     tsr_shape_format(shape, text, sizeof text), tsr_dtype_name(dtype));
  }
  *out_layout = (tsri_layout){.shape = shape, .count = count};
  set_row_major(out_layout);
  if (out_bytes) *out_bytes = (size_t)bytes;
  return TSR_OK;
}

bool tsri_layout_is_contiguous(const tsri_layout *layout) {
  int64_t stride = 1;
  for (int i = layout->shape.rank - 1; i >= 0; i--) {
    if (layout->shape.dims[i] == 0) return true;
    if (layout->shape.dims[i] == 1) continue;
    if (layout->strides[i] != stride) return false;
    stride *= layout->shape.dims[i];
  }
  return true;
}

bool tsri_layout_is_row_major(const tsri_layout *layout) {
  int64_t stride = 1;
  for (int i = layout->shape.rank - 1; i >= 0; i--) {
    if (layout->strides[i] != stride) return false;
    if (layout->shape.dims[i] > 1) stride *= layout->shape.dims[i];
  }
  return layout->offset == 0;
}

void tsri_layout_span(const tsri_layout *layout, int64_t *out_low, int64_t *out_high) {
  *out_low = *out_high = 0;
  if (layout->count == 0) return;
  int64_t low = layout->offset, high = low;
  for (int i = 0; i < layout->shape.rank; i++) {
    int64_t reach = (layout->shape.dims[i] - 1) * layout->strides[i];
    if (reach < 0) low += reach;
    else high += reach;
  }
  *out_low = low;
  *out_high = high;
}

static int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

// Goes through the axes by increasing stride: each stride must be greater than the span of all axes before.
bool tsri_layout_may_overlap(const tsri_layout *layout) {
  if (layout->count <= 1) return false;
  int order[TSR_MAX_RANK], used = 0;
  for (int i = 0; i < layout->shape.rank; i++) {
    if (layout->shape.dims[i] == 1) continue;
    int at = used++;
    for (; at > 0 && magnitude(layout->strides[order[at - 1]]) > magnitude(layout->strides[i]); at--) {
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
  int64_t reach = 0;
  for (int i = 0; i < used; i++) {
    int64_t stride = magnitude(layout->strides[order[i]]);
    if (stride <= reach) return true;
    reach += stride * (layout->shape.dims[order[i]] - 1);
  }
  return false;
}

tsr_status tsri_axis(const char *caller, int axis, int limit, int *out_axis) {
  if (axis < -limit || axis >= limit) {
    if (limit == 0) return TSRI_FAIL(TSR_ERR_SHAPE, "%s: axis %d, but a scalar has no axes", caller, axis);
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: axis %d is out of range, %d to %d are allowed", caller, axis, -limit,
                     limit - 1);
  }
  *out_axis = axis < 0 ? axis + limit : axis;
  return TSR_OK;
}

// Replaces the size -1, if there is one, so that the element counts agree.
static tsr_status infer_size(const tsri_layout *layout, tsr_shape *shape) {
  int unknown = -1;
  tsr_shape rest = *shape;
  for (int i = 0; i < shape->rank && i < TSR_MAX_RANK; i++) {
    if (shape->dims[i] != -1) continue;
    if (unknown >= 0)
      return TSRI_FAIL(TSR_ERR_SHAPE, "reshape: only one size may be -1, axes %d and %d are", unknown, i);
    unknown = i;
    rest.dims[i] = 1;
  }
  int64_t known = 0;
  tsr_status status = tsri_shape_check("reshape", rest, &known);
  if (status != TSR_OK) return status;
  char from[TSR_SHAPE_TEXT_BYTES], to[TSR_SHAPE_TEXT_BYTES];
  if (unknown >= 0) {
    if (known == 1) {  // reshape(-1): no division
      shape->dims[unknown] = layout->count;
      return TSR_OK;
    }
    if (known == 0 || layout->count % known != 0) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "reshape: no size in place of -1 makes %s hold the %lld elements of %s",
                       tsr_shape_format(*shape, to, sizeof to), (long long)layout->count,
                       tsr_shape_format(layout->shape, from, sizeof from));
    }
    shape->dims[unknown] = layout->count / known;
  } else if (known != layout->count) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "reshape: %s has %lld elements, %s has %lld",
                     tsr_shape_format(layout->shape, from, sizeof from), (long long)layout->count,
                     tsr_shape_format(*shape, to, sizeof to), (long long)known);
  }
  return TSR_OK;
}

// Splits both shapes into groups of axes with equal products. A group can be reshaped without a copy if each of its old
// strides is the next stride times the next size. `old` has no axes of size 1.
static bool restride(const tsri_layout *old, tsri_layout *view) {
  int old_at = 0, new_at = 0;
  const int64_t *old_dims = old->shape.dims, *new_dims = view->shape.dims;
  while (old_at < old->shape.rank && new_at < view->shape.rank) {
    int old_end = old_at + 1, new_end = new_at + 1;
    int64_t old_size = old_dims[old_at], new_size = new_dims[new_at];
    while (old_size != new_size) {
      if (new_size < old_size) new_size *= new_dims[new_end++];
      else old_size *= old_dims[old_end++];
    }
    for (int i = old_at; i + 1 < old_end; i++) {
      if (old->strides[i] != old->strides[i + 1] * old_dims[i + 1]) return false;
    }
    int64_t stride = old->strides[old_end - 1];
    for (int i = new_end - 1; i >= new_at; i--) {
      view->strides[i] = stride;
      stride *= new_dims[i];
    }
    old_at = old_end;
    new_at = new_end;
  }
  for (; new_at < view->shape.rank; new_at++) view->strides[new_at] = 1;  // remaining axes have size 1
  return true;
}

tsr_status tsri_layout_reshape(const tsri_layout *layout, tsr_shape shape, tsri_layout *out_view, bool *out_is_view) {
  tsr_status status = infer_size(layout, &shape);
  if (status != TSR_OK) return status;
  bool is_dense = layout->count == 0 || tsri_layout_is_contiguous(layout);
  tsri_layout packed;
  if (!is_dense) tsri_layout_squeeze_all(layout, &packed);
  *out_view = (tsri_layout){.shape = shape, .offset = layout->offset, .count = layout->count};
  *out_is_view = is_dense || restride(&packed, out_view);
  if (!*out_is_view) out_view->offset = 0;
  if (is_dense || !*out_is_view) set_row_major(out_view);
  return TSR_OK;
}

tsr_status tsri_layout_permute(const tsri_layout *layout, const int *axes, int axis_count, tsri_layout *out_view) {
  if (!axes && axis_count != 0) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "permute: axes is NULL");
  if (axis_count != layout->shape.rank) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "permute: %d axes given for a tensor of rank %d", axis_count,
                     (int)layout->shape.rank);
  }
  int from[TSR_MAX_RANK];
  unsigned seen = 0;
  for (int i = 0; i < axis_count; i++) {
    tsr_status status = tsri_axis("permute", axes[i], axis_count, &from[i]);
    if (status != TSR_OK) return status;
    if (seen & (1u << from[i])) return TSRI_FAIL(TSR_ERR_SHAPE, "permute: axis %d is named twice", from[i]);
    seen |= 1u << from[i];
  }
  tsri_layout before = *layout;  // which may be `*out_view`
  *out_view = before;
  for (int i = 0; i < axis_count; i++) {
    out_view->shape.dims[i] = before.shape.dims[from[i]];
    out_view->strides[i] = before.strides[from[i]];
  }
  return TSR_OK;
}

tsr_status tsri_layout_transpose(const tsri_layout *layout, int axis_a, int axis_b, tsri_layout *out_view) {
  int a = 0, b = 0;
  tsr_status status = tsri_axis("transpose", axis_a, layout->shape.rank, &a);
  if (status == TSR_OK) status = tsri_axis("transpose", axis_b, layout->shape.rank, &b);
  if (status != TSR_OK) return status;
  int axes[TSR_MAX_RANK];
  for (int i = 0; i < layout->shape.rank; i++) axes[i] = i == a ? b : i == b ? a : i;
  return tsri_layout_permute(layout, axes, layout->shape.rank, out_view);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// Converts a position that counts from the end. TSR_END stays beyond the end.
static int64_t from_start(int64_t position, int64_t size) {
  return position < 0 ? (position < -size ? -1 : position + size) : position;
}

// How many elements of an axis start:stop:step names, and which is the first. `step` is not 0.
static int64_t count_in_range(int64_t size, int64_t start, int64_t stop, int64_t step, int64_t *out_first) {
  if (step > 0) {
    int64_t first = clamp(from_start(start, size), 0, size), end = clamp(from_start(stop, size), 0, size);
    *out_first = first;
    if (step == 1) return end > first ? end - first : 0;  // most slices: no division
    return end > first ? (end - first - 1) / step + 1 : 0;
  }
  int64_t stride = step == INT64_MIN ? INT64_MAX : -step, first = clamp(from_start(start, size), -1, size - 1);
  int64_t end = stop == TSR_END ? -1 : clamp(from_start(stop, size), -1, size - 1);
  *out_first = first;
  return first > end ? (first - end - 1) / stride + 1 : 0;
}

static tsr_status fail_step(const char *caller) {
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: step is 0; it may be positive or negative", caller);
}

tsr_status tsri_layout_slice(const tsri_layout *layout, int axis, int64_t start, int64_t stop, int64_t step,
                             tsri_layout *out_view) {
  int at = 0;
  tsr_status status = tsri_axis("slice", axis, layout->shape.rank, &at);
  if (status != TSR_OK) return status;
  if (step == 0) return fail_step("slice");
  int64_t first = 0, stride = layout->strides[at];
  int64_t count = count_in_range(layout->shape.dims[at], start, stop, step, &first);
  *out_view = *layout;
  out_view->shape.dims[at] = count;
  out_view->count = 1;
  for (int i = 0; i < out_view->shape.rank; i++) out_view->count *= out_view->shape.dims[i];
  if (count > 0) out_view->offset += first * stride;
  // With at most one element the stride is not used, and step times stride might overflow.
  if (count > 1) out_view->strides[at] = stride * step;
  return TSR_OK;
}

// Checks one item of a key. It applies to axis `axis`, unless it creates a new axis.
static tsr_status check_item(const tsri_layout *layout, int axis, const tsr_key *item) {
  if (item->kind == TSR_KEY_NEW) return TSR_OK;
  if (item->kind == TSR_KEY_RANGE) return item->step ? TSR_OK : fail_step("view");
  if (item->kind != TSR_KEY_AT) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "view: an item is of no known kind");
  if (axis >= layout->shape.rank) return TSR_OK;  // check_key says so
  int64_t size = layout->shape.dims[axis], index = item->start;
  if (index >= -size && index < size) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "view: index %lld is out of bounds for axis %d with size %lld", (long long)index,
                   axis, (long long)size);
}

// Checks that the layout has an axis for each item of the key, and that the view has at most TSR_MAX_RANK axes.
static tsr_status check_key(const tsri_layout *layout, const tsr_key *items, int count) {
  int used = 0, made = 0, rank = layout->shape.rank;
  if (count < 0 || (count > 0 && !items)) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "view: no items, or %d", count);
  for (int i = 0; i < count; i++) {
    tsr_status status = check_item(layout, used, &items[i]);
    if (status != TSR_OK) return status;
    used += items[i].kind != TSR_KEY_NEW;
    made += items[i].kind != TSR_KEY_AT;
  }
  if (used > rank) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "view: too many items: %d are about axes, of which the tensor has %d", used, rank);
  }
  if (made + rank - used > TSR_MAX_RANK) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "view: a tensor has at most %d axes", TSR_MAX_RANK);
  }
  return TSR_OK;
}

// The stride of a new axis (of size 1) before `axis`. Any stride is correct; this one keeps a contiguous layout contiguous in the view of other libraries.
static int64_t stride_before(const tsri_layout *layout, int axis) {
  if (axis >= layout->shape.rank) return 1;
  int64_t size = layout->shape.dims[axis];
  return layout->strides[axis] * (size > 1 ? size : 1);
}

// Applies a range or an index to axis `from` of `layout`. A range becomes axis `to` of the view; an index removes the axis.
static void take_item(const tsri_layout *layout, int from, const tsr_key *item, tsri_layout *view, int to) {
  int64_t size = layout->shape.dims[from], stride = layout->strides[from], first = item->start;
  if (item->kind == TSR_KEY_AT) {
    view->offset += (first < 0 ? first + size : first) * stride;
    return;
  }
  int64_t count = count_in_range(size, item->start, item->stop, item->step, &first);
  view->shape.dims[to] = count;
  view->strides[to] = count > 1 ? stride * item->step : stride;
  if (count > 0) view->offset += first * stride;
}

tsr_status tsri_layout_view(const tsri_layout *layout, const tsr_key *items, int count, tsri_layout *out_view) {
  tsr_status status = check_key(layout, items, count);
  if (status != TSR_OK) return status;
  // Written in place: wide loads of what was just stored piece by piece would stall.
  out_view->offset = layout->offset;
  int from = 0, to = 0;
  for (int i = 0; i < count; i++) {
    if (items[i].kind == TSR_KEY_NEW) {
      out_view->shape.dims[to] = 1;
      out_view->strides[to++] = stride_before(layout, from);
    } else {
      take_item(layout, from++, &items[i], out_view, to);
      to += items[i].kind == TSR_KEY_RANGE;
    }
  }
  for (; from < layout->shape.rank; from++, to++) {
    out_view->shape.dims[to] = layout->shape.dims[from];
    out_view->strides[to] = layout->strides[from];
  }
  out_view->shape.rank = to;
  out_view->count = 1;
  for (int i = 0; i < to; i++) out_view->count *= out_view->shape.dims[i];
  return TSR_OK;
}

// Limit for the elements of an expanded view, so that its size in bytes does not overflow for any dtype. Only expanding
// makes a view larger than its memory.
#define MOST_ELEMENTS (INT64_MAX / 8)

tsr_status tsri_layout_expand(const tsri_layout *layout, tsr_shape shape, tsri_layout *out_view) {
  char from[TSR_SHAPE_TEXT_BYTES], to[TSR_SHAPE_TEXT_BYTES];
  tsri_layout view = {.shape = shape, .offset = layout->offset};
  if (shape.rank < 0 || shape.rank > TSR_MAX_RANK) return tsri_shape_check("expand", shape, &view.count);
  int added = shape.rank - layout->shape.rank;
  if (added < 0) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "expand: %s has fewer axes than %s", tsr_shape_format(shape, to, sizeof to),
                     tsr_shape_format(layout->shape, from, sizeof from));
  }
  for (int i = 0; i < shape.rank; i++) {
    int64_t int64 = i < added ? 1 : layout->shape.dims[i - added];
    if (shape.dims[i] == -1 && i >= added) view.shape.dims[i] = int64;
    int64_t wanted = view.shape.dims[i];
    if (int64 != 1 && int64 != wanted) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "expand: %s does not broadcast to %s, axis %d: %lld and %lld",
                       tsr_shape_format(layout->shape, from, sizeof from), tsr_shape_format(shape, to, sizeof to), i,
                       (long long)int64, (long long)wanted);
    }
    view.strides[i] = int64 == 1 ? 0 : layout->strides[i - added];
    if (int64 == 1 && wanted == 1 && i >= added) view.strides[i] = layout->strides[i - added];
  }
  tsr_status status = tsri_shape_check("expand", view.shape, &view.count);
  if (status != TSR_OK) return status;
  if (view.count > MOST_ELEMENTS) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "expand: %s is more elements than memory can address",
                     tsr_shape_format(shape, to, sizeof to));
  }
  *out_view = view;
  return TSR_OK;
}

static void remove_axis(tsri_layout *layout, int axis) {
  int after = layout->shape.rank - axis - 1;
  memmove(layout->shape.dims + axis, layout->shape.dims + axis + 1, (size_t)after * sizeof layout->shape.dims[0]);
  memmove(layout->strides + axis, layout->strides + axis + 1, (size_t)after * sizeof layout->strides[0]);
  layout->shape.rank--;
}

tsr_status tsri_layout_squeeze(const tsri_layout *layout, int axis, tsri_layout *out_view) {
  int at = 0;
  tsr_status status = tsri_axis("squeeze", axis, layout->shape.rank, &at);
  if (status != TSR_OK) return status;
  if (layout->shape.dims[at] != 1) {
    char text[TSR_SHAPE_TEXT_BYTES];
    return TSRI_FAIL(TSR_ERR_SHAPE, "squeeze: axis %d of %s has size %lld, only 1 can be dropped", at,
                     tsr_shape_format(layout->shape, text, sizeof text), (long long)layout->shape.dims[at]);
  }
  *out_view = *layout;
  remove_axis(out_view, at);
  return TSR_OK;
}

void tsri_layout_squeeze_all(const tsri_layout *layout, tsri_layout *out_view) {
  *out_view = *layout;
  for (int i = out_view->shape.rank - 1; i >= 0; i--) {
    if (out_view->shape.dims[i] == 1) remove_axis(out_view, i);
  }
}

tsr_status tsri_layout_unsqueeze(const tsri_layout *layout, int axis, tsri_layout *out_view) {
  int rank = layout->shape.rank, at = 0;
  if (rank == TSR_MAX_RANK)
    return TSRI_FAIL(TSR_ERR_SHAPE, "unsqueeze: the tensor has %d axes already, the most there can be", rank);
  tsr_status status = tsri_axis("unsqueeze", axis, rank + 1, &at);
  if (status != TSR_OK) return status;
  tsri_layout view = *layout;
  memmove(view.shape.dims + at + 1, view.shape.dims + at, (size_t)(rank - at) * sizeof view.shape.dims[0]);
  memmove(view.strides + at + 1, view.strides + at, (size_t)(rank - at) * sizeof view.strides[0]);
  view.shape.dims[at] = 1;
  view.strides[at] = stride_before(layout, at);
  view.shape.rank = rank + 1;
  *out_view = view;
  return TSR_OK;
}

// Length of the diagonal of a matrix of `rows` x `cols` elements without its first `skipped` columns.
static int64_t diagonal_size(int64_t rows, int64_t cols, int64_t skipped) {
  int64_t left = skipped < cols ? cols - skipped : 0;
  return left < rows ? left : rows;
}

tsr_status tsri_layout_diagonal(const tsri_layout *layout, int64_t offset, int axis_a, int axis_b,
                                tsri_layout *out_view) {
  int a = 0, b = 0;
  tsr_status status = tsri_axis("diagonal", axis_a, layout->shape.rank, &a);
  if (status == TSR_OK) status = tsri_axis("diagonal", axis_b, layout->shape.rank, &b);
  if (status == TSR_OK && a == b) status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "diagonal: axis %d is named twice", a);
  if (status != TSR_OK) return status;
  int64_t rows = layout->shape.dims[a], cols = layout->shape.dims[b];
  bool is_below = offset < 0;
  int64_t skipped = offset == INT64_MIN ? INT64_MAX : is_below ? -offset : offset;
  int64_t size = is_below ? diagonal_size(cols, rows, skipped) : diagonal_size(rows, cols, skipped);
  tsri_layout view = {.shape = {.rank = layout->shape.rank - 1}, .offset = layout->offset, .count = size};
  int to = 0;
  for (int i = 0; i < layout->shape.rank; i++) {
    if (i == a || i == b) continue;
    view.shape.dims[to] = layout->shape.dims[i];
    view.strides[to++] = layout->strides[i];
    view.count *= layout->shape.dims[i];
  }
  view.shape.dims[to] = size;
  view.strides[to] = layout->strides[a] + layout->strides[b];
  if (size > 0) view.offset += skipped * layout->strides[is_below ? a : b];
  *out_view = view;
  return TSR_OK;
}

tsr_status tsri_layout_flip(const tsri_layout *layout, int axis, tsri_layout *out_view) {
  int at = 0;
  tsr_status status = tsri_axis("flip", axis, layout->shape.rank, &at);
  if (status != TSR_OK) return status;
  tsri_layout view = *layout;
  if (view.shape.dims[at] > 1) {
    view.offset += (view.shape.dims[at] - 1) * view.strides[at];
    view.strides[at] = -view.strides[at];
  }
  *out_view = view;
  return TSR_OK;
}
