// SPDX-License-Identifier: MIT
// Attention and its gradient as native operators of a device.
#ifndef TSRI_OPS_ATTENTION_NATIVE_H
#define TSRI_OPS_ATTENTION_NATIVE_H

#include "ops/operators.h"

// Runs an attention natively. TSR_ERR_UNSUPPORTED, without a message, if the device cannot.
tsr_status tsri_attention_run_native(const tsri_kernel_run *run);

// As tsri_attention_run_native, for an attention with is_tiled (attention_tiles.h), whose results are [batch, position, head, element] and, if there are two, the logarithms of sums.
tsr_status tsri_attention_run_native_tiles(const tsri_kernel_run *run);

// As tsri_attention_run_native_tiles, for the gradient. The inputs are those of the attention, its two results, and the gradient of the first; the outputs are the gradient of q, and those of k and v
// in one tensor, k first.
tsr_status tsri_attention_run_native_gradient(const tsri_kernel_run *run);

// Whether the device computes the gradients of an attention natively. `inputs` are those of the recorded attention, `g` is its result's gradient.
bool tsri_attention_has_gradient(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                                 const tsri_attention_attributes *given);

// The gradients of q, k and v, where tsri_attention_has_gradient: [batch, row, head, element], so that they are added to the gradient of what holds all heads in the order of memory.
extern const tsri_op tsri_op_native_attention_gradient;
void tsri_attention_gradients(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                              const tsri_attention_attributes *given, tsr_tensor *out_gradients[3]);

#endif
