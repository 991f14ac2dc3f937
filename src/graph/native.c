// SPDX-License-Identifier: MIT
// Recognises native operators in a plan, and runs them.
#include "graph/native.h"

#include <stdlib.h>

#include "graph/chain.h"
#include "graph/compose.h"
#include "graph/transfer.h"
#include "runtime/native_op.h"

// --- Products and convolutions ---------------------------------------------------------------------------------------------------------------

static const tsri_value *value_of(const tsri_plan *plan, const tsri_value *value) {
  uint32_t number = tsri_plan_number(plan, value);
  return number == TSRI_NONE ? value : &plan->nodes[number].node->value;
}

static bool reads(const tsri_plan *plan, const tsri_node *node, uint32_t index, uint32_t from) {
  return tsri_plan_number(plan, node->inputs[index].value) == from &&
         tsri_layout_is_identity(&node->inputs[index].layout, node->count);
}

static void add_operand(tsri_matched *out, int which, uint32_t part, const tsri_value *value,
                        const tsri_layout *layout) {
  tsri_place *place = which == TSRI_OPERAND_BIAS ? &out->op.is.product.bias : &out->op.is.product.residual;
  place->offset = (size_t)layout->offset * tsr_dtype_bytes(out->op.result);
  out->values[which] = value;
  out->op.parts |= part;
}

// Matches the addition of a tensor to the result of node `from`: a bias directly after the product, else a residual.
static bool match_addition(const tsri_plan *plan, const tsri_planned *planned, uint32_t from, tsri_matched *out) {
  const tsri_node *node = planned->node;
  uint32_t other = reads(plan, node, 0, from) ? 1 : 0;
  if (!reads(plan, node, 1 - other, from) || node->inputs[other].dtype != out->op.result) return false;
  tsri_layout layout;
  uint32_t source = tsri_plan_number(plan, node->inputs[other].value);
  bool is_outside = source == TSRI_NONE || plan->nodes[source].fusion != planned->fusion;
  if (!is_outside || !tsri_plan_input_layout(plan, planned, other, &layout)) return false;
  const tsri_value *value = value_of(plan, node->inputs[other].value);
  enum { PRODUCT_ALONE = TSRI_PRODUCT_SCALED | TSRI_PRODUCT_QUANTISED };
  // The addition may read the product through another shape (a reshape). A bias must have one element for each column of the product itself.
  bool can_be_bias = (out->op.parts & ~(uint32_t)PRODUCT_ALONE) == 0 && tsri_shape_equal(layout.shape, node->shape) &&
                     node->shape.rank > 0 && node->shape.dims[node->shape.rank - 1] == out->op.is.product.n;
  if (can_be_bias && tsri_is_along_last_axis(&layout)) {
    add_operand(out, TSRI_OPERAND_BIAS, TSRI_PRODUCT_BIAS, value, &layout);
  } else if (tsri_layout_is_contiguous(&layout) && layout.count == node->count) {
    add_operand(out, TSRI_OPERAND_RESIDUAL, TSRI_PRODUCT_RESIDUAL, value, &layout);
  } else {
    return false;
  }
  return true;
}

static bool match_activation(const tsri_plan *plan, const tsri_node *node, uint32_t from, tsri_matched *out) {
  bool is_conv = out->op.kind == TSRI_NATIVE_CONV;
  tsri_activation *activation = is_conv ? &out->op.is.conv.activation : &out->op.is.product.activation;
  if (*activation != TSRI_ACTIVATION_NONE || !reads(plan, node, 0, from)) return false;
  *activation = node->op->activation;
  out->op.parts |= (uint32_t)TSRI_PRODUCT_RELU << (*activation - TSRI_ACTIVATION_RELU);
  return true;
}

// Matches one node after the product; `from` is the node before it.
static bool match_step(const tsri_plan *plan, const tsri_planned *planned, uint32_t from, tsri_matched *out) {
  const tsri_op *op = planned->node->op;
  if (planned->space != TSRI_OUTER || planned->node->dtype != out->op.result) return false;
  if (out->op.parts & TSRI_PRODUCT_RESIDUAL) return false;  // the residual comes last
  if (op->is_addition) return out->op.kind == TSRI_NATIVE_PRODUCT && match_addition(plan, planned, from, out);
  return op->activation != TSRI_ACTIVATION_NONE && match_activation(plan, planned->node, from, out);
}

