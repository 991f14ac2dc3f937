// SPDX-License-Identifier: MIT
// Element-wise operators: applies type rules and records.
#ifndef TSRI_ELEMENTWISE_H
#define TSRI_ELEMENTWISE_H

#include <tessera/ops.h>

#include "ops/operators.h"

// Gives the dtype the operator computes in, and the dtype of its result, for inputs with the dtypes `inputs`.
//
// Errors: TSR_ERR_DTYPE; the message has the dtypes and those the operator accepts.
tsr_status tsri_elementwise_dtypes(tsri_operator_id id, const tsr_dtype *inputs, tsr_dtype *out_computed,
                                   tsr_dtype *out_result);

// The record of the operator for computing in `computed`, a dtype that it accepts, on a device of this type. TSRI_BODY_HALF is chosen for GPUs only: it uses
// rsqrt in place of quotients, which on a CPU would be a quotient and a square root.
const tsri_op *tsri_elementwise_op_for(tsri_operator_id id, tsr_dtype computed, tsr_device_type device_type);

// Checks a scalar that is used with a tensor of this dtype: with an integer dtype it must be an integer that the dtype
// can hold. With `may_exceed` (the limits of clamp) a number outside of the dtype's range is clamped to it.
//
// Errors: TSR_ERR_DTYPE, with the number and the range.
tsr_status tsri_fit_scalar(const char *caller, tsr_dtype dtype, bool may_exceed, double *value);

// Checks, promotes and records: every public function of an element-wise operator calls this. Returns a tensor, or a
// failed one.
tsr_tensor *tsri_elementwise(tsri_operator_id id, tsr_tensor *const *inputs, const double *scalars);

// As tsri_elementwise, with the dtype of the result given. For composed operators that compute in f32 until the last step.
tsr_tensor *tsri_elementwise_to(tsri_operator_id id, tsr_dtype dtype, tsr_tensor *const *inputs, const double *scalars);

#endif
