// SPDX-License-Identifier: MIT
#include "ops/matmul_i8.h"

#include "graph/node.h"
#include "graph/strided.h"
#include "ops/call.h"

// The shape of an input with its elements next to each other along k, which is its last axis or the one before it.
static tsri_layout along_k(const tsri_layout *from, bool k_is_last) {
  tsri_layout row_layout = {.shape = from->shape, .count = from->count};
  int rank = from->shape.rank, k = k_is_last ? rank - 1 : rank - 2, other = k_is_last ? rank - 2 : rank - 1;
  int64_t step = 1;
  const int order[] = {k, other};
  for (int i = 0; i < 2; i++) {
    row_layout.strides[order[i]] = step;
    step *= from->shape.dims[order[i]];
  }
  for (int axis = rank - 3; axis >= 0; axis--) {
    row_layout.strides[axis] = step;
    step *= from->shape.dims[axis];
  }
  return row_layout;
}

static bool is_along_k(const tsri_layout *layout, bool k_is_last) {
  return layout->strides[layout->shape.rank - (k_is_last ? 1 : 2)] == 1;
}

// The product as devices know it, without memory. `layouts`: how the two will lie.
static tsri_native_op native_op(const tsri_layout *const *from, tsr_shape shape, tsri_layout *layouts) {
  tsri_layout result = {0};
  tsri_native_op op = {.name = "matmul", .input_count = 2, .alpha = 1};
  (void)tsri_layout_init("matmul", shape, TSR_I32, &result, NULL);  // cannot fail: the result has this shape already
  for (int i = 0; i < 2; i++) {
    layouts[i] = is_along_k(from[i], i == 0) ? *from[i] : along_k(from[i], i == 0);
    op.inputs[i] = tsri_operand_of(NULL, TSR_I8, &layouts[i]);
  }
  op.output = tsri_operand_of(NULL, TSR_I32, &result);
  return op;
}

// Devices that multiply bytes take four at a time.
static bool is_by_four(tsr_shape result, const tsri_layout *a) {
  int rank = result.rank;
  return result.dims[rank - 1] % 4 == 0 && result.dims[rank - 2] % 4 == 0 && a->shape.dims[a->shape.rank - 1] % 4 == 0;
}

bool tsri_matmul_i8_is_native(const tsri_node *node) {
  const tsr_device *device = node->value.device;
  const tsri_layout *from[] = {&node->inputs[0].layout, &node->inputs[1].layout};
  tsri_layout layouts[2];
  if (!device->backend->has_op || node->attributes->scalar_count > 0 || !is_by_four(node->shape, from[0])) return false;
  tsri_native_op op = native_op(from, node->shape, layouts);
  return device->backend->has_op(device->handle, &op);
}

// --- Running ----------------------------------------------------------------------------------------------------------

enum { A, B, SUMS, BUFFERS };

// The input itself, or a copy along k.
static tsr_status bring(const tsri_kernel_run *run, int i, const tsri_layout *layout, tsri_operand *operand,
                        tsr_buffer **out_buffer) {
  tsr_status status = TSR_OK;
  if (is_along_k(&run->layouts[i], i == 0)) {
    *out_buffer = tsr_buffer_retain(run->inputs[i]);
  } else {
    tsri_view view = {.buffer = run->inputs[i], .layout = run->layouts[i], .dtype = TSR_I8};
    status = tsri_call_scratch(run->device, layout->count, TSR_I8, out_buffer);
    if (status == TSR_OK) status = tsri_strided_kernels(&view, *out_buffer, layout);
  }
  if (status != TSR_OK) return status;
  tsri_operand_bind(operand, *out_buffer);
  return TSR_OK;
}

static tsr_status take_low_bytes(const tsri_kernel_run *run, tsr_buffer *sums, int64_t count) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_matmul", "low_bytes", "WG=256");
  tsri_call_buffer(&call, "sums", sums, TSR_I32);
  tsri_call_buffer(&call, "y", run->output, TSR_I8);
  tsri_call_word(&call, "count", count);
  return tsri_call_items(&call, count / 4);
}

static tsr_status run_op(const tsri_kernel_run *run, tsri_native_op *op, const tsri_layout *layouts,
                         tsr_buffer **buffers) {
  int64_t count = 1;
  for (int i = 0; i < run->shape.rank; i++) count *= run->shape.dims[i];
  tsr_status status = tsri_call_scratch(run->device, count, TSR_I32, &buffers[SUMS]);
  for (int i = A; i <= B && status == TSR_OK; i++) {
    status = bring(run, i, &layouts[i], &op->inputs[i], &buffers[i]);
  }
  if (status == TSR_ERR_OUT_OF_MEMORY) return TSR_ERR_UNSUPPORTED;  // the portable kernel needs none
  if (status != TSR_OK) return status;
  tsri_operand_bind(&op->output, buffers[SUMS]);
  status = tsri_device_run_op(run->device, op, buffers, BUFFERS);
  return status == TSR_OK ? take_low_bytes(run, buffers[SUMS], count) : status;
}

tsr_status tsri_matmul_i8(const tsri_kernel_run *run) {
  const tsri_backend *backend = run->device->backend;
  const tsri_layout *from[] = {&run->layouts[0], &run->layouts[1]};
  tsr_buffer *buffers[BUFFERS] = {NULL};
  tsri_layout layouts[2];
  if (!backend->has_op || run->epilogue || run->attributes->scalar_count > 0 || !is_by_four(run->shape, from[0])) {
    return TSR_ERR_UNSUPPORTED;
  }
  tsri_native_op op = native_op(from, run->shape, layouts);
  if (!backend->has_op(run->device->handle, &op)) return TSR_ERR_UNSUPPORTED;
  tsr_status status = run_op(run, &op, layouts, buffers);
  for (int i = 0; i < BUFFERS; i++) tsr_buffer_release(buffers[i]);
  return status;
}
