// SPDX-License-Identifier: MIT
// Going back through the steps of a range.
#ifndef TSRI_GRAD_BACKWARD_H
#define TSRI_GRAD_BACKWARD_H

#include "grad/range.h"

// Results, and their gradients: NULL means 0.
typedef struct grad_starts {
  tsr_tensor *const *ys, *const *cotangents;
  int count;
} grad_starts;

// The gradients of ys by xs; all are valid tensors of this range. Steps are dropped after they were gone through, unless `keep`. out_gradients[i] is a tensor of
// the scope that is open at the call, or NULL: ys do not depend on xs[i]. On failure, all of them are NULL.
tsr_status tsri_grad_back(grad_range *range, const grad_starts *starts, tsr_tensor *const *xs, int x_count, bool keep,
                          tsr_tensor **out_gradients);

#endif