// Matches the product alone.
static bool match_heavy(const tsri_plan *plan, const tsri_fusion *fusion, tsri_matched *out) {
  const tsri_node *node = plan->nodes[fusion->heavy].node;
  if (!node->op->describe || !node->op->describe(node, &out->op)) return false;
  for (uint32_t i = 0; i < TSRI_OPERANDS; i++) {
    out->values[i] = i < node->input_count ? value_of(plan, node->inputs[i].value) : NULL;
  }
  return true;
}

// Matches all nodes after the product.
static bool match_rest(const tsri_plan *plan, const tsri_fusion *fusion, tsri_matched *out) {
  uint32_t last = fusion->heavy;
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    uint32_t number = plan->members[fusion->first + i];
    if (number == fusion->heavy) continue;
    if (!match_step(plan, &plan->nodes[number], last, out)) return false;
    last = number;
  }
  return last == fusion->root;
}

bool tsri_native_match(const tsri_plan *plan, const tsri_fusion *fusion, tsri_matched *out) {
  const tsr_device *device = plan->nodes[fusion->root].node->value.device;
  tsri_matched bare;
  if (!match_heavy(plan, fusion, &bare)) return false;
  *out = bare;
  if (match_rest(plan, fusion, out) && tsri_device_takes(device, &out->op)) return true;
  *out = bare;
  return fusion->heavy != fusion->root && tsri_chain_match(plan, fusion, NULL, out);
}

// Whether sums of `elements` may be accumulated in `dtype`: the same dtype, or f32 for f16 and bf16.
static bool is_sum_of(tsr_dtype dtype, tsr_dtype elements) {
  bool is_narrow = elements == TSR_F16 || elements == TSR_BF16;
  return dtype == elements || (is_narrow && dtype == TSR_F32);
}

// Describes the reduction as a native operator, if its kind can be one. `elements` is the dtype of the elements it
// reads.
static bool reduction_of(const tsri_node *node, tsr_dtype elements, tsri_native_op *out_op) {
  static const struct {
    tsri_reduce from;
    tsri_reduction to;
  } kinds[] = {{TSRI_REDUCE_SUM, TSRI_REDUCTION_SUM},
               {TSRI_REDUCE_MAX, TSRI_REDUCTION_MAX},
               {TSRI_REDUCE_MIN, TSRI_REDUCTION_MIN}};
  tsri_reduce kind = node->op->reduce;
  *out_op = (tsri_native_op){.kind = TSRI_NATIVE_REDUCE, .dtype = elements, .result = node->dtype};
  if (kind == TSRI_REDUCE_ARGMAX || kind == TSRI_REDUCE_ARGMIN) {
    out_op->kind = TSRI_NATIVE_ARG_REDUCE;
    out_op->is.reduce.kind = kind == TSRI_REDUCE_ARGMAX ? TSRI_REDUCTION_MAX : TSRI_REDUCTION_MIN;
    return node->inputs[0].as == elements;
  }
  if (!is_sum_of(node->dtype, elements) || !is_sum_of(node->inputs[0].as, elements)) return false;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].from != kind) continue;
    out_op->is.reduce.kind = kinds[i].to;
    return true;
  }
  return false;
}

// Whether the node is a sum that TSRI_NATIVE_SUM computes: f32 or f64 along the last axis. TSRI_NATIVE_REDUCE adds in another order, and the sum of a row must
// have the same bits whether the row is contiguous or packed first. (A generated kernel, into which other operators are fused, uses yet another order.) Sums of
// few elements are computed sequentially by all of them, so for these the choice is free.
static bool has_order(const tsri_node *node, tsr_shape shape) {
  tsr_dtype elements = node->inputs[0].dtype;
  bool is_sum = node->op->reduce == TSRI_REDUCE_SUM && (elements == TSR_F32 || elements == TSR_F64);
  return is_sum && shape.rank > 0 && node->axes == 1u << (shape.rank - 1) &&
         shape.dims[shape.rank - 1] >= TSRI_SHORT_REDUCTION;
}

