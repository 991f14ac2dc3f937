// SPDX-License-Identifier: MIT
// Attention in tiles (kernels/op_attention_tiles.tk), for devices that are not the CPU. Results are [batch, position, head, element], so that a network
// which joins its heads next needs no copy.
#ifndef TSRI_OPS_ATTENTION_TILES_H
#define TSRI_OPS_ATTENTION_TILES_H

#include "ops/operators.h"

// Which one of mask, slopes and lengths is given: a value of the kernels' parameter EXTRA, or TSRI_EXTRA_MANY if several are.
enum { TSRI_EXTRA_NONE, TSRI_EXTRA_TRUTH, TSRI_EXTRA_ADDED, TSRI_EXTRA_SLOPES, TSRI_EXTRA_LENGTHS, TSRI_EXTRA_MANY };
int tsri_attention_extra(const tsri_attention_attributes *given);

// Values of the attribute `mask`; MASK of the kernels.
enum { TSRI_MASK_NONE, TSRI_MASK_TRUTH, TSRI_MASK_ADDED };

// Whether tsri_run_attention_tiles can compute this attention on the device. `q` and `v` are shapes as tsr_attention takes them.
bool tsri_attention_fits_tiles(const tsr_device *device, tsr_dtype dtype, const tsri_attention_attributes *given,
                               tsr_shape q, tsr_shape v);

// Computes the run's result from `parts`, of `spans` spans for each of `rows` rows of the result (attention_join of op_attention.tk).
tsr_status tsri_attention_join(const tsri_kernel_run *run, tsr_buffer *parts, int64_t rows, int64_t spans);

// As tsri_attention_fits_tiles, for the gradient of the attention.
bool tsri_attention_gradient_fits_tiles(const tsr_device *device, tsr_dtype dtype,
                                        const tsri_attention_attributes *given, tsr_shape q, tsr_shape v);

// Runs an attention with is_tiled. Outputs: y; if there are two, the second has the natural logarithm of each row's sum of exponentials, f32, [batch, heads,
// queries].
tsr_status tsri_run_attention_tiles(const tsri_kernel_run *run);

// The gradients of q, k and v of an attention with is_tiled, in the form of tsri_attention_record_gradient (attention_native.h). `inputs` are those of the
// attention, `y` and `lse` its outputs, `g` the gradient of y. Scores are computed again: no memory of the size of all of them is needed. For gradient rules: the gradients
// belong to the open scope.
extern const tsri_op tsri_op_attention_gradient;
void tsri_attention_gradient(tsr_tensor *const *inputs, int input_count, tsr_tensor *y, tsr_tensor *lse, tsr_tensor *g,
                             const tsri_attention_attributes *given, bool is_joined, tsr_tensor *out_gradients[3]);

#endif
