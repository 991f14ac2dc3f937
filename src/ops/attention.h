// SPDX-License-Identifier: MIT
// Checks and defaults that attention and attention_scores share.
#ifndef TSRI_OPS_ATTENTION_H
#define TSRI_OPS_ATTENTION_H

#include "core/tensor.h"

#include <tessera/desc.h>

// The tensors of a call; v and mask may be NULL.
typedef struct tsri_attention_inputs {
  tsr_tensor *q, *k, *v, *mask;
} tsri_attention_inputs;

// Checks tensors, shapes, mask and options. Gives the number of keys of a sequence.
//
// Errors: those of tsr_attention, with the values.
tsr_status tsri_attention_check(const char *caller, const tsri_attention_inputs *in, const tsr_attention_desc *desc,
                                int64_t *out_keys);

// desc->scale, or its default for this q.
double tsri_attention_scale(const tsr_tensor *q, const tsr_attention_desc *desc);

#endif
