// SPDX-License-Identifier: MIT
// Tensors that operators and saved captures create for themselves. Unlike tsr_zeros, tsri_record_zeros only records: memory is allocated and filled
// when it is needed.
#ifndef TSRI_OPS_CREATE_H
#define TSRI_OPS_CREATE_H

#include "core/tensor.h"

// As tsr_full, with the bytes of an element: the capture that is open, if there is one, fills the tensor whenever it runs.
tsr_tensor *tsri_full_of(const char *caller, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                         const unsigned char *pattern);

// The arguments must be valid.
tsr_tensor *tsri_record_zeros(tsr_device *device, tsr_dtype dtype, tsr_shape shape);

#endif
