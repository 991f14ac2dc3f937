// SPDX-License-Identifier: MIT
// Operators on two tensors, broadcast against each other. Their rows are in elementwise.def.
#include "ops/elementwise.h"

#define TSRI_BINARY(name, ...)                                             \
  tsr_tensor *tsr_##name(tsr_tensor *a, tsr_tensor *b) {                   \
    return tsri_elementwise(TSRI_EW_##name, (tsr_tensor *[]){a, b}, NULL); \
  }
#include "ops/elementwise.def"
