// SPDX-License-Identifier: MIT
// One step of an optimiser. Everything that can fail comes before the launch that writes parameters and state.
#include "core/error.h"
#include "graph/node.h"
#include "graph/watch.h"
#include "ops/call.h"
#include "runtime/tape.h"
#include "train/optim.h"

// Runs the pending operators that write the set's tensors or read their present elements. Tells the open gradient range that these elements are overwritten.
static tsr_status before_update(const tsr_params *params) {
  for (int i = 0; tsri_watching && i < params->count; i++) {
    tsri_watching->overwritten(tsri_watching, params->values.tensors[i]->value);
  }
  tsr_status status = tsri_graph_run_all(params->values.tensors, params->count);
  return status == TSR_OK ? tsri_graph_before_overwrite(params->device, params->values.buffer) : status;
}

static tsr_status before_updates(const tsr_optim *optim) {
  tsr_status status = before_update(optim->params);
  for (int i = 0; i < TSRI_OPTIM_STATES && status == TSR_OK; i++) {
    if (optim->states[i]) status = before_update(optim->states[i]);
  }
  // Pending operators may still have to read the loss scale.
  return status == TSR_OK ? tsri_graph_before_overwrite(optim->params->device, optim->work) : status;
}

// Whether a kernel scans the gradients before the update: for their norm, or for infinity and NaN.
static bool looks_first(const tsr_optim *optim) { return optim->clips_norm || optim->scales; }

static void prepare_norm(const tsr_optim *optim, tsri_call *call) {
  const tsr_params *params = optim->params;
  tsri_call_init(call, params->device, "op_optim", "grad_norm",
                 TSRI_WITH(TSRI_TYPE("T", params->dtype), TSRI_CONSTANT("SCALES", optim->scales),
                           TSRI_CONSTANT("EACH", tsri_graph_of(params->device)->tuning.optim_each)));
  tsri_call_buffer(call, "g", params->gradients.buffer, params->dtype);
  tsri_call_buffer(call, "table", optim->table, TSR_U32);
  tsri_call_buffer(call, "work", optim->work, TSR_U32);
  tsri_call_word(call, "n", params->flat_count);
  tsri_call_word(call, "parts_at", optim->parts_at);
  tsri_call_word(call, "scales_at", optim->scales_at);
}

static int64_t count_parts(const tsr_optim *optim) {
  enum { ITEMS = 256 };  // work items of a work-group
  int64_t groups = (optim->params->flat_count + ITEMS - 1) / ITEMS;
  return !looks_first(optim) ? 0 : groups < TSRI_OPTIM_PARTS ? groups : TSRI_OPTIM_PARTS;
}

static void prepare_update(const tsr_optim *optim, tsri_call *call) {
  static const char *const names[TSRI_OPTIM_STATES] = {"m", "v", "master"};
  const tsr_params *params = optim->params;
  const tsri_tuning *tuning = &tsri_graph_of(params->device)->tuning;
  tsri_call_init(
      call, params->device, "op_optim", "optim",
      TSRI_WITH(TSRI_TYPE("T", params->dtype), TSRI_TYPE("A", optim->accumulator), TSRI_CONSTANT("KIND", optim->kind),
                TSRI_CONSTANT("HAS_M", optim->states[TSRI_OPTIM_M] != NULL),
                TSRI_CONSTANT("MASTER", optim->states[TSRI_OPTIM_MASTER] != NULL),
                TSRI_CONSTANT("SCALES", optim->scales), TSRI_CONSTANT("EACH", tuning->optim_each),
                TSRI_CONSTANT("MARK", params->step), TSRI_CONSTANT("WG", tuning->optim_group),
                TSRI_CONSTANT("ROUNDS", optim->rounds)));
  tsri_call_buffer(call, "p", params->values.buffer, params->dtype);
  tsri_call_buffer(call, "g", params->gradients.buffer, params->dtype);
  for (int i = 0; i < TSRI_OPTIM_STATES; i++) {
    tsr_buffer *buffer = optim->states[i] ? optim->states[i]->values.buffer : optim->spares[i];
    tsri_call_buffer(call, names[i], buffer, optim->accumulator);
  }
  tsri_call_buffer(call, "table", optim->table, TSR_U32);
  tsri_call_buffer(call, "work", optim->work, TSR_U32);
  tsri_call_word(call, "n", params->flat_count);
  tsri_call_word(call, "marks_at", optim->marks_at);
  tsri_call_word(call, "scales_at", optim->scales_at);
  tsri_call_word(call, "good_at", optim->good_at);
  tsri_call_word(call, "parts_at", optim->parts_at);
  tsri_call_word(call, "part_count", count_parts(optim));
}

static tsr_status launch(const tsr_optim *optim) {
  tsri_call norm, update;
  tsr_status status = TSR_OK;
  prepare_update(optim, &update);
  if (update.args.status != TSR_OK) return update.args.status;
  if (looks_first(optim)) {
    prepare_norm(optim, &norm);
    status = tsri_call_groups(&norm, count_parts(optim), 1, 1);
  }
  return status == TSR_OK ? tsri_call_many_groups(&update, optim->group_count) : status;
}

tsr_status tsr_optim_step(tsr_optim *optim) {
  tsr_status status = tsri_optim_check("optim_step", optim);
  if (status != TSR_OK) return status;
  const tsr_params *params = optim->params;
  if (params->flat_count == 0) return TSR_OK;
  if (params->flat_count >= TSRI_CALL_MAX_ELEMENTS) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "optim_step: %lld elements; its kernel addresses %lld",
                     (long long)params->flat_count, (long long)TSRI_CALL_MAX_ELEMENTS);
  }
  status = tsri_graph_run_all(params->gradients.tensors, params->count);
  if (status == TSR_OK) status = before_updates(optim);
  if (status != TSR_OK) return status;
  tsri_tape_explain_begin();
  status = launch(optim);
  tsri_tape_explain_end();
  if (status == TSR_OK && tsri_tape_now()) tsri_optim_trace(optim);
  return status;
}
