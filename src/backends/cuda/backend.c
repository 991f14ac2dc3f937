// SPDX-License-Identifier: MIT
// The CUDA backend's table.
#include "backends/cuda/cuda.h"

static tsr_status cuda_start(const tsri_host *host) {
  (void)host;  // built in: errors go through TSRI_FAIL
  return tsri_cuda_load();
}

const tsri_backend tsri_cuda_backend = {
    .abi = TSRI_BACKEND_ABI,
    .table_bytes = sizeof(tsri_backend),
    .name = "cuda",
    .title = "CUDA",
    .code_forms = TSRI_CODE_TEXT,
    .dialect = "cuda",
    .start = cuda_start,
    .stop = tsri_cuda_stop,
    .device_count = tsri_cuda_device_count,
    .device_info = tsri_cuda_device_info,
    .device_open = tsri_cuda_device_open,
    .device_close = tsri_cuda_device_close,
    .memory_info = tsri_cuda_memory_info,
    .buffer_create = tsri_cuda_buffer_create,
    .buffer_destroy = tsri_cuda_buffer_destroy,
    .queue_create = tsri_cuda_queue_create,
    .queue_destroy = tsri_cuda_queue_destroy,
    .queue_wait = tsri_cuda_queue_wait,
    .copy_in = tsri_cuda_copy_in,
    .copy_out = tsri_cuda_copy_out,
    .copy = tsri_cuda_copy,
    .fill = tsri_cuda_fill,
    .event_create = tsri_cuda_event_create,
    .event_destroy = tsri_cuda_event_destroy,
    .event_record = tsri_cuda_event_record,
    .event_await = tsri_cuda_event_await,
    .event_is_done = tsri_cuda_event_is_done,
    .event_elapsed = tsri_cuda_event_elapsed,
    .program_create = tsri_cuda_program_create,
    .program_destroy = tsri_cuda_program_destroy,
    .launch = tsri_cuda_launch,
    .native_ops = tsri_cuda_native_ops,
    .has_op = tsri_cuda_has_op,
    .run_op = tsri_cuda_run_op,
    .graph_begin = tsri_cuda_graph_begin,
    .graph_end = tsri_cuda_graph_end,
    .graph_launch = tsri_cuda_graph_launch,
    .graph_destroy = tsri_cuda_graph_destroy,
    .copy_peer = tsri_cuda_copy_peer,
};
