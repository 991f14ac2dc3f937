// SPDX-License-Identifier: MIT
// Convolutions over one to three spatial axes: shapes, padding, and the launch of kernels/op_conv.tk, which reads views where they lie.
#include "core/alloc.h"
#include "core/error.h"
#include "graph/node.h"
#include "ops/autocast.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/conv_depth.h"
#include "ops/conv_describe.h"
#include "ops/conv_tiles.h"
#include "ops/conv_units.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/window.h"
#include "runtime/native_op.h"

#include <tessera/ops.h>

// --- Description -----------------------------------------------------------------------------------------------------

tsri_conv_op tsri_conv_describe(const tsri_conv_attributes *given, const tsri_layout *x, const tsri_layout *w,
                                const tsri_layout *bias, tsr_shape shape, tsr_dtype dtype) {
  int spatial = x->shape.rank - 2;
  bool is_transposed = given->is_transposed != 0, is_last = given->is_last != 0;
  size_t element = tsr_dtype_bytes(dtype);
  tsri_conv_op op = {.is_transposed = is_transposed,
                     .has_bias = bias != NULL,
                     .images = x->shape.dims[0],
                     .groups = given->groups,
                     .channels = x->shape.dims[1] / given->groups,
                     .out_channels = is_transposed ? w->shape.dims[1] : w->shape.dims[0] / given->groups,
                     .x_image = x->strides[0],
                     .x_channel = x->strides[1],
                     .w_group = w->strides[0] * (w->shape.dims[0] / given->groups),
                     .w_out = w->strides[is_transposed ? 1 : 0],
                     .w_channel = w->strides[is_transposed ? 0 : 1],
                     .bias_step = bias ? bias->strides[0] : 0,
                     .x.offset = (size_t)x->offset * element,
                     .w.offset = (size_t)w->offset * element,
                     .bias.offset = bias ? (size_t)bias->offset * element : 0};
  tsri_window_axes(op.size, &x->shape.dims[2], spatial, 1);
  tsri_window_axes(op.x_axes, &x->strides[2], spatial, 0);
  tsri_window_axes(op.kernel, &w->shape.dims[2], spatial, 1);
  tsri_window_axes(op.w_axes, &w->strides[2], spatial, 0);
  tsri_window_axes(op.stride, given->stride, spatial, 1);
  tsri_window_axes(op.dilation, given->dilation, spatial, 1);
  tsri_window_axes(op.before, given->before, spatial, 0);
  tsri_window_axes(op.windows, &shape.dims[is_last ? 1 : 2], spatial, 1);
  tsri_window_strides(shape, is_last, &op.y_image, &op.y_channel, op.y_axes);
  return op;
}

tsri_layout tsri_conv_weight_layout(tsr_shape shape, bool is_last) {
  tsri_layout w = {.shape = shape, .count = 1};
  if (is_last) {
    w.strides[1] = 1;
    w.count = shape.dims[1];
  }
  for (int i = shape.rank - 1; i >= 0; i--) {
    if (is_last && i == 1) continue;
    w.strides[i] = w.count;
    w.count *= shape.dims[i];
  }
  return w;
}

bool tsri_describe_conv(const tsri_node *node, tsri_native_op *out_op) {
  const tsri_layout *x = &node->inputs[0].layout, *w = &node->inputs[1].layout;
  const tsri_layout *bias = node->input_count == 3 ? &node->inputs[2].layout : NULL;
  if (node->count == 0 || x->count == 0 || w->count == 0) return false;
  *out_op = (tsri_native_op){.kind = TSRI_NATIVE_CONV, .dtype = node->dtype, .result = node->dtype};
  out_op->is.conv = tsri_conv_describe(TSRI_GIVEN(node, conv), x, w, bias, node->shape, node->dtype);
  return true;
}

// --- Launch ----------------------------------------------------------------------------------------------------------

