// SPDX-License-Identifier: MIT
// Copies strided elements to contiguous memory with SIMD vectors: the inner loops of strided copies and gathers.
#ifndef TSRI_LINES_H
#define TSRI_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Copies `count` elements of `element_bytes` (1, 2, 4 or 8) bytes, which are `stride` bytes apart in `from`, to contiguous memory. Reads no byte outside the
// range from the first to the last element.
void tsri_gather_line(char *to, int64_t stride, const char *from, int64_t count, size_t element_bytes);

// Writes the first elements of a and b, then the second ones, and so on, `count` of each, to contiguous memory. Elements have 1, 2, 4 or 8 bytes.
void tsri_interleave(char *to, const char *a, const char *b, int64_t count, size_t element_bytes);

// Copies up to TSRI_FEW_BYTES bytes by a few moves of constant size, the last of which overlaps the one before. This takes less time than a call of memcpy. In
// web pages, whose module has to stay small, it calls memcpy.
enum { TSRI_FEW_BYTES = 64 };

static inline void tsri_copy_few(char *to, const char *from, size_t bytes) {
#if defined(__wasm__)
  memcpy(to, from, bytes);
#else
#define TSRI_COPY_ENDS(size)                   \
  do {                                         \
    char first[size], last[size];              \
    memcpy(first, from, size);                 \
    memcpy(last, from + bytes - (size), size); \
    memcpy(to, first, size);                   \
    memcpy(to + bytes - (size), last, size);   \
  } while (0)
  if (bytes > 32) TSRI_COPY_ENDS(32);
  else if (bytes >= 16) TSRI_COPY_ENDS(16);
  else if (bytes >= 8) TSRI_COPY_ENDS(8);
  else if (bytes >= 4) TSRI_COPY_ENDS(4);
  else if (bytes >= 2) TSRI_COPY_ENDS(2);
  else if (bytes == 1) *to = *from;
#undef TSRI_COPY_ENDS
#endif
}

enum { TSRI_TILE_BYTES = 64 };  // a cache line

// Gathers `lines` lines of `count` elements, which are `stride` bytes apart, each into a row of a tile. Lines begin `step` bytes apart.
void tsri_gather_tile(unsigned char (*to)[TSRI_TILE_BYTES], int64_t stride, const char *from, int64_t step,
                      int64_t lines, int64_t count, size_t element_bytes);

// Transposes a tile: element j of row i goes from from[j][i] to column j of row i of `to`, whose rows are `to_row` bytes apart.
// There are `rows` and `columns` of them, each at most TSRI_TILE_BYTES / element_bytes. Rows of `to` are written one after the other.
void tsri_turn_tile(char *to, int64_t to_row, unsigned char (*from)[TSRI_TILE_BYTES], int64_t rows, int64_t columns,
                    size_t element_bytes);

#endif
