// SPDX-License-Identifier: MIT
// Several tensors walked together over one shape, as the kernels of op_index.tk take them: few axes, strides for each.
#ifndef TSRI_OPS_WALK_H
#define TSRI_OPS_WALK_H

#include "ops/call.h"

enum { TSRI_WALK_OPERANDS = 3 };

typedef struct tsri_walk {
  int rank;  // 1, 2, 4 or 8, so that few variants of a kernel are built; unused axes come first, with size 1
  int operand_count;
  int64_t count;
  int64_t dims[TSR_MAX_RANK];
  int64_t strides[TSRI_WALK_OPERANDS][TSR_MAX_RANK];
} tsri_walk;

// `strides`: one list per operand, for the axes of `shape`. Axes of size 1 are dropped and neighbours joined where
// every operand allows it.
void tsri_walk_init(tsri_walk *walk, tsr_shape shape, int operand_count, const int64_t *const *strides);

// Passes d1 … d7, and the strides s0 … s7 of one operand.
void tsri_walk_pass_dims(const tsri_walk *walk, tsri_call *call);
void tsri_walk_pass_strides(const tsri_walk *walk, int operand, const char *stem, tsri_call *call);

// Row-major strides of a shape.
void tsri_row_major(tsr_shape shape, int64_t *out_strides);

#endif