// Inputs: x as [image, channel, spatial …], the weight, and the bias if there is one; all of the result's dtype.
tsr_status tsri_run_conv(const tsri_kernel_run *run) {
  const tsri_conv_attributes *given = TSRI_GIVEN(run->node, conv);
  bool has_bias = run->input_count == 3, is_last = given->is_last != 0, is_transposed = given->is_transposed != 0;
  const tsri_layout *x = &run->layouts[0], *w = &run->layouts[1], *b = &run->layouts[has_bias ? 2 : 1];
  tsri_layout result = {.shape = run->shape, .count = 1};
  for (int i = 0; i < run->shape.rank; i++) result.count *= run->shape.dims[i];
  if (result.count == 0) return TSR_OK;
  tsr_status status = TSR_OK;
  for (int i = 0; i < run->input_count && status == TSR_OK; i++) {
    status = tsri_call_check(run->node->op->name, &run->layouts[i]);
  }
  if (status == TSR_OK) status = tsri_call_check(run->node->op->name, &result);
  if (status != TSR_OK) return status;
  bool is_empty = x->count == 0 || w->count == 0;
  if (!is_empty) {
    tsri_conv_op op = tsri_conv_describe(given, x, w, has_bias ? b : NULL, run->shape, run->dtype);
    if (tsri_conv_is_depthwise(run->device, &op, run->dtype)) return tsri_conv_run_direct(run, &op, is_last);
    if (tsri_conv_has_units(run->device, &op, run->dtype)) return tsri_conv_run_units(run, &op, is_last);
    if (tsri_conv_has_tiles(run->device, &op, run->dtype)) return tsri_conv_run_tiles(run, &op, is_last);
    if (tsri_conv_is_direct(run->device, &op, run->dtype)) return tsri_conv_run_direct(run, &op, is_last);
  }
  // If x or the weight has no elements, there is nothing to sum and no buffer: bind another buffer, which is not read.
  tsr_buffer *x_buffer = run->inputs[0], *w_buffer = run->inputs[1], *spare = NULL;
  if (is_empty) {
    status = tsri_call_scratch(run->device, 1, run->dtype, &spare);
    if (status != TSR_OK) return status;
    x_buffer = w_buffer = spare;
  }
  int rank = x->shape.rank, spatial = rank - 2, first = is_last ? 1 : 2;
  tsri_call call;
  tsri_call_init_hooked(&call, run, "op_conv", is_transposed ? "conv_transpose" : "conv",
                        TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                                  TSRI_CONSTANT("BIAS", has_bias), TSRI_CONSTANT("LAST", is_last)));
  tsri_call_buffer(&call, "x", x_buffer, run->dtype);
  tsri_call_buffer(&call, "w", w_buffer, run->dtype);
  tsri_call_buffer(&call, "bias", has_bias ? run->inputs[2] : w_buffer, run->dtype);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  int64_t groups = given->groups, out_channels = run->shape.dims[is_last ? rank - 1 : 1];
  tsri_call_word(&call, "n", result.count);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "w_at", w->offset);
  tsri_call_word(&call, "b_at", has_bias ? b->offset : 0);
  tsri_call_word(&call, "b_step", has_bias ? b->strides[0] : 0);
  tsri_call_word(&call, "channels", x->shape.dims[1] / groups);
  tsri_call_word(&call, "out_channels", out_channels);
  tsri_call_word(&call, "group_channels", out_channels / groups);
  tsri_window_pass(&call, "i", &x->shape.dims[2], spatial, 1);
  tsri_window_pass(&call, "k", &w->shape.dims[2], spatial, 1);
  tsri_window_pass(&call, "o", &run->shape.dims[first], spatial, 1);
  tsri_call_word(&call, "xn", x->strides[0]);
  tsri_call_word(&call, "xc", x->strides[1]);
  tsri_window_pass(&call, "x", &x->strides[2], spatial, 0);
  tsri_call_word(&call, "wn", w->strides[0]);
  tsri_call_word(&call, "wc", w->strides[1]);
  tsri_window_pass(&call, "w", &w->strides[2], spatial, 0);
  tsri_window_pass(&call, "s", given->stride, spatial, 1);
  tsri_window_pass(&call, "d", given->dilation, spatial, 1);
  tsri_window_pass(&call, "p", given->before, spatial, 0);
  status = tsri_call_items(&call, result.count);
  tsr_buffer_release(spare);
  return status;
}

