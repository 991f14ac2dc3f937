// SPDX-License-Identifier: MIT
// Recording operators: moves inputs to one device, broadcasts them, and puts them into a node. What running a node
// means is left to run.c.
#include "core/error.h"
#include "graph/assign.h"
#include "graph/move.h"
#include "graph/order.h"
#include "graph/transfer.h"
#include "lang/ir/ir.h"

tsr_status tsri_record_device(const char *caller, tsr_tensor *const *inputs, int input_count, tsr_device **out_device) {
  tsr_device *common = inputs[0]->value->device;
  tsr_status status = TSR_OK;
  for (int i = 1; i < input_count && status == TSR_OK; i++) {
    status = tsri_common_device(caller, (tsr_device *[]){common, inputs[i]->value->device}, 2, &common);
  }
  *out_device = common;
  return status;
}

// Sets `*out` to the tensor's value on `device`, with a reference. A value on another device is moved, which counts as
// an implicit move.
static tsr_status take_input(const tsri_op *op, tsr_tensor *tensor, tsr_device *device, tsri_input *out) {
  out->layout = tensor->layout;
  out->dtype = out->as = tensor->dtype;
  if (tensor->value->device == device) {
    out->value = tsri_value_now(tensor->value);
    return TSR_OK;
  }
  tsri_note_implicit_move(op->name, tensor->dtype, &tensor->layout, tensor->value->device, device);
  out->layout = tsri_packed_layout(&tensor->layout);
  return tsri_move_record(tensor, device, &out->value);
}

static tsr_status take_inputs(tsri_node *node, tsr_tensor *const *inputs) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < node->input_count && status == TSR_OK; i++) {
    status = take_input(node->op, inputs[i], node->value.device, &node->inputs[i]);
  }
  return status;
}

static tsr_status no_memory(const tsri_op *op) {
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its record", op->name);
}

// Records the node if `status` is TSR_OK; otherwise frees it and returns a failed tensor.
static tsr_tensor *finish(tsri_node *node, tsr_status status, const tsri_layout *layout) {
  if (status == TSR_OK) return tsri_node_record(node, layout);
  if (node) tsri_node_abandon(node);
  return tsri_tensor_fail(status);
}

static bool has_one_shape(tsr_tensor *const *inputs, int input_count) {
  bool is_one = true;
  for (int i = 1; i < input_count && is_one; i++) {
    is_one = tsri_shape_equal(inputs[0]->layout.shape, inputs[i]->layout.shape);
  }
  return is_one;
}

static tsr_status broadcast_layout(const tsri_op *op, tsr_dtype dtype, tsr_tensor *const *inputs, int input_count,
                                   tsri_layout *out_layout) {
  tsr_shape shape = inputs[0]->layout.shape;
  tsr_status status = TSR_OK;
  for (int i = 1; i < input_count && status == TSR_OK; i++) {
    status = tsri_shape_broadcast(op->name, shape, inputs[i]->layout.shape, &shape);
  }
  return status == TSR_OK ? tsri_layout_init(op->name, shape, dtype, out_layout, NULL) : status;
}

// Layout of the result. `is_plain`: all inputs have the same shape and input 0 is row-major, so that its layout can be
// reused.
static tsr_status result_layout(const tsri_op *op, tsr_dtype dtype, tsr_tensor *const *inputs, int input_count,
                                bool is_plain, tsri_layout *out_layout) {
  const tsr_tensor *first = inputs[0];
  // A wider result: the size in bytes may overflow, which tsri_layout_init checks
  bool is_wider = tsr_dtype_bytes(dtype) > tsr_dtype_bytes(first->dtype);
  if (!is_plain || is_wider) {
    return broadcast_layout(op, dtype, inputs, input_count, out_layout);
  }
  *out_layout = first->layout;
  return TSR_OK;
}

