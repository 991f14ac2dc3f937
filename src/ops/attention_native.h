// SPDX-License-Identifier: MIT
// Attention and its gradient as native operators of a device.
#ifndef TSRI_OPS_ATTENTION_NATIVE_H
#define TSRI_OPS_ATTENTION_NATIVE_H

#include "ops/operators.h"

// Whether the device computes an attention natively.
bool tsri_attention_is_native(const tsr_device *device, tsr_dtype dtype, tsr_tensor *const *inputs, int count,
                              const tsri_attention_attributes *given);

// Runs an attention natively. TSR_ERR_UNSUPPORTED, without a message, if the device cannot.
tsr_status tsri_attention_run_native(const tsri_kernel_run *run);

// As tsri_attention_run_native, for an attention with is_tiled (attention_tiles.h). Results: y as [batch, position, head, element] and, if there are two, the
// logarithm of each row's sum of exponentials.
tsr_status tsri_attention_run_native_tiles(const tsri_kernel_run *run);

// As tsri_attention_run_native_tiles, for the gradient. Inputs: those of the attention, its two results, and the gradient of the first result. Outputs: the
// gradient of q, and one tensor with the gradients of k and v, in this order; or one for all three (tsri_attention_gradient_place).
tsr_status tsri_attention_run_native_gradient(const tsri_kernel_run *run);

// Where the gradient of q, k or v is written: which output, the offset of its first element, and its strides of batch, head and row. If there is a single
// output, it is the gradient of the tensor of which q, k and v are views, and each gradient has the layout of its view. Otherwise memory is [batch, row, head,
// element].
typedef struct tsri_gradient_place {
  int output;
  int64_t offset, strides[3];
} tsri_gradient_place;

// `which`: 0 for q, 1 for k, 2 for v.
tsri_gradient_place tsri_attention_gradient_place(const tsri_kernel_run *run, int which);

// Records an operator that computes gradients of its first three inputs, q, k and v.
//
// Layout in memory: [batch, row, head, element], so that a gradient can be added to that of a tensor with all heads in this order. If is_joined, q, k and v are
// views that together cover one tensor; then the result is the gradient of that tensor, and the three gradients are the same views of it. is_tiled: k and v
// share one result.
//
// For gradient rules: the gradients, which have the shapes of q, k and v, belong to the open scope.
void tsri_attention_record_gradient(const tsri_op *op, tsr_tensor *const *inputs, int input_count,
                                    const tsri_attention_attributes *given, bool is_joined, bool is_tiled,
                                    tsr_tensor *out_gradients[3]);

// Whether the device computes the gradients of an attention natively. `inputs` are those of the recorded attention, `g` is its result's gradient.
bool tsri_attention_has_gradient(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                                 const tsri_attention_attributes *given);

// The operator that computes the gradients of q, k and v if tsri_attention_has_gradient; see tsri_attention_record_gradient.
extern const tsri_op tsri_op_native_attention_gradient;
void tsri_attention_gradients(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                              const tsri_attention_attributes *given, bool is_joined, tsr_tensor *out_gradients[3]);

#endif
