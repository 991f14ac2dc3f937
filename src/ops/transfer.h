// SPDX-License-Identifier: MIT
// What other operators need of transfer.c.
#ifndef TSRI_OPS_TRANSFER_H
#define TSRI_OPS_TRANSFER_H

#include "core/tensor.h"

// A copy of the tensor's elements in row-major order, seen through `layout`, which has as many.
tsr_tensor *tsri_packed_tensor(tsr_tensor *tensor, const tsri_layout *layout);

#endif
