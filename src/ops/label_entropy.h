// SPDX-License-Identifier: MIT
// logsumexp(x) - x[label] of each row, and its gradient: what cross_entropy with labels computes over its logits.
#ifndef TSRI_OPS_LABEL_ENTROPY_H
#define TSRI_OPS_LABEL_ENTROPY_H

#include "ops/operators.h"

// Results: logsumexp(x) - x[label], and logsumexp(x). Where there is no kernel for it, this operator stands for a
// composition whose gradient is known as a whole (graph/watch.h). That gradient takes one pass over x; the gradients of
// the parts would add up several tensors of its size.
extern const tsri_op tsri_op_label_entropy;

// Records it, along the last axis; labels are classes of x. False: there is no kernel for these tensors, and nothing is recorded.
bool tsri_label_entropy(tsr_tensor *x, tsr_tensor *labels, tsr_tensor **out_each, tsr_tensor **out_lse);

// The gradient of x: exp(x - lse) * (g + h), less g at the label. g and h are those of the two results, f32; NULL: 0. The result has the pitch of x, with zeros between its rows.
// False: as above.
extern const tsri_op tsri_op_label_gradient;
bool tsri_label_gradient(tsr_tensor *x, tsr_tensor *labels, tsr_tensor *lse, tsr_tensor *g, tsr_tensor *h,
                         tsr_tensor **out_x);

#endif
