// SPDX-License-Identifier: MIT
// The CPU backend's table. The CPU is always available. Work is done before the call returns, or by a queue's own thread.
#include "backends/cpu/cpu.h"

static tsr_status cpu_start(const tsri_host *host) {
  (void)host;  // the backend is built in, so errors are reported by TSRI_FAIL
  return TSR_OK;
}

const tsri_backend tsri_cpu_backend = {
    .abi = TSRI_BACKEND_ABI,
    .table_bytes = sizeof(tsri_backend),
    .name = "cpu",
    .title = "CPU",
    .code_forms = TSRI_CODE_HOST | TSRI_CODE_WORDS,
    .dialect = "lanes",
    .start = cpu_start,
    TSRI_DRIVER_ENTRIES(cpu),
    .buffer_host = tsri_cpu_buffer_host,
    .buffer_import = tsri_cpu_buffer_import,
    .native_ops = tsri_cpu_native_ops,
    .has_op = tsri_cpu_has_op,
    .run_op = tsri_cpu_run_op,
};
