// SPDX-License-Identifier: MIT
// Copies within a device by a kernel, where the device's own way is slow (tsri_limits.copies_slowly).
#ifndef TSRI_RUNTIME_COPIER_H
#define TSRI_RUNTIME_COPIER_H

#include "runtime/buffer.h"

// Queues the copy and answers true in `*out_done`; false, with TSR_OK: not for this copy (small, unaligned, overlapping, or the
// device builds no such kernel), and nothing is queued.
tsr_status tsri_copier_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes,
                            bool *out_done);

// Frees the device's kernel; no queued work uses it any more.
void tsri_copier_destroy(tsr_device *device);

#endif
