// SPDX-License-Identifier: MIT
// The gradient of embedding_bag.
#include "grad/rule.h"

// What the operator read, one for each index.
typedef struct bags {
  tsr_tensor *row, *bag;    // the row of the table and the bag (row of the result) of each index; 0 where is_unused
  tsr_tensor *is_unused;    // the index names no row, or stands before the first bag
  tsr_tensor *column_mask;  // is_unused as a column
  int64_t index_count, bag_count;
} bags;

// The bag of each index: without offsets all have one size.
static tsr_tensor *bag_numbers(const grad_view *v, const bags *b, bool has_offsets) {
  tsr_device *device = v->inputs[0]->value->device;
  tsr_tensor *numbers = tsr_arange(device, TSR_I32, 0, (double)b->index_count, 1);
  if (has_offsets) return tsr_sub_scalar(tsr_searchsorted(v->inputs[2], numbers, true), 1);
  int64_t each = b->bag_count > 0 ? b->index_count / b->bag_count : 1;
  return tsr_floor_div_scalar(numbers, (double)(each > 0 ? each : 1));
}

static bags read_bags(const grad_view *v) {
  const tsri_bag_attributes *given = TSRI_GIVEN(v, bag);
  int64_t rows = tsr_tensor_shape(v->inputs[0]).dims[0];
  bags b = {.index_count = tsr_tensor_count(v->inputs[1]), .bag_count = tsr_tensor_shape(v->outputs[0]).dims[0]};
  tsr_tensor *index = v->inputs[1], *bag = bag_numbers(v, &b, given->has_offsets != 0);
  tsr_tensor *row = tsr_where(tsr_lt_scalar(index, 0), tsr_add_scalar(index, (double)rows), index);
  tsr_tensor *is_outside = tsr_logical_or(tsr_lt_scalar(row, 0), tsr_ge_scalar(row, (double)rows));
  if (given->ignores) is_outside = tsr_logical_or(is_outside, tsr_eq_scalar(index, (double)given->ignored));
  b.is_unused = tsr_logical_or(is_outside, tsr_lt_scalar(bag, 0));
  b.column_mask = tsr_unsqueeze(b.is_unused, 1);
  b.row = tsr_masked_fill(row, b.is_unused, 0);
  b.bag = tsr_masked_fill(bag, b.is_unused, 0);
  return b;
}

// Adds row i to row numbers[i] of a tensor of zeros with this shape.
static tsr_tensor *add_rows(tsr_tensor *rows, tsr_tensor *numbers, tsr_shape shape) {
  tsr_tensor *zeros = tsr_zeros(rows->value->device, tsr_tensor_dtype(rows), shape);
  return tsr_scatter_add(zeros, 0, tsr_expand(tsr_unsqueeze(numbers, 1), tsr_tensor_shape(rows)), rows);
}

// Divides each bag's gradient by how many rows it has.
static tsr_tensor *per_row(const bags *b, tsr_tensor *g) {
  tsr_tensor *counts = tsr_zeros(g->value->device, tsr_tensor_dtype(g), TSR_SHAPE(b->bag_count));
  tsr_tensor *ones = tsr_cast(tsr_logical_not(b->is_unused), tsr_tensor_dtype(g));
  return tsr_div(g, tsr_unsqueeze(tsr_maximum_scalar(tsr_scatter_add(counts, 0, b->bag, ones), 1), 1));
}

// Of the rows of each bag, those that have the largest element share its gradient.
static tsr_tensor *shares_of_largest(const grad_view *v, const bags *b, tsr_tensor *g) {
  tsr_tensor *read = tsr_index_select(v->inputs[0], 0, b->row), *largest = tsr_index_select(v->outputs[0], 0, b->bag);
  tsr_tensor *is_it = tsr_logical_and(tsr_eq(read, largest), tsr_logical_not(b->column_mask));
  tsr_tensor *several = add_rows(tsr_cast(is_it, tsr_tensor_dtype(g)), b->bag, tsr_tensor_shape(g));
  tsr_tensor *share = tsr_div(g, tsr_maximum_scalar(several, 1));
  return tsr_masked_fill(tsr_index_select(share, 0, b->bag), tsr_logical_not(is_it), 0);
}

void tsri_gradient_bag(const grad_view *v) {
  const tsri_bag_attributes *given = TSRI_GIVEN(v, bag);
  tsr_tensor *table = v->inputs[0], *g = tsri_grad_wide(v->cotangents[0]);
  int weights = given->has_weights ? v->input_count - 1 : 0;
  bags b = read_bags(v);
  if (b.index_count == 0 || tsr_tensor_count(table) == 0) return;
  if (given->mode == TSR_BAG_MEAN) g = per_row(&b, g);
  tsr_tensor *each = given->mode == TSR_BAG_MAX ? shares_of_largest(v, &b, g)
                                                : tsr_masked_fill(tsr_index_select(g, 0, b.bag), b.column_mask, 0);
  if (weights && v->wants[weights]) {
    tsr_tensor *products = tsr_mul(each, tsr_index_select(tsri_grad_wide(table), 0, b.row));
    v->gradients[weights] = tsr_sum(products, TSR_AXES(1), false);
  }
  if (weights) each = tsr_mul(each, tsr_unsqueeze(tsri_grad_wide(v->inputs[weights]), 1));
  if (v->wants[0]) v->gradients[0] = add_rows(each, b.row, tsr_tensor_shape(table));
}
