// SPDX-License-Identifier: MIT
// Copies of whole sets.
#include <string.h>

#include "core/error.h"
#include "graph/graph.h"
#include "train/params.h"

// Finds the tensor of `source` with the same name as tensor `index` of `target`, and checks that the shapes agree.
static tsr_status find_pair(const tsr_params *target, const tsr_params *source, int index, int *out_index) {
  const tsri_param *wanted = &target->params[index];
  // Sets made by the same code have the same order.
  for (int i = 0; i < source->count; i++) {
    const tsri_param *found = &source->params[(index + i) % source->count];
    if (strcmp(found->name, wanted->name) != 0) continue;
    *out_index = (index + i) % source->count;
    if (tsri_shape_equal(found->layout.shape, wanted->layout.shape)) return TSR_OK;
    char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
    return TSRI_FAIL(TSR_ERR_SHAPE, "params_copy: '%s' is %s in the target and %s in the source", wanted->name,
                     tsr_shape_format(wanted->layout.shape, a, sizeof a),
                     tsr_shape_format(found->layout.shape, b, sizeof b));
  }
  return TSRI_FAIL(TSR_ERR_NOT_FOUND, "params_copy: the target has '%s', the source does not", wanted->name);
}

static tsr_status check_pairs(const tsr_params *target, const tsr_params *source) {
  int pair = 0;
  for (int i = 0; i < target->count; i++) {
    tsr_status status = find_pair(target, source, i, &pair);
    if (status != TSR_OK) return status;
  }
  for (int i = 0; i < source->count && source->count != target->count; i++) {
    bool is_there = false;
    for (int j = 0; j < target->count && !is_there; j++) {
      is_there = strcmp(source->params[i].name, target->params[j].name) == 0;
    }
    if (is_there) continue;
    return TSRI_FAIL(TSR_ERR_NOT_FOUND, "params_copy: the source has '%s', the target does not",
                     source->params[i].name);
  }
  return TSR_OK;
}

// Records and queues the copy of each tensor. The caller has checked both sets.
static tsr_status copy_tensors(const tsr_params *target, const tsr_params *source) {
  tsr_scope *scope = tsr_scope_begin(target->device);
  if (!scope) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "params_copy: no host memory for a scope");
  tsr_grad_pause();
  tsr_status status = TSR_OK;
  for (int i = 0; i < target->count && status == TSR_OK; i++) {
    int pair = 0;
    status = find_pair(target, source, i, &pair);
    if (status == TSR_OK) {
      status = tsr_assign(target->values.tensors[i], tsr_to(source->values.tensors[pair], target->device));
    }
  }
  if (status == TSR_OK) status = tsri_graph_run_all(target->values.tensors, target->count);
  tsr_grad_resume();
  tsr_status ended = tsr_scope_end(scope);
  return status == TSR_OK ? ended : status;
}

static tsr_status make_copy(const char *caller, const tsr_params *params, tsr_device *device, tsr_dtype dtype,
                            tsr_params **out_params) {
  if (!out_params) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: out_params is NULL", caller);
  *out_params = NULL;
  tsr_params *copy = NULL;
  tsr_status status = tsri_params_create_like(params, "", device, dtype, &copy);
  if (status == TSR_OK) status = copy_tensors(copy, params);
  if (status == TSR_OK) *out_params = copy;
  else tsr_params_release(copy);
  return status;
}

tsr_status tsr_params_clone(const tsr_params *params, tsr_params **out_params) {
  if (out_params) *out_params = NULL;
  tsr_status status = tsri_params_check("params_clone", params);
  return status == TSR_OK ? make_copy("params_clone", params, params->device, params->dtype, out_params) : status;
}

tsr_status tsr_params_to(const tsr_params *params, tsr_device *device, tsr_params **out_params) {
  if (out_params) *out_params = NULL;
  tsr_status status = tsri_params_check("params_to", params);
  return status == TSR_OK ? make_copy("params_to", params, device, params->dtype, out_params) : status;
}

tsr_status tsr_params_cast(const tsr_params *params, tsr_dtype dtype, tsr_params **out_params) {
  if (out_params) *out_params = NULL;
  tsr_status status = tsri_params_check("params_cast", params);
  return status == TSR_OK ? make_copy("params_cast", params, params->device, dtype, out_params) : status;
}

// Overwrites all elements of the target by one copy of the flat buffer. If it fails, no element has changed.
static tsr_status replace_all(const tsr_params *target, const tsr_params *fresh) {
  size_t bytes = (size_t)target->flat_count * tsr_dtype_bytes(target->dtype);
  tsr_status status = TSR_OK;
  for (int i = 0; i < target->count && status == TSR_OK; i++) {
    if (target->params[i].layout.count > 0) status = tsri_graph_before_write(target->values.tensors[i]);
  }
  if (status != TSR_OK || bytes == 0) return status;
  return tsri_buffer_copy(target->values.buffer, 0, fresh->values.buffer, 0, bytes);
}

tsr_status tsr_params_copy(tsr_params *target, const tsr_params *source) {
  tsr_status status = tsri_params_check("params_copy", target);
  if (status == TSR_OK) status = tsri_params_check("params_copy", source);
  if (status == TSR_OK) status = check_pairs(target, source);
  if (status != TSR_OK || target == source) return status;
  tsr_params *fresh = NULL;
  status = tsri_params_create_like(target, "", target->device, target->dtype, &fresh);
  if (status == TSR_OK) status = copy_tensors(fresh, source);
  if (status == TSR_OK) status = replace_all(target, fresh);
  tsr_params_release(fresh);
  return status;
}
