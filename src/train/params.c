// SPDX-License-Identifier: MIT
// Sets of parameters: creating, finding and releasing them.
#include "train/params.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "core/suggest.h"
#include "graph/node.h"
#include "runtime/device.h"

tsr_status tsri_params_check(const char *caller, const tsr_params *params) {
  return tsri_object_check(params, TSRI_OBJECT_PARAMS, caller, "params");
}

// --- Flat buffers -------------------------------------------------------------------------------------------------------

void tsri_flat_deinit(tsri_flat *flat, int count) {
  for (int i = 0; flat->tensors && i < count; i++) tsr_release(flat->tensors[i]);
  tsri_free(flat->tensors);
  tsr_buffer_release(flat->buffer);
  *flat = (tsri_flat){0};
}

static tsr_status make_tensor(tsr_buffer *whole, const tsr_params *params, tsr_dtype dtype, int index,
                              tsr_tensor **out) {
  const tsri_param *param = &params->params[index];
  size_t bytes = tsr_dtype_bytes(dtype);
  tsr_buffer *part = NULL;
  tsr_status status = param->layout.count == 0 ? tsr_buffer_create(params->device, 0, 0, &part)
                                               : tsri_buffer_part(whole, (size_t)param->at * bytes,
                                                                  (size_t)param->layout.count * bytes, &part);
  if (status != TSR_OK) return status;
  tsr_tensor *tensor = tsri_tensor_create(part, dtype, &param->layout);
  status = tsri_tensor_check("params_create", tensor);
  if (status == TSR_OK) *out = tsr_keep(tensor);
  else tsr_release(tensor);
  return status;
}

tsr_status tsri_flat_init(const tsr_params *params, tsr_dtype dtype, bool may_tear, tsri_flat *out_flat) {
  *out_flat = (tsri_flat){0};
  size_t bytes = (size_t)params->flat_count * tsr_dtype_bytes(dtype);
  out_flat->tensors = tsri_calloc((size_t)params->count + 1, sizeof *out_flat->tensors);
  if (!out_flat->tensors)
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "params: no host memory for %d tensors", params->count);
  tsr_status status = tsr_buffer_create(params->device, bytes, 0, &out_flat->buffer);
  if (status == TSR_OK && bytes > 0) status = tsr_buffer_fill(out_flat->buffer, 0, bytes, &(unsigned char){0}, 1);
  for (int i = 0; i < params->count && status == TSR_OK; i++) {
    status = make_tensor(out_flat->buffer, params, dtype, i, &out_flat->tensors[i]);
    if (status == TSR_OK) tsri_tensor_buffer(out_flat->tensors[i])->may_tear = may_tear;
  }
  if (status != TSR_OK) tsri_flat_deinit(out_flat, params->count);
  return status;
}

// --- Creating -----------------------------------------------------------------------------------------------------------

// Chooses params->step: tensors begin at multiples of it, so that parts of the buffer are aligned as the device requires, even with 2-byte elements.
static tsr_status find_step(tsr_device *device, int64_t *out_step) {
  tsri_graph_state *state = NULL;
  tsr_status status = tsri_graph_state_for(device, &state);
  if (status != TSR_OK) return status;
  int64_t alignment = (int64_t)device->limits.buffer_alignment / 2, mark = state->tuning.optim_mark;
  *out_step = alignment > mark ? alignment : mark;
  return TSR_OK;
}

static tsr_status new_set(tsr_device *device, tsr_dtype dtype, int count, tsr_params **out_params) {
  tsr_status status = tsri_device_check("params_create", device);
  if (status != TSR_OK) return status;
  if (dtype != TSR_F16 && dtype != TSR_BF16 && dtype != TSR_F32 && dtype != TSR_F64) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "params: %s; parameters are f16, bf16, f32 or f64", tsr_dtype_name(dtype));
  }
  tsr_params *params = tsri_object_create(TSRI_OBJECT_PARAMS, sizeof *params);
  if (!params) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "params_create: no host memory for its record");
  params->device = tsr_device_retain(device);
  params->dtype = dtype;
  status = find_step(device, &params->step);
  params->params = tsri_calloc((size_t)count + 1, sizeof *params->params);
  if (status == TSR_OK && !params->params) {
    status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "params_create: no host memory for %d tensors", count);
  }
  if (status == TSR_OK) *out_params = params;
  else tsr_params_release(params);
  return status;
}

