// SPDX-License-Identifier: MIT
// Web pages have no files to keep choices in, and their clocks are too coarse to time kernels: nothing is tuned.
#include <tessera/tune.h>

#include "core/error.h"
#include "graph/autotune.h"
#include "graph/launch.h"

tsri_autotune *tsri_autotune_create(const tsr_device *device) {
  (void)device;
  return NULL;
}

void tsri_autotune_destroy(tsri_autotune *tuner) { (void)tuner; }

uint64_t tsri_autotune_unusual(const tsri_autotune *tuner) {
  (void)tuner;
  return 0;
}

bool tsri_autotune_is_on(const tsri_autotune *tuner) {
  (void)tuner;
  return false;
}

tsr_status tsri_autotune_launch(tsri_autotune *tuner, tsri_graph_state *state, const tsri_plan *plan,
                                const tsri_fusion *fusion, tsr_buffer *const *outputs) {
  (void)tuner;
  return tsri_launch_fusion(state, plan, fusion, outputs);
}

tsr_status tsr_tuned_each(tsr_device *device, tsr_tuned_function each, void *context) {
  (void)each, (void)context;
  return tsri_device_check("tuned_each", device);
}

tsr_status tsr_tuned_clear(tsr_device *device) { return tsri_device_check("tuned_clear", device); }
