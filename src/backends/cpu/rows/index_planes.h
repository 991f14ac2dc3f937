// SPDX-License-Identifier: MIT
// Iterates over the indices of a gather or scatter by planes (the last two axes), so that the inner loops are simple.
#ifndef TSRI_CPU_INDEX_PLANES_H
#define TSRI_CPU_INDEX_PLANES_H

#include "backends/cpu/rows/index.h"

typedef struct tsri_index_plane {
  int64_t rows, columns;
  const char *indices;              // address of the first index
  int64_t index_row, index_column;  // strides of the indices
  int64_t base, row, column;  // offset of the first element in the indexed tensor, without its index; strides there
  int64_t first, row_length;  // row-major number of the first element; distance from row to row
  int64_t size, step;         // of the indexed axis
  int64_t low, high;          // only indices from low to high - 1 are used; 0 and `size` for all
} tsri_index_plane;

typedef void (*tsri_index_plane_fn)(const void *user, const tsri_index_plane *plane);

// Number of rows (all axes except the last).
int64_t tsri_index_rows(const tsri_indexing *by);
int64_t tsri_index_columns(const tsri_indexing *by);

// Calls `run` for planes that together cover the rows `first_row` to `last_row` - 1 and the columns `first_column` to `last_column` - 1. `like` supplies low
// and high.
void tsri_index_planes(const tsri_indexing *by, const tsri_index_plane *like, int64_t first_row, int64_t last_row,
                       int64_t first_column, int64_t last_column, tsri_index_plane_fn run, const void *user);

// Converts an index to an offset: a position from plane->low to plane->high - 1, times step. False: the index is out of that range and is ignored.
static inline bool tsri_index_place(const tsri_index_plane *plane, int64_t index, int64_t *out_place) {
  int64_t position = index < 0 ? index + plane->size : index;
  if (position < plane->low || position >= plane->high) return false;
  *out_place = position * plane->step;
  return true;
}

#endif
