// SPDX-License-Identifier: MIT
// The buffer record: a block of a device's pool, a part of another buffer, or imported memory of the host or of another library that is used in place.
#ifndef TSRI_BUFFER_H
#define TSRI_BUFFER_H

#include <tessera/buffer.h>

#include "core/object.h"
#include "runtime/late.h"

struct tsr_buffer {
  tsri_object object;
  tsri_late late;
  tsr_device *device;    // one reference
  tsri_block *block;     // NULL: the buffer is empty, a part of another one, or imported
  tsr_buffer *whole;     // the buffer of which it is a part; one reference. NULL: it is no part
  tsri_buffer *handle;   // the backend's buffer; NULL if the buffer is empty
  size_t offset, bytes;  // the range of `handle` that belongs to this buffer
  // Address of the first byte, on the host or on the device, if others may reach the memory through it (sharing.h); else NULL.
  _Atomic(char *) address;
  bool is_read_only;
  bool is_temporary;  // see tsri_buffer_create_temporary
  uint64_t tape;      // the tape that was open when it was created, which holds one reference to it; 0: none
  // Nobody reads the buffer after a failed write, so a write that fails half-way may leave it half-written. Assignments to it then need no copy (graph/assign.h).
  bool may_tear;
  void (*release_foreign)(void *user);  // NULL unless imported
  void *foreign;
};

// Makes a buffer that uses `bytes` of host memory in place; `release` is called when the last reference is released.
// The device's backend must have buffer_import.
//
// Errors: those of buffer_import; TSR_ERR_OUT_OF_MEMORY. Then `release` is not called.
tsr_status tsri_buffer_import(tsr_device *device, void *memory, size_t bytes, void (*release)(void *user), void *user,
                              tsr_buffer **out_buffer);

// As tsri_buffer_import, for memory of another library on the device, by its address there. The device's backend must have `sharing`.
tsr_status tsri_buffer_adopt(tsr_device *device, void *address, size_t bytes, void (*release)(void *user), void *user,
                             tsr_buffer **out_buffer);

// Makes a buffer of `bytes` (not 0) at `offset` of `whole`, which must be no part itself. `offset` is a multiple of the device's
// buffer alignment. Parts of one buffer must not overlap; each overlaps the whole (tsri_buffers_overlap).
//
// Ownership: the caller releases `*out_part`, which holds a reference to `whole`.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_part` is NULL.
tsr_status tsri_buffer_part(tsr_buffer *whole, size_t offset, size_t bytes, tsr_buffer **out_part);

// As tsr_buffer_create, for memory that only queued work reads and writes and the host never writes: results of operators, and scratch memory. While the calling
// thread tapes, such memory is reused on the same tape once only the tape refers to it. That is safe because playing the tape writes it again each time.
tsr_status tsri_buffer_create_temporary(tsr_device *device, size_t bytes, tsr_buffer **out_buffer);

// Gives the buffer's memory back to the pool, or to the tape that holds it, before the buffer is released; for a caller that has the only other reference.
// The buffer must not be used afterwards. Does nothing if there are more references, or if the memory is not its own.
void tsri_buffer_give_memory(tsr_buffer *buffer);

// As tsr_buffer_upload and tsr_buffer_download, for ranges that have been checked and `bytes` above 0, but without waiting: the host memory is borrowed until
// a wait for the calling thread's track.
tsr_status tsri_buffer_queue_upload(tsr_buffer *buffer, size_t offset, const void *data, size_t bytes);
tsr_status tsri_buffer_queue_download(tsr_buffer *buffer, size_t offset, void *out_data, size_t bytes);

// The buffer's bytes, if the host can address them and no queued work can still use them; NULL: wait, or copy.
void *tsri_buffer_host_now(tsr_buffer *buffer);

// As tsr_buffer_copy, for ranges that have been checked and `bytes` above 0. Is not counted as a move.
tsr_status tsri_buffer_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes);

// Waits for the device and returns the buffer's bytes as the host sees them. Where the host cannot address them,
// `*out_memory` is NULL and the status is TSR_OK.
tsr_status tsri_buffer_map(tsr_buffer *buffer, void **out_memory);

#endif
