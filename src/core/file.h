// SPDX-License-Identifier: MIT
// Reads a file.
#ifndef TSRI_CORE_FILE_H
#define TSRI_CORE_FILE_H

#include <stdio.h>

#include <tessera/status.h>

// Reads the rest of a stream. Stops early after more than `most` bytes; `*out_bytes` is then above `most`. `path` is
// for messages.
//
// Ownership: caller frees `*out_text` with tsri_free; it is not terminated by 0.
// Errors:    TSR_ERR_IO, TSR_ERR_OUT_OF_MEMORY. Then `*out_text` is NULL.
tsr_status tsri_stream_read(FILE *stream, const char *path, size_t most, char **out_text, size_t *out_bytes);

#endif
