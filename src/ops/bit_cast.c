// SPDX-License-Identifier: MIT
// bit_cast: reinterprets the bytes of a tensor as elements of another dtype.
#include "core/alloc.h"
#include "core/error.h"
#include "graph/node.h"
#include "ops/compose.h"
#include "ops/operators.h"

#include <tessera/ops.h>

// The input is contiguous and has as many bytes as the result.
tsr_status tsri_run_bit_cast(const tsri_kernel_run *run) {
  if (run->layouts[0].count == 0) return TSR_OK;
  size_t element = tsr_dtype_bytes(run->input_dtypes[0]);
  return tsr_buffer_copy(run->output, 0, run->inputs[0], (size_t)run->layouts[0].offset * element,
                         (size_t)run->layouts[0].count * element);
}

// Gives the shape of the result: the last axis grows or shrinks if the sizes of the elements differ.
static tsr_status shape_after(const tsr_tensor *x, tsr_dtype dtype, tsr_shape *out_shape) {
  char text[TSR_SHAPE_TEXT_BYTES];
  int64_t from = (int64_t)tsr_dtype_bytes(x->dtype), to = (int64_t)tsr_dtype_bytes(dtype), bytes = 0;
  *out_shape = x->layout.shape;
  if (from == to) return TSR_OK;
  int last = out_shape->rank - 1;
  bool fits = last >= 0 && tsri_mul_i64(out_shape->dims[last], from, &bytes) && bytes % to == 0;
  if (fits) out_shape->dims[last] = bytes / to;
  if (fits) return tsri_shape_check("bit_cast", *out_shape, &(int64_t){0});
  return TSRI_FAIL(TSR_ERR_SHAPE, "bit_cast: rows of %s %s are no whole number of %s", tsr_dtype_name(x->dtype),
                   tsr_shape_format(x->layout.shape, text, sizeof text), tsr_dtype_name(dtype));
}

static tsr_status check_dtype(tsr_dtype dtype) {
  tsr_status status = tsri_dtype_check("bit_cast", dtype);
  if (status != TSR_OK || dtype != TSR_BOOL) return status;
  return TSRI_FAIL(TSR_ERR_DTYPE, "bit_cast: a byte of bool is 0 or 1, so bits do not become bool; take ne_scalar");
}

tsr_tensor *tsr_bit_cast(tsr_tensor *x, tsr_dtype dtype) {
  const tsri_op *op = TSRI_BODY(bit_cast);
  tsr_shape shape = {0};
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = check_dtype(dtype);
  if (status == TSR_OK) status = shape_after(x, dtype, &shape);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (dtype == x->dtype) return tsri_tensor_view(x, &x->layout);
  tsr_tensor *packed = tsr_contiguous(x);
  status = tsri_tensor_check(op->name, packed);
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, packed->value->device, dtype, shape, &packed, 1, NULL)
                                        : tsri_tensor_fail(status);
  return tsri_tensor_named(op->name, tsri_then(result, packed));
}
