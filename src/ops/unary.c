// SPDX-License-Identifier: MIT
// Operators on one tensor, element by element. Their rows are in elementwise.def.
#include "core/error.h"
#include "ops/elementwise.h"

#define TSRI_UNARY(name, ...) \
  tsr_tensor *tsr_##name(tsr_tensor *x) { return tsri_elementwise(TSRI_EW_##name, &x, NULL); }
#define TSRI_UNARY1(name, ...) \
  tsr_tensor *tsr_##name(tsr_tensor *x, double c) { return tsri_elementwise(TSRI_EW_##name, &x, &c); }
#include "ops/elementwise.def"

tsr_tensor *tsr_clamp(tsr_tensor *x, double least, double most) {
  return tsri_elementwise(TSRI_EW_clamp, &x, (double[]){least, most});
}

static const tsri_op cast_op = {.name = "cast", .kind = TSRI_OP_ELEMENTWISE, .expression = "$0"};

tsr_tensor *tsr_cast(tsr_tensor *x, tsr_dtype dtype) {
  tsr_status status = tsri_tensor_check("cast", x);
  if (status == TSR_OK && tsr_dtype_bytes(dtype) == 0) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "cast: %d is no dtype; 0 to %d are", (int)dtype, (int)TSR_DTYPE_COUNT - 1);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (x->dtype == dtype) return tsri_tensor_view(x, &x->layout);
  return tsri_record_elementwise(&cast_op, dtype, &(tsri_operand_ref){x, x->dtype}, 1, NULL);
}
