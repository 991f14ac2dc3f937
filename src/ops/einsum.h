// SPDX-License-Identifier: MIT
// Parses and checks the equation of einsum for operands of given shapes.
#ifndef TSRI_OPS_EINSUM_H
#define TSRI_OPS_EINSUM_H

#include <tessera/shape.h>
#include <tessera/status.h>

// Labels are numbers: A to Z, a to z, and then the axes that "..." stands for, counted from the last axis on. Sets of labels are bit sets.
enum { TSRI_EINSUM_LETTERS = 52, TSRI_EINSUM_LABELS = TSRI_EINSUM_LETTERS + TSR_MAX_RANK, TSRI_EINSUM_OPERANDS = 10 };

typedef struct tsri_einsum_term {
  int rank;
  int labels[TSR_MAX_RANK];  // one for each axis
} tsri_einsum_term;

typedef struct tsri_einsum {
  int count;
  tsri_einsum_term operands[TSRI_EINSUM_OPERANDS];
  tsri_einsum_term output;            // each label at most once, and only labels of operands
  int64_t sizes[TSRI_EINSUM_LABELS];  // size of each label; 1 if the label does not occur
} tsri_einsum;

// Parses the equation. Axes with the same label must have the same size, or size 1, which is broadcast.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (syntax), TSR_ERR_SHAPE (operands do not match the equation).
tsr_status tsri_einsum_read(const char *equation, const tsr_shape *shapes, int count, tsri_einsum *out);

#endif
