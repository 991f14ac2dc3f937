// SPDX-License-Identifier: MIT
// Strided elements to contiguous memory, a vector at a time: the inner loops of strided copies and gathers.
#ifndef TSRI_LINES_H
#define TSRI_LINES_H

#include <stddef.h>
#include <stdint.h>

// Copies `count` elements of `element_bytes` (1, 2, 4 or 8), `stride` bytes apart in `from`, to contiguous memory. Reads
// nothing but bytes between the first and the last element.
void tsri_gather_line(char *to, int64_t stride, const char *from, int64_t count, size_t element_bytes);

enum { TSRI_TILE_BYTES = 64 };  // a cache line

// Transposes a tile: element j of row i goes from from[j][i] to column j of row i of `to`, whose rows are `to_row` bytes apart.
// There are `rows` and `columns` of them, each at most TSRI_TILE_BYTES / element_bytes. Rows of `to` are written one after the other.
void tsri_turn_tile(char *to, int64_t to_row, unsigned char (*from)[TSRI_TILE_BYTES], int64_t rows, int64_t columns,
                    size_t element_bytes);

#endif
