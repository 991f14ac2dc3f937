// SPDX-License-Identifier: MIT
// What the parts of rnn, lstm and gru share (recurrent.c, recurrent_steps.c).
#ifndef TSRI_OPS_RECURRENT_H
#define TSRI_OPS_RECURRENT_H

#include "ops/operators.h"

#include <tessera/ops.h>

typedef struct tsri_recurrence {
  const char *name;
  int gates;                       // 1: rnn, 3: gru, 4: lstm
  const tsr_recurrent_desc *desc;  // .bias_input is not used after the product with the inputs
  int64_t steps, batch, hidden;
  tsr_dtype wide;  // in which the steps are computed: f32 or f64
} tsri_recurrence;

// Computes all steps: by the kernel where the device has it (tsri_recurrent_has_kernel), else composed, step by step. `inputs` is the product of all inputs with
// weight_input, [steps, batch, gates * hidden]; `weight` is weight_hidden. Results are the states of all steps, the last state, and for lstm
// the last cell, in r->wide (composed in a range of autocast, in its dtype); any may be a failed tensor.
//
// Errors: TSR_ERR_OUT_OF_MEMORY. Then there are no results.
tsr_status tsri_recurrent_states(const tsri_recurrence *r, tsr_tensor *inputs, tsr_tensor *weight,
                                 tsr_tensor **out_results);

// All steps by one operator (recurrent_steps.c), on GPUs. Its inputs are `inputs`, contiguous; the weights as [hidden / depth, gates, hidden, depth]; the first
// state; for lstm the first cell; and bias_hidden if `has_bias` of its attributes, `recurrent`. It has no gradient.
extern const tsri_op tsri_op_recurrent_steps;

// Weights of neighbouring states that are neighbours in memory: an item loads four at once.
static inline int64_t tsri_recurrent_depth(const tsri_recurrence *r) { return r->hidden % 4 == 0 ? 4 : 1; }

// Whether `device` has the kernel, and it is faster than products of all rows.
bool tsri_recurrent_has_kernel(const tsri_recurrence *r, const tsr_device *device);

// Records the operator on `device`, with the arguments and results of tsri_recurrent_states.
void tsri_recurrent_record(const tsri_recurrence *r, tsr_device *device, tsr_tensor *inputs, tsr_tensor *weight,
                           tsr_tensor **out_results);

#endif
