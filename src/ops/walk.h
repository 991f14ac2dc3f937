// SPDX-License-Identifier: MIT
// Iterates over one shape with several tensors at once, as the kernels of op_index.tk do: joined axes, and strides per
// tensor.
#ifndef TSRI_OPS_WALK_H
#define TSRI_OPS_WALK_H

#include "ops/call.h"

enum { TSRI_WALK_OPERANDS = 3 };

typedef struct tsri_walk {
  // Number of axes: 1, 2, 4 or 8, so that few variants of a kernel are built. Unused axes come first and have size 1.
  int rank;
  int operand_count;
  int64_t count;
  int64_t dims[TSR_MAX_RANK];
  int64_t strides[TSRI_WALK_OPERANDS][TSR_MAX_RANK];
} tsri_walk;

// Prepares the iteration over `shape`. `strides` has one list per operand. Axes of size 1 are dropped, and neighbouring axes are joined where the strides of
// all operands allow it.
void tsri_walk_init(tsri_walk *walk, tsr_shape shape, int operand_count, const int64_t *const *strides);

// tsri_walk_pass_dims passes d1 … d7; tsri_walk_pass_strides passes the strides of one operand as <stem>0 … <stem>7.
void tsri_walk_pass_dims(const tsri_walk *walk, tsri_call *call);
void tsri_walk_pass_strides(const tsri_walk *walk, int operand, const char *stem, tsri_call *call);

// Row-major strides of a shape.
void tsri_row_major(tsr_shape shape, int64_t *out_strides);

#endif
