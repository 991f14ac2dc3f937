// SPDX-License-Identifier: MIT
// logsumexp(x) - x[label] along an axis, and its gradient: the part of cross_entropy with labels that reads all logits.
#ifndef TSRI_OPS_LABEL_ENTROPY_H
#define TSRI_OPS_LABEL_ENTROPY_H

#include "ops/operators.h"

// Results: logsumexp(x) - x[label], and logsumexp(x). If there is no kernel, this record stands for the operators that are composed instead, so that they share
// one gradient rule (graph/watch.h). That gradient takes one pass over x, whereas the gradients of the single operators would add up several tensors of its
// size.
extern const tsri_op tsri_op_label_entropy;

// Records the operator. `axis` has the classes; labels have the shape of x without it, and where one is no class, the first result is any number. False: there is
// no kernel for these tensors, and nothing is recorded.
bool tsri_label_entropy(tsr_tensor *x, tsr_tensor *labels, int axis, tsr_tensor **out_each, tsr_tensor **out_lse);

// The gradient of x: exp(x - lse) * (g + h), minus g at the label. g and h are the f32 gradients of the two results; NULL: 0. The result has the row pitch of
// x, with zeros after each row. Returns false if there is no kernel.
extern const tsri_op tsri_op_label_gradient;
bool tsri_label_gradient(tsr_tensor *x, tsr_tensor *labels, tsr_tensor *lse, tsr_tensor *g, tsr_tensor *h,
                         tsr_tensor **out_x);

#endif
