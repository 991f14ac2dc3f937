// SPDX-License-Identifier: MIT
// Joins the axes of several tensors for iteration, and passes shapes and strides to kernels.
#include "ops/walk.h"

void tsri_row_major(tsr_shape shape, int64_t *out_strides) {
  int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; i--) {
    out_strides[i] = stride;
    stride *= shape.dims[i];
  }
}

// Whether axis `axis` of the shape can be joined to the last axis of the walk in every operand.
static bool joins(const tsri_walk *walk, int64_t size, int axis, const int64_t *const *strides) {
  for (int i = 0; i < walk->operand_count; i++) {
    if (walk->strides[i][walk->rank - 1] != strides[i][axis] * size) return false;
  }
  return true;
}

// Moves the axes to the end, so that the walk has `rank` axes.
static void pad_rank(tsri_walk *walk, int rank) {
  int shift = rank - walk->rank;
  for (int i = rank - 1; i >= 0; i--) {
    walk->dims[i] = i >= shift ? walk->dims[i - shift] : 1;
    for (int j = 0; j < walk->operand_count; j++) {
      walk->strides[j][i] = i >= shift ? walk->strides[j][i - shift] : 0;
    }
  }
  walk->rank = rank;
}

void tsri_walk_init(tsri_walk *walk, tsr_shape shape, int operand_count, const int64_t *const *strides) {
  *walk = (tsri_walk){.operand_count = operand_count, .count = 1};
  for (int axis = 0; axis < shape.rank; axis++) {
    int64_t size = shape.dims[axis];
    walk->count *= size;
    if (size == 1) continue;
    bool is_new = walk->rank == 0 || !joins(walk, size, axis, strides);
    if (is_new) walk->rank++;
    int at = walk->rank - 1;
    walk->dims[at] = is_new ? size : walk->dims[at] * size;
    for (int i = 0; i < operand_count; i++) walk->strides[i][at] = strides[i][axis];
  }
  pad_rank(walk, walk->rank <= 1 ? 1 : walk->rank <= 2 ? 2 : walk->rank <= 4 ? 4 : 8);
}

void tsri_walk_pass_dims(const tsri_walk *walk, tsri_call *call) {
  int64_t dims[TSR_MAX_RANK];
  for (int i = 1; i < TSR_MAX_RANK; i++) dims[i] = i < walk->rank ? walk->dims[i] : 1;
  tsri_call_words(call, "d", 1, dims + 1, TSR_MAX_RANK - 1);
}

void tsri_walk_pass_strides(const tsri_walk *walk, int operand, const char *stem, tsri_call *call) {
  int64_t strides[TSR_MAX_RANK];
  for (int i = 0; i < TSR_MAX_RANK; i++) strides[i] = i < walk->rank ? walk->strides[operand][i] : 0;
  tsri_call_words(call, stem, 0, strides, TSR_MAX_RANK);
}
