// SPDX-License-Identifier: MIT
// Optimisers: creates them, and reads and sets their state.
#include "train/optim.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/log.h"
#include "graph/node.h"
#include "ops/call.h"

static const char *const state_names[TSRI_OPTIM_STATES] = {"m", "v", "master"};

tsr_status tsri_optim_check(const char *caller, const tsr_optim *optim) {
  return tsri_object_check(optim, TSRI_OBJECT_OPTIM, caller, "optim");
}

static tsr_status make_states(tsr_optim *optim, const tsri_optim_form *form) {
  enum { SPARE_BYTES = 32 };
  bool is_adam = optim->kind == TSR_ADAM || optim->kind == TSR_ADAMW;
  bool is_kept[TSRI_OPTIM_STATES] = {
      [TSRI_OPTIM_M] = is_adam || optim->kind == TSR_LION || form->numbers[TSRI_OPTIM_MOMENTUM] > 0,
      [TSRI_OPTIM_V] = is_adam || optim->kind == TSR_RMSPROP,
      [TSRI_OPTIM_MASTER] = optim->params->dtype != optim->accumulator,
  };
  tsr_device *device = optim->params->device;
  tsr_status status = TSR_OK;
  for (int i = 0; i < TSRI_OPTIM_STATES && status == TSR_OK; i++) {
    status = is_kept[i] ? tsri_params_create_like(optim->params, "", device, optim->accumulator, &optim->states[i])
                        : tsr_buffer_create(device, SPARE_BYTES, 0, &optim->spares[i]);
  }
  if (status == TSR_OK && is_kept[TSRI_OPTIM_MASTER]) {
    status = tsr_params_copy(optim->states[TSRI_OPTIM_MASTER], optim->params);
  }
  return status;
}

// Chooses optim->rounds, how many elements each work item updates one after the other, and computes the number of work-groups from it (rounded up as the launch
// does). If there would be too few work-groups to keep a GPU busy, each item updates fewer elements.
static void count_groups(tsr_optim *optim) {
  enum { BUSY = 1024 };  // work-groups
  const tsr_params *params = optim->params;
  const tsri_tuning *tuning = &tsri_graph_of(params->device)->tuning;
  int64_t once = (int64_t)tuning->optim_each * tuning->optim_group, x = 0, y = 0;
  optim->rounds = tuning->optim_rounds;
  while (tuning->optim_each > 1 && optim->rounds > 1 && params->flat_count / (once * optim->rounds) < BUSY) {
    optim->rounds /= 2;
  }
  int64_t each = once * optim->rounds;
  tsri_call_fold(params->device, (params->flat_count + each - 1) / each, &x, &y);
  optim->group_count = x * y;
}

tsr_status tsri_optim_fill_work(const tsr_optim *optim, int64_t at, uint32_t word) {
  return tsr_buffer_fill(optim->work, (size_t)at * sizeof word, (size_t)optim->group_count * sizeof word, &word,
                         sizeof word);
}

static tsr_status fill_scales(const tsr_optim *optim, float scale) {
  uint32_t bits = 0;
  memcpy(&bits, &scale, sizeof bits);
  tsr_status status = tsri_optim_fill_work(optim, optim->scales_at, bits);
  return status == TSR_OK ? tsri_optim_fill_work(optim, optim->good_at, 0) : status;
}

static tsr_status make_scale(tsr_optim *optim) {
  tsri_layout layout;
  tsr_buffer *part = NULL;
  tsr_status status = tsri_layout_init("optim_create", TSR_SCALAR, TSR_F32, &layout, NULL);
  if (status == TSR_OK) {
    status = tsri_buffer_part(optim->work, (size_t)optim->scales_at * sizeof(uint32_t), sizeof(float), &part);
  }
  if (status != TSR_OK) return status;
  optim->scale = tsr_keep(tsri_tensor_create(part, TSR_F32, &layout));
  return tsr_error(optim->scale);
}

static tsr_status make_work(tsr_optim *optim, const tsri_optim_form *form) {
  int64_t step = optim->params->step;  // parts of the buffer begin at multiples of it, so that they are aligned
  count_groups(optim);
  optim->scales_at = (optim->group_count + step - 1) / step * step;
  optim->good_at = 2 * optim->scales_at;
  optim->parts_at = 3 * optim->scales_at;
  size_t bytes = (size_t)(optim->parts_at + TSRI_OPTIM_PARTS) * sizeof(uint32_t);
  tsr_status status = tsr_buffer_create(optim->params->device, bytes, 0, &optim->work);
  if (status == TSR_OK) status = tsr_buffer_fill(optim->work, 0, bytes, &(unsigned char){0}, 1);
  if (status == TSR_OK && optim->scales && optim->group_count > 0) status = fill_scales(optim, form->first_scale);
  return status == TSR_OK && optim->scales && optim->group_count > 0 ? make_scale(optim) : status;
}

