// SPDX-License-Identifier: MIT
// The equation of einsum, read for operands of given shapes.
#ifndef TSRI_OPS_EINSUM_H
#define TSRI_OPS_EINSUM_H

#include <tessera/shape.h>
#include <tessera/status.h>

// Labels are numbers: A to Z, a to z, and the axes that "..." stands for, from the last one on. Sets of them are bit sets.
enum { TSRI_EINSUM_LETTERS = 52, TSRI_EINSUM_LABELS = TSRI_EINSUM_LETTERS + TSR_MAX_RANK, TSRI_EINSUM_OPERANDS = 10 };

typedef struct tsri_einsum_term {
  int rank;
  int labels[TSR_MAX_RANK];  // of each axis
} tsri_einsum_term;

typedef struct tsri_einsum {
  int count;
  tsri_einsum_term operands[TSRI_EINSUM_OPERANDS];
  tsri_einsum_term output;            // no label twice, each of an operand
  int64_t sizes[TSRI_EINSUM_LABELS];  // of each label; 1 where it does not occur
} tsri_einsum;

// Reads the equation. Axes of one label have one size, or size 1, which is broadcast.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (the text), TSR_ERR_SHAPE (operands that do not fit it).
tsr_status tsri_einsum_read(const char *equation, const tsr_shape *shapes, int count, tsri_einsum *out);

#endif
