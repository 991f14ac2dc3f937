// SPDX-License-Identifier: MIT
// The buffer record: a block of a device's pool, or foreign host memory used where it lies.
#ifndef TSRI_BUFFER_H
#define TSRI_BUFFER_H

#include <tessera/buffer.h>

#include "core/object.h"
#include "runtime/late.h"

struct tsr_buffer {
  tsri_object object;
  tsri_late late;
  tsr_device *device;       // one reference
  tsri_block *block;        // NULL: empty, or foreign
  tsri_buffer *handle;      // of the backend; NULL if empty
  size_t offset, bytes;     // the part of `handle` that is ours
  _Atomic(char *) address;  // first byte on the host, once others may reach the memory by it (sharing.h); else NULL
  bool is_read_only;
  void (*release_foreign)(void *user);  // NULL unless imported
  void *foreign;
};

// Uses `bytes` of host memory in place; `release` runs when the last reference goes. The device's backend has
// buffer_import.
//
// Errors: what buffer_import says; TSR_ERR_OUT_OF_MEMORY. Then `release` is not called.
tsr_status tsri_buffer_import(tsr_device *device, void *memory, size_t bytes, void (*release)(void *user), void *user,
                              tsr_buffer **out_buffer);

// tsr_buffer_copy for ranges that have been checked, `bytes` not 0; counts no move.
tsr_status tsri_buffer_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes);

// Waits and gives the host's view of the bytes, or NULL with TSR_OK where the device has none.
tsr_status tsri_buffer_map(tsr_buffer *buffer, void **out_memory);

#endif
