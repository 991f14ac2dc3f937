// SPDX-License-Identifier: MIT
// tsr_cast: converts to another dtype.
#include "core/error.h"
#include "ops/operators.h"

#include <tessera/ops.h>

tsr_tensor *tsr_cast(tsr_tensor *x, tsr_dtype dtype) {
  tsr_status status = tsri_tensor_check("cast", x);
  if (status == TSR_OK && tsr_dtype_bytes(dtype) == 0) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "cast: %d is no dtype; 0 to %d are", (int)dtype, (int)TSR_DTYPE_COUNT - 1);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (x->dtype == dtype) return tsri_tensor_view(x, &x->layout);
  return tsri_record_elementwise(TSRI_BODY(cast), dtype, &(tsri_operand_ref){x, x->dtype}, 1, NULL);
}
