// SPDX-License-Identifier: MIT
// Declares the functions of a driver that runs kernels, tsri_<backend>_<entry>: tsri_cuda_copy is the entry `copy` of
// CUDA's table. Their contracts are in backend.h.
#ifndef TSRI_DRIVER_H
#define TSRI_DRIVER_H

#include <stdbool.h>

#include "backends/backend.h"

#define TSRI_DECLARE_DRIVER(name)                                                                                      \
  tsr_status tsri_##name##_device_count(int *out_count);                                                               \
  tsr_status tsri_##name##_device_info(int index, tsr_device_info *out_info);                                          \
  tsr_status tsri_##name##_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,           \
                                       tsri_device **out_device);                                                      \
  void tsri_##name##_device_close(tsri_device *device);                                                                \
  tsr_status tsri_##name##_memory_info(tsri_device *device, uint64_t *out_free, uint64_t *out_total);                  \
  tsr_status tsri_##name##_buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer);                 \
  void tsri_##name##_buffer_destroy(tsri_device *device, tsri_buffer *buffer);                                         \
  tsr_status tsri_##name##_queue_create(tsri_device *device, tsri_queue **out_queue);                                  \
  void tsri_##name##_queue_destroy(tsri_queue *queue);                                                                 \
  tsr_status tsri_##name##_queue_wait(tsri_queue *queue, uint64_t timeout_ns);                                         \
  tsr_status tsri_##name##_copy_in(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, const void *src,            \
                                   size_t bytes);                                                                      \
  tsr_status tsri_##name##_copy_out(tsri_queue *queue, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes);  \
  tsr_status tsri_##name##_copy(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src,              \
                                size_t src_offset, size_t bytes);                                                      \
  tsr_status tsri_##name##_fill(tsri_queue *queue, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern, \
                                size_t pattern_bytes);                                                                 \
  tsr_status tsri_##name##_event_create(tsri_device *device, tsri_event **out_event);                                  \
  void tsri_##name##_event_destroy(tsri_device *device, tsri_event *event);                                            \
  tsr_status tsri_##name##_event_record(tsri_queue *queue, tsri_event *event);                                         \
  tsr_status tsri_##name##_event_await(tsri_queue *queue, tsri_event *event);                                          \
  tsr_status tsri_##name##_event_is_done(tsri_device *device, tsri_event *event, bool *out_done);                      \
  tsr_status tsri_##name##_event_elapsed(tsri_device *device, tsri_event *from, tsri_event *to, uint64_t *out_ns);     \
  tsr_status tsri_##name##_program_create(tsri_device *device, const tsri_code *code, tsri_program **out_program);     \
  void tsri_##name##_program_destroy(tsri_device *device, tsri_program *program);                                      \
  tsr_status tsri_##name##_launch(tsri_queue *queue, tsri_program *program, const tsri_launch *launch)

// Initialisers for the backend's tsri_backend table. TSRI_DEVICE_ENTRIES: the entries that find and open devices.
// TSRI_WORK_ENTRIES: those that work on an open device. TSRI_DRIVER_ENTRIES: all of them.
#define TSRI_DEVICE_ENTRIES(name)                                                       \
  .device_count = tsri_##name##_device_count, .device_info = tsri_##name##_device_info, \
  .device_open = tsri_##name##_device_open, .device_close = tsri_##name##_device_close

#define TSRI_WORK_ENTRIES(name)                                                                     \
  .memory_info = tsri_##name##_memory_info, .buffer_create = tsri_##name##_buffer_create,           \
  .buffer_destroy = tsri_##name##_buffer_destroy, .queue_create = tsri_##name##_queue_create,       \
  .queue_destroy = tsri_##name##_queue_destroy, .queue_wait = tsri_##name##_queue_wait,             \
  .copy_in = tsri_##name##_copy_in, .copy_out = tsri_##name##_copy_out, .copy = tsri_##name##_copy, \
  .fill = tsri_##name##_fill, .event_create = tsri_##name##_event_create,                           \
  .event_destroy = tsri_##name##_event_destroy, .event_record = tsri_##name##_event_record,         \
  .event_await = tsri_##name##_event_await, .event_is_done = tsri_##name##_event_is_done,           \
  .event_elapsed = tsri_##name##_event_elapsed, .program_create = tsri_##name##_program_create,     \
  .program_destroy = tsri_##name##_program_destroy, .launch = tsri_##name##_launch

// The first entries of a backend whose programs are text in this dialect.
#define TSRI_TEXT_BACKEND(id, its_title, its_dialect)                                            \
  .abi = TSRI_BACKEND_ABI, .table_bytes = sizeof(tsri_backend), .name = #id, .title = its_title, \
  .code_forms = TSRI_CODE_TEXT, .dialect = its_dialect

#define TSRI_DRIVER_ENTRIES(name) TSRI_DEVICE_ENTRIES(name), TSRI_WORK_ENTRIES(name)

#endif
