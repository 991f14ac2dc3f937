// SPDX-License-Identifier: MIT
// tsr_checkpoint: a part of what is computed that the backward pass computes again.
#ifndef TSRI_GRAD_CHECKPOINT_H
#define TSRI_GRAD_CHECKPOINT_H

#include "grad/rule.h"

// Marks a step of a range whose results a function computed; its attributes are the function and its context.
extern const tsri_op tsri_op_checkpoint;
void tsri_gradient_checkpoint(const grad_view *v);

#endif
