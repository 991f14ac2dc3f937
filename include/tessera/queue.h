// SPDX-License-Identifier: MIT
// Queues, events, copies that run while other work does, pinned host memory, and work split over several devices.
// docs/queues.md explains them with examples.
//
// A device has one queue from the start; a program that needs no other never sees it. Work of one queue runs in order. Work of two
// queues of a device may run at the same time, except where it uses the same memory: then it runs in the order in which it was
// queued, whichever queues it is on, and the device waits, not the caller. So results never depend on the queues. Where a device or
// its driver has only one queue (WebGPU, software Vulkan), all queues share it, in order.
//
// An operator belongs to the queue that is bound to the thread (tsr_scope_begin_on) where it is recorded, and is queued there when it runs.
// One that is fused into another's kernel runs with that one.
//
// Errors of work that was already queued are returned by the next wait for it: tsr_queue_wait, tsr_event_wait, tsr_read,
// tsr_device_synchronize. The message names the operator, or those that were queued since the last wait.
#ifndef TESSERA_QUEUE_H
#define TESSERA_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include <tessera/device.h>
#include <tessera/scope.h>
#include <tessera/tensor.h>

typedef struct tsr_queue tsr_queue;
typedef struct tsr_event tsr_event;

// Creates another queue of the device. Any number may be created; at most 8 work at the same time, the device's first one included, and further queues share
// these.
//
// Ownership: the caller releases `*out_queue`. It holds a reference to the device.
// Threads:   any, for all functions here.
// Errors:    TSR_ERR_OUT_OF_MEMORY, TSR_ERR_DEVICE_LOST. Then `*out_queue` is NULL.
TSR_API tsr_status tsr_queue_create(tsr_device *device, tsr_queue **out_queue);

// Reference counting; both accept NULL. Releasing the last reference does not wait: what is queued still runs.
TSR_API tsr_queue *tsr_queue_retain(tsr_queue *queue);
TSR_API void tsr_queue_release(tsr_queue *queue);

TSR_API tsr_device *tsr_queue_device(const tsr_queue *queue);  // borrowed; NULL for NULL

// Waits until everything queued on `queue` is done. Operators that are only recorded are not queued yet (tsr_evaluate).
//
// Errors: TSR_ERR_TIMEOUT, TSR_ERR_DEVICE_LOST, or the status of work that failed after being queued.
TSR_API tsr_status tsr_queue_wait(tsr_queue *queue);

// As tsr_scope_begin for the queue's device. Until the scope ends, operators that this thread records for that device belong to
// `queue`, and so do its reads and writes there. Scopes of several devices may be open at a time; of one device the innermost counts.
// The scope holds a reference to the queue.
//
// Returns NULL if `queue` is NULL, or when host memory is out; then nothing is bound.
TSR_API tsr_scope *tsr_scope_begin_on(tsr_queue *queue);

// --- Events -----------------------------------------------------------------------------------------------------------

// An event that happens when everything queued on `queue` so far is done.
//
// Ownership: the caller releases `*out_event`. It holds a reference to the queue's device.
// Errors:    TSR_ERR_OUT_OF_MEMORY, TSR_ERR_DEVICE_LOST. Then `*out_event` is NULL.
TSR_API tsr_status tsr_queue_record(tsr_queue *queue, tsr_event **out_event);

// Makes work that is queued on `queue` from now on wait for the event. It is seldom needed, because work that uses the same memory is ordered anyway. The device
// waits, not the caller; only for an event of another device this call itself waits.
//
// Errors: TSR_ERR_DEVICE_LOST; of an event of another device those of tsr_event_wait.
TSR_API tsr_status tsr_queue_await(tsr_queue *queue, tsr_event *event);

// Reference counting; both accept NULL.
TSR_API tsr_event *tsr_event_retain(tsr_event *event);
TSR_API void tsr_event_release(tsr_event *event);

// Whether the event has happened. Does not wait.
//
// Errors: TSR_ERR_DEVICE_LOST, or the status of work before the event that failed. Then `*out_is_done` is true, since waiting would not help.
TSR_API tsr_status tsr_event_is_done(tsr_event *event, bool *out_is_done);

// Waits until the event has happened.
//
// Errors: those of tsr_queue_wait.
TSR_API tsr_status tsr_event_wait(tsr_event *event);

