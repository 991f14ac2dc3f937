// SPDX-License-Identifier: MIT
// The public functions of tuning.
#include <tessera/tune.h>

#include "backends/common/choices.h"
#include "core/error.h"
#include "graph/autotune.h"
#include "graph/node.h"

// The choices that the device's launches use; if the device has none open, those on disk, which the caller closes through `*out_opened`.
static tsri_choices *choices_of(tsr_device *device, tsri_choices **out_opened) {
  tsri_graph_state *state = tsri_graph_of(device);
  *out_opened = NULL;
  if (state && state->autotune) return tsri_autotune_choices(state->autotune);
  *out_opened = tsri_choices_open(device->backend->name, &device->info);
  if (!*out_opened)
    (void)TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "tuned: no host memory for what is known about %s", device->info.name);
  return *out_opened;
}

tsr_status tsr_tuned_each(tsr_device *device, tsr_tuned_function each, void *context) {
  tsr_status status = tsri_device_check("tuned_each", device);
  if (status == TSR_OK && !each) status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "tuned_each: each is NULL");
  if (status != TSR_OK) return status;
  tsri_choices *opened, *choices = choices_of(device, &opened);
  tsri_choice choice;
  if (!choices) return TSR_ERR_OUT_OF_MEMORY;
  for (size_t i = 0; tsri_choices_at(choices, i, &choice); i++) {
    tsr_tuned tuned = {choice.work, choice.choice, choice.usual_us, choice.chosen_us, choice.is_bad};
    each(context, &tuned);
  }
  tsri_choices_close(opened);
  return TSR_OK;
}

tsr_status tsr_tuned_clear(tsr_device *device) {
  tsr_status status = tsri_device_check("tuned_clear", device);
  if (status != TSR_OK) return status;
  tsri_choices *opened, *choices = choices_of(device, &opened);
  if (!choices) return TSR_ERR_OUT_OF_MEMORY;
  if (!tsri_choices_clear(choices)) {
    status = TSRI_FAIL(TSR_ERR_UNAVAILABLE, "tuned_clear: the file of %s cannot be removed; see `tessera cache`",
                       device->info.name);
  }
  tsri_choices_close(opened);
  return status;
}
