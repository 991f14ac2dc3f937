// SPDX-License-Identifier: MIT
// Reads and writes whole files. Each failure prints a message on standard error.
#ifndef TESSERA_TOOL_FILE_H
#define TESSERA_TOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>

// Returns the contents of a file ("-": standard input), followed by a NUL that is not counted. More than `most` bytes
// are an error. The caller frees it. NULL after a message.
char *file_read(const char *path, size_t most, size_t *out_bytes);

// Whether the path is a regular file: not a pipe or a device, which may be endless. False for "-" and for a missing
// file.
bool file_is_regular(const char *path);

// Writes `header_bytes` of `header`, then `bytes` of `data`. False after a message.
bool file_write(const char *path, const char *header, size_t header_bytes, const void *data, size_t bytes);

#endif