// --- Shapes ----------------------------------------------------------------------------------------------------------

// The arguments of a call: x with its channels as axis 1, and the shape of the result.
typedef struct convolution {
  const tsri_op *op;
  tsri_conv_attributes given;
  tsr_shape x, w;
  int spatial;
  int64_t out_channels, sizes[TSRI_MAX_SPATIAL];  // of the result
} convolution;

static tsr_status check_ranks(const convolution *c) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  if (c->x.rank >= 3 && c->x.rank <= 2 + TSRI_MAX_SPATIAL && c->w.rank == c->x.rank) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: x is %s and the weight is %s; both have 3 to 5 axes, equally many", c->op->name,
                   tsr_shape_format(c->x, a, sizeof a), tsr_shape_format(c->w, b, sizeof b));
}

static tsr_status check_channels(convolution *c, const tsr_tensor *bias) {
  const char *name = c->op->name;
  char text[TSR_SHAPE_TEXT_BYTES];
  int64_t groups = c->given.groups, channels = c->x.dims[1];
  bool is_transposed = c->given.is_transposed != 0;
  int64_t outer = c->w.dims[0];
  if (groups < 1 || channels % groups != 0 || (!is_transposed && outer % groups != 0)) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %lld groups do not divide %lld channels into %lld", name, (long long)groups,
                     (long long)channels, (long long)outer);
  }
  int64_t wanted = is_transposed ? channels : channels / groups, is = is_transposed ? outer : c->w.dims[1];
  if (is != wanted) {
    return TSRI_FAIL(TSR_ERR_SHAPE,
                     "%s: the weight is %s; its axis %d must have %lld, for %lld channels in %lld groups", name,
                     tsr_shape_format(c->w, text, sizeof text), is_transposed ? 0 : 1, (long long)wanted,
                     (long long)channels, (long long)groups);
  }
  if (!is_transposed) {
    c->out_channels = outer;
  } else if (!tsri_mul_i64(c->w.dims[1], groups, &c->out_channels)) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %lld groups of %lld channels are too many", name, (long long)groups,
                     (long long)c->w.dims[1]);
  }
  if (!bias || (bias->layout.shape.rank == 1 && bias->layout.shape.dims[0] == c->out_channels)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: the bias is %s, the result has %lld channels", name,
                   tsr_shape_format(bias->layout.shape, text, sizeof text), (long long)c->out_channels);
}

// (size - 1) * stride - before - after + dilation * (kernel - 1) + extra + 1
static tsr_status transposed_size(const convolution *c, const tsri_window *window, int64_t extra, int axis,
                                  int64_t *out_size) {
  bool is_good = extra >= 0 && (extra == 0 || extra < window->stride || extra < window->dilation);
  int64_t size = 0;  // no overflow: each product and each other term is below 2^62
  if (is_good && window->input > 0) {
    size = (window->input - 1) * window->stride + (window->size - 1) * window->dilation + 1 + extra - window->before -
           window->after;
  }
  if (!is_good || size < 0 || size > INT32_MAX) {
    return TSRI_FAIL(TSR_ERR_SHAPE,
                     "%s: axis %d of %lld, a kernel of %lld, stride %lld, padding %lld and %lld, %lld more: no size",
                     c->op->name, axis, (long long)window->input, (long long)window->size, (long long)window->stride,
                     (long long)window->before, (long long)window->after, (long long)extra);
  }
  *out_size = size;
  return TSR_OK;
}

static tsr_status measure(convolution *c, const tsr_conv_desc *desc) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < c->spatial && status == TSR_OK; i++) {
    tsri_window window = {.input = c->x.dims[2 + i],
                          .size = c->w.dims[2 + i],
                          .stride = desc->stride[i] ? desc->stride[i] : 1,
                          .dilation = desc->dilation[i] ? desc->dilation[i] : 1,
                          .before = desc->before[i],
                          .after = desc->after[i]};
    status = tsri_window_check(c->op->name, &window, i);
    if (status != TSR_OK) return status;
    if (desc->padding != TSR_PADDING_GIVEN) tsri_window_pad_same(&window, desc->padding == TSR_PADDING_SAME_BEFORE);
    status = c->given.is_transposed ? transposed_size(c, &window, desc->output_padding[i], i, &c->sizes[i])
                                    : tsri_window_count(c->op->name, &window, false, i, &c->sizes[i]);
    c->given.stride[i] = window.stride;
    c->given.dilation[i] = window.dilation;
    c->given.before[i] = window.before;
  }
  return status;
}

