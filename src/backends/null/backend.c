// SPDX-License-Identifier: MIT
// The null backend: memory works, computing does not. Copy it to start a new backend; fault tests use it, too.
// Discovery does not list it: open it by its name, "null".
//
// Buffers are plain host memory, but the backend has no buffer_host entry. The core therefore copies in and out, as
// for a real device.
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"

// Given by the core in null_start. Errors are reported through it, as a plug-in has to do.
static const tsri_host *host;

static int open_marker;  // the device has no state: its handle only has to be something other than NULL

static tsr_status null_start(const tsri_host *core) {
  host = core;
  return TSR_OK;
}

static tsr_status null_device_count(int *out_count) {
  *out_count = 1;
  return TSR_OK;
}

static tsr_status null_device_info(int index, tsr_device_info *out_info) {
  *out_info = (tsr_device_info){.index = index, .name = "Null device", .driver = "none", .type = TSR_DEVICE_OTHER};
  return TSR_OK;
}

static tsr_status null_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                   tsri_device **out_device) {
  (void)index;
  (void)options;
  out_limits->buffer_alignment = 256;
  out_limits->runs_at_once = true;
  *out_device = (tsri_device *)&open_marker;
  return TSR_OK;
}

static void null_device_close(tsri_device *device) { (void)device; }

static tsr_status null_buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer) {
  (void)device;
  void *memory = malloc(bytes);
  if (!memory) return host->fail(TSR_ERR_OUT_OF_MEMORY, "null/backend.c", "null: malloc of %zu bytes failed", bytes);
  *out_buffer = memory;
  return TSR_OK;
}

static void null_buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  (void)device;
  free(buffer);
}

static tsr_status null_queue_create(tsri_device *device, tsri_queue **out_queue) {
  *out_queue = (tsri_queue *)device;
  return TSR_OK;
}

static void null_queue_destroy(tsri_queue *queue) { (void)queue; }

// Every call finishes its work before it returns, so there is nothing to wait for.
static tsr_status null_queue_wait(tsri_queue *queue, uint64_t timeout_ns) {
  (void)queue;
  (void)timeout_ns;
  return TSR_OK;
}

static tsr_status null_copy_in(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, const void *src, size_t bytes) {
  (void)queue;
  memcpy((char *)dst + dst_offset, src, bytes);
  return TSR_OK;
}

static tsr_status null_copy_out(tsri_queue *queue, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes) {
  (void)queue;
  memcpy(dst, (const char *)src + src_offset, bytes);
  return TSR_OK;
}

static tsr_status null_copy(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src, size_t src_offset,
                            size_t bytes) {
  (void)queue;
  memmove((char *)dst + dst_offset, (const char *)src + src_offset, bytes);
  return TSR_OK;
}

static tsr_status null_fill(tsri_queue *queue, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                            size_t pattern_bytes) {
  (void)queue;
  for (size_t i = 0; i < bytes; i += pattern_bytes) memcpy((char *)dst + offset + i, pattern, pattern_bytes);
  return TSR_OK;
}

const tsri_backend tsri_null_backend = {
    .abi = TSRI_BACKEND_ABI,
    .table_bytes = sizeof(tsri_backend),
    .name = "null",
    .title = "Null",
    .start = null_start,
    .device_count = null_device_count,
    .device_info = null_device_info,
    .device_open = null_device_open,
    .device_close = null_device_close,
    .buffer_create = null_buffer_create,
    .buffer_destroy = null_buffer_destroy,
    .queue_create = null_queue_create,
    .queue_destroy = null_queue_destroy,
    .queue_wait = null_queue_wait,
    .copy_in = null_copy_in,
    .copy_out = null_copy_out,
    .copy = null_copy,
    .fill = null_fill,
};
