// SPDX-License-Identifier: MIT
// tsr_cast: converts to another dtype.
#include "core/error.h"
#include "ops/operators.h"
#include "ops/packed.h"

#include <tessera/ops.h>

tsr_tensor *tsr_cast(tsr_tensor *x, tsr_dtype dtype) {
  tsr_status status = tsri_tensor_check_any("cast", x);
  if (status == TSR_OK && !tsri_dtype_is_packed(dtype)) status = tsri_dtype_check("cast", dtype);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (tsri_dtype_is_packed(x->dtype) || tsri_dtype_is_packed(dtype)) return tsri_packed_cast(x, dtype);
  if (x->dtype == dtype) return tsri_tensor_view(x, &x->layout);
  return tsri_record_elementwise(TSRI_BODY(cast), dtype, &(tsri_operand_ref){x, x->dtype}, 1, NULL);
}
