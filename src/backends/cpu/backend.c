// SPDX-License-Identifier: MIT
// The CPU backend's table. The CPU is always there; work is done when its call returns.
#include "backends/cpu/cpu.h"

static tsr_status cpu_start(const tsri_host *host) {
  (void)host;  // built in: errors go through TSRI_FAIL
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
    .device_count = tsri_cpu_device_count,
    .device_info = tsri_cpu_device_info,
    .device_open = tsri_cpu_device_open,
    .device_close = tsri_cpu_device_close,
    .memory_info = tsri_cpu_memory_info,
    .buffer_create = tsri_cpu_buffer_create,
    .buffer_destroy = tsri_cpu_buffer_destroy,
    .buffer_host = tsri_cpu_buffer_host,
    .buffer_import = tsri_cpu_buffer_import,
    .queue_create = tsri_cpu_queue_create,
    .queue_destroy = tsri_cpu_queue_destroy,
    .queue_wait = tsri_cpu_queue_wait,
    .copy_in = tsri_cpu_copy_in,
    .copy_out = tsri_cpu_copy_out,
    .copy = tsri_cpu_copy,
    .fill = tsri_cpu_fill,
    .event_create = tsri_cpu_event_create,
    .event_destroy = tsri_cpu_event_destroy,
    .event_record = tsri_cpu_event_record,
    .event_await = tsri_cpu_event_await,
    .event_is_done = tsri_cpu_event_is_done,
    .event_elapsed = tsri_cpu_event_elapsed,
    .program_create = tsri_cpu_program_create,
    .program_destroy = tsri_cpu_program_destroy,
    .launch = tsri_cpu_launch,
    .native_ops = tsri_cpu_native_ops,
    .run_op = tsri_cpu_run_op,
};