static int find_index(const tsr_params *params, const char *name) {
  for (int i = 0; i < params->count; i++) {
    if (strcmp(params->params[i].name, name) == 0) return i;
  }
  return -1;
}

// Appends a tensor without memory.
static tsr_status append(tsr_params *params, const char *prefix, const char *name, tsr_shape shape) {
  tsri_param *param = &params->params[params->count];
  size_t before = strlen(prefix), bytes = strlen(name) + 1;
  tsr_status status = tsri_layout_init(name, shape, TSR_F64, &param->layout, NULL);
  if (status != TSR_OK) return status;
  if (param->layout.count > (INT64_MAX / 8 - params->flat_count) / 2) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "params_create: with '%s' there are more elements than memory can address", name);
  }
  param->name = tsri_malloc(before + bytes);
  if (!param->name) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "params_create: no host memory for a name");
  memcpy(param->name, prefix, before);
  memcpy(param->name + before, name, bytes);
  param->at = params->flat_count;
  params->element_count += param->layout.count;
  params->flat_count += (param->layout.count + params->step - 1) / params->step * params->step;
  params->count++;
  return TSR_OK;
}

static tsr_status check_desc(const tsr_params *params, const tsr_param_desc *desc, int index) {
  if (!desc->name || !desc->name[0]) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "params_create: tensor %d has no name", index);
  }
  if (find_index(params, desc->name) >= 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "params_create: two tensors are called '%s'", desc->name);
  }
  if ((unsigned)desc->init > TSR_INIT_HE_NORMAL) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "params_create: '%s' has initialiser %d, which does not exist",
                     desc->name, (int)desc->init);
  }
  if (!isfinite(desc->value)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "params_create: the value of '%s' is %g", desc->name, desc->value);
  }
  return TSR_OK;
}

static tsr_status append_all(tsr_params *params, const tsr_param_desc *tensors, int count) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) {
    status = check_desc(params, &tensors[i], i);
    if (status == TSR_OK) status = append(params, "", tensors[i].name, tensors[i].shape);
  }
  return status;
}

// First values are recorded and run here, so that a capture of the first training step does not draw them again.
static tsr_status fill_all(const tsr_params *params, const tsr_param_desc *tensors, uint64_t seed) {
  tsr_scope *scope = tsr_scope_begin(params->device);
  if (!scope) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "params_create: no host memory for a scope");
  tsr_grad_pause();
  tsr_status status = TSR_OK;
  for (int i = 0; i < params->count && status == TSR_OK; i++) {
    status = tsri_params_fill(params->values.tensors[i], &tensors[i], seed);
  }
  if (status == TSR_OK) status = tsri_graph_run_all(params->values.tensors, params->count);
  tsr_grad_resume();
  tsr_status ended = tsr_scope_end(scope);
  return status == TSR_OK ? ended : status;
}

tsr_status tsr_params_create(tsr_device *device, tsr_dtype dtype, const tsr_param_desc *tensors, int count,
                             uint64_t seed, tsr_params **out_params) {
  if (!out_params) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "params_create: out_params is NULL");
  *out_params = NULL;
  if (count < 0 || (count > 0 && !tensors)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "params_create: %d tensors, and the list of them is %s", count,
                     tensors ? "there" : "NULL");
  }
  tsr_params *params = NULL;
  tsr_status status = new_set(device, dtype, count, &params);
  if (status != TSR_OK) return status;
  status = append_all(params, tensors, count);
  if (status == TSR_OK) status = tsri_flat_init(params, dtype, /*may_tear=*/false, &params->values);
  if (status == TSR_OK) status = fill_all(params, tensors, seed);
  if (status == TSR_OK) *out_params = params;
  else tsr_params_release(params);
  return status;
}

