// SPDX-License-Identifier: MIT
#include "ops/first.h"

#include "ops/call.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/sort.h"

// Input: x. Outputs: the elements, and their indices.
tsr_status tsri_run_first(const tsri_kernel_run *run) {
  const tsri_layout *layout = &run->layouts[0];
  tsr_status status = tsri_call_check("topk", layout);
  if (status != TSR_OK || layout->count == 0) return status;
  int64_t n = layout->shape.dims[layout->shape.rank - 1];
  return tsri_sort_rows(&(tsri_sort){.device = run->device,
                                     .dtype = run->dtype,
                                     .x = run->inputs[0],
                                     .x_at = layout->offset,
                                     .rows = layout->count / n,
                                     .n = n,
                                     .keep = run->shape.dims[run->shape.rank - 1],
                                     .is_descending = TSRI_GIVEN(run->node, sort)->is_descending != 0,
                                     .values = run->outputs[0],
                                     .order = run->outputs[1]});
}

const tsri_op tsri_op_first = {.name = "topk",
                               .kind = TSRI_OP_KERNEL,
                               .is_for_device = true,
                               .run = tsri_run_first,
                               .attribute_set = TSRI_SET_sort,
                               .attribute_bytes = sizeof(tsri_sort_attributes)};

bool tsri_first_of_rows(tsr_tensor *x, bool is_descending, int64_t keep, tsr_tensor *out_results[2]) {
  const tsri_op *op = &tsri_op_first;
  // The CPU's native sort gives the indices alone.
  if (tsri_tensor_check(op->name, x) != TSR_OK || tsri_device_is_cpu(x->value->device)) return false;
  tsr_shape shape = x->layout.shape;
  shape.dims[shape.rank - 1] = keep;
  const tsri_result results[2] = {{x->dtype, shape}, {TSRI_INDEX_DTYPE, shape}};
  tsri_record_kernel_results(op, x->value->device, results, 2, &x, 1,
                             TSRI_GIVE(op, sort, .is_descending = is_descending), out_results);
  return true;
}
