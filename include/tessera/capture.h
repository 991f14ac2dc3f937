// SPDX-License-Identifier: MIT
// Captured work: run some operators once, then run them again and again on new inputs without recording or planning them.
//
//   tsr_capture_begin(device);
//   tsr_tensor *y = tsr_relu(tsr_add(tsr_matmul(x, w), b));
//   tsr_capture_end(&y, 1, &step);            // has run once: y can be read
//   tsr_write(x, next, sizeof next);
//   tsr_capture_run(step);                    // y again, of the x that is there now
#ifndef TESSERA_CAPTURE_H
#define TESSERA_CAPTURE_H

#include <tessera/device.h>
#include <tessera/tensor.h>

// What was queued between begin and end, with every buffer it uses. Counted.
typedef struct tsr_capture tsr_capture;

// From here to tsr_capture_end, what the calling thread has computed on `device` is captured as well as run: operators, and
// launches of its kernels. Creating tensors of host memory, reading and writing are allowed and not repeated. What was recorded before
// is an input and not part of the capture: where it has not run yet, it runs when it is needed and is not repeated either.
//
// Threads: one capture at a time per thread; other threads' work is not captured. What this thread recorded is, also where another one has it
//          computed before tsr_capture_end. A thread that ends with a capture open gives it up.
// Errors:  TSR_ERR_INVALID_ARGUMENT (NULL, a capture is open already), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_capture_begin(tsr_device *device);

// Computes `outputs` (tensors of the device) and ends the capture. With no outputs, what was run until here is all of it. Whatever
// it answers, the thread is not capturing any more.
//
// Ownership: caller releases `*out_capture`; it keeps what it reads and writes. NULL for `out_capture`: the capture is given up.
// Errors:    TSR_ERR_INVALID_ARGUMENT (nothing was begun, an output of another device), TSR_ERR_UNSUPPORTED (something would not
//            be repeated: a move between devices, a step done on the host, a kernel in checked mode), what running says.
//            Then `*out_capture` is NULL.
TSR_API tsr_status tsr_capture_end(tsr_tensor *const *outputs, int output_count, tsr_capture **out_capture);

// Queues the captured work again, in one piece where the device can; does not wait. It reads its inputs as they are then, so
// write to them before (tsr_write, tsr_assign), and overwrites every tensor computed in the capture; operators recorded on their
// present elements run first. Random operators give the same numbers again: their seed is part of the capture.
//
// Threads: any; runs of one capture follow each other.
// Errors:  TSR_ERR_DEVICE_LOST, TSR_ERR_LAUNCH, what running pending operators says.
TSR_API tsr_status tsr_capture_run(tsr_capture *capture);

// Kernels, fills, copies and native operators in it; 0 for NULL.
TSR_API int tsr_capture_step_count(const tsr_capture *capture);

// Both take NULL.
TSR_API tsr_capture *tsr_capture_retain(tsr_capture *capture);
TSR_API void tsr_capture_release(tsr_capture *capture);

#endif
