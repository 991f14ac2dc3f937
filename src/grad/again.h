// SPDX-License-Identifier: MIT
// Gradients of a step by recording its operators again: for operators without a rule of their own, and for gradients of gradients.
#ifndef TSRI_GRAD_AGAIN_H
#define TSRI_GRAD_AGAIN_H

#include "grad/rule.h"

// Computes the results of a step once more, from tensors with the elements of its inputs.
typedef tsr_status (*grad_function)(const grad_view *v, tsr_tensor *const *inputs, tsr_tensor **outputs);

// For a rule: fills in the gradients of the inputs by going back through what `function` records.
void tsri_grad_again(const grad_view *v, grad_function function);

#endif
