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

// As tsri_attention_run_native, for an attention with is_tiled (attention_tiles.h), whose results are [batch, position, head, element] and, if there are two, the logarithms of sums.
tsr_status tsri_attention_run_native_tiles(const tsri_kernel_run *run);

// As tsri_attention_run_native_tiles, for the gradient. The inputs are those of the attention, its two results, and the gradient of the first; the outputs are the gradient of q, and those of k and v
// in one tensor, k first, or a single one for all three (tsri_attention_gradient_place).
tsr_status tsri_attention_run_native_gradient(const tsri_kernel_run *run);

// Where a gradient of q, k or v goes: an output, the element of it that is its first, and strides of batch, head and row. If there is a single output, it is the gradient of the tensor that q, k and v are parts of, and each
// gradient lies where the part does; else they are [batch, row, head, element].
typedef struct tsri_gradient_place {
  int output;
  int64_t offset, strides[3];
} tsri_gradient_place;

// `which`: 0 for q, 1 for k, 2 for v.
tsri_gradient_place tsri_attention_gradient_place(const tsri_kernel_run *run, int which);

// Records an operator that computes gradients of the first three of its inputs, q, k and v. They lie in memory as [batch, row, head, element], so that they are added to the gradient of what holds all heads in that order; or, if
// is_joined, as q, k and v do, which are then parts of one tensor that leave nothing of it out. is_tiled: it has one result for k and v. For rules: gradients, of the shapes of q, k and v, belong to the open scope.
void tsri_attention_record_gradient(const tsri_op *op, tsr_tensor *const *inputs, int input_count,
                                    const tsri_attention_attributes *given, bool is_joined, bool is_tiled,
                                    tsr_tensor *out_gradients[3]);

// Whether the device computes the gradients of an attention natively. `inputs` are those of the recorded attention, `g` is its result's gradient.
bool tsri_attention_has_gradient(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                                 const tsri_attention_attributes *given);

// The gradients of q, k and v, where tsri_attention_has_gradient; see tsri_attention_record_gradient.
extern const tsri_op tsri_op_native_attention_gradient;
void tsri_attention_gradients(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                              const tsri_attention_attributes *given, bool is_joined, tsr_tensor *out_gradients[3]);

#endif
