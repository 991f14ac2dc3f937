// SPDX-License-Identifier: MIT
// The dtype in which an operator computes while the thread has an autocast range open: column AUTOCAST in operators.def.
#ifndef TSRI_OPS_AUTOCAST_H
#define TSRI_OPS_AUTOCAST_H

#include "graph/graph.h"

#include <tessera/autocast.h>

// Adjusts `dtype`, which the operator's type rule gives, to the open range: a NARROW operator computes f32 in the range's dtype, a WIDE one computes f16 and
// bf16 in f32.
tsr_dtype tsri_autocast(const tsri_op *op, tsr_dtype dtype);

// Whether the thread has a range open that computes products in f16 or bf16.
bool tsri_autocast_is_on(void);

// Switches conversions off until tsri_autocast_resume, which takes the returned value.
tsr_dtype tsri_autocast_pause(void);
void tsri_autocast_resume(tsr_dtype before);

// tsr_matmul and tsr_gemm without autocast, for operators composed of products that need the precision of their inputs.
tsr_tensor *tsri_matmul_exact(tsr_tensor *a, tsr_tensor *b);
tsr_tensor *tsri_gemm_exact(double alpha, tsr_tensor *a, tsr_tensor *b, double beta, tsr_tensor *c);

#endif
