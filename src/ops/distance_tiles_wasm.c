// SPDX-License-Identifier: MIT
// In the browser, each item of the GPU computes its distances by itself, so that the module has fewer kernels.
#include "ops/distance_tiles.h"

bool tsri_distance_choose_tile(tsr_device *device, const tsri_distance_sizes *s, tsr_dtype dtype,
                               tsri_distance_tile *out_tile) {
  (void)device, (void)s, (void)dtype, (void)out_tile;
  return false;
}

tsr_status tsri_distance_launch_tiles(const tsri_kernel_run *run, const tsri_distance_sizes *s,
                                      const tsri_distance_tile *t) {
  (void)run, (void)s, (void)t;
  return TSR_ERR_UNSUPPORTED;
}
