// SPDX-License-Identifier: MIT
// The order of axes in which operators walk through memory. An input that is a transposed view, or was computed from one, is read fastest along the axis with
// the smallest stride. So a node has its axes in the order of its inputs' strides, and the caller gets a view of the node's result that has the axes in the
// order of the operator. NumPy and PyTorch do the same.
#ifndef TSRI_ORDER_H
#define TSRI_ORDER_H

#include "graph/node.h"

typedef struct tsri_order {
  int rank;
  int axes[TSR_MAX_RANK];  // the i-th axis of the node is axis axes[i] of the operator
} tsri_order;

// Finds the order for a node whose inputs all have the same shape. Returns false if the axes stay in the order of the operator.
bool tsri_order_find(const tsri_node *node, tsri_order *out_order);

// As tsri_order_find, for `count` > 0 tensors of one rank, whose sizes may differ.
bool tsri_order_find_of(tsr_tensor *const *tensors, int count, tsri_order *out_order);

// Permutes the axes of the layouts of the node's inputs into this order.
void tsri_order_inputs(tsri_node *node, const tsri_order *order);

// `layout` with axis order->axes[i] as its axis i.
tsri_layout tsri_order_forth(const tsri_layout *layout, const tsri_order *order);

// The reverse of tsri_order_forth.
tsri_layout tsri_order_back(const tsri_layout *layout, const tsri_order *order);

#endif
