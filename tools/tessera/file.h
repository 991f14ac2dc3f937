// SPDX-License-Identifier: MIT
// Whole files, read and written. Each failure has its message on standard error.
#ifndef TESSERA_TOOL_FILE_H
#define TESSERA_TOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>

// The contents of a file ("-": standard input), followed by a 0 that is not counted; at most `most` bytes, more is an
// error. The caller frees it. NULL after a message.
char *file_read(const char *path, size_t most, size_t *out_bytes);

// Whether the path leads to a file with an end: not to a pipe or a device. False for "-" and for what is not there.
bool file_is_regular(const char *path);

// Writes `header_bytes`, then `bytes`. False after a message.
bool file_write(const char *path, const char *header, size_t header_bytes, const void *data, size_t bytes);

#endif
