// SPDX-License-Identifier: MIT
// Reading a file that someone named.
#ifndef TSRI_CORE_FILE_H
#define TSRI_CORE_FILE_H

#include <stdio.h>

#include <tessera/status.h>

// The rest of a stream, or somewhat more than `most` bytes of it: then `*out_bytes` is above `most`. `path` is for messages.
//
// Ownership: caller frees `*out_text` with tsri_free; it has no final 0.
// Errors:    TSR_ERR_IO, TSR_ERR_OUT_OF_MEMORY. Then `*out_text` is NULL.
tsr_status tsri_stream_read(FILE *stream, const char *path, size_t most, char **out_text, size_t *out_bytes);

#endif
