// SPDX-License-Identifier: MIT
// Moving tensors' elements: to the host, from it, into contiguous memory, to another device.
#ifndef TSRI_TRANSFER_H
#define TSRI_TRANSFER_H

#include "core/tensor.h"
#include "runtime/buffer.h"

// A new buffer on the tensor's device with its elements in row-major order.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, the device's, TSR_ERR_UNSUPPORTED (strict mode, and the device cannot).
tsr_status tsri_copy_contiguous(const tsr_tensor *tensor, tsr_buffer **out_buffer);

// A new buffer on `device` with the tensor's elements in row-major order.
tsr_status tsri_copy_to_device(const tsr_tensor *tensor, tsr_device *device, tsr_buffer **out_buffer);

// Copies the elements in row-major order; sizes have been checked.
tsr_status tsri_read_elements(const tsr_tensor *tensor, void *out_data);

// The device on which an operator with these inputs runs: the one latest in the priority order. The inputs are usable.
//
// Errors: TSR_ERR_INVALID_ARGUMENT if they differ and TESSERA_MIX=error; the message names both devices.
tsr_status tsri_common_device(const char *caller, tsr_tensor *const *tensors, int count, tsr_device **out_device);

// `tensor` on `device`: one more reference, or a copy outside any scope, counted and logged as an implicit move.
tsr_status tsri_move_implicitly(const char *caller, tsr_tensor *tensor, tsr_device *device, tsr_buffer **out_buffer,
                                tsri_layout *out_layout);

#endif
