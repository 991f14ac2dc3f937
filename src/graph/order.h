// SPDX-License-Identifier: MIT
// The order of axes in which operators walk through memory. Inputs that are transposed views, or were computed from such,
// are read fastest along the axis with the smallest stride. A node therefore has its axes in the inputs' order, and the
// caller gets a view of its result with the axes in the expected order, as NumPy and PyTorch do it.
#ifndef TSRI_ORDER_H
#define TSRI_ORDER_H

#include "graph/node.h"

typedef struct tsri_order {
  int rank;
  int axes[TSR_MAX_RANK];  // the i-th axis of the node is axis axes[i] of the operator
} tsri_order;

// The order for a node whose inputs all have one shape. False: the axes stay as they are.
bool tsri_order_find(const tsri_node *node, tsri_order *out_order);

// As tsri_order_find, for `count` > 0 tensors of one rank, whose sizes may differ.
bool tsri_order_find_of(tsr_tensor *const *tensors, int count, tsri_order *out_order);

// Puts the axes of the node's inputs in this order.
void tsri_order_inputs(tsri_node *node, const tsri_order *order);

// `layout` with axis order->axes[i] as its axis i.
tsri_layout tsri_order_forth(const tsri_layout *layout, const tsri_order *order);

// The reverse of tsri_order_forth.
tsri_layout tsri_order_back(const tsri_layout *layout, const tsri_order *order);

#endif
