// SPDX-License-Identifier: MIT
// Element-wise operators: the one function that applies type rules and records.
#ifndef TSRI_ELEMENTWISE_H
#define TSRI_ELEMENTWISE_H

#include <tessera/ops.h>

#include "ops/operators.h"

// What the operator computes in, and its result, for inputs of these dtypes.
//
// Errors: TSR_ERR_DTYPE, with the dtypes and what the operator takes.
tsr_status tsri_elementwise_dtypes(tsri_operator_id id, const tsr_dtype *inputs, tsr_dtype *out_computed,
                                   tsr_dtype *out_result);

// The record of an operator that computes in a dtype which it takes.
const tsri_op *tsri_elementwise_op_for(tsri_operator_id id, tsr_dtype computed);

// Checks a number beside a tensor of this dtype: an integer dtype takes whole numbers that it holds. may_exceed: a number outside its range is a limit
// (clamp) and becomes the end of the range.
//
// Errors: TSR_ERR_DTYPE, with the number and the range.
tsr_status tsri_fit_scalar(const char *caller, tsr_dtype dtype, bool may_exceed, double *value);

// Checks, promotes and records: the body of every public function. A tensor, or a failed one.
tsr_tensor *tsri_elementwise(tsri_operator_id id, tsr_tensor *const *inputs, const double *scalars);

// The same with the result's dtype given (for compositions that keep f32 until the end).
tsr_tensor *tsri_elementwise_to(tsri_operator_id id, tsr_dtype dtype, tsr_tensor *const *inputs, const double *scalars);

#endif
