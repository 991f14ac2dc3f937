// SPDX-License-Identifier: MIT
// Iterates over the indices of a gather or scatter by planes, the last two axes, so that the inner loops are simple.
#ifndef TSRI_CPU_INDEX_PLANES_H
#define TSRI_CPU_INDEX_PLANES_H

#include "backends/cpu/rows/index.h"

typedef struct tsri_index_plane {
  int64_t rows, columns;
  const char *indices;              // the first one
  int64_t index_row, index_column;  // strides of the indices
  int64_t base, row, column;  // where the first element lies in what is indexed, but for its index, and strides there
  int64_t first, row_length;  // number of the first element in row-major order; from row to row
  int64_t size, step;         // of the indexed axis
  int64_t low, high;          // only indices from low to before high count; 0 and `size` for all
} tsri_index_plane;

typedef void (*tsri_index_plane_fn)(const void *user, const tsri_index_plane *plane);

// Rows of the last axis, counted in row-major order.
int64_t tsri_index_rows(const tsri_indexing *by);
int64_t tsri_index_columns(const tsri_indexing *by);

// Calls `run` for planes that make up the elements from `first_row` to before `last_row` and `first_column` to before `last_column`.
// `like` has low and high.
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
