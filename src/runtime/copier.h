// SPDX-License-Identifier: MIT
// Copies within a device by kernels, for devices whose own copy is slow (tsri_limits.copies_slowly).
#ifndef TSRI_RUNTIME_COPIER_H
#define TSRI_RUNTIME_COPIER_H

#include "runtime/buffer.h"

// Queues the copy and sets `*out_done`. `*out_done` stays false, with TSR_OK, if the kernels cannot do this copy (small,
// overlapping, or the device cannot build them); then nothing is queued.
tsr_status tsri_copier_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes,
                            bool *out_done);

// Frees the device's kernels. No queued work may use it any more.
void tsri_copier_destroy(tsr_device *device);

#endif
