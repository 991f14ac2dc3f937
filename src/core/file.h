// SPDX-License-Identifier: MIT
// Reads a file, or replaces one by another.
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

// Reads a whole file.
//
// Ownership: caller frees `*out_data` with tsri_free.
// Errors:    TSR_ERR_NOT_FOUND (no such file), TSR_ERR_IO, TSR_ERR_OUT_OF_MEMORY. Then `*out_data` is NULL. `caller` is for messages.
tsr_status tsri_file_read(const char *caller, const char *path, void **out_data, size_t *out_bytes);

// A temporary file in the folder of `path`, which replaces the file at `path` when it is complete. So whoever opens `path` reads either all old bytes or all
// new ones.
typedef struct tsri_beside {
  const char *path;  // borrowed
  char *new_path;
  FILE *file;
} tsri_beside;

// Errors: TSR_ERR_IO, TSR_ERR_OUT_OF_MEMORY. Then there is nothing to close.
tsr_status tsri_beside_open(tsri_beside *beside, const char *path, const char *caller);

// Closes the temporary file. If `status` is TSR_OK and everything was written, it replaces the file at `path`; else it is removed. Returns `status`, or TSR_ERR_IO.
tsr_status tsri_beside_close(tsri_beside *beside, tsr_status status, const char *caller);

#endif
