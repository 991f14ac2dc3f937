// SPDX-License-Identifier: MIT
// Captures: run some operators once, then run them again and again on new inputs, without recording and planning them
// again.
//
//   tsr_capture_begin(device);
//   tsr_tensor *y = tsr_relu(tsr_add(tsr_matmul(x, w), b));
//   tsr_capture_end(&y, 1, &step);            // has run once: y can be read
//   tsr_write(x, next, sizeof next);
//   tsr_capture_run(step);                    // computes y again, from the present elements of x
#ifndef TESSERA_CAPTURE_H
#define TESSERA_CAPTURE_H

#include <tessera/device.h>
#include <tessera/tensor.h>

// The work that was queued between begin and end, with a reference to every buffer it uses. Reference-counted.
typedef struct tsr_capture tsr_capture;

// Begins a capture: until tsr_capture_end, the operators and kernel launches of the calling thread on `device` are
// captured and also run. Creating tensors from host memory, reading and writing are allowed, but are not captured.
// Operators recorded before are inputs and not part of the capture: if they have not run yet, they run when they are
// needed, and are not repeated.
//
// Threads: one capture at a time per thread; operators that other threads record are not captured. Operators that this
//          thread records are captured even if another thread makes them run before tsr_capture_end. A capture that is
//          open when its thread ends is discarded.
// Errors:  TSR_ERR_INVALID_ARGUMENT (NULL, or a capture is open already), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_capture_begin(tsr_device *device);

// Computes `outputs` (tensors of the device) and ends the capture. Without outputs, the capture has only what ran until
// here. Whatever this returns, the thread is not capturing any more.
//
// Ownership: caller releases `*out_capture`, which holds references to all buffers it reads and writes. If
//            `out_capture` is NULL, the capture is discarded.
// Errors:    TSR_ERR_INVALID_ARGUMENT (no capture is open, an output of another device), TSR_ERR_UNSUPPORTED (a step
//            cannot be repeated: a move between devices, a step on the host, a kernel in checked mode), and those of
//            tsr_evaluate. Then `*out_capture` is NULL.
TSR_API tsr_status tsr_capture_end(tsr_tensor *const *outputs, int output_count, tsr_capture **out_capture);

// Queues the captured work again, as one submission if the device supports that. Does not wait. It reads the present
// elements of its inputs, so write to them before (tsr_write, tsr_assign), and overwrites every tensor computed in the
// capture; operators that were recorded on the present elements of those run first. Random operators give the same
// numbers again, because their seed is part of the capture.
//
// Threads: any; runs of one capture follow each other.
// Errors:  TSR_ERR_DEVICE_LOST, TSR_ERR_LAUNCH, those of running pending operators.
TSR_API tsr_status tsr_capture_run(tsr_capture *capture);

// The number of kernels, fills, copies and native operators in the capture; 0 for NULL.
TSR_API int tsr_capture_step_count(const tsr_capture *capture);

// Reference counting. Both accept NULL.
TSR_API tsr_capture *tsr_capture_retain(tsr_capture *capture);
TSR_API void tsr_capture_release(tsr_capture *capture);

#endif
