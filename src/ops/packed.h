// SPDX-License-Identifier: MIT
// i4 and u4: packed tensors, two elements to a byte, of which the first has the low half. Rows (the last axis) begin at a byte.
//
// Only the tensor's record knows of them: its value, its layout and everything recorded from it are those of a tensor of u8
// with half as many elements along the last axis, and tsr_tensor.packed_last is the number of elements along it. Operators
// refuse such a tensor (tsri_tensor_check); the few that take one work on its bytes.
#ifndef TSRI_OPS_PACKED_H
#define TSRI_OPS_PACKED_H

#include "core/tensor.h"

// Gives the shape of the bytes of a packed tensor with `shape`.
//
// Errors: TSR_ERR_SHAPE (no axis, or a size that is not valid).
tsr_status tsri_packed_shape(const char *caller, tsr_shape shape, tsr_shape *out_bytes);

// The bytes of a packed tensor as a tensor of u8 over the same memory. The caller releases it.
tsr_tensor *tsri_packed_bytes(const tsr_tensor *tensor);

// Makes `bytes` a packed tensor whose rows have `last` elements. Takes over `bytes`; a failed tensor is returned as it is.
tsr_tensor *tsri_packed_of(tsr_tensor *bytes, tsr_dtype dtype, int64_t last);

// tsr_cast and tsr_slice for a packed dtype on either side. x has been checked.
tsr_tensor *tsri_packed_cast(tsr_tensor *x, tsr_dtype dtype);
tsr_tensor *tsri_packed_slice(tsr_tensor *x, int axis, int64_t start, int64_t stop, int64_t step);

#endif
