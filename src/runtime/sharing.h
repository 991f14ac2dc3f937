// SPDX-License-Identifier: MIT
// Memory that several buffers may share: imported through DLPack, or exported and perhaps imported again; and parts of one buffer.
//
// A shared buffer has a known address, on the host or on a device. Drivers that can share a device's memory use one address space for host and device, so an address
// cannot mean both. Two shared buffers overlap if their address ranges do, whichever devices they belong to. A part shares the memory of its whole
// (tsri_buffer_part). No other buffers share memory.
#ifndef TSRI_RUNTIME_SHARING_H
#define TSRI_RUNTIME_SHARING_H

#include "runtime/buffer.h"

// Call when others may reach the buffer's memory from now on; `address` is that of its first byte. Calling it again has
// no effect. With a part, its whole becomes shared too, since who writes to the whole writes to the part.
void tsri_sharing_add(tsr_buffer *buffer, void *address);

// Call before the buffer is destroyed. Does nothing unless it was added.
void tsri_sharing_remove(tsr_buffer *buffer);

static inline bool tsri_buffer_is_shared(const tsr_buffer *buffer) {
  return atomic_load_explicit(&((tsr_buffer *)(uintptr_t)buffer)->address, memory_order_acquire) != NULL;
}

// Whether `a_bytes` at `a_offset` of `a` and `b_bytes` at `b_offset` of `b` have memory in common.
bool tsri_ranges_overlap(const tsr_buffer *a, size_t a_offset, size_t a_bytes, const tsr_buffer *b, size_t b_offset,
                         size_t b_bytes);

// As tsri_ranges_overlap, for two whole buffers.
bool tsri_buffers_overlap(const tsr_buffer *a, const tsr_buffer *b);

// Lists devices other than `device` that have shared buffers, at most `room`, with a reference to each. Returns how
// many there are.
int tsri_sharing_devices(const tsr_device *device, tsr_device **out_devices, int room);

#endif