static tsr_status expand_inputs(tsri_node *node, const tsri_layout *layout) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < node->input_count && status == TSR_OK; i++) {
    tsri_input *input = &node->inputs[i];
    if (tsri_shape_equal(input->layout.shape, layout->shape)) continue;
    tsri_layout view;
    status = tsri_layout_expand(&input->layout, layout->shape, &view);
    if (status == TSR_OK) input->layout = view;
  }
  return status;
}

// As finish, for a node whose axes are in the order `order` instead of the operator's. `layout` is the row-major layout of the node's result; the returned
// tensor is a view of it with the axes in the operator's order.
static tsr_tensor *finish_in_order(tsri_node *node, const tsri_layout *layout, const tsri_order *order) {
  tsr_tensor *tensor = finish(node, TSR_OK, layout);
  if (tensor->status == TSR_OK) tensor->layout = tsri_order_back(layout, order);  // no other thread has the tensor yet
  return tensor;
}

// The row-major layout of the shape of `layout` with its axes permuted into `order`.
static tsri_layout row_major_in_order(const tsri_layout *layout, const tsri_order *order) {
  tsri_layout ordered = tsri_order_forth(layout, order);
  return tsri_packed_layout(&ordered);
}

// Whether the layout is that of a transposed matrix: column-major, without gaps, from offset 0 on.
static bool is_turned(const tsri_layout *layout) {
  const int64_t *dims = layout->shape.dims;
  return layout->shape.rank == 2 && dims[0] > 1 && dims[1] > 1 && layout->strides[0] == 1 &&
         layout->strides[1] == dims[0] && layout->offset == 0;
}

// The transposed layout of a matrix.
static tsri_layout turn(const tsri_layout *layout) {
  tsri_layout turned = *layout;
  for (int i = 0; i < 2; i++) {
    turned.shape.dims[i] = layout->shape.dims[1 - i];
    turned.strides[i] = layout->strides[1 - i];
  }
  return turned;
}

// Whether record_plain can record the call: all inputs are on one device and have one shape, and the first is row-major (are_turned: all are transposed
// matrices), so that the result can have its layout.
static bool is_plain_call(tsr_dtype dtype, const tsri_operand_ref *inputs, int input_count, bool are_turned) {
  const tsr_tensor *first = inputs[0].tensor;
  if (tsri_dtype_bytes(dtype) > tsri_dtype_bytes(first->dtype)) return false;
  if (!(are_turned ? is_turned : tsri_layout_is_row_major)(&first->layout)) return false;
  for (int i = 1; i < input_count; i++) {
    const tsr_tensor *input = inputs[i].tensor;
    if (input->value->device != first->value->device || (are_turned && !is_turned(&input->layout))) return false;
    if (!tsri_shape_equal(first->layout.shape, input->layout.shape)) return false;
  }
  return true;
}

// Fast path for most calls: nothing is broadcast, and the result has the layout of the first input. Transposed matrices
// are recorded as in the general path: a row-major node, and a transposed view of its result.
static tsr_tensor *record_plain(const tsri_op *op, tsr_dtype dtype, const tsri_operand_ref *inputs, int input_count,
                                const tsri_scalars *scalars, bool are_turned) {
  const tsr_tensor *first = inputs[0].tensor;
  tsri_node *node = tsri_node_create(op, first->value->device, dtype, (uint32_t)input_count, scalars);
  if (!node) return tsri_tensor_fail(no_memory(op));
  for (int i = 0; i < input_count; i++) {
    const tsr_tensor *tensor = inputs[i].tensor;
    tsri_input *input = &node->inputs[i];
    input->value = tsri_value_now(tensor->value);
    input->layout = are_turned ? turn(&tensor->layout) : tensor->layout;
    input->dtype = tensor->dtype;
    input->as = inputs[i].as;
  }
  if (!are_turned) return tsri_node_record(node, &first->layout);
  tsri_layout layout = node->inputs[0].layout;  // copied, because tsri_node_record may free the node
  tsr_tensor *result = tsri_node_record(node, &layout);
  if (result->status == TSR_OK) result->layout = turn(&layout);  // no other thread has the tensor yet
  return result;
}

