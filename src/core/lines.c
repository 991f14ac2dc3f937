// SPDX-License-Identifier: MIT
#include "core/lines.h"

#include <stdbool.h>
#include <string.h>

// Vectors of 16 bytes, by compiler built-ins; all supported processors have them. With a compiler that lacks the built-ins, elements are copied one by one.
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAS_VECTORS 1
#endif
#endif

enum { VECTOR_BYTES = 16 };

// Whether the last columns of a tile, which do not fill a vector, are transposed with vectors, too. Not in web pages, whose module has to stay small.
#if defined(HAS_VECTORS) && !defined(__wasm__)
#define HAS_PART_SQUARES 1
#else
#define HAS_PART_SQUARES 0
#endif

// Completely unrolls the short loop after it, so that arrays of vectors stay in registers.
#define UNROLL _Pragma("GCC unroll 16")

#define T        uint8_t
#define NAME(x)  x##_8
#define LOW      0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN     0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define EVEN_ODD 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31
#include "lines.inc"

#define T        uint16_t
#define NAME(x)  x##_16
#define LOW      0, 8, 1, 9, 2, 10, 3, 11
#define HIGH     4, 12, 5, 13, 6, 14, 7, 15
#define EVEN     0, 2, 4, 6, 8, 10, 12, 14
#define EVEN_ODD 0, 2, 4, 6, 9, 11, 13, 15
#include "lines.inc"

#define T        uint32_t
#define NAME(x)  x##_32
#define LOW      0, 4, 1, 5
#define HIGH     2, 6, 3, 7
#define EVEN     0, 2, 4, 6
#define EVEN_ODD 0, 2, 5, 7
#include "lines.inc"

#define T        uint64_t
#define NAME(x)  x##_64
#define LOW      0, 2
#define HIGH     1, 3
#define EVEN     0, 2
#define EVEN_ODD 0, 3
#include "lines.inc"

void tsri_gather_line(char *to, int64_t stride, const char *from, int64_t count, size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      gather_line_8(to, stride, from, count);
      break;
    case 2:
      gather_line_16(to, stride, from, count);
      break;
    case 4:
      gather_line_32(to, stride, from, count);
      break;
    default:
      gather_line_64(to, stride, from, count);
      break;
  }
}

void tsri_interleave(char *to, const char *a, const char *b, int64_t count, size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      interleave_8(to, a, b, count);
      break;
    case 2:
      interleave_16(to, a, b, count);
      break;
    case 4:
      interleave_32(to, a, b, count);
      break;
    default:
      interleave_64(to, a, b, count);
      break;
  }
}

void tsri_gather_tile(unsigned char (*to)[TSRI_TILE_BYTES], int64_t stride, const char *from, int64_t step,
                      int64_t lines, int64_t count, size_t element_bytes) {
#if HAS_PART_SQUARES
  switch (element_bytes) {
    case 1:
      gather_tile_8(to, stride, from, step, lines, count);
      break;
    case 2:
      gather_tile_16(to, stride, from, step, lines, count);
      break;
    case 4:
      gather_tile_32(to, stride, from, step, lines, count);
      break;
    default:
      gather_tile_64(to, stride, from, step, lines, count);
      break;
  }
#else
  for (int64_t j = 0; j < lines; j++) tsri_gather_line((char *)to[j], stride, from + j * step, count, element_bytes);
#endif
}

void tsri_turn_tile(char *to, int64_t to_row, unsigned char (*from)[TSRI_TILE_BYTES], int64_t rows, int64_t columns,
                    size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      turn_tile_8(to, to_row, from, rows, columns);
      break;
    case 2:
      turn_tile_16(to, to_row, from, rows, columns);
      break;
    case 4:
      turn_tile_32(to, to_row, from, rows, columns);
      break;
    default:
      turn_tile_64(to, to_row, from, rows, columns);
      break;
  }
}