// An axis of the elements that are reduced.
typedef struct packed_axis {
  int64_t size, stride;
  int64_t *packed;  // where its stride in packed memory goes
} packed_axis;

static int list_axes(tsri_reduce_op *op, packed_axis *out_axes) {
  int count = 0;
  for (int i = 0; i < op->kept_rank; i++) {
    out_axes[count++] = (packed_axis){op->kept_dims[i], op->kept_strides[i], &op->kept_strides[i]};
  }
  for (int i = 0; i < op->reduced_rank; i++) {
    out_axes[count++] = (packed_axis){op->reduced_dims[i], op->reduced_strides[i], &op->reduced_strides[i]};
  }
  return count;
}

static int by_distance(const void *a, const void *b) {
  int64_t x = ((const packed_axis *)a)->stride, y = ((const packed_axis *)b)->stride;
  x = x < 0 ? -x : x;
  y = y < 0 ? -y : y;
  return (x < y) - (x > y);
}

// Sets the operator's strides to those that its elements will have once they are packed in memory order. `*out_layout` is their present layout, with offset 0.
// False: several indices read the same element.
static bool pack_strides(tsri_reduce_op *op, tsri_layout *out_layout) {
  packed_axis axes[2 * TSR_MAX_RANK];
  int rank = list_axes(op, axes);
  if (rank > TSR_MAX_RANK) return false;
  qsort(axes, (size_t)rank, sizeof *axes, by_distance);
  *out_layout = (tsri_layout){.shape.rank = rank, .count = 1};
  for (int i = rank - 1; i >= 0; i--) {
    if (axes[i].stride == 0) return false;
    out_layout->shape.dims[i] = axes[i].size;
    out_layout->strides[i] = axes[i].stride;
    *axes[i].packed = out_layout->count;
    out_layout->count *= axes[i].size;
  }
  return true;
}

// Describes the sum of packed rows as TSRI_NATIVE_SUM, because it must add in that operator's order. False: the packed
// elements are not rows.
static bool as_row_sum(const tsri_native_op *op, tsri_native_op *out_op) {
  const tsri_reduce_op *r = &op->is.reduce;
  if (op->dtype != op->result || r->reduced_rank != 1 || r->reduced_strides[0] != 1) return false;
  int64_t columns = r->reduced_dims[0], next = columns;
  for (int i = r->kept_rank - 1; i >= 0; i--) {
    if (r->kept_strides[i] != next) return false;
    next *= r->kept_dims[i];
  }
  *out_op = (tsri_native_op){.kind = TSRI_NATIVE_SUM, .dtype = op->dtype, .result = op->result};
  out_op->is.sum = (tsri_sum_op){.rows = next / columns, .columns = columns, .step = columns, .stride = 1, .to = r->to};
  return true;
}

// Whether the device reduces elements with these strides natively, in place or packed.
static bool is_reduced_natively(tsr_device *device, const tsri_native_op *op, bool is_ordered, bool is_contiguous) {
  tsri_native_op packed = *op, sum;
  tsri_layout where;
  if ((!is_ordered || is_contiguous) && tsri_device_takes(device, op)) return true;
  if (!pack_strides(&packed.is.reduce, &where) || (is_ordered && !as_row_sum(&packed, &sum))) return false;
  return tsri_device_takes(device, is_ordered ? &sum : &packed);
}