tsr_tensor *tsri_record_elementwise(const tsri_op *op, tsr_dtype dtype, const tsri_operand_ref *inputs, int input_count,
                                    const tsri_scalars *scalars) {
  bool are_turned = is_turned(&inputs[0].tensor->layout);
  if (is_plain_call(dtype, inputs, input_count, are_turned)) {
    return record_plain(op, dtype, inputs, input_count, scalars, are_turned);
  }
  tsr_tensor *tensors[TSRI_MAX_LEAVES] = {inputs[0].tensor};
  for (int i = 1; i < input_count; i++) tensors[i] = inputs[i].tensor;
  tsri_layout layout;
  tsr_device *device = NULL;
  bool is_one_shape = has_one_shape(tensors, input_count);
  bool is_plain = is_one_shape && tsri_layout_is_row_major(&tensors[0]->layout);
  tsr_status status = result_layout(op, dtype, tensors, input_count, is_plain, &layout);
  if (status == TSR_OK) status = tsri_record_device(op->name, tensors, input_count, &device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_node *node = tsri_node_create(op, device, dtype, (uint32_t)input_count, scalars);
  status = node ? take_inputs(node, tensors) : no_memory(op);
  for (int i = 0; i < input_count && status == TSR_OK; i++) node->inputs[i].as = inputs[i].as;
  if (status == TSR_OK && !is_one_shape) status = expand_inputs(node, &layout);
  tsri_order order;
  if (status != TSR_OK || is_plain || !tsri_order_find(node, &order)) return finish(node, status, &layout);
  tsri_order_inputs(node, &order);
  layout = row_major_in_order(&layout, &order);
  return finish_in_order(node, &layout, &order);
}

static tsr_shape reduced_shape(tsr_shape shape, uint32_t axes, bool keep_dims) {
  tsr_shape result = {0};
  for (int i = 0; i < shape.rank; i++) {
    bool is_reduced = (axes >> i & 1u) != 0;
    if (is_reduced && !keep_dims) continue;
    result.dims[result.rank++] = is_reduced ? 1 : shape.dims[i];
  }
  return result;
}

// Translates a set of the operator's axes into the node's axes.
static uint32_t axes_in_order(uint32_t axes, const tsri_order *order) {
  uint32_t ordered = 0;
  for (int i = 0; i < order->rank; i++) ordered |= (axes >> order->axes[i] & 1u) << i;
  return ordered;
}

// The order of the axes of a reduction's result, derived from `order`, the order of its input's axes.
static tsri_order order_of_result(uint32_t axes, bool keep_dims, const tsri_order *order) {
  if (keep_dims) return *order;
  tsri_order kept = {0};
  for (int i = 0; i < order->rank; i++) {
    int axis = order->axes[i], place = 0;
    if (axes >> axis & 1u) continue;
    for (int j = 0; j < axis; j++) place += !(axes >> j & 1u);
    kept.axes[kept.rank++] = place;
  }
  return kept;
}

static tsr_tensor *finish_reduction(tsri_node *node, tsri_layout layout, bool keep_dims) {
  tsri_order order;
  if (tsri_layout_is_row_major(&node->inputs[0].layout) || !tsri_order_find(node, &order)) {
    return finish(node, TSR_OK, &layout);
  }
  tsri_order result = order_of_result(node->axes, keep_dims, &order);
  node->axes = axes_in_order(node->axes, &order);
  tsri_order_inputs(node, &order);
  layout = row_major_in_order(&layout, &result);
  return finish_in_order(node, &layout, &result);
}

tsr_tensor *tsri_record_reduce(const tsri_op *op, tsr_dtype dtype, tsr_tensor *input, uint32_t axes, bool keep_dims) {
  tsri_layout layout;
  tsr_shape shape = reduced_shape(input->layout.shape, axes, keep_dims);
  tsr_status status = tsri_layout_init(op->name, shape, dtype, &layout, NULL);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_node *node = tsri_node_create(op, input->value->device, dtype, 1, NULL);
  status = node ? take_inputs(node, &input) : no_memory(op);
  if (status == TSR_OK) {
    bool is_index = op->reduce == TSRI_REDUCE_ARGMAX || op->reduce == TSRI_REDUCE_ARGMIN;
    bool is_truth = op->reduce == TSRI_REDUCE_ANY || op->reduce == TSRI_REDUCE_ALL;
    node->axes = axes;
    // A narrow float from f32 elements is reduced in f32 and rounded once, at the end.
    bool is_wider = input->dtype == TSR_F32 && dtype != TSR_F32 && tsri_ir_compute_dtype(dtype) == TSR_F32;
    if (!is_index && !is_wider) node->inputs[0].as = is_truth ? TSR_BOOL : dtype;
    return finish_reduction(node, layout, keep_dims);
  }
  return finish(node, status, &layout);
}

tsr_tensor *tsri_record_kernel(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                               tsr_tensor *const *inputs, int input_count, const void *attributes) {
  tsri_layout layout;
  tsr_status status = tsri_layout_init(op->name, shape, dtype, &layout, NULL);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_node *node = tsri_node_create(op, device, dtype, (uint32_t)input_count, attributes);
  status = node ? take_inputs(node, inputs) : no_memory(op);
  return finish(node, status, &layout);
}

// Creates the node of result `index`, which is computed together with the node `first`. Result 0 is `first` itself:
// only its layout is set.
static tsr_status make_result(const tsri_op *op, tsri_node *first, uint32_t index, const tsri_result *result,
                              tsri_layout *out_layout, tsri_node **out_node) {
  tsr_status status = tsri_layout_init(op->name, result->shape, result->dtype, out_layout, NULL);
  if (status != TSR_OK || index == 0) return status;
  tsri_node *node = tsri_node_create(&tsri_op_result, first->value.device, result->dtype, 1, NULL);
  if (!node) return no_memory(op);
  node->axes = index;
  node->inputs[0] = (tsri_input){
      .value = tsri_value_retain(&first->value), .layout = *out_layout, .dtype = first->dtype, .as = first->dtype};
  *out_node = node;
  return TSR_OK;
}

void tsri_record_kernel_results(const tsri_op *op, tsr_device *device, const tsri_result *results, int result_count,
                                tsr_tensor *const *inputs, int input_count, const void *attributes,
                                tsr_tensor **out_tensors) {
  tsri_layout layouts[TSRI_MAX_RESULTS];
  tsri_node *nodes[TSRI_MAX_RESULTS] = {tsri_node_create_results(op, device, results[0].dtype, (uint32_t)input_count,
                                                                 attributes, (uint32_t)result_count)};
  tsr_status status = nodes[0] ? take_inputs(nodes[0], inputs) : no_memory(op);
  for (int i = 0; i < result_count && status == TSR_OK; i++) {
    status = make_result(op, nodes[0], (uint32_t)i, &results[i], &layouts[i], &nodes[i]);
  }
  if (status == TSR_OK) {
    tsri_node_record_results(nodes, layouts, result_count, out_tensors);
    return;
  }
  for (int i = result_count; i-- > 0;) {
    if (nodes[i]) tsri_node_abandon(nodes[i]);
  }
  for (int i = 0; i < result_count; i++) out_tensors[i] = tsri_tensor_fail(status);
}

tsr_tensor *tsri_record_copy(tsr_tensor *input, const tsri_layout *layout) {
  tsri_layout packed = tsri_packed_layout(&input->layout);
  tsri_node *node = tsri_node_create(&tsri_op_copy, input->value->device, input->dtype, 1, NULL);
  tsr_status status = node ? take_inputs(node, &input) : no_memory(&tsri_op_copy);
  tsr_tensor *copy = finish(node, status, &packed);
  if (copy->status == TSR_OK) copy->layout = *layout;  // no other thread has the tensor yet
  return copy;
}
