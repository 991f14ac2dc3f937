// SPDX-License-Identifier: MIT
// Formats numbers of bytes for people.
#ifndef TESSERA_TOOL_SIZE_H
#define TESSERA_TOOL_SIZE_H

#include <stddef.h>
#include <stdint.h>

#define SIZE_TEXT_BYTES 64

// Formats "23.4 GiB", in the largest unit that gives at least 1. Returns `text`, which has SIZE_TEXT_BYTES.
char *size_format(uint64_t bytes, char *text);

// Formats "23.4 GiB (22.9 free)", both in the unit of the total. Free memory of 0 (unknown) is left out; a total of 0
// gives "-".
char *size_format_memory(uint64_t total_bytes, uint64_t free_bytes, char *text);

#endif