static tsr_status check_desc(const convolution *c, const tsr_conv_desc *desc) {
  if ((unsigned)desc->padding > TSR_PADDING_SAME_BEFORE) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: there is no padding %d", c->op->name, (int)desc->padding);
  }
  bool has_extra = false, has_padding = false;
  for (int i = 0; i < TSRI_MAX_SPATIAL; i++) {
    has_extra = has_extra || desc->output_padding[i] != 0;
    has_padding = has_padding || desc->before[i] != 0 || desc->after[i] != 0;
  }
  if (has_extra && !c->given.is_transposed) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: does not read .output_padding of the description", c->op->name);
  }
  if (desc->padding == TSR_PADDING_GIVEN) return TSR_OK;
  if (c->given.is_transposed) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "%s: has no padding that is worked out (.padding); give .before and .after", c->op->name);
  }
  if (!has_padding) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: .padding is worked out, and yet .before or .after is given",
                   c->op->name);
}

static tsr_shape result_shape(const convolution *c) {
  tsr_shape shape = {.rank = c->x.rank, .dims = {c->x.dims[0]}};
  int at = 1;
  if (!c->given.is_last) shape.dims[at++] = c->out_channels;
  for (int i = 0; i < c->spatial; i++) shape.dims[at++] = c->sizes[i];
  if (c->given.is_last) shape.dims[at] = c->out_channels;
  return shape;
}

// --- Recording -------------------------------------------------------------------------------------------------------

// Whether the device has a native convolution for an x and weights with the layouts `x` and `w`. is_copied: as in tsri_conv_op.
static bool takes(const convolution *c, const tsr_device *device, const tsri_layout *x, const tsri_layout *w,
                  const tsr_tensor *bias, tsr_shape shape, tsr_dtype dtype, bool is_copied) {
  if (x->count == 0 || w->count == 0 || c->out_channels == 0) return false;
  tsri_native_op op = {.kind = TSRI_NATIVE_CONV, .dtype = dtype, .result = dtype};
  op.is.conv = tsri_conv_describe(&c->given, x, w, bias ? &bias->layout : NULL, shape, dtype);
  op.is.conv.is_copied = is_copied;
  for (int i = 0; i < shape.rank; i++) {
    if (shape.dims[i] == 0) return false;
  }
  return tsri_device_takes(device, &op);
}

// Without a bias: `record` finds out whether the device adds it.
static bool is_native_with(const convolution *c, const tsr_device *device, const tsri_layout *x, const tsri_layout *w,
                           tsr_shape shape, tsr_dtype dtype) {
  return takes(c, device, x, w, NULL, shape, dtype, false);
}

// The weights as `dtype`. If channels are last in x, and the native convolution needs weights in the same order, they are also reordered in memory, by the
// kernel that casts them if there is one.
static tsr_tensor *weights_as(const convolution *c, const tsr_tensor *x, tsr_tensor *weight, tsr_shape shape,
                              tsr_dtype dtype) {
  tsr_tensor *cast = tsr_cast(weight, dtype);
  if (!c->given.is_last || cast->status != TSR_OK || x->status != TSR_OK) return cast;
  tsri_layout turned = tsri_conv_weight_layout(cast->layout.shape, true);
  bool is_as_wanted = cast->value->device != x->value->device ||
                      is_native_with(c, x->value->device, &x->layout, &cast->layout, shape, dtype) ||
                      !is_native_with(c, x->value->device, &x->layout, &turned, shape, dtype);
  if (is_as_wanted) return cast;
  tsr_tensor *last = tsr_moveaxis(cast, 1, -1), *copy = tsr_contiguous(last);
  return tsri_then(tsri_then(tsri_then(tsr_moveaxis(copy, -1, 1), copy), last), cast);
}

