// SPDX-License-Identifier: MIT
// Lines and tiles of every element size, compared with copying one element at a time. Sources end where their last element does, so
// that a sanitizer notices a read beyond it.
#include "core/lines.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static unsigned char *numbered(size_t bytes) {
  unsigned char *memory = malloc(bytes);
  for (size_t i = 0; memory && i < bytes; i++) memory[i] = (unsigned char)((i * 37) ^ (i >> 8));
  return memory;
}

static void check_line(int64_t stride, int64_t count, size_t element) {
  enum { GUARD = 0x5A, MOST = 64 };
  size_t span = (size_t)(count - 1) * (size_t)stride + element;
  unsigned char *from = numbered(span), is[MOST * 8 + 1], wanted[MOST * 8 + 1];
  CHECK(from != NULL);
  memset(is, GUARD, sizeof is);
  memset(wanted, GUARD, sizeof wanted);
  for (int64_t i = 0; i < count; i++) memcpy(wanted + i * (int64_t)element, from + i * stride, element);
  tsri_gather_line((char *)is, stride, (char *)from, count, element);
  CHECK_BYTES(is, wanted, sizeof is);
  free(from);
}

TEST(lines_of_every_stride_and_length_are_gathered) {
  for (size_t element = 1; element <= 8; element *= 2) {
    for (int64_t count = 1; count <= 40; count++) {
      for (int64_t gap = 0; gap <= 5; gap++) check_line(gap * (int64_t)element, count, element);
    }
  }
}

TEST(two_lines_of_every_length_are_interleaved) {
  enum { GUARD = 0x5A, MOST = 40 };
  for (size_t element = 1; element <= 8; element *= 2) {
    for (size_t count = 1; count <= MOST; count++) {
      unsigned char *a = numbered(count * element), *b = numbered(count * element + 1), is[2 * MOST * 8 + 1],
                    wanted[sizeof is];
      CHECK(a != NULL && b != NULL);
      memset(is, GUARD, sizeof is);
      memset(wanted, GUARD, sizeof wanted);
      for (size_t i = 0; i < count; i++) {
        memcpy(wanted + 2 * i * element, a + i * element, element);
        memcpy(wanted + (2 * i + 1) * element, b + 1 + i * element, element);
      }
      tsri_interleave((char *)is, (char *)a, (char *)b + 1, (int64_t)count, element);
      CHECK_BYTES(is, wanted, sizeof is);
      free(a);
      free(b);
    }
  }
}

TEST(a_line_is_gathered_backwards) {
  const uint32_t from[] = {1, 2, 3, 4, 5};
  uint32_t is[3];
  tsri_gather_line((char *)is, -2 * (int64_t)sizeof *from, (const char *)&from[4], 3, sizeof *from);
  CHECK(is[0] == 5 && is[1] == 3 && is[2] == 1);
}

static void check_tile(int64_t rows, int64_t columns, size_t element) {
  enum { TO_ROW = 80, GUARD = 0x5A };
  static unsigned char from[TSRI_TILE_BYTES][TSRI_TILE_BYTES], is[TSRI_TILE_BYTES][TO_ROW],
      wanted[TSRI_TILE_BYTES][TO_ROW];
  for (int j = 0; j < TSRI_TILE_BYTES; j++) {
    for (int i = 0; i < TSRI_TILE_BYTES; i++) from[j][i] = (unsigned char)(7 * j + 13 * i + (i * j >> 3));
  }
  memset(is, GUARD, sizeof is);
  memset(wanted, GUARD, sizeof wanted);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++)
      memcpy(wanted[i] + j * (int64_t)element, from[j] + i * (int64_t)element, element);
  }
  tsri_turn_tile((char *)is, TO_ROW, from, rows, columns, element);
  CHECK_BYTES(is, wanted, sizeof is);
}

TEST(tiles_of_every_size_are_transposed) {
  for (size_t element = 1; element <= 8; element *= 2) {
    int64_t most = TSRI_TILE_BYTES / (int64_t)element;
    for (int64_t rows = 1; rows <= most; rows += rows < 20 ? 1 : 11) {
      for (int64_t columns = 1; columns <= most; columns += columns < 20 ? 1 : 11) check_tile(rows, columns, element);
    }
  }
}
