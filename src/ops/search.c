// SPDX-License-Identifier: MIT
// searchsorted: binary searches, which begin in shared memory on GPUs.
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

// How kernels/op_search.tk divides the work: work-groups of `group` items, each of which searches for `each` values at a time, take `part` values each.
typedef struct search_cut {
  int64_t nodes, depth, step;  // of the tree in shared memory; nodes is 1 if there is none
  int64_t group, each, part;
} search_cut;

static int64_t chunks_of(int64_t count, int64_t chunk) { return (count + chunk - 1) / chunk; }

// The tree of a work-group has at most half as many nodes as the group has values, so that filling it costs less than it saves, and 8 KiB. Below it, elements are read
// from the list, so there is none if trees would take the memory of the first-level cache from a long list.
static search_cut cut_of(tsr_device *device, int64_t size, int64_t count, size_t element) {
  enum { TREE_BYTES = 8192, MOST_BYTES = 65536, ROUNDS = 8 };
  const tsri_tuning *tuning = tsri_call_tuning(device);
  search_cut cut = {.nodes = 1, .step = 1, .group = tuning->item_group, .each = tuning->item_rounds};
  int64_t round = cut.group * cut.each, groups = ROUNDS * tuning->matmul_tiles;
  bool has_tree = tuning->row_held != 0 && size * (int64_t)element <= MOST_BYTES;
  cut.part = has_tree ? chunks_of(chunks_of(count, groups), round) * round : round;
  if (!has_tree) return cut;
  cut.nodes = TREE_BYTES / (int64_t)element;
  while ((2 << cut.depth) <= cut.nodes && (4 << cut.depth) <= cut.part && (1 << cut.depth) <= size) cut.depth++;
  cut.step = (size >> cut.depth) + 1;
  return cut;
}

// Inputs: the sorted list and the values, both contiguous and of the same dtype.
tsr_status tsri_run_search(const tsri_kernel_run *run) {
  const tsri_layout *list = &run->layouts[0], *values = &run->layouts[1];
  tsr_dtype dtype = run->input_dtypes[0];
  if (values->count == 0) return TSR_OK;                      // an empty tensor has no buffer
  if (list->count == 0) return tsri_call_zero(run);           // every position is 0
  tsr_status status = tsri_call_check("searchsorted", list);  // kernels count elements in u32
  if (status == TSR_OK) status = tsri_call_check("searchsorted", values);
  if (status != TSR_OK) return status;
  tsr_dtype wide = tsri_accumulator(dtype);
  search_cut cut = cut_of(run->device, list->count, values->count, tsr_dtype_bytes(wide));
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_search", "search",
      TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_TYPE("A", wide),
                TSRI_CONSTANT("RIGHT", TSRI_GIVEN(run->node, search)->right), TSRI_CONSTANT("NODES", cut.nodes),
                TSRI_CONSTANT("EACH", cut.each), TSRI_CONSTANT("WG", cut.group)));
  tsri_call_buffer(&call, "list", run->inputs[0], dtype);
  tsri_call_buffer(&call, "values", run->inputs[1], dtype);
  tsri_call_buffer(&call, "y", run->output, TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "size", list->count);
  tsri_call_word(&call, "n", values->count);
  tsri_call_word(&call, "list_at", list->offset);  // contiguous, but may begin after the start of the buffer
  tsri_call_word(&call, "values_at", values->offset);
  tsri_call_word(&call, "depth", cut.depth);
  tsri_call_word(&call, "step", cut.step);
  tsri_call_word(&call, "part", cut.part);
  return tsri_call_many_groups(&call, chunks_of(values->count, cut.part));
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