static tsr_dtype dtype_of(const convolution *c, const tsr_tensor *x, const tsr_tensor *weight, const tsr_tensor *bias) {
  tsr_dtype dtype = tsri_promote(x->dtype, weight->dtype);
  if (bias) dtype = tsri_promote(dtype, bias->dtype);
  return tsri_autocast(c->op, dtype);
}

// x as `dtype`. If channels must be last but are not last in memory, and the device has a native convolution only for that, x is copied to that order. This
// happens to gradients, which arrive in the order that the operators after the convolution used.
static tsr_tensor *x_as(const convolution *c, tsr_tensor *x, tsr_shape shape, tsr_dtype dtype) {
  tsr_tensor *cast = tsr_cast(x, dtype);
  if (!c->given.is_last || cast->status != TSR_OK) return cast;
  tsri_layout packed = tsri_conv_weight_layout(c->x, true), w = tsri_conv_weight_layout(c->w, true);
  const tsr_device *device = cast->value->device;
  if (is_native_with(c, device, &cast->layout, &w, shape, dtype)) return cast;
  if (!is_native_with(c, device, &packed, &w, shape, dtype)) return cast;
  tsr_tensor *last = tsr_moveaxis(cast, 1, -1), *copy = tsr_contiguous(last);
  return tsri_then(tsri_then(tsri_then(tsr_moveaxis(copy, -1, 1), copy), last), cast);
}

// result + bias. The result's channels are its last axis, or axis 1.
static tsr_tensor *add_bias(const convolution *c, tsr_tensor *result, tsr_tensor *bias) {
  tsr_tensor *column =
      tsr_reshape(bias, (tsr_shape){.rank = c->given.is_last ? 1 : 1 + c->spatial, .dims = {c->out_channels, 1, 1, 1}});
  return tsri_then(tsr_add(result, column), column);
}

// If the device has a native convolution for the operands, but none with a bias, an operator of its own adds the bias.
static tsr_tensor *record(const convolution *c, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  const tsri_op *op = c->op;
  tsr_shape shape = result_shape(c);
  tsr_dtype dtype = dtype_of(c, x, weight, bias);
  tsr_tensor *inputs[3] = {x_as(c, x, shape, dtype), NULL, bias ? tsr_cast(bias, dtype) : NULL};
  inputs[1] = weights_as(c, inputs[0], weight, shape, dtype);
  int count = bias ? 3 : 2;
  tsr_device *device = NULL;
  tsr_status status = tsri_shape_check(op->name, shape, &(int64_t){0});
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, count, &device);
  const tsri_layout *seen_x = &inputs[0]->layout, *seen_w = &inputs[1]->layout;
  bool is_apart = status == TSR_OK && bias && is_native_with(c, device, seen_x, seen_w, shape, dtype) &&
                  !takes(c, device, seen_x, seen_w, inputs[2], shape, dtype, false);
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, device, dtype, shape, inputs, is_apart ? 2 : count,
                                                             TSRI_GIVE_ALL(op, conv, &c->given))
                                        : tsri_tensor_fail(status);
  if (is_apart) result = tsri_then(add_bias(c, result, inputs[2]), result);
  for (int i = 0; i < count; i++) tsr_release(inputs[i]);
  return tsri_tensor_named(op->name, result);
}

static tsri_conv_op describe(const convolution *c, const tsri_layout *x, const tsri_layout *w, const tsr_tensor *bias,
                             tsr_dtype dtype) {
  return tsri_conv_describe(&c->given, x, w, bias ? &bias->layout : NULL, result_shape(c), dtype);
}

static bool has_elements(const convolution *c, const tsr_tensor *x, const tsr_tensor *weight) {
  bool has_results = c->out_channels > 0;
  for (int i = 0; i < c->spatial; i++) has_results = has_results && c->sizes[i] > 0;
  return has_results && x->layout.count > 0 && weight->layout.count > 0;
}

