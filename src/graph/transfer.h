// SPDX-License-Identifier: MIT
// Copies elements between views, the host and other devices.
#ifndef TSRI_GRAPH_TRANSFER_H
#define TSRI_GRAPH_TRANSFER_H

#include "core/tensor.h"
#include "runtime/buffer.h"

// Elements in a buffer and their layout there.
typedef struct tsri_view {
  tsr_buffer *buffer;  // borrowed
  tsr_dtype dtype;
  tsri_layout layout;
} tsri_view;

// The view of a tensor whose elements have been computed.
tsri_view tsri_view_of(const tsr_tensor *tensor);

// The row-major layout with offset 0 and the shape of `layout`.
tsri_layout tsri_packed_layout(const tsri_layout *layout);

// Queues a copy of the view's elements into `to`, a buffer of the same device, with layout `layout`: by the device's
// native copy, or by a kernel. The two must not overlap in memory.
//
// Errors: TSR_ERR_UNSUPPORTED (the device has neither), those of a launch.
tsr_status tsri_copy_strided(const tsri_view *view, tsr_buffer *to, const tsri_layout *layout);

// Queues a copy of the elements of `from` into those of `to`. Both have the same dtype, shape and device, and must not
// overlap in memory. Goes through the host as a fallback.
//
// Errors: as for tsri_copy_contiguous.
tsr_status tsri_copy_view(const tsri_view *from, const tsri_view *to);

// As tsri_copy_view, into the buffer `to` from its first element on, in row-major order.
tsr_status tsri_copy_packed(const tsri_view *view, tsr_buffer *to);

// Creates a buffer on the view's device with its elements in row-major order.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, those of the device, TSR_ERR_UNSUPPORTED (strict mode forbids the fallback through the
// host).
tsr_status tsri_copy_contiguous(const tsri_view *view, tsr_buffer **out_buffer);

// Creates a buffer on `device` with the view's elements in row-major order.
tsr_status tsri_copy_to_device(const tsri_view *view, tsr_device *device, tsr_buffer **out_buffer);

// tsri_read_elements copies the view's elements to `out_data` in row-major order; tsri_write_elements copies `data`, in
// row-major order, into the view. The host memory must have the size of the elements.
tsr_status tsri_read_elements(const tsri_view *view, void *out_data);
tsr_status tsri_write_elements(const tsri_view *view, const void *data);

// As tsri_read_elements and tsri_write_elements, queued on the calling thread's track. They return without waiting if the elements are contiguous or can be
// packed on the device; otherwise they wait until the copy is complete.
tsr_status tsri_read_elements_queued(const tsri_view *view, void *out_data);
tsr_status tsri_write_elements_queued(const tsri_view *view, const void *data);

// Chooses the device for an operator with inputs on these devices: the one latest in the priority order.
//
// Errors: TSR_ERR_INVALID_ARGUMENT if they differ and TESSERA_MIX=error; the message names both devices.
tsr_status tsri_common_device(const char *caller, tsr_device *const *devices, int count, tsr_device **out_device);

// Counts and logs an implicit move: one that the program did not request by tsr_to.
void tsri_note_implicit_move(const char *caller, tsr_dtype dtype, const tsri_layout *layout, const tsr_device *from,
                             tsr_device *to);

// Sets `*out_view` to a view of the same elements on `device`, with a reference to its buffer. If the elements are on `device` already, it is the same buffer;
// if not, a copy, which is counted and logged as an implicit move.
tsr_status tsri_move_implicitly(const char *caller, const tsri_view *view, tsr_device *device, tsri_view *out_view);

#endif
