// SPDX-License-Identifier: MIT
// Tensors that operators and saved captures create internally. Unlike tsr_zeros, tsri_record_zeros only records: memory is allocated and filled when it is
// needed.
#ifndef TSRI_OPS_CREATE_H
#define TSRI_OPS_CREATE_H

#include "core/tensor.h"

// As tsr_full, with `value` given as the bytes of an element. If a capture is open, it fills the tensor each time it runs.
tsr_tensor *tsri_full_of(const char *caller, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                         const unsigned char *pattern);

// A tensor of zeros. The arguments must be valid: they are not checked.
tsr_tensor *tsri_record_zeros(tsr_device *device, tsr_dtype dtype, tsr_shape shape);

#endif
