// SPDX-License-Identifier: MIT
// Native operators of a device: the core asks for them and runs them only through this file.
#ifndef TSRI_RUNTIME_NATIVE_OP_H
#define TSRI_RUNTIME_NATIVE_OP_H

#include "runtime/buffer.h"
#include "runtime/profile.h"

// Whether the backend's table offers the operator and the device accepts it. The operator's buffers may be NULL. Any
// thread.
bool tsri_device_takes(const tsr_device *device, const tsri_native_op *op);

// Sets the place's buffer. Its offset was relative to the start of `buffer` and becomes relative to the backend's
// buffer.
void tsri_place_bind(tsri_place *place, const tsr_buffer *buffer);

// Queues the operator. `buffers` are those of its operands; the first one is written.
//
// Errors: TSR_ERR_UNSUPPORTED, without a message, if the device does not accept it; those of the backend.
tsr_status tsri_device_run_op(tsr_device *device, const tsri_native_op *op, tsr_buffer *const *buffers,
                              int buffer_count);

// Ends the profiler's span around `run_op`, which returned `status`. `context` NULL: the calling thread's.
void tsri_native_op_finish(tsri_span *span, tsr_device *device, tsri_queue *queue, const tsri_native_op *op,
                           const tsri_profile_context *context, tsr_status status);

// As tsri_device_run_op, for an operator with several results: the first `written_count` buffers are written.
tsr_status tsri_device_run_op_writing(tsr_device *device, const tsri_native_op *op, tsr_buffer *const *buffers,
                                      int written_count, int buffer_count);

// For measurements: after tsri_native_allow(false), tsri_device_takes returns false for every native operator that the calling thread asks for.
void tsri_native_allow(bool is_allowed);

// Whether a device took a native operator of the calling thread since the last tsri_native_allow.
bool tsri_native_was_taken(void);

#endif
