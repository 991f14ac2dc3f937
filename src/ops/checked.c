// SPDX-License-Identifier: MIT
// Checked mode: a kernel finds the first index that is out of range, and the host reads which one it is.
#include "ops/checked.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/error.h"
#include "graph/node.h"
#include "ops/walk.h"
#include "runtime/stage.h"
#include "runtime/tape.h"

// What the kernel found, as read back from the device.
typedef struct finding {
  // Row-major position of the first index out of range; UINT32_MAX: none.
  uint32_t first;
  unsigned char element[8];
} finding;

static tsr_status launch(const tsri_kernel_run *run, int64_t size, tsr_buffer *first) {
  const tsri_layout *indices = &run->layouts[1];
  tsri_walk walk;
  tsri_walk_init(&walk, indices->shape, 1, (const int64_t *[]){indices->strides});
  tsri_call call;
  tsri_call_init(&call, run->device, "op_index", "find_outside",
                 TSRI_WITH(TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("RANK", walk.rank)));
  tsri_call_buffer(&call, "indices", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(&call, "first", first, TSR_U32);
  tsri_call_word(&call, "n", walk.count);
  tsri_call_word(&call, "i_at", indices->offset);
  tsri_call_word(&call, "size", size);
  tsri_walk_pass_dims(&walk, &call);
  tsri_walk_pass_strides(&walk, 0, "a", &call);
  return tsri_call_items(&call, walk.count);
}

// Writes the position of the index with row-major number `at` to `text`, as "3, 2"; returns its offset in the buffer, in elements. Axes along which the indices
// are broadcast are left out.
static int64_t locate(const tsri_layout *indices, int64_t at, char *text, size_t room) {
  int64_t offset = indices->offset, coordinates[TSR_MAX_RANK] = {0};
  for (int i = indices->shape.rank - 1; i >= 0; i--) {
    coordinates[i] = at % indices->shape.dims[i];
    at /= indices->shape.dims[i];
    offset += coordinates[i] * indices->strides[i];
  }
  size_t used = 0;
  for (int i = 0; i < indices->shape.rank && used < room; i++) {
    if (indices->strides[i] == 0 && indices->shape.dims[i] > 1) continue;
    used += (size_t)snprintf(text + used, room - used, "%s%" PRId64, used ? ", " : "", coordinates[i]);
  }
  return offset;
}

static tsr_status refuse(const tsri_kernel_run *run, int axis, int64_t size, finding *found) {
  char where[TSR_SHAPE_TEXT_BYTES] = "", whole[48];
  size_t bytes = tsr_dtype_bytes(run->input_dtypes[1]);
  int64_t offset = locate(&run->layouts[1], found->first, where, sizeof where), index = 0;
  tsr_status status = tsr_buffer_download(run->inputs[1], (size_t)offset * bytes, found->element, bytes);
  if (status == TSR_OK) status = tsr_convert(TSR_I64, &index, run->input_dtypes[1], found->element, 1);
  if (status != TSR_OK) return status;
  snprintf(whole, sizeof whole, axis < 0 ? "the tensor" : "axis %d", axis);
  return TSRI_FAIL(TSR_ERR_LAUNCH, "%s: indices[%s] is %" PRId64 ", outside %s of %" PRId64 " elements",
                   run->node->op->name, where, index, whole, size);
}

tsr_status tsri_check_indices(const tsri_kernel_run *run, int axis, int64_t size) {
  if (!run->device->is_checked || run->layouts[1].count == 0) return TSR_OK;
  tsr_status status = tsri_call_check(run->node->op->name, &run->layouts[1]);
  if (status != TSR_OK) return status;
  tsri_tape_refuses(run->device, "an index operator in checked mode");
  finding *found = tsri_stage_create(sizeof *found);
  if (!found) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to check its indices", run->node->op->name);
  tsr_buffer *first = NULL;
  status = tsri_call_scratch(run->device, 1, TSR_U32, &first);
  if (status == TSR_OK) status = tsr_buffer_fill(first, 0, sizeof(uint32_t), &(uint32_t){UINT32_MAX}, sizeof(uint32_t));
  if (status == TSR_OK) status = launch(run, size, first);
  if (status == TSR_OK) status = tsr_buffer_download(first, 0, &found->first, sizeof found->first);
  if (status == TSR_OK && found->first != UINT32_MAX) status = refuse(run, axis, size, found);
  tsr_buffer_release(first);
  tsri_stage_release(run->device, found, status);
  return status;
}