// Whether the elements of x are in memory with channels last, and not (because of axes of one element) in the usual order as well.
static bool is_last_in_memory(const tsr_tensor *x) {
  tsri_layout last = tsri_conv_weight_layout(x->layout.shape, true);
  bool is_last = !tsr_tensor_is_contiguous(x);
  for (int i = 0; i < x->layout.shape.rank; i++) {
    is_last = is_last && (x->layout.shape.dims[i] == 1 || x->layout.strides[i] == last.strides[i]);
  }
  return is_last;
}

// Whether to compute with channels last in memory. The result keeps this order in memory, so that the next convolution needs no copy. Libraries have faster
// kernels for it; the kernel for depthwise convolutions is as fast in both orders, so x stays as it is.
static bool prefers_last(const convolution *c, const tsr_tensor *x, const tsr_tensor *weight, const tsr_tensor *bias) {
  tsri_graph_state *state = NULL;
  const tsr_device *device = x->value->device;
  if (c->given.is_last || !has_elements(c, x, weight)) return false;
  if (tsri_graph_state_for(x->value->device, &state) != TSR_OK) return false;
  tsr_dtype dtype = dtype_of(c, x, weight, bias);
  tsri_conv_op op = describe(c, &x->layout, &weight->layout, bias, dtype);
  if (tsri_conv_is_depthwise(device, &op, dtype)) return c->given.groups > 1 && is_last_in_memory(x);
  if (!state->tuning.conv_channels_last) return false;
  convolution turned = *c;
  turned.given.is_last = true;
  tsri_layout x_last = tsri_conv_weight_layout(c->x, true), w_last = tsri_conv_weight_layout(c->w, true);
  bool is_copied = !is_last_in_memory(x) && tsr_tensor_is_contiguous(x) && tsr_tensor_is_contiguous(weight);
  return takes(&turned, device, &x_last, &w_last, NULL, result_shape(&turned), dtype, is_copied);
}

// Convolves with channels last in memory, and returns a view of the result with channels as axis 1.
static tsr_tensor *record_last(convolution *c, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  c->given.is_last = true;
  tsr_tensor *last = tsr_moveaxis(x, 1, -1), *packed = tsr_contiguous(last), *seen = tsr_moveaxis(packed, -1, 1);
  tsr_status status = tsri_tensor_check(c->op->name, seen);
  tsr_tensor *result = status == TSR_OK ? record(c, seen, weight, bias) : tsri_tensor_fail(status);
  tsri_release_all((tsr_tensor *[]){last, packed, seen}, 3);
  return tsri_then(tsr_moveaxis(result, -1, 1), result);
}

// --- As a product ------------------------------------------------------------------------------------------------------

// Whether the convolution is a matrix product: the kernel has one element, and there are no strides, no padding and no groups, so each result is a sum over
// channels alone. GPUs have faster kernels for matrix products.
static bool is_product(const convolution *c, const tsr_tensor *x, tsr_dtype dtype) {
  bool is_plain = c->given.groups == 1 && tsri_dtype_is_float(dtype) && x->layout.count > 0 && c->out_channels > 0;
  for (int i = 0; i < c->spatial; i++) {
    is_plain = is_plain && c->w.dims[2 + i] == 1 && c->given.stride[i] == 1 && c->sizes[i] == c->x.dims[2 + i] &&
               c->given.before[i] == 0;
  }
  return is_plain && tsri_call_tuning(x->value->device)->conv_depth != 0;
}

static int64_t positions_of(const convolution *c) {
  int64_t positions = 1;
  for (int i = 0; i < c->spatial; i++) positions *= c->x.dims[2 + i];
  return positions;
}

// The weights as a matrix, [channels of the result, channels of x].
static tsr_tensor *weights_as_matrix(const convolution *c, tsr_tensor *weight) {
  bool is_transposed = c->given.is_transposed != 0;
  tsr_tensor *matrix = tsr_reshape(weight, TSR_SHAPE(c->w.dims[0], c->w.dims[1]));
  return is_transposed ? tsri_then(tsr_transpose(matrix, 0, 1), matrix) : matrix;
}

