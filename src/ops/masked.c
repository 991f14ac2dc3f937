// SPDX-License-Identifier: MIT
// masked_fill: an element-wise operator whose fill value is a parameter of the kernel.
#include "core/error.h"
#include "ops/elementwise.h"

// $0: x, $1: the mask, #0: the value. bool is computed in i32, because the parameters of a kernel have the type of $0.
tsr_tensor *tsr_masked_fill(tsr_tensor *x, tsr_tensor *mask, double value) {
  const tsri_op *op = TSRI_BODY(masked_fill);
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, mask);
  if (status == TSR_OK) status = tsri_fit_scalar(op->name, x->dtype, false, &value);
  tsr_shape both = {0};
  if (status == TSR_OK) status = tsri_shape_broadcast(op->name, x->layout.shape, mask->layout.shape, &both);
  if (status == TSR_OK && !tsri_shape_equal(both, x->layout.shape)) {
    char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
    status =
        TSRI_FAIL(TSR_ERR_SHAPE, "masked_fill: the mask is %s, which is not broadcast to %s",
                  tsr_shape_format(mask->layout.shape, a, sizeof a), tsr_shape_format(x->layout.shape, b, sizeof b));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_operand_ref refs[2] = {{x, x->dtype == TSR_BOOL ? TSR_I32 : x->dtype}, {mask, TSR_BOOL}};
  return tsri_record_elementwise(op, x->dtype, refs, 2, &(tsri_scalars){.count = 1, .values = {value}});
}
