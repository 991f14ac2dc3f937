// SPDX-License-Identifier: MIT
// Records operators that compute the gradients of an attention, and says where these write them.
#include <string.h>

#include "graph/graph.h"
#include "graph/node.h"
#include "ops/attention_native.h"

#include <tessera/ops.h>

static tsr_shape with_heads_inside(tsr_shape shape) {
  return TSR_SHAPE(shape.dims[0], shape.dims[2], shape.dims[1], shape.dims[3]);
}

tsri_gradient_place tsri_attention_gradient_place(const tsri_kernel_run *run, int which) {
  const tsri_layout *layout = &run->node->inputs[which].layout;
  const int64_t *dims = layout->shape.dims;
  tsri_gradient_place place = {.strides = {dims[1] * dims[2] * dims[3], dims[3], dims[1] * dims[3]}};
  if (run->output_count == 1) {
    place.offset = layout->offset;
    memcpy(place.strides, layout->strides, sizeof place.strides);
  } else {
    place.output = which < run->output_count ? which : 1;
    if (which > place.output) place.offset = run->node->inputs[1].layout.count;
  }
  return place;
}

// The shapes of the results of a gradient operator (tsri_attention_record_gradient). Returns how many there are.
static int describe_results(tsr_tensor *const *inputs, bool is_joined, bool is_tiled, tsri_result out_results[3]) {
  int64_t counts[3];
  for (int i = 0; i < 3; i++) {
    counts[i] = inputs[i]->layout.count;
    out_results[i] = (tsri_result){inputs[0]->dtype, with_heads_inside(inputs[i]->layout.shape)};
  }
  if (is_joined) out_results[0].shape = TSR_SHAPE(counts[0] + counts[1] + counts[2]);
  else if (is_tiled) out_results[1].shape = TSR_SHAPE(counts[1] + counts[2]);
  return is_joined ? 1 : is_tiled ? 2 : 3;
}

// Gives the gradients of q, k and v as views of one joined result.
static void see_joined(tsr_tensor *const *inputs, tsr_tensor *result, tsr_tensor *out_gradients[3]) {
  for (int i = 0; i < 3; i++)
    out_gradients[i] = result->status == TSR_OK ? tsri_tensor_view(result, &inputs[i]->layout) : result;
}

static void see_apart(tsr_tensor *const *inputs, int count, tsr_tensor **results, tsr_tensor *out_gradients[3]) {
  int64_t first = inputs[1]->layout.count;
  if (count == 2) {
    results[2] = tsr_slice(results[1], 0, first, INT64_MAX, 1);
    results[1] = tsr_slice(results[1], 0, 0, first, 1);
  }
  for (int i = 0; i < 3; i++)
    out_gradients[i] = tsr_transpose(tsr_reshape(results[i], with_heads_inside(inputs[i]->layout.shape)), 1, 2);
}

void tsri_attention_record_gradient(const tsri_op *op, tsr_tensor *const *inputs, int input_count,
                                    const tsri_attention_attributes *given, bool is_joined, bool is_tiled,
                                    tsr_tensor *out_gradients[3]) {
  tsri_result shapes[3];
  tsr_tensor *results[3];
  tsr_device *device = inputs[0]->value->device;
  int count = describe_results(inputs, is_joined, is_tiled, shapes);
  if (count == 1) {
    tsr_tensor *result = tsri_record_kernel(op, device, shapes[0].dtype, shapes[0].shape, inputs, input_count,
                                            TSRI_GIVE_ALL(op, attention, given));
    see_joined(inputs, result, out_gradients);
    return;
  }
  tsri_record_kernel_results(op, device, shapes, count, inputs, input_count, TSRI_GIVE_ALL(op, attention, given),
                             results);
  see_apart(inputs, count, results, out_gradients);
}
