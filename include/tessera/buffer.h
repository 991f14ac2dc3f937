// SPDX-License-Identifier: MIT
// Raw device memory, for programs that bring their own kernels or data. Tensors are built on it.
//
// tsr_buffer_upload and tsr_buffer_download have finished when they return: the host memory may be changed, or read, at
// once. tsr_buffer_fill, and tsr_buffer_copy within one device, are queued and may still be running on return. After
// TSR_ERR_TIMEOUT the device may still be reading or writing the host memory: keep it until tsr_device_synchronize
// returns TSR_OK.
#ifndef TESSERA_BUFFER_H
#define TESSERA_BUFFER_H

#include <stddef.h>

#include <tessera/device.h>

// A range of bytes on one device. Reference-counted.
typedef struct tsr_buffer tsr_buffer;

// Allocates `bytes` from the device's memory pool; the contents are undefined. `alignment` is a power of two up to
// 4096, or 0 for the device's own (at least 256). A buffer of 0 bytes is valid.
//
// Ownership: caller releases `*out_buffer`, which holds a reference to the device.
// Threads:   any.
// Errors:    TSR_ERR_INVALID_ARGUMENT, TSR_ERR_OUT_OF_MEMORY (after trimming the pool and a second try; the message
//            gives the bytes requested, held and free). Then `*out_buffer` is NULL.
TSR_API tsr_status tsr_buffer_create(tsr_device *device, size_t bytes, size_t alignment, tsr_buffer **out_buffer);

// Reference counting. Both accept NULL.
TSR_API tsr_buffer *tsr_buffer_retain(tsr_buffer *buffer);
TSR_API void tsr_buffer_release(tsr_buffer *buffer);

TSR_API size_t tsr_buffer_bytes(const tsr_buffer *buffer);
TSR_API tsr_device *tsr_buffer_device(const tsr_buffer *buffer);  // borrowed

// The buffer's bytes if the host can address them, else NULL. Call tsr_device_synchronize before accessing them.
TSR_API void *tsr_buffer_host(tsr_buffer *buffer);

// Copies `bytes` from the host to offset `offset` of the buffer (upload), or back (download), and waits.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL, or a range outside of the buffer; the message gives the numbers),
//         TSR_ERR_DEVICE_LOST, TSR_ERR_TIMEOUT.
TSR_API tsr_status tsr_buffer_upload(tsr_buffer *buffer, size_t offset, const void *data, size_t bytes);
TSR_API tsr_status tsr_buffer_download(tsr_buffer *buffer, size_t offset, void *out_data, size_t bytes);

// Copies between two buffers, which may be on different devices: directly if the devices can, else through the host.
// Ranges within one buffer may overlap.
//
// Errors: as for upload.
TSR_API tsr_status tsr_buffer_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset,
                                   size_t bytes);

// Fills the range with copies of `pattern`, which has 1, 2, 4 or 8 bytes and must divide `bytes`.
//
// Errors: as for upload.
TSR_API tsr_status tsr_buffer_fill(tsr_buffer *buffer, size_t offset, size_t bytes, const void *pattern,
                                   size_t pattern_bytes);

#endif
