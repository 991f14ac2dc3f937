// SPDX-License-Identifier: MIT
// Going back through the steps of a range.
#ifndef TSRI_GRAD_BACKWARD_H
#define TSRI_GRAD_BACKWARD_H

#include "grad/range.h"

#include <tessera/grad.h>

// Results, and their gradients: NULL means 0.
typedef struct grad_starts {
  tsr_tensor *const *ys, *const *cotangents;
  int count;
} grad_starts;

// The gradients of ys by xs; all are valid tensors of this range. Steps are dropped after they were gone through, unless `keep`. out_gradients[i] is a tensor of
// the scope that is open at the call, or NULL: ys do not depend on xs[i]. On failure, all of them are NULL.
tsr_status tsri_grad_back(grad_range *range, const grad_starts *starts, tsr_tensor *const *xs, int x_count, bool keep,
                          tsr_tensor **out_gradients);

// The tensors by which gradients are asked for. `name_of` says what errors call tensor `index` of `owner`; NULL: its number.
typedef struct grad_targets {
  tsr_tensor *const *xs;
  int count;
  const char *(*name_of)(const void *owner, int index);
  const void *owner;
} grad_targets;

// tsr_grad; all of its arguments are checked here.
tsr_status tsri_grad(tsr_tensor *y, const tsr_grad_desc *desc, const grad_targets *targets, tsr_tensor **out_gradients);

#endif
