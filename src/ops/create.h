// SPDX-License-Identifier: MIT
// Tensors that operators create for themselves. Unlike tsr_zeros, this only records: memory is allocated and filled
// when it is needed.
#ifndef TSRI_OPS_CREATE_H
#define TSRI_OPS_CREATE_H

#include "core/tensor.h"

// The arguments must be valid.
tsr_tensor *tsri_record_zeros(tsr_device *device, tsr_dtype dtype, tsr_shape shape);

#endif
