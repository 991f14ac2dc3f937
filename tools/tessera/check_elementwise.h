// SPDX-License-Identifier: MIT
// Cases of the element-wise operators.
#ifndef TESSERA_TOOL_CHECK_ELEMENTWISE_H
#define TESSERA_TOOL_CHECK_ELEMENTWISE_H

#include "check.h"

// For operators on tensors; on tensors and numbers; for cast.
void check_elementwise(check_run *run, const check_op *op, tsr_dtype dtype);
void check_scalar(check_run *run, const check_op *op, tsr_dtype dtype);
void check_cast(check_run *run, const check_op *op, tsr_dtype dtype);

#endif
