// SPDX-License-Identifier: MIT
// What NVRTC compiles for: a cubin if this NVRTC knows the GPU, otherwise PTX, which the driver compiles further.
#include <stdio.h>

#include "backends/cuda/cuda.h"

enum { MOST_ARCHS = 64 };

tsr_status tsri_cuda_choose_target(cuda_device *device, int major, int minor) {
  int archs[MOST_ARCHS], count = 0, wanted = 10 * major + minor, best = 0, least = 0;
  int version_major = 0, version_minor = 0;
  tsri_nvrtc.Version(&version_major, &version_minor);
  if (tsri_nvrtc.GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > MOST_ARCHS ||
      tsri_nvrtc.GetSupportedArchs(archs) != NVRTC_SUCCESS) {
    count = 0;
  }
  for (int i = 0; i < count; i++) {
    if (archs[i] <= wanted && archs[i] > best) best = archs[i];
    if (least == 0 || archs[i] < least) least = archs[i];
  }
  if (best == 0) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "%s has compute capability %d.%d, and NVRTC %d.%d compiles for %d.%d and newer: install an older "
                     "NVRTC, or use the vulkan or opencl backend on the same GPU",
                     device->name, major, minor, version_major, version_minor, least / 10, least % 10);
  }
  device->architecture = best;
  snprintf(device->target, sizeof device->target, "%s_%d", best == wanted ? "sm" : "compute", best);
  snprintf(device->toolset, sizeof device->toolset, "%s NVRTC %d.%d", device->target, version_major, version_minor);
  return TSR_OK;
}
