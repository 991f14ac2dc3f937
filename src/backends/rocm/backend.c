// SPDX-License-Identifier: MIT
// The ROCm backend's table: the driver of backends/cuda, with devices of its own.
#include "backends/rocm/rocm.h"

static tsr_status rocm_start(const tsri_host *host) {
  (void)host;  // built in: errors are reported by TSRI_FAIL, not through the host table
  return tsri_rocm_load();
}

const tsri_backend tsri_rocm_backend = {
    TSRI_TEXT_BACKEND(rocm, "ROCm", "hip"),
    .start = rocm_start,
    .stop = tsri_rocm_stop,
    TSRI_DEVICE_ENTRIES(rocm),
    CUDA_WORK_ENTRIES,
    .native_ops = tsri_rocm_native_ops,
    .has_op = tsri_rocm_has_op,
    .run_op = tsri_rocm_run_op,
};
