// SPDX-License-Identifier: MIT
// Parts of tsr_resize.
#ifndef TSRI_OPS_RESIZE_H
#define TSRI_OPS_RESIZE_H

#include "ops/operators.h"

// The operator that computes the table of an axis. No inputs; results: indices and weights of the elements that each position is made of, [taps * m]. Its
// attributes are `positions`.
extern const tsri_op tsri_op_resize_table;

#endif