// Whether the fusion's reduction reads a tensor directly, and the device reduces it natively: that is faster than one
// kernel for the reduction and the nodes after it.
static bool is_plain_reduction(const tsri_plan *plan, const tsri_fusion *fusion) {
  // From this many elements on, one more launch takes less time than a kernel for all of it.
  enum { WORTH_IT = 1 << 9 };
  const tsri_planned *planned = &plan->nodes[fusion->heavy];
  const tsri_node *node = planned->node;
  uint32_t source = tsri_plan_number(plan, node->inputs[0].value);
  tsri_native_op op;
  tsri_layout layout;
  if (source != TSRI_NONE && plan->nodes[source].fusion == planned->fusion) return false;
  if (!reduction_of(node, node->inputs[0].dtype, &op) || !tsri_plan_input_layout(plan, planned, 0, &layout))
    return false;
  tsri_reduce_op *reduce = &op.is.reduce;
  for (int i = 0; i < layout.shape.rank; i++) {
    bool is_reduced = (node->axes >> i & 1u) != 0;
    int *rank = is_reduced ? &reduce->reduced_rank : &reduce->kept_rank;
    (is_reduced ? reduce->reduced_dims : reduce->kept_dims)[*rank] = layout.shape.dims[i];
    (is_reduced ? reduce->reduced_strides : reduce->kept_strides)[(*rank)++] = layout.strides[i];
  }
  return layout.count >= WORTH_IT && is_reduced_natively(node->value.device, &op, has_order(node, layout.shape),
                                                         tsri_layout_is_contiguous(&layout));
}

bool tsri_native_is_alone(const tsri_plan *plan, const tsri_fusion *fusion) {
  const tsr_device *device = plan->nodes[fusion->heavy].node->value.device;
  if (plan->nodes[fusion->heavy].node->op->kind == TSRI_OP_REDUCE) return is_plain_reduction(plan, fusion);
  tsri_matched match;
  if (!match_heavy(plan, fusion, &match) || !tsri_device_takes(device, &match.op)) return false;
  return !tsri_native_match(plan, fusion, &match);
}

tsr_status tsri_native_run(tsr_device *device, tsri_matched *match, const tsri_output *output,
                           const tsri_output *other) {
  tsri_product_op *p = &match->op.is.product;
  tsri_conv_op *conv = &match->op.is.conv;
  bool is_conv = match->op.kind == TSRI_NATIVE_CONV;
  tsri_place *of_product[TSRI_OPERANDS] = {&p->a.at, &p->b.at, &p->c.at, &p->bias, &p->residual};
  for (int i = 0; i < TSRI_CHAIN_INPUTS; i++) of_product[TSRI_OPERAND_CHAIN + i] = &p->chain.inputs[i].at;
  tsri_place *of_conv[TSRI_OPERANDS] = {&conv->x, &conv->w, &conv->bias};
  tsri_place **places = is_conv ? of_conv : of_product;
  tsr_buffer *buffers[2 + TSRI_OPERANDS] = {output->buffer, other ? other->buffer : NULL};
  int written = other ? 2 : 1, used = written;
  for (int i = 0; i < TSRI_OPERANDS; i++) {
    if (!match->values[i]) continue;
    buffers[used] = tsri_value_buffer(match->values[i]);
    tsri_place_bind(places[i], buffers[used++]);
  }
  size_t element = tsr_dtype_bytes(match->op.result);
  tsri_place *y = is_conv ? &conv->y : &p->y;
  y->offset = (size_t)output->first * element;
  tsri_place_bind(y, output->buffer);
  if (other) {
    tsri_place *second = match->op.parts & TSRI_PRODUCT_CHAIN ? &p->chain.kept : &p->row_sums;
    second->offset = (size_t)other->first * element;
    tsri_place_bind(second, other->buffer);
  }
  return tsri_device_run_op_writing(device, &match->op, buffers, written, used);
}

bool tsri_native_offers(const tsr_device *device, uint32_t part) {
  const tsri_native_offer *offer = device->backend->native_ops;
  while (offer && offer->kind != TSRI_NATIVE_NONE && !(offer->kind == TSRI_NATIVE_PRODUCT && offer->parts & part))
    offer++;
  return offer && offer->kind != TSRI_NATIVE_NONE;
}

tsr_status tsri_native_heavy(const tsri_plan *plan, const tsri_fusion *fusion, tsr_buffer *output) {
  const tsri_node *root = plan->nodes[fusion->root].node;
  tsri_matched match;
  // If the native result has another dtype than the node, the native operator is only a part of what op->run does.
  if (!root->value.device->backend->native_ops || !tsri_native_match(plan, fusion, &match) ||
      match.op.result != root->dtype)
    return TSR_ERR_UNSUPPORTED;
  return tsri_native_run(root->value.device, &match, &(tsri_output){.buffer = output}, NULL);
}

