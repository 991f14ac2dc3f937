// SPDX-License-Identifier: MIT
#include "backends/cpu/rows/index_planes.h"

int64_t tsri_index_columns(const tsri_indexing *by) { return by->rank > 0 ? by->dims[by->rank - 1] : 1; }

int64_t tsri_index_rows(const tsri_indexing *by) {
  int64_t rows = 1;
  for (int i = 0; i < by->rank - 1; i++) rows *= by->dims[i];
  return rows;
}

// Sets *plane to begin at `row`, and returns how many rows of the next to last axis remain from there.
static int64_t start_plane(const tsri_indexing *by, int64_t row, int64_t column, tsri_index_plane *plane) {
  int last = by->rank - 1;
  int64_t index_at = 0, left = 1, rest = row;
  plane->first = row * plane->row_length + column;
  plane->base = 0;
  if (last >= 0) {
    plane->base = column * by->strides[last];
    index_at = column * by->index_strides[last];
  }
  for (int axis = last - 1; axis >= 0; axis--) {
    int64_t index = rest % by->dims[axis];
    rest /= by->dims[axis];
    plane->base += index * by->strides[axis];
    index_at += index * by->index_strides[axis];
    if (axis == last - 1) left = by->dims[axis] - index;
  }
  plane->indices = by->indices + index_at * (int64_t)tsr_dtype_bytes(by->index_dtype);
  return left;
}

void tsri_index_planes(const tsri_indexing *by, const tsri_index_plane *like, int64_t first_row, int64_t last_row,
                       int64_t first_column, int64_t last_column, tsri_index_plane_fn run, const void *user) {
  int last = by->rank - 1;
  tsri_index_plane plane = *like;
  plane.columns = last_column - first_column;
  plane.row_length = tsri_index_columns(by);
  plane.size = by->size;
  plane.step = by->step;
  plane.column = last >= 0 ? by->strides[last] : 0;
  plane.index_column = last >= 0 ? by->index_strides[last] : 0;
  plane.row = last >= 1 ? by->strides[last - 1] : 0;
  plane.index_row = last >= 1 ? by->index_strides[last - 1] : 0;
  if (plane.columns == 0) return;
  for (int64_t at = first_row; at < last_row; at += plane.rows) {
    int64_t left = start_plane(by, at, first_column, &plane);
    plane.rows = left < last_row - at ? left : last_row - at;
    run(user, &plane);
  }
}