tsr_status tsri_params_create_like(const tsr_params *like, const char *prefix, tsr_device *device, tsr_dtype dtype,
                                   tsr_params **out_params) {
  *out_params = NULL;
  tsr_params *params = NULL;
  tsr_status status = new_set(device, dtype, like->count, &params);
  if (status != TSR_OK) return status;
  for (int i = 0; i < like->count && status == TSR_OK; i++) {
    status = append(params, prefix, like->params[i].name, like->params[i].layout.shape);
  }
  if (status == TSR_OK) status = tsri_flat_init(params, dtype, /*may_tear=*/false, &params->values);
  if (status == TSR_OK) *out_params = params;
  else tsr_params_release(params);
  return status;
}

tsr_params *tsr_params_retain(tsr_params *params) {
  if (params && tsri_params_check("params_retain", params) == TSR_OK) tsri_object_retain(&params->object);
  return params;
}

void tsr_params_release(tsr_params *params) {
  if (!params) return;
  if (tsri_params_check("params_release", params) != TSR_OK) {
    tsri_log(TSR_LOG_ERROR, "%s", tsr_last_error());
    return;
  }
  if (!tsri_object_release(&params->object)) return;
  tsri_flat_deinit(&params->values, params->count);
  tsri_flat_deinit(&params->gradients, params->count);
  for (int i = 0; i < params->count; i++) tsri_free(params->params[i].name);
  tsri_free(params->params);
  tsr_device_release(params->device);
  tsri_object_destroy(&params->object, sizeof *params);
}

// --- Asking -------------------------------------------------------------------------------------------------------------

int tsr_params_count(const tsr_params *params) {
  return tsri_params_check("params_count", params) == TSR_OK ? params->count : 0;
}

int64_t tsr_params_element_count(const tsr_params *params) {
  return tsri_params_check("params_element_count", params) == TSR_OK ? params->element_count : 0;
}

uint64_t tsr_params_bytes(const tsr_params *params) {
  return (uint64_t)tsr_params_element_count(params) * tsr_dtype_bytes(tsr_params_dtype(params));
}

tsr_dtype tsr_params_dtype(const tsr_params *params) {
  return tsri_params_check("params_dtype", params) == TSR_OK ? params->dtype : TSR_F32;
}

tsr_device *tsr_params_device(const tsr_params *params) {
  return tsri_params_check("params_device", params) == TSR_OK ? params->device : NULL;
}

static tsr_status check_index(const char *caller, const tsr_params *params, int index) {
  tsr_status status = tsri_params_check(caller, params);
  if (status != TSR_OK || (index >= 0 && index < params->count)) return status;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: there is no tensor %d of %d", caller, index, params->count);
}

// Returns a new tensor over the same elements, as the result of a public function: the caller, or the caller's scope, releases it.
static tsr_tensor *give(const tsr_tensor *tensor) { return tsri_tensor_view(tensor, &tensor->layout); }

tsr_tensor *tsr_params_tensor(const tsr_params *params, int index) {
  tsr_status status = check_index("params_tensor", params, index);
  return status == TSR_OK ? give(params->values.tensors[index]) : tsri_tensor_fail(status);
}

const char *tsr_params_name(const tsr_params *params, int index) {
  return check_index("params_name", params, index) == TSR_OK ? params->params[index].name : "";
}

tsr_tensor *tsr_params_gradient(tsr_params *params, int index) {
  tsr_status status = check_index("params_gradient", params, index);
  if (status == TSR_OK) status = tsri_params_need_gradients(params);
  return status == TSR_OK ? give(params->gradients.tensors[index]) : tsri_tensor_fail(status);
}

static tsr_status fail_to_find(const tsr_params *params, const char *name) {
  const char *nearest = NULL;
  const char **names = tsri_calloc((size_t)params->count + 1, sizeof *names);
  for (int i = 0; names && i < params->count; i++) names[i] = params->params[i].name;
  if (names) nearest = tsri_text_nearest(name, names, (size_t)params->count);
  tsri_free(names);
  return TSRI_FAIL(TSR_ERR_NOT_FOUND, "params_find: none of the %d tensors is called '%s'%s%s%s", params->count, name,
                   nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

tsr_tensor *tsr_params_find(const tsr_params *params, const char *name) {
  tsr_status status = tsri_params_check("params_find", params);
  if (status == TSR_OK && !name) status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "params_find: name is NULL");
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int index = find_index(params, name);
  return index < 0 ? tsri_tensor_fail(fail_to_find(params, name)) : give(params->values.tensors[index]);
}