// --- Reductions ---------------------------------------------------------------------------------------------------------------

// Whether the native sum (TSRI_NATIVE_SUM) reads strided rows in place. It does if rows are long, or few, or each continues the row before it with the same
// step; other short rows are packed first (reduce_packed). It does not if neighbouring rows are closer in memory than neighbouring elements of a row: each
// cache line would be read again for many rows, so all columns are summed at once (TSRI_NATIVE_REDUCE, or a generated kernel).
static bool gathers_rows(const tsri_fused *fused) {
  enum { LONG_ROW = 256, FEW = 1 << 12 };
  int64_t stride = fused->reduced.strides[0][0], columns = fused->reduced.count;
  bool are_columns = fused->kept.count > 1 && llabs(fused->kept.strides[0][0]) < stride;
  bool is_one_line = fused->kept.rank == 1 && fused->kept.strides[0][0] == columns * stride;
  return stride > 0 && !are_columns && (is_one_line || columns >= LONG_ROW || columns * fused->kept.count < FEW);
}

// Whether the fusion is just a sum along rows, with elements, sum and result in one dtype.
static bool is_row_sum(const tsri_codegen *codegen) {
  const tsri_fused *fused = codegen->fused;
  tsr_dtype dtype = fused->root->dtype;
  if (!fused->heavy || fused->fusion->node_count != 1 || fused->heavy->op->reduce != TSRI_REDUCE_SUM) return false;
  if (codegen->form != TSRI_FORM_ROW || fused->kept.rank > 1 || fused->reduced.rank != 1) return false;
  if (fused->reduced.strides[0][0] != 1 && !gathers_rows(fused)) return false;
  return fused->leaves[0].dtype == dtype && fused->heavy->inputs[0].as == dtype;
}

static tsr_status run_sum(const tsri_codegen *codegen, const tsri_argument *leaf, tsr_buffer *output, int64_t first) {
  if (!is_row_sum(codegen)) return TSR_ERR_UNSUPPORTED;
  const tsri_extent *kept = &codegen->fused->kept;
  tsr_dtype dtype = codegen->fused->root->dtype;
  size_t element = tsr_dtype_bytes(dtype);
  tsri_native_op op = {.kind = TSRI_NATIVE_SUM, .dtype = dtype, .result = dtype};
  op.is.sum = (tsri_sum_op){.rows = kept->count,
                            .columns = codegen->fused->reduced.count,
                            .step = kept->rank ? kept->strides[0][0] : 0,
                            .stride = codegen->fused->reduced.strides[0][0],
                            .from.offset = leaf->offset + codegen->base[0] * element,
                            .to.offset = (size_t)first * element};
  tsri_place_bind(&op.is.sum.from, leaf->buffer);
  tsri_place_bind(&op.is.sum.to, output);
  return tsri_device_run_op(output->device, &op, (tsr_buffer *const[]){output, leaf->buffer}, 2);
}

static void take_extent(const tsri_extent *extent, int *out_rank, int64_t *out_dims, int64_t *out_strides) {
  *out_rank = extent->rank;
  for (int i = 0; i < extent->rank; i++) {
    out_dims[i] = extent->dims[i];
    out_strides[i] = extent->strides[0][i];
  }
}

// --- Strided elements, packed first -------------------------------------------------------------------------------------

// Reduces elements that are not contiguous along any axis: packs them first. `op` has the strides of the packed elements and the place of the result; the
// elements begin at element `first` of `from`.
static tsr_status reduce_packed(tsri_native_op *op, bool is_ordered, tsr_buffer *from, int64_t first,
                                tsr_buffer *output) {
  tsri_view view = {.buffer = from, .dtype = op->dtype};
  tsr_buffer *packed = NULL;
  tsri_native_op sum;
  if (!pack_strides(&op->is.reduce, &view.layout) || (is_ordered && !as_row_sum(op, &sum))) return TSR_ERR_UNSUPPORTED;
  if (is_ordered) *op = sum;
  if (!tsri_device_takes(output->device, op)) return TSR_ERR_UNSUPPORTED;
  view.layout.offset = first;
  tsr_status status = tsri_copy_contiguous(&view, &packed);
  if (status == TSR_ERR_OUT_OF_MEMORY) return TSR_ERR_UNSUPPORTED;  // a generated kernel needs no copy
  if (status != TSR_OK) return status;
  tsri_place *place = is_ordered ? &op->is.sum.from : &op->is.reduce.from;
  place->offset = 0;
  tsri_place_bind(place, packed);
  status = tsri_device_run_op(output->device, op, (tsr_buffer *const[]){output, packed}, 2);
  tsr_buffer_release(packed);
  return status;
}

