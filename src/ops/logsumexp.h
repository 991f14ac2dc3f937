// SPDX-License-Identifier: MIT
// Element-wise parts of logsumexp, for its gradient.
#ifndef TSRI_OPS_LOGSUMEXP_H
#define TSRI_OPS_LOGSUMEXP_H

#include "graph/graph.h"

extern const tsri_op tsri_op_anchor;       // the maximum if it is finite, else 0
extern const tsri_op tsri_op_shifted_exp;  // exp(x - anchor)
extern const tsri_op tsri_op_log_plus;     // log(sum) + anchor

#endif
