// SPDX-License-Identifier: MIT
// Native operators of a device: the one door through which the core asks for them and runs them.
#ifndef TSRI_RUNTIME_NATIVE_OP_H
#define TSRI_RUNTIME_NATIVE_OP_H

#include "runtime/buffer.h"

// Whether the backend's table offers the operator and the device takes it. Buffers may be NULL. Any thread.
bool tsri_device_takes(const tsr_device *device, const tsri_native_op *op);

// Makes `buffer` what the place lies in; its offset has been relative to that.
void tsri_place_bind(tsri_place *place, const tsr_buffer *buffer);

// Queues the operator. `buffers` are those of its operands, the one that is written first.
//
// Errors: TSR_ERR_UNSUPPORTED, without a message: the device does not take it. What the backend gives.
tsr_status tsri_device_run_op(tsr_device *device, const tsri_native_op *op, tsr_buffer *const *buffers,
                              int buffer_count);

#endif
