// SPDX-License-Identifier: MIT
// Memory that several buffers may lie over: what came in through DLPack, or went out and may come back.
//
// Such a buffer is known by its address on the host. Two of them have memory in common where their addresses overlap, whichever
// devices they belong to; all other buffers have memory of their own.
#ifndef TSRI_RUNTIME_SHARING_H
#define TSRI_RUNTIME_SHARING_H

#include "runtime/buffer.h"

// Others may reach the buffer's memory from now on; `address` is that of its first byte. May be called again.
void tsri_sharing_add(tsr_buffer *buffer, void *address);

// The buffer is about to be destroyed. Does nothing unless it was added.
void tsri_sharing_remove(tsr_buffer *buffer);

static inline bool tsri_buffer_is_shared(const tsr_buffer *buffer) {
  return atomic_load_explicit(&((tsr_buffer *)(uintptr_t)buffer)->address, memory_order_acquire) != NULL;
}

// Whether `a_bytes` at `a_offset` of `a` and `b_bytes` at `b_offset` of `b` have memory in common.
bool tsri_ranges_overlap(const tsr_buffer *a, size_t a_offset, size_t a_bytes, const tsr_buffer *b, size_t b_offset,
                         size_t b_bytes);

// The same for all of two buffers.
bool tsri_buffers_overlap(const tsr_buffer *a, const tsr_buffer *b);

// Devices other than `device` that have shared buffers, with a reference each, at most `room`; returns how many there are.
int tsri_sharing_devices(const tsr_device *device, tsr_device **out_devices, int room);

#endif
