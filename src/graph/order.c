// SPDX-License-Identifier: MIT
#include "graph/order.h"

static int64_t distance(const tsri_layout *layout, int axis) {
  int64_t stride = layout->strides[axis];
  return stride < 0 ? -stride : stride;
}

// Whether the elements along axis a are closer together than those along axis b. False if one of the axes has only one
// element.
static bool is_inside(const tsri_layout *layout, int a, int b) {
  return layout->shape.dims[a] > 1 && layout->shape.dims[b] > 1 && distance(layout, a) < distance(layout, b);
}

// Whether the layout is broadcast: several indices read the same element. The order of such an input's axes is not used.
static bool repeats(const tsri_layout *layout) {
  bool found = false;
  for (int i = 0; i < layout->shape.rank && !found; i++) found = layout->shape.dims[i] > 1 && layout->strides[i] == 0;
  return found;
}

static bool is_in_order(const tsri_layout *layout, const tsri_order *order) {
  for (int i = 0; i < order->rank; i++) {
    for (int j = i + 1; j < order->rank; j++) {
      if (is_inside(layout, order->axes[i], order->axes[j])) return false;
    }
  }
  return true;
}

// Sorts the axes by the distance between their elements, the largest first (insertion sort).
static void sort_axes(const tsri_layout *layout, tsri_order *order) {
  for (int i = 1; i < order->rank; i++) {
    int axis = order->axes[i], place = i;
    while (place > 0 && is_inside(layout, order->axes[place - 1], axis)) {
      order->axes[place] = order->axes[place - 1];
      place--;
    }
    order->axes[place] = axis;
  }
}

// The order of axes on which the inputs so far agree. is_known: at least one input has determined it. is_changed: it is not the operator's own order.
typedef struct found_order {
  tsri_order order;
  bool is_known, is_changed;
} found_order;

static void begin_order(int rank, found_order *out) {
  *out = (found_order){.order.rank = rank};
  for (int i = 0; i < rank; i++) out->order.axes[i] = i;
}

// Adds the order of one input. False if it differs from the order of the inputs before it.
static bool join_order(const tsri_layout *layout, found_order *found) {
  if (repeats(layout)) return true;
  if (is_in_order(layout, &found->order)) {
    found->is_known = true;
    return true;
  }
  if (found->is_known) return false;
  sort_axes(layout, &found->order);
  found->is_changed = found->is_known = is_in_order(layout, &found->order);
  return found->is_changed;
}

bool tsri_order_find(const tsri_node *node, tsri_order *out_order) {
  found_order found;
  begin_order(node->inputs[0].layout.shape.rank, &found);
  for (uint32_t i = 0; i < node->input_count; i++) {
    if (!join_order(&node->inputs[i].layout, &found)) return false;
  }
  *out_order = found.order;
  return found.is_changed;
}

bool tsri_order_find_of(tsr_tensor *const *tensors, int count, tsri_order *out_order) {
  found_order found;
  begin_order(tensors[0]->layout.shape.rank, &found);
  for (int i = 0; i < count; i++) {
    if (!join_order(&tensors[i]->layout, &found)) return false;
  }
  *out_order = found.order;
  return found.is_changed;
}

tsri_layout tsri_order_forth(const tsri_layout *layout, const tsri_order *order) {
  tsri_layout ordered = *layout;
  for (int i = 0; i < order->rank; i++) {
    ordered.shape.dims[i] = layout->shape.dims[order->axes[i]];
    ordered.strides[i] = layout->strides[order->axes[i]];
  }
  return ordered;
}

tsri_layout tsri_order_back(const tsri_layout *layout, const tsri_order *order) {
  tsri_layout ordered = *layout;
  for (int i = 0; i < order->rank; i++) {
    ordered.shape.dims[order->axes[i]] = layout->shape.dims[i];
    ordered.strides[order->axes[i]] = layout->strides[i];
  }
  return ordered;
}

void tsri_order_inputs(tsri_node *node, const tsri_order *order) {
  for (uint32_t i = 0; i < node->input_count; i++) {
    node->inputs[i].layout = tsri_order_forth(&node->inputs[i].layout, order);
  }
}