// Matrix product for channels last: rows of channels times the weights. The result has the memory order of x.
static tsr_tensor *multiply_last(const convolution *c, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  tsr_shape shape = {.rank = c->x.rank, .dims = {c->x.dims[0]}};
  for (int i = 0; i < c->spatial; i++) shape.dims[1 + i] = c->x.dims[2 + i];
  shape.dims[shape.rank - 1] = c->out_channels;
  tsr_tensor *rows = tsr_reshape(x, TSR_SHAPE(c->x.dims[0] * positions_of(c), c->x.dims[1]));
  tsr_tensor *product = tsr_linear(rows, weight, bias, NULL), *last = tsr_reshape(product, shape);
  tsri_release_all((tsr_tensor *[]){rows, product}, 2);
  return c->given.is_last ? last : tsri_then(tsr_moveaxis(last, -1, 1), last);
}

// Matrix product for channels first: the weights times the [channels, positions] plane of each image, and the bias of each channel.
static tsr_tensor *multiply_planes(const convolution *c, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  tsr_tensor *planes = tsr_reshape(x, TSR_SHAPE(c->x.dims[0], c->x.dims[1], positions_of(c)));
  tsr_tensor *product = tsr_matmul(weight, planes), *result = tsr_reshape(product, result_shape(c));
  tsri_release_all((tsr_tensor *[]){planes, product}, 2);
  return bias ? tsri_then(add_bias(c, result, bias), result) : result;
}

// Whether planes are good matrix operands: at least about as large as a tile, with rows aligned as the device's products need.
static bool has_good_planes(const convolution *c, const tsr_tensor *x) {
  enum { LEAST_POSITIONS = 64 };
  const tsri_tuning *tuning = tsri_call_tuning(x->value->device);
  int64_t bytes = positions_of(c) * (int64_t)tsr_dtype_bytes(x->dtype);
  bool is_narrow = tsr_dtype_bytes(x->dtype) == 2 && tuning->product_alignment != 0;
  return !c->given.is_last && positions_of(c) >= LEAST_POSITIONS && tsr_tensor_is_contiguous(x) &&
         (!is_narrow || bytes % tuning->product_alignment == 0);
}

// Computes a convolution that is_product. Returns NULL if x would have to be copied first.
static tsr_tensor *multiply(const convolution *c, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  tsr_dtype dtype = dtype_of(c, x, weight, bias);
  tsr_tensor *cast = tsr_cast(x, dtype), *last = tsr_moveaxis(cast, 1, -1), *as = tsr_cast(weight, dtype),
             *matrix = weights_as_matrix(c, as), *added = bias ? tsr_cast(bias, dtype) : NULL, *result = NULL;
  // Only a library's product and an addition are faster than tiles that add the bias themselves: 64 x 3 x 28^3 to 100 takes 623 us in tiles through Vulkan on
  // an H200, 1229 as a product.
  bool has_library = tsri_call_tuning(x->value->device)->conv_channels_last != 0;
  if (tsr_tensor_is_contiguous(last)) result = multiply_last(c, last, matrix, added);
  else if ((!bias || has_library) && has_good_planes(c, cast)) result = multiply_planes(c, cast, matrix, added);
  tsri_release_all((tsr_tensor *[]){cast, last, as, matrix, added}, 5);
  return result ? tsri_tensor_named(c->op->name, result) : NULL;
}

// --- A transposed convolution as a convolution --------------------------------------------------------------------------

// Describes a transposed convolution without strides and groups as a convolution: weights are reversed along each axis, and their first two axes change places.
// Returns false if it has strides or groups, or more padding than a kernel reaches.
static bool turn(const convolution *c, convolution *out, tsr_conv_desc *out_desc) {
  *out = *c;
  out->op = TSRI_BODY(conv);
  out->given.is_transposed = false;
  out->w.dims[0] = c->w.dims[1];
  out->w.dims[1] = c->w.dims[0];
  *out_desc = (tsr_conv_desc){.groups = 1};
  bool is_plain = c->given.is_transposed && c->given.groups == 1 && !c->given.is_last;
  for (int i = 0; i < c->spatial; i++) {
    int64_t reach = (c->w.dims[2 + i] - 1) * c->given.dilation[i];
    out->given.before[i] = out_desc->before[i] = reach - c->given.before[i];
    out_desc->after[i] = c->sizes[i] + reach - c->x.dims[2 + i] - out_desc->before[i];
    out_desc->dilation[i] = c->given.dilation[i];
    is_plain = is_plain && c->given.stride[i] == 1 && out_desc->before[i] >= 0 && out_desc->after[i] >= 0;
  }
  return is_plain;
}

