// SPDX-License-Identifier: MIT
// The dtype in which an operator computes while the thread has a range of autocast open: AUTOCAST in operators.def.
#ifndef TSRI_OPS_AUTOCAST_H
#define TSRI_OPS_AUTOCAST_H

#include "graph/graph.h"

#include <tessera/autocast.h>

// The dtype in place of `dtype`, which the type rule of the operator gives: NARROW makes f32 the dtype of the range, WIDE makes f16 and bf16 f32.
tsr_dtype tsri_autocast(const tsri_op *op, tsr_dtype dtype);

// Whether the thread has a range open that computes products in f16 or bf16.
bool tsri_autocast_is_on(void);

// Switches conversions off until tsri_autocast_resume, which takes the returned value.
tsr_dtype tsri_autocast_pause(void);
void tsri_autocast_resume(tsr_dtype before);

// tsr_matmul and tsr_gemm without conversions, for operators made of products that need the precision of what they are given.
tsr_tensor *tsri_matmul_exact(tsr_tensor *a, tsr_tensor *b);
tsr_tensor *tsri_gemm_exact(double alpha, tsr_tensor *a, tsr_tensor *b, double beta, tsr_tensor *c);

#endif