tsr_status tsri_optim_create(tsr_params *params, const tsri_optim_form *form, tsr_optim **out_optim) {
  tsr_optim *optim = tsri_object_create(TSRI_OBJECT_OPTIM, sizeof *optim);
  if (!optim) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "optim_create: no host memory for its record");
  optim->params = tsr_params_retain(params);
  optim->kind = form->kind;
  optim->clips_norm = form->clips_norm;
  optim->scales = form->scales;
  optim->accumulator = params->dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  tsr_status status = tsri_params_need_gradients(params);
  if (status == TSR_OK) status = make_states(optim, form);
  if (status == TSR_OK) status = tsri_optim_make_table(optim, form);
  if (status == TSR_OK) status = make_work(optim, form);
  if (status == TSR_OK) *out_optim = optim;
  else tsr_optim_release(optim);
  return status;
}

tsr_status tsr_optim_create(tsr_params *params, const tsr_optim_desc *desc, tsr_optim **out_optim) {
  if (!out_optim) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_create: out_optim is NULL");
  *out_optim = NULL;
  tsri_optim_form form;
  tsr_status status = tsri_params_check("optim_create", params);
  if (status == TSR_OK) status = tsri_optim_settle(params, desc, &form);
  if (status != TSR_OK) return status;
  status = tsri_optim_create(params, &form, out_optim);
  tsri_optim_form_deinit(&form);
  return status;
}

tsr_optim *tsr_optim_retain(tsr_optim *optim) {
  if (optim && tsri_optim_check("optim_retain", optim) == TSR_OK) tsri_object_retain(&optim->object);
  return optim;
}

void tsr_optim_release(tsr_optim *optim) {
  if (!optim) return;
  if (tsri_optim_check("optim_release", optim) != TSR_OK) {
    tsri_log(TSR_LOG_ERROR, "%s", tsr_last_error());
    return;
  }
  if (!tsri_object_release(&optim->object)) return;
  for (int i = 0; i < TSRI_OPTIM_STATES; i++) {
    tsr_params_release(optim->states[i]);
    tsr_buffer_release(optim->spares[i]);
  }
  tsr_release(optim->scale);
  tsr_buffer_release(optim->table);
  tsr_buffer_release(optim->work);
  tsr_params_release(optim->params);
  tsri_object_destroy(&optim->object, sizeof *optim);
}

tsr_status tsr_optim_set_rate(tsr_optim *optim, double rate) {
  tsr_status status = tsri_optim_check("optim_set_rate", optim);
  if (status != TSR_OK) return status;
  if (!isfinite(rate) || rate < 0) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_set_rate: the rate is %g", rate);
  return tsr_buffer_upload(optim->table, TSRI_OPTIM_RATE * sizeof(uint32_t), &(float){(float)rate}, sizeof(float));
}

tsr_status tsr_optim_get_step(tsr_optim *optim, int64_t *out_step) {
  if (out_step) *out_step = 0;
  uint32_t step = 0;
  tsr_status status = tsri_optim_check("optim_get_step", optim);
  if (status == TSR_OK && !out_step) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_get_step: out_step is NULL");
  }
  if (status == TSR_OK) status = tsr_buffer_download(optim->work, 0, &step, sizeof step);
  if (status == TSR_OK) *out_step = step;
  return status;
}

tsr_status tsr_optim_set_step(tsr_optim *optim, int64_t step) {
  tsr_status status = tsri_optim_check("optim_set_step", optim);
  if (status != TSR_OK) return status;
  if (step < 0 || step > INT32_MAX) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_set_step: step %lld; 0 to %d are possible", (long long)step,
                     INT32_MAX);
  }
  return tsri_optim_fill_work(optim, 0, (uint32_t)step);
}

tsr_tensor *tsr_optim_scale(const tsr_optim *optim) {
  tsr_status status = tsri_optim_check("optim_scale", optim);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (optim->scale) return tsri_tensor_view(optim->scale, &optim->scale->layout);
  return tsr_ones(optim->params->device, TSR_F32, TSR_SCALAR);
}

tsr_status tsr_optim_set_scale(tsr_optim *optim, double scale) {
  tsr_status status = tsri_optim_check("optim_set_scale", optim);
  if (status != TSR_OK) return status;
  if (!(scale >= 0x1p-64 && scale <= 0x1p64)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_set_scale: the scale is %g; 2^-64 to 2^64 are possible", scale);
  }
  if (!optim->scale)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_set_scale: this optimiser does not scale losses");
  status = tsri_graph_before_write(optim->scale);
  return status == TSR_OK ? fill_scales(optim, (float)scale) : status;
}

tsr_params *tsr_optim_state(const tsr_optim *optim, const char *name) {
  if (tsri_optim_check("optim_state", optim) != TSR_OK) return NULL;
  for (int i = 0; name && i < TSRI_OPTIM_STATES; i++) {
    if (strcmp(state_names[i], name) == 0 && optim->states[i]) return optim->states[i];
  }
  TSRI_FAIL(TSR_ERR_NOT_FOUND, "optim_state: this optimiser keeps no '%s'", name ? name : "NULL");
  return NULL;
}