// Computes a transposed convolution as a convolution, if the device has a native one only for the latter. Returns NULL if not.
static tsr_tensor *convolve_turned(const convolution *c, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  convolution turned;
  tsr_conv_desc desc;
  if (!has_elements(c, x, weight) || !turn(c, &turned, &desc)) return NULL;
  tsr_dtype dtype = dtype_of(c, x, weight, bias);
  const tsr_device *device = x->value->device;
  tsri_layout w = tsri_conv_weight_layout(c->w, false), w_turned = tsri_conv_weight_layout(turned.w, false);
  tsr_shape shape = result_shape(c);
  if (is_native_with(c, device, &x->layout, &w, shape, dtype) ||
      !is_native_with(&turned, device, &x->layout, &w_turned, shape, dtype)) {
    return NULL;
  }
  int axes[TSRI_MAX_SPATIAL];
  for (int i = 0; i < c->spatial; i++) axes[i] = 2 + i;
  tsr_tensor *swapped = tsr_transpose(weight, 0, 1), *reversed = tsr_flip_axes(swapped, axes, c->spatial),
             *packed = tsr_contiguous(reversed);
  tsr_tensor *result = tsr_conv(x, packed, bias, &desc);
  tsri_release_all((tsr_tensor *[]){swapped, reversed, packed}, 3);
  return tsri_tensor_named(c->op->name, result);
}

// Records the convolution, natively or by a kernel. x has its channels as axis 1.
static tsr_tensor *convolve(convolution *c, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias,
                            const tsr_conv_desc *desc) {
  c->x = x->layout.shape;
  c->w = weight->layout.shape;
  c->spatial = c->x.rank - 2;
  tsr_status status = check_ranks(c);
  if (status == TSR_OK) status = check_desc(c, desc);
  if (status == TSR_OK) status = check_channels(c, bias);
  if (status == TSR_OK) status = measure(c, desc);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *product = is_product(c, x, dtype_of(c, x, weight, bias)) ? multiply(c, x, weight, bias) : NULL;
  if (product) return product;
  bool is_last = prefers_last(c, x, weight, bias);
  tsr_tensor *turned = is_last ? NULL : convolve_turned(c, x, weight, bias);
  if (turned) return turned;
  return is_last ? record_last(c, x, weight, bias) : record(c, x, weight, bias);
}

static tsr_tensor *start(const tsri_op *op, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias,
                         const tsr_conv_desc *desc, bool is_transposed) {
  static const tsr_conv_desc usual;
  if (!desc) desc = &usual;
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, weight);
  if (status == TSR_OK && bias) status = tsri_tensor_check(op->name, bias);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (x->dtype == TSR_BOOL || weight->dtype == TSR_BOOL || (bias && bias->dtype == TSR_BOOL)) {
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_DTYPE, "%s: takes numbers, not bool", op->name));
  }
  convolution c = {
      .op = op,
      .given = {
          .groups = desc->groups ? desc->groups : 1, .is_last = desc->channels_last, .is_transposed = is_transposed}};
  if (!desc->channels_last || x->layout.shape.rank < 2) return convolve(&c, x, weight, bias, desc);
  tsr_tensor *turned = tsr_moveaxis(x, -1, 1);
  status = tsri_tensor_check(op->name, turned);
  if (status != TSR_OK) return tsri_tensor_named(op->name, turned);
  return tsri_then(convolve(&c, turned, weight, bias, desc), turned);
}

tsr_tensor *tsr_conv(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, const tsr_conv_desc *desc) {
  return start(TSRI_BODY(conv), x, weight, bias, desc, false);
}

tsr_tensor *tsr_conv_transpose(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, const tsr_conv_desc *desc) {
  return start(TSRI_BODY(conv_transpose), x, weight, bias, desc, true);
}
