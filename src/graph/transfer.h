// SPDX-License-Identifier: MIT
// Moving elements: to the host, from it, into contiguous memory, to another device.
#ifndef TSRI_GRAPH_TRANSFER_H
#define TSRI_GRAPH_TRANSFER_H

#include "core/tensor.h"
#include "runtime/buffer.h"

// Elements in memory and how they lie there.
typedef struct tsri_view {
  tsr_buffer *buffer;  // borrowed
  tsr_dtype dtype;
  tsri_layout layout;
} tsri_view;

// Of a tensor whose elements have been computed.
tsri_view tsri_view_of(const tsr_tensor *tensor);

// Row-major from offset 0, same shape.
tsri_layout tsri_packed_layout(const tsri_layout *layout);

// Queues a copy of the view's elements into `to`, a buffer of the same device, where they lie as `layout` says: by the
// device's own copy, or by a kernel. The memory of the two does not overlap.
//
// Errors: TSR_ERR_UNSUPPORTED (the device has neither), what a launch gives.
tsr_status tsri_copy_strided(const tsri_view *view, tsr_buffer *to, const tsri_layout *layout);

// Queues a copy of the elements of `from` into those of `to`; dtype and shape are equal, the device is the same, the memory of the two does
// not overlap.
//
// Errors: as for tsri_copy_contiguous.
tsr_status tsri_copy_view(const tsri_view *from, const tsri_view *to);

// The same into `to`, in row-major order from its start.
tsr_status tsri_copy_packed(const tsri_view *view, tsr_buffer *to);

// A new buffer on the view's device with its elements in row-major order.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, the device's, TSR_ERR_UNSUPPORTED (strict mode, and the device cannot).
tsr_status tsri_copy_contiguous(const tsri_view *view, tsr_buffer **out_buffer);

// A new buffer on `device` with the view's elements in row-major order.
tsr_status tsri_copy_to_device(const tsri_view *view, tsr_device *device, tsr_buffer **out_buffer);

// Copies the elements in row-major order out, or in through the view; the host memory has the right size.
tsr_status tsri_read_elements(const tsri_view *view, void *out_data);
tsr_status tsri_write_elements(const tsri_view *view, const void *data);

// The device on which an operator with inputs on these runs: the one latest in the priority order.
//
// Errors: TSR_ERR_INVALID_ARGUMENT if they differ and TESSERA_MIX=error; the message names both devices.
tsr_status tsri_common_device(const char *caller, tsr_device *const *devices, int count, tsr_device **out_device);

// Counts and logs a move that nobody asked for.
void tsri_note_implicit_move(const char *caller, tsr_dtype dtype, const tsri_layout *layout, const tsr_device *from,
                             tsr_device *to);

// The view on `device`: one more reference to its buffer, or a copy, counted and logged as an implicit move.
tsr_status tsri_move_implicitly(const char *caller, const tsri_view *view, tsr_device *device, tsri_view *out_view);

#endif