// Runs a reduction in which each result has one element: copies the elements from element `first` of `from` on. The results of argmax and argmin are then 0.
static tsr_status copy_elements(const tsri_native_op *op, tsr_buffer *from, int64_t first, tsr_buffer *output) {
  const tsri_reduce_op *reduce = &op->is.reduce;
  tsri_view view = {.buffer = from, .dtype = op->dtype, .layout = {.offset = first, .count = 1}};
  if (op->kind == TSRI_NATIVE_ARG_REDUCE) return tsr_buffer_fill(output, 0, output->bytes, &(unsigned char){0}, 1);
  view.layout.shape.rank = reduce->kept_rank;
  for (int i = 0; i < reduce->kept_rank; i++) {
    view.layout.shape.dims[i] = reduce->kept_dims[i];
    view.layout.strides[i] = reduce->kept_strides[i];
    view.layout.count *= reduce->kept_dims[i];
  }
  return tsri_copy_packed(&view, output);
}

// Whether copy_elements() computes the reduction and is faster. It is not faster for few elements, because no launch
// cache stores it; and a sum is not a copy, since the sum of a single -0 is 0.
static bool is_copy(const tsri_fused *fused, const tsri_native_op *op) {
  enum { FEW = 1 << 12 };
  bool is_whole = fused->kept.count == fused->root->count;
  bool is_same =
      op->kind == TSRI_NATIVE_ARG_REDUCE || (op->is.reduce.kind != TSRI_REDUCTION_SUM && op->result == op->dtype);
  return fused->reduced.count == 1 && is_same && is_whole && fused->kept.count >= FEW;
}

tsr_status tsri_native_reduce(const tsri_codegen *codegen, const tsri_argument *leaf, tsr_buffer *output,
                              int64_t first) {
  const tsri_fused *fused = codegen->fused;
  if (!output->device->backend->native_ops || !fused->heavy || fused->fusion->node_count != 1)
    return TSR_ERR_UNSUPPORTED;
  if (fused->reduced.count == 0) return TSR_ERR_UNSUPPORTED;  // a copy of no elements has no memory
  tsr_status status = run_sum(codegen, leaf, output, first);
  tsri_native_op op;
  if (status != TSR_ERR_UNSUPPORTED) return status;
  if (fused->heavy->op->kind != TSRI_OP_REDUCE || !reduction_of(fused->heavy, fused->leaves[0].dtype, &op))
    return status;
  bool is_ordered = has_order(fused->heavy, fused->heavy->inputs[0].layout.shape);
  tsri_reduce_op *reduce = &op.is.reduce;
  take_extent(&fused->kept, &reduce->kept_rank, reduce->kept_dims, reduce->kept_strides);
  take_extent(&fused->reduced, &reduce->reduced_rank, reduce->reduced_dims, reduce->reduced_strides);
  reduce->from.offset = leaf->offset + codegen->base[0] * tsr_dtype_bytes(op.dtype);
  reduce->to.offset = (size_t)first * tsr_dtype_bytes(op.result);
  int64_t element = (int64_t)(reduce->from.offset / tsr_dtype_bytes(op.dtype));
  tsri_place_bind(&reduce->from, leaf->buffer);
  tsri_place_bind(&reduce->to, output);
  if (is_copy(fused, &op)) return copy_elements(&op, leaf->buffer, element, output);
  if (is_ordered || !tsri_device_takes(output->device, &op)) {
    return reduce_packed(&op, is_ordered, leaf->buffer, element, output);
  }
  return tsri_device_run_op(output->device, &op, (tsr_buffer *const[]){output, leaf->buffer}, 2);
}
