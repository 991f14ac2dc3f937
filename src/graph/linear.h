// SPDX-License-Identifier: MIT
// Products followed by a bias and an activation, which devices' own operators know as one ("linear" in docs/adding-a-backend.md).
#ifndef TSRI_LINEAR_H
#define TSRI_LINEAR_H

#include "backends/backend.h"
#include "graph/plan.h"

typedef struct tsri_linear {
  bool has_bias;
  tsr_dtype dtype;  // of all of it
  int64_t columns;  // elements of the bias
  tsri_activation activation;
} tsri_linear;

// Whether all that comes after the fusion's heavy node is the addition of a vector along the last axis, then relu or gelu_tanh; either
// may be missing.
bool tsri_linear_match(const tsri_plan *plan, const tsri_fusion *fusion, tsri_linear *out);

#endif
