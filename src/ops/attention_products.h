// SPDX-License-Identifier: MIT
// Attention and its gradient by matrix products that store the scores of some heads at a time, where that is faster than tiles.
#ifndef TSRI_OPS_ATTENTION_PRODUCTS_H
#define TSRI_OPS_ATTENTION_PRODUCTS_H

#include "ops/operators.h"

// As tsri_run_attention_tiles. has_units: tiles would be multiplied by matrix units. TSR_ERR_UNSUPPORTED, without a message: tiles are faster, or the scores of one
// head need too much memory.
tsr_status tsri_attention_run_products(const tsri_kernel_run *run, bool has_units);

// Whether the gradient of an attention that has no tiles is computed by products. `q` and `v` are shapes as tsr_attention takes them.
bool tsri_attention_gradient_by_products(const tsr_device *device, tsr_dtype dtype,
                                         const tsri_attention_attributes *given, tsr_shape q, tsr_shape v);

// The gradients of q, k and v, as tsri_op_attention_gradient computes them. stats: lse, and the sums of y * g: f32, [2, batch, heads, queries]. `g`: index of the
// gradient of y among the inputs. TSR_ERR_UNSUPPORTED as above.
tsr_status tsri_attention_run_products_gradient(const tsri_kernel_run *run, bool has_units, tsr_buffer *stats, int g);

#endif
