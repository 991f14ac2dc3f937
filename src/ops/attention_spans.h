// SPDX-License-Identifier: MIT
// How attention_few of kernels/op_attention.tk divides keys and rows among work-groups.
#ifndef TSRI_OPS_ATTENTION_SPANS_H
#define TSRI_OPS_ATTENTION_SPANS_H

#include "ops/operators.h"

// How an attention with few queries is divided; the kernel's parameters have the same names.
typedef struct tsri_attention_spans {
  bool is_wide;
  int rows, runs, team, unroll, items;
  int64_t chunks, splits, span, groups;
} tsri_attention_spans;

// Chooses the division. False if the kernel cannot compute this attention: the dtype is f64, or subgroups are too small for its heads.
bool tsri_attention_divide(const tsri_kernel_run *run, tsri_attention_spans *out_spans);

#endif
