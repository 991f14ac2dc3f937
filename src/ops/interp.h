// SPDX-License-Identifier: MIT
// The element-wise part of interp, for its gradient.
#ifndef TSRI_OPS_INTERP_H
#define TSRI_OPS_INTERP_H

#include "graph/graph.h"

extern const tsri_op tsri_op_line;  // inputs: x; the x of the points on both sides; their y

#endif
