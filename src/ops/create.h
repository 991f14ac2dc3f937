// SPDX-License-Identifier: MIT
// Tensors that operators make for themselves. Unlike tsr_zeros this allocates and fills nothing until it is needed.
#ifndef TSRI_OPS_CREATE_H
#define TSRI_OPS_CREATE_H

#include "core/tensor.h"

// The arguments are good.
tsr_tensor *tsri_record_zeros(tsr_device *device, tsr_dtype dtype, tsr_shape shape);

#endif
