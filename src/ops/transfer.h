// SPDX-License-Identifier: MIT
// Checks that reading and writing share, with and without waiting.
#ifndef TSRI_OPS_TRANSFER_H
#define TSRI_OPS_TRANSFER_H

#include "core/dtype.h"
#include "core/tensor.h"

// Checks that the tensor is usable, and that `data`, which has `bytes` bytes, has room for exactly its elements.
tsr_status tsri_transfer_check(const char *caller, const tsr_tensor *tensor, const void *data, size_t bytes);

// Checks that the tensor may be written: its memory is not read-only, and no two elements of the view share memory.
tsr_status tsri_target_check(const char *caller, const tsr_tensor *target);

// Whether it is a usable tensor of i4 or u4. Such a tensor is transferred as its packed bytes.
static inline bool tsri_transfer_is_packed(const tsr_tensor *tensor) {
  return tsri_tensor_is_usable(tensor) && tsri_dtype_is_packed(tensor->dtype);
}

#endif
