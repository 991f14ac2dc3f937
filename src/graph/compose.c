// SPDX-License-Identifier: MIT
// Composes layouts.
#include "graph/compose.h"

#include <string.h>

bool tsri_layout_equal(const tsri_layout *a, const tsri_layout *b) {
  if (a->offset != b->offset || !tsri_shape_equal(a->shape, b->shape)) return false;
  for (int i = 0; i < a->shape.rank; i++) {
    if (a->shape.dims[i] > 1 && a->strides[i] != b->strides[i]) return false;
  }
  return true;
}

bool tsri_layout_is_identity(const tsri_layout *layout, int64_t count) {
  return layout->offset == 0 && layout->count == count && tsri_layout_is_contiguous(layout);
}

// The axis of the row-major `shape` with this size and stride that is not in the bit set `used`; -1 if there is none.
static int matching_axis(tsr_shape shape, const int64_t *strides, int64_t size, int64_t stride, unsigned used) {
  for (int i = 0; i < shape.rank; i++) {
    if (shape.dims[i] == size && strides[i] == stride && !(used >> i & 1u)) return i;
  }
  return -1;
}

static bool match_axes(const tsri_layout *seen, tsr_shape shape, const tsri_layout *input, tsri_layout *out) {
  tsri_layout row_layout;
  if (seen->offset != 0 || tsri_layout_init("view", shape, TSR_U8, &row_layout, NULL) != TSR_OK) return false;
  *out = (tsri_layout){.shape = seen->shape, .offset = input->offset, .count = seen->count};
  unsigned used = 0;
  for (int i = 0; i < seen->shape.rank; i++) {
    if (seen->shape.dims[i] == 1 || seen->strides[i] == 0) continue;
    int axis = matching_axis(shape, row_layout.strides, seen->shape.dims[i], seen->strides[i], used);
    if (axis < 0) return false;
    used |= 1u << axis;
    out->strides[i] = input->strides[axis];
  }
  for (int i = 0; i < shape.rank; i++) {
    if (shape.dims[i] != 1 && !(used >> i & 1u)) return false;  // for example, `seen` selects one index of this axis
  }
  return true;
}

bool tsri_compose(const tsri_layout *seen, const tsr_shape *shape, const tsri_layout *input, tsri_layout *out) {
  if (input->count == 0 || seen->count == 0) return false;
  // Fast path: most consumers read element by element.
  if (seen->offset == 0 && tsri_shape_equal(seen->shape, *shape) && tsri_shape_equal(input->shape, *shape) &&
      tsri_layout_is_contiguous(seen)) {
    if (out) *out = *input;
    return true;
  }
  tsri_layout asked;
  if (!out) out = &asked;
  if (match_axes(seen, *shape, input, out)) return true;
  bool is_view = false;
  if (!tsri_layout_is_identity(seen, input->count)) return false;
  return tsri_layout_reshape(input, seen->shape, out, &is_view) == TSR_OK && is_view;
}
