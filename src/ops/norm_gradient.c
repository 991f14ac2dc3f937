// SPDX-License-Identifier: MIT
// The gradient of layer_norm and rms_norm by one native operator of a device.
#include "ops/norm_gradient.h"

#include "core/error.h"
#include "graph/node.h"
#include "runtime/native_op.h"

#include <tessera/tensor.h>

static tsri_native_op describe(const tsri_layout *x, tsr_dtype dtype, const tsri_norm_attributes *given) {
  int64_t n = x->shape.dims[x->shape.rank - 1];
  tsri_native_op op = {.kind = TSRI_NATIVE_NORM_GRADIENT, .dtype = dtype, .result = dtype};
  op.is.norm = (tsri_norm_op){.rows = x->count / n,
                              .n = n,
                              .eps = given->eps,
                              .is_centred = given->is_centred != 0,
                              .has_weight = given->has_weight != 0};
  return op;
}

// Inputs: x, g, then if given the weight and the tensor that is added to the gradient of x. Outputs: the gradients of x, weight and bias.
static tsr_status run(const tsri_kernel_run *run) {
  const tsri_norm_attributes *given = TSRI_GIVEN(run->node, norm);
  size_t element = tsr_dtype_bytes(run->dtype);
  int weight = given->has_weight ? 2 : 0, last = run->input_count - 1;
  tsri_native_op op = describe(&run->layouts[0], run->dtype, given);
  tsri_norm_op *norm = &op.is.norm;
  norm->has_bias = last > 1 && last != weight;
  norm->from.offset = (size_t)run->layouts[0].offset * element;
  norm->g.offset = (size_t)run->layouts[1].offset * element;
  norm->weight.offset = (size_t)run->layouts[weight].offset * element;
  norm->bias.offset = (size_t)run->layouts[last].offset * element;
  tsri_place_bind(&norm->from, run->inputs[0]);
  tsri_place_bind(&norm->g, run->inputs[1]);
  tsri_place_bind(&norm->weight, run->inputs[weight]);
  tsri_place_bind(&norm->bias, run->inputs[last]);
  tsri_place_bind(&norm->to, run->outputs[0]);
  tsri_place_bind(&norm->dweight, run->outputs[1]);
  tsri_place_bind(&norm->dbias, run->outputs[2]);
  tsr_buffer *const buffers[] = {run->outputs[0], run->outputs[1],     run->outputs[2],  run->inputs[0],
                                 run->inputs[1],  run->inputs[weight], run->inputs[last]};
  tsr_status status = tsri_device_run_op_writing(run->device, &op, buffers, 3, 7);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "norm: its gradient is native on one device and came to run on another");
}

const tsri_op tsri_op_norm_gradient = {.name = "norm",
                                       .kind = TSRI_OP_KERNEL,
                                       .is_for_device = true,
                                       .run = run,
                                       .attribute_set = TSRI_SET_norm,
                                       .attribute_bytes = sizeof(tsri_norm_attributes)};

bool tsri_norm_has_gradient(const tsr_tensor *x, const tsr_tensor *g, const tsr_tensor *weight) {
  const tsr_device *device = x->value->device;
  if (x->layout.count == 0 || g->value->device != device || (weight && weight->value->device != device)) return false;
  tsri_native_op op = describe(&x->layout, x->dtype, &(tsri_norm_attributes){.has_weight = weight != NULL});
  return tsri_device_takes(device, &op);
}

void tsri_norm_gradients(tsr_tensor *x, tsr_tensor *g, tsr_tensor *weight, tsr_tensor *plus,
                         const tsri_norm_attributes *given, tsr_tensor *out_gradients[3]) {
  const tsri_op *op = &tsri_op_norm_gradient;
  tsri_norm_attributes attributes = *given;
  tsr_tensor *inputs[4] = {tsr_contiguous(x), tsr_contiguous(g)};
  int count = 2;
  if (weight) inputs[count++] = tsr_contiguous(weight);
  if (plus) inputs[count++] = tsr_contiguous(plus);
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  attributes.has_bias = false;
  attributes.has_weight = weight != NULL;
  tsr_shape row = TSR_SHAPE(x->layout.shape.dims[x->layout.shape.rank - 1]);
  const tsri_result results[3] = {{x->dtype, x->layout.shape}, {x->dtype, row}, {x->dtype, row}};
  if (status == TSR_OK) {
    tsri_record_kernel_results(op, x->value->device, results, 3, inputs, count, TSRI_GIVE_ALL(op, norm, &attributes),
                               out_gradients);
  } else {
    for (int i = 0; i < 3; i++) out_gradients[i] = tsri_tensor_fail(status);
  }
  for (int i = 0; i < count; i++) tsr_release(inputs[i]);
}
