// SPDX-License-Identifier: MIT
// searchsorted: one item per value, which does a binary search.
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/search_tree.h"

#include <tessera/ops.h>

// Inputs: the sorted list and the values, both contiguous and of the same dtype.
tsr_status tsri_run_search(const tsri_kernel_run *run) {
  const tsri_layout *list = &run->layouts[0], *values = &run->layouts[1];
  tsr_dtype dtype = run->input_dtypes[0];
  if (values->count == 0) return TSR_OK;                      // an empty tensor has no buffer
  if (list->count == 0) return tsri_call_zero(run);           // every position is 0
  tsr_status status = tsri_call_check("searchsorted", list);  // kernels count elements in u32
  if (status == TSR_OK) status = tsri_call_check("searchsorted", values);
  if (status != TSR_OK) return status;
  status = tsri_search_tree(run);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_search", "search",
                 TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_CONSTANT("RIGHT", TSRI_GIVEN(run->node, search)->right)));
  tsri_call_buffer(&call, "list", run->inputs[0], dtype);
  tsri_call_buffer(&call, "values", run->inputs[1], dtype);
  tsri_call_buffer(&call, "y", run->output, TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "size", list->count);
  tsri_call_word(&call, "n", values->count);
  tsri_call_word(&call, "list_at", list->offset);  // contiguous, but may begin after the start of the buffer
  tsri_call_word(&call, "values_at", values->offset);
  return tsri_call_items(&call, values->count);
}

// x as `dtype` and contiguous. The caller releases it.
static tsr_tensor *packed(tsr_tensor *x, tsr_dtype dtype) {
  tsr_tensor *cast = tsr_cast(x, dtype), *result = tsr_contiguous(cast);
  tsr_release(cast);
  return result;
}

static tsr_tensor *record(tsr_tensor *const *inputs, bool right) {
  tsr_device *device = NULL;
  tsr_status status = tsri_tensor_check("searchsorted", inputs[0]);  // casts and copies can fail, too
  if (status == TSR_OK) status = tsri_tensor_check("searchsorted", inputs[1]);
  if (status == TSR_OK)
    status = tsri_record_device("searchsorted", inputs, 2, &device);  // the device on which both will be
  if (status != TSR_OK) return tsri_tensor_fail(status);
  const tsri_op *op = TSRI_BODY(searchsorted);
  return tsri_record_kernel(op, device, TSRI_INDEX_DTYPE, inputs[1]->layout.shape, inputs, 2,
                            TSRI_GIVE(op, search, .right = right));
}

tsr_tensor *tsr_searchsorted(tsr_tensor *sorted, tsr_tensor *values, bool right) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("searchsorted", sorted);
  if (status == TSR_OK) status = tsri_tensor_check("searchsorted", values);
  if (status == TSR_OK && sorted->layout.shape.rank != 1) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "searchsorted: sorted is a list, not %s",
                       tsr_shape_format(sorted->layout.shape, text, sizeof text));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote(sorted->dtype, values->dtype);
  if (dtype == TSR_BOOL) return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_DTYPE, "searchsorted: takes numbers, not bool"));
  tsr_tensor *inputs[2] = {packed(sorted, dtype), packed(values, dtype)};
  tsr_tensor *result = record(inputs, right);
  tsr_release(inputs[0]);
  tsr_release(inputs[1]);
  return tsri_tensor_named("searchsorted", result);
}