// Has `callback` called once the event has happened, with the status that tsr_event_wait would return, on a thread of the library.
// The callback may use the library, but should be short: others wait for it. The event may be released at once.
//
// Errors: TSR_ERR_OUT_OF_MEMORY; TSR_ERR_UNSUPPORTED where there are no threads (web pages). Then `callback` is not called.
typedef void (*tsr_event_callback)(tsr_status status, void *user);
TSR_API tsr_status tsr_event_then(tsr_event *event, tsr_event_callback callback, void *user);

// --- Copies that do not wait ------------------------------------------------------------------------------------------

// As tsr_write, without waiting: queued on `queue` (NULL: the one that is bound to the thread). Work that is queued later sees the new elements.
//
// Ownership: `data` is borrowed until `*out_event` has happened; the caller releases the event. `out_event` may be NULL: then
//            `data` is borrowed until the next wait for the queue.
// Errors:    those of tsr_write. Then `*out_event` is NULL and nothing is queued.
TSR_API tsr_status tsr_write_async(tsr_queue *queue, tsr_tensor *tensor, const void *data, size_t bytes,
                                   tsr_event **out_event);

// As tsr_read, without waiting: runs what the tensor needs and queues the copy on `queue` (NULL: the one that is bound to the
// thread). `out_data` has the elements when tsr_event_wait has returned, or the event's callback is called. On CUDA the copy overlaps other work only if
// `out_data` is pinned memory; otherwise this call waits for a large copy.
//
// Ownership: `out_data` is borrowed until then. If `out_event` is NULL, until tsr_queue_wait or tsr_device_synchronize has returned.
// Errors:    those of tsr_read. Then `*out_event` is NULL and nothing is queued.
TSR_API tsr_status tsr_read_async(tsr_queue *queue, tsr_tensor *tensor, void *out_data, size_t bytes,
                                  tsr_event **out_event);

// --- Host memory ------------------------------------------------------------------------------------------------------

// Allocates pinned memory: host memory that the device copies from and to directly, at full speed and while other work runs. On CUDA, ROCm, Metal, OpenCL and
// Vulkan; other backends return ordinary memory. Aligned to 64 bytes.
//
// Ownership: the caller frees `*out_memory` with tsr_host_free.
// Errors:    TSR_ERR_OUT_OF_MEMORY, TSR_ERR_INVALID_ARGUMENT (0 bytes). Then `*out_memory` is NULL.
TSR_API tsr_status tsr_host_alloc(tsr_device *device, size_t bytes, void **out_memory);

// Frees memory of tsr_host_alloc, after waiting for copies that use it. `memory` may be NULL.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (not such memory).
TSR_API tsr_status tsr_host_free(void *memory);

// Pins `bytes` of the caller's own memory, if the device can (CUDA, ROCm); else does nothing.
//
// Ownership: the memory stays the caller's, who calls tsr_host_unregister before freeing it.
// Errors:    TSR_ERR_INVALID_ARGUMENT (registered already), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_host_register(tsr_device *device, void *memory, size_t bytes);
TSR_API tsr_status tsr_host_unregister(void *memory);

// Whether the device copies from and to these `bytes` directly.
TSR_API bool tsr_host_is_pinned(tsr_device *device, const void *memory, size_t bytes);

// --- Several devices --------------------------------------------------------------------------------------------------

// Records the operators that compute the result for `part`, which is on `device`. Returns the result as a new reference, or a failed tensor.
typedef tsr_tensor *(*tsr_part_fn)(tsr_tensor *part, tsr_device *device, int index, void *user);

// Splits `batch` along axis 0 into a part for each of the devices, in proportion to `weights` (NULL: equal parts), calls `compute` for each part that is not
// empty, and joins the results along axis 0 on the device of `batch`. All devices work at the same time: each uses a queue of its own, and the calling thread
// waits for none of them before all have begun.
//
// Ownership: the caller owns the result, or the innermost scope does.
// Errors:    a failed tensor: TSR_ERR_INVALID_ARGUMENT (no device, a weight that is negative or not finite, weights that are all 0),
//            TSR_ERR_SHAPE (a scalar; results of different shapes), those of `compute` and of tsr_evaluate.
TSR_API tsr_tensor *tsr_split_batch(tsr_tensor *batch, tsr_device *const *devices, int device_count,
                                    const double *weights, tsr_part_fn compute, void *user);

#endif
