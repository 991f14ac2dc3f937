// SPDX-License-Identifier: MIT
// The CUDA backend's table.
#include "backends/cuda/cuda.h"

static tsr_status cuda_start(const tsri_host *host) {
  (void)host;  // built in: errors are reported by TSRI_FAIL, not through the host table
  return tsri_cuda_load();
}

const tsri_backend tsri_cuda_backend = {
    TSRI_TEXT_BACKEND(cuda, "CUDA", "cuda"),
    .start = cuda_start,
    .stop = tsri_cuda_stop,
    TSRI_DEVICE_ENTRIES(cuda),
    CUDA_WORK_ENTRIES,
    .native_ops = tsri_cuda_native_ops,
    .has_op = tsri_cuda_has_op,
    .run_op = tsri_cuda_run_op,
    .group_of = tsri_cuda_group_of,
    .run_ops = tsri_cuda_run_ops,
};
