// SPDX-License-Identifier: MIT
// isclose, allclose: equality within bounds; nextafter: the neighbouring number.
#include <math.h>

#include "core/error.h"
#include "ops/compose.h"
#include "ops/elementwise.h"
#include "ops/promote.h"

// --- isclose, allclose -----------------------------------------------------------------------------------------------

// $0: a, $1: b; #0: rtol, #1: atol. Infinities are close if they are equal.
static const tsri_op close_op = {.name = "isclose",
                                 .kind = TSRI_OP_ELEMENTWISE,
                                 .expression = "$0 == $1 | (isfinite($1) & abs($0 - $1) <= #1 + #0 * abs($1))"};
static const tsri_op close_or_nan_op = {
    .name = "isclose",
    .kind = TSRI_OP_ELEMENTWISE,
    .expression = "$0 == $1 | (isfinite($1) & abs($0 - $1) <= #1 + #0 * abs($1)) | (isnan($0) & isnan($1))"};
// $0: the distance of two integers; if the subtraction wrapped around, minus #2, the span of the type. $1: b; #0: rtol, #1: atol.
static const tsri_op close_whole_op = {.name = "isclose",
                                       .kind = TSRI_OP_ELEMENTWISE,
                                       .expression = "select($0 < T(0), $0 + #2, $0) <= #1 + #0 * abs($1)"};

static tsr_tensor *record(const tsri_op *op, tsr_tensor *a, tsr_tensor *b, tsr_dtype computed,
                          const tsri_scalars *scalars) {
  tsr_status status = tsri_tensor_check(op->name, a);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, b);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_elementwise(op, TSR_BOOL, (tsri_operand_ref[]){{a, computed}, {b, computed}}, 2, scalars);
}

// Computes the distance as an integer, so that large neighbours differ; f32 would round them to the same number.
static tsr_tensor *are_whole_close(tsr_tensor *a, tsr_tensor *b, double rtol, double atol) {
  tsr_dtype dtype = tsri_promote_sum(tsri_promote(a->dtype, b->dtype));
  tsr_tensor *whole_a = tsr_cast(a, dtype), *whole_b = tsr_cast(b, dtype);
  tsr_tensor *most = tsr_maximum(whole_a, whole_b), *least = tsr_minimum(whole_a, whole_b);
  tsr_tensor *distance = tsr_sub(most, least);
  double span = ldexp(1, (int)tsr_dtype_bytes(dtype) * 8);
  tsr_tensor *result = record(&close_whole_op, distance, whole_b, TSR_F32, &(tsri_scalars){3, {rtol, atol, span}});
  tsri_release_all((tsr_tensor *[]){whole_a, whole_b, most, least, distance}, 5);
  return result;
}

static tsr_tensor *are_close(const char *caller, tsr_tensor *a, tsr_tensor *b, double rtol, double atol,
                             bool equal_nan) {
  tsr_status status = tsri_tensor_check(caller, a);
  if (status == TSR_OK) status = tsri_tensor_check(caller, b);
  if (status == TSR_OK && !(rtol >= 0 && atol >= 0)) {
    status =
        TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: rtol is %g and atol %g; both must be 0 or more", caller, rtol, atol);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote(a->dtype, b->dtype);
  if (!tsri_dtype_is_float(dtype)) return are_whole_close(a, b, rtol, atol);
  return record(equal_nan ? &close_or_nan_op : &close_op, a, b, dtype, &(tsri_scalars){2, {rtol, atol}});
}

tsr_tensor *tsr_isclose(tsr_tensor *a, tsr_tensor *b, double rtol, double atol, bool equal_nan) {
  return tsri_tensor_named("isclose", are_close("isclose", a, b, rtol, atol, equal_nan));
}

tsr_tensor *tsr_allclose(tsr_tensor *a, tsr_tensor *b, double rtol, double atol, bool equal_nan) {
  tsr_tensor *each = are_close("allclose", a, b, rtol, atol, equal_nan);
  return tsri_tensor_named("allclose", tsri_then(tsr_all(each, NULL, 0, false), each));
}

// --- nextafter -------------------------------------------------------------------------------------------------------

// Narrow floats are computed in f32, where the neighbouring number depends on the narrow dtype: each needs its own expression.
#define NEXT(dtype)                                                             \
  {                                                                             \
    .name = "nextafter", .kind = TSRI_OP_ELEMENTWISE, .helper = "fn_nextafter", \
    .expression = "next_" #dtype "($0, $1)"                                     \
  }
static const tsri_op next_ops[TSR_DTYPE_COUNT] = {
    [TSR_F16] = NEXT(f16), [TSR_BF16] = NEXT(bf16),       [TSR_F32] = NEXT(f32),
    [TSR_F64] = NEXT(f64), [TSR_F8_E4M3] = NEXT(f8_e4m3), [TSR_F8_E5M2] = NEXT(f8_e5m2),
};

tsr_tensor *tsr_nextafter(tsr_tensor *a, tsr_tensor *b) {
  tsr_status status = tsri_tensor_check("nextafter", a);
  if (status == TSR_OK) status = tsri_tensor_check("nextafter", b);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(tsri_promote(a->dtype, b->dtype));
  return tsri_record_elementwise(&next_ops[dtype], dtype, (tsri_operand_ref[]){{a, dtype}, {b, dtype}}, 2, NULL);
}
