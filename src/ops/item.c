// SPDX-License-Identifier: MIT
// tsr_item and tsr_item_int: read a tensor with one element.
#include <inttypes.h>

#include "core/error.h"
#include "core/tensor.h"
#include "ops/promote.h"
#include "runtime/stage.h"

// Reads the element and converts it to type `as`.
static tsr_status read_one(const char *caller, tsr_tensor *tensor, tsr_dtype as, void *out_value) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, tensor);
  if (status != TSR_OK) return status;
  if (tensor->layout.count != 1) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: takes a tensor of one element, not %s", caller,
                     tsr_shape_format(tensor->layout.shape, text, sizeof text));
  }
  if (as == TSR_I64 && tsri_dtype_is_float(tensor->dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: takes integers and bool, not %s; tsr_item reads floats", caller,
                     tsr_dtype_name(tensor->dtype));
  }
  void *element =
      tsri_stage_create(tsr_dtype_bytes(tensor->dtype));  // not the stack: after a time-out the driver may still write
  if (!element) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for an element", caller);
  status = tsr_read(tensor, element, tsr_dtype_bytes(tensor->dtype));
  if (status == TSR_OK) status = tsr_convert(as, out_value, tensor->dtype, element, 1);
  if (status == TSR_OK && as == TSR_I64 && tensor->dtype == TSR_U64 && *(int64_t *)out_value < 0) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "%s: %" PRIu64 " does not fit int64_t; tsr_read reads u64", caller,
                       (uint64_t) * (int64_t *)out_value);
    *(int64_t *)out_value = 0;
  }
  tsri_stage_release(tensor->value->device, element, status);
  return status;
}

tsr_status tsr_item(tsr_tensor *tensor, double *out_value) {
  if (!out_value) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "item: out_value is NULL");
  *out_value = 0;
  return read_one("item", tensor, TSR_F64, out_value);
}

tsr_status tsr_item_int(tsr_tensor *tensor, int64_t *out_value) {
  if (!out_value) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "item_int: out_value is NULL");
  *out_value = 0;
  return read_one("item_int", tensor, TSR_I64, out_value);
}
