// SPDX-License-Identifier: MIT
// Raw device memory, for those who bring their own kernels or data. Tensors are built on it.
//
// Calls copy when they return: the host memory given to upload may be changed at once, and download has
// filled its destination. After TSR_ERR_TIMEOUT the device may still be reading or writing that memory: it must stay until
// tsr_device_synchronize returns TSR_OK.
#ifndef TESSERA_BUFFER_H
#define TESSERA_BUFFER_H

#include <stddef.h>

#include <tessera/device.h>

// Bytes on one device. Counted.
typedef struct tsr_buffer tsr_buffer;

// Takes `bytes` from the device's pool; the contents start undefined. `alignment` is a power of two up to
// 4096, or 0 for the device's own (at least 256). 0 bytes is a valid, empty buffer.
//
// Ownership: caller releases `*out_buffer`, which holds a reference to the device.
// Threads:   any.
// Errors:    TSR_ERR_INVALID_ARGUMENT, TSR_ERR_OUT_OF_MEMORY (after trimming the pool and trying again; the
//            message says what was asked, held and free). Then `*out_buffer` is NULL.
TSR_API tsr_status tsr_buffer_create(tsr_device *device, size_t bytes, size_t alignment, tsr_buffer **out_buffer);

// Both take NULL.
TSR_API tsr_buffer *tsr_buffer_retain(tsr_buffer *buffer);
TSR_API void tsr_buffer_release(tsr_buffer *buffer);

TSR_API size_t tsr_buffer_bytes(const tsr_buffer *buffer);
TSR_API tsr_device *tsr_buffer_device(const tsr_buffer *buffer);  // borrowed

// The buffer's bytes where the host can address them, else NULL. Call tsr_device_synchronize before looking.
TSR_API void *tsr_buffer_host(tsr_buffer *buffer);

// Copies between the host and `bytes` at `offset` of the buffer.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL, or a range that leaves the buffer: the message has the figures),
//         TSR_ERR_DEVICE_LOST, TSR_ERR_TIMEOUT.
TSR_API tsr_status tsr_buffer_upload(tsr_buffer *buffer, size_t offset, const void *data, size_t bytes);
TSR_API tsr_status tsr_buffer_download(tsr_buffer *buffer, size_t offset, void *out_data, size_t bytes);

// Copies between two buffers on any two devices: directly where they can, else through the host. Within
// one buffer the ranges may overlap.
//
// Errors: as for upload.
TSR_API tsr_status tsr_buffer_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset,
                                   size_t bytes);

// Repeats `pattern` (1, 2, 4 or 8 bytes, a divisor of `bytes`) over the range.
//
// Errors: as for upload.
TSR_API tsr_status tsr_buffer_fill(tsr_buffer *buffer, size_t offset, size_t bytes, const void *pattern,
                                   size_t pattern_bytes);

#endif
