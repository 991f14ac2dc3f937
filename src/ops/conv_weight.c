// SPDX-License-Identifier: MIT
// The gradient of a convolution by its weights: by the device's native operator, by the kernel for depthwise convolutions (conv_depth.h), or by a simple kernel
// (conv_weight of kernels/op_conv.tk).
#include "ops/conv_weight.h"

#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/conv_depth.h"
#include "ops/conv_describe.h"
#include "ops/promote.h"
#include "ops/window.h"
#include "runtime/native_op.h"

#include <tessera/ops.h>

// The layout of the weights: [channels of the result, channels of a group of x, spatial …].
static tsri_layout layout_of(tsr_shape x, tsr_shape g, const tsri_conv_attributes *given, const int64_t *kernel) {
  tsr_shape shape = {.rank = x.rank, .dims = {g.dims[1], x.dims[1] / given->groups}};
  for (int i = 2; i < x.rank; i++) shape.dims[i] = kernel[i - 2];
  return tsri_conv_weight_layout(shape, given->is_last != 0);
}

// The shape of the weights in memory, where the channels of x may come last.
static tsr_shape memory_shape(const tsri_layout *w, bool is_last) {
  tsr_shape shape = w->shape;
  for (int i = 1; i < shape.rank && is_last; i++) shape.dims[i] = w->shape.dims[i == shape.rank - 1 ? 1 : i + 1];
  return shape;
}

static tsri_native_op describe(const tsri_conv_attributes *given, const tsri_layout *x, const tsri_layout *g,
                               const tsri_layout *w, tsr_dtype dtype) {
  bool is_last = given->is_last != 0;
  int spatial = g->shape.rank - 2;
  tsr_shape result = {.rank = g->shape.rank, .dims = {g->shape.dims[0]}};
  for (int i = 0; i < spatial; i++) result.dims[(is_last ? 1 : 2) + i] = g->shape.dims[2 + i];
  result.dims[is_last ? 1 + spatial : 1] = g->shape.dims[1];
  tsri_native_op op = {.kind = TSRI_NATIVE_CONV_WEIGHT, .dtype = dtype, .result = dtype};
  op.is.conv = tsri_conv_describe(given, x, w, NULL, result, dtype);
  op.is.conv.y_image = g->strides[0];
  op.is.conv.y_channel = g->strides[1];
  tsri_window_axes(op.is.conv.y_axes, &g->strides[2], spatial, 0);
  op.is.conv.y.offset = (size_t)g->offset * tsr_dtype_bytes(dtype);
  return op;
}

static bool is_depthwise(const tsr_device *device, const tsri_native_op *op) {
  return op->is.conv.groups != 1 && tsri_conv_weight_is_depthwise(device, &op->is.conv, op->dtype);
}

bool tsri_conv_weight_has_kernel(const tsr_tensor *x, const tsr_tensor *g, const tsri_conv_attributes *given,
                                 const int64_t *kernel) {
  tsri_layout w = layout_of(x->layout.shape, g->layout.shape, given, kernel);
  const tsr_device *device = x->value->device;
  if (given->is_transposed || x->dtype != g->dtype || x->layout.count == 0 || g->layout.count == 0 ||
      device != g->value->device) {
    return false;
  }
  tsri_native_op op = describe(given, &x->layout, &g->layout, &w, x->dtype);
  return is_depthwise(device, &op) || tsri_device_takes(device, &op);
}

// Inputs: x and the gradient by the result, both [image, channel, spatial …]. If a native operator (such as cuDNN's) fails at run time, falls back to the
// simple kernel, in which one item sums all products of a weight.
static tsr_status run(const tsri_kernel_run *run) {
  const tsri_conv_attributes *given = TSRI_GIVEN(run->node, conv);
  const tsri_layout *x = &run->layouts[0], *g = &run->layouts[1];
  bool is_last = given->is_last != 0;
  tsri_layout w = layout_of(x->shape, g->shape, given, &run->shape.dims[is_last ? 1 : 2]);
  if (w.count == 0) return TSR_OK;
  if (x->count == 0 || g->count == 0) return tsri_call_zero(run);
  tsri_native_op op = describe(given, x, g, &w, run->dtype);
  tsr_status status = TSR_OK;
  if (is_depthwise(run->device, &op)) {
    status = tsri_call_check(run->node->op->name, x);
    if (status == TSR_OK) status = tsri_call_check(run->node->op->name, g);
    return status == TSR_OK ? tsri_conv_run_depthwise_weight(run, &op.is.conv) : status;
  }
  tsri_place_bind(&op.is.conv.x, run->inputs[0]);
  tsri_place_bind(&op.is.conv.y, run->inputs[1]);
  tsri_place_bind(&op.is.conv.w, run->output);
  status = tsri_device_run_op(run->device, &op, (tsr_buffer *const[]){run->output, run->inputs[0], run->inputs[1]}, 3);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = tsri_call_check(run->node->op->name, x);
  if (status == TSR_OK) status = tsri_call_check(run->node->op->name, g);
  if (status != TSR_OK) return status;
  int spatial = x->shape.rank - 2;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_conv", "conv_weight",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                           TSRI_CONSTANT("LAST", is_last)));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "g", run->inputs[1], run->dtype);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", w.count);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "g_at", g->offset);
  tsri_call_word(&call, "images", x->shape.dims[0]);
  tsri_call_word(&call, "channels", op.is.conv.channels);
  tsri_call_word(&call, "group_channels", op.is.conv.out_channels);
  tsri_window_pass(&call, "i", &x->shape.dims[2], spatial, 1);
  tsri_window_pass(&call, "k", &w.shape.dims[2], spatial, 1);
  tsri_window_pass(&call, "o", &g->shape.dims[2], spatial, 1);
  tsri_call_word(&call, "xn", x->strides[0]);
  tsri_call_word(&call, "xc", x->strides[1]);
  tsri_window_pass(&call, "x", &x->strides[2], spatial, 0);
  tsri_call_word(&call, "gn", g->strides[0]);
  tsri_call_word(&call, "gc", g->strides[1]);
  tsri_window_pass(&call, "g", &g->strides[2], spatial, 0);
  tsri_window_pass(&call, "s", given->stride, spatial, 1);
  tsri_window_pass(&call, "d", given->dilation, spatial, 1);
  tsri_window_pass(&call, "p", given->before, spatial, 0);
  return tsri_call_items(&call, w.count);
}

const tsri_op tsri_op_conv_weight = {.name = "conv",
                                     .kind = TSRI_OP_KERNEL,
                                     .is_for_device = true,
                                     .run = run,
                                     .attribute_set = TSRI_SET_conv,
                                     .attribute_bytes = sizeof(tsri_conv_attributes)};

tsr_tensor *tsri_conv_weight(tsr_tensor *x, tsr_tensor *g, const tsri_conv_attributes *given, const int64_t *kernel) {
  const tsri_op *op = &tsri_op_conv_weight;
  tsr_tensor *inputs[2] = {x, g};
  tsr_device *device = NULL;
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, g);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, 2, &device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  bool is_last = given->is_last != 0;
  tsri_layout w = layout_of(x->layout.shape, g->layout.shape, given, kernel);
  tsr_tensor *found =
      tsri_record_kernel(op, device, x->dtype, memory_shape(&w, is_last), inputs, 2, TSRI_GIVE_ALL(op, conv, given));
  return is_last ? tsri_then(tsr_moveaxis(found, -1, 1), found) : found;
}
