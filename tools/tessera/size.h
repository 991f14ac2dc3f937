// SPDX-License-Identifier: MIT
// Numbers of bytes for people.
#ifndef TESSERA_TOOL_SIZE_H
#define TESSERA_TOOL_SIZE_H

#include <stddef.h>
#include <stdint.h>

#define SIZE_TEXT_BYTES 64

// "23.4 GiB"; a unit is used from 1 of it. Returns `text` (SIZE_TEXT_BYTES of it).
char *size_format(uint64_t bytes, char *text);

// "23.4 GiB (22.9 free)", both in the unit of the total; what is unknown (0) is left out, "-" for a total of 0.
char *size_format_memory(uint64_t total_bytes, uint64_t free_bytes, char *text);

#endif
