// SPDX-License-Identifier: MIT
// A backend as a plug-in, complete and small: two "devices" that keep their buffers in ordinary memory. Built as an outsider
// would build one:
//
//   cc -shared -fPIC -I<prefix>/include sample.c -o plugins/sample.so
//   TESSERA_PLUGIN_PATH=plugins TESSERA_BACKEND=sample tessera devices --test
//
// A real one replaces malloc and memcpy by its driver's calls, and adds programs (docs/adding-a-backend.md).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/plugin/backend.h>

enum { DEVICE_COUNT = 2 };

typedef struct sample_device {
  int index;
  size_t used_bytes;  // for the free figure; good enough for a sample, not for several threads
} sample_device;

typedef struct sample_buffer {
  size_t bytes;
  char data[];
} sample_buffer;

static const uint64_t device_bytes = UINT64_C(1) << 30;

static const tsri_host *host;

static tsr_status sample_start(const tsri_host *services) {
  host = services;
  host->log(TSR_LOG_DEBUG, "sample plug-in started");
  return TSR_OK;
}

static tsr_status sample_device_count(int *out_count) {
  *out_count = DEVICE_COUNT;
  return TSR_OK;
}

static tsr_status sample_device_info(int index, tsr_device_info *out_info) {
  *out_info = (tsr_device_info){.index = index,
                                .driver = "sample 1.0",
                                .type = TSR_DEVICE_OTHER,
                                .is_software = true,  // so that it is used only when named
                                .compute_units = 1,
                                .total_bytes = device_bytes,
                                .free_bytes = device_bytes,
                                .max_buffer_bytes = device_bytes};
  snprintf(out_info->name, sizeof out_info->name, "Sample device %d", index);
  return TSR_OK;
}

static tsr_status sample_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                     tsri_device **out_device) {
  (void)options;
  sample_device *device = calloc(1, sizeof *device);
  if (!device) return host->fail(TSR_ERR_OUT_OF_MEMORY, "sample.c", "sample: no memory for the device");
  device->index = index;
  out_limits->buffer_alignment = 256;
  out_limits->max_buffer_bytes = device_bytes;
  *out_device = (tsri_device *)device;
  return TSR_OK;
}

static void sample_device_close(tsri_device *device) { free(device); }

static tsr_status sample_buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer) {
  sample_device *sample = (sample_device *)device;
  sample_buffer *buffer = bytes > device_bytes - sample->used_bytes ? NULL : malloc(sizeof *buffer + bytes);
  if (!buffer)
    return host->fail(TSR_ERR_OUT_OF_MEMORY, "sample.c", "sample %d: no room for %zu bytes", sample->index, bytes);
  buffer->bytes = bytes;
  sample->used_bytes += bytes;
  *out_buffer = (tsri_buffer *)buffer;
  return TSR_OK;
}

static void sample_buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  ((sample_device *)device)->used_bytes -= ((sample_buffer *)buffer)->bytes;
  free(buffer);
}

static tsr_status sample_queue_create(tsri_device *device, tsri_queue **out_queue) {
  *out_queue = (tsri_queue *)device;
  return TSR_OK;
}

static void sample_queue_destroy(tsri_queue *queue) { (void)queue; }

static tsr_status sample_queue_wait(tsri_queue *queue, uint64_t timeout_ns) {
  (void)queue;
  (void)timeout_ns;
  return TSR_OK;  // work is done when its call returns
}

static char *data_at(tsri_buffer *buffer, size_t offset) { return ((sample_buffer *)buffer)->data + offset; }

static tsr_status sample_copy_in(tsri_queue *queue, tsri_buffer *dst, size_t offset, const void *src, size_t bytes) {
  (void)queue;
  memcpy(data_at(dst, offset), src, bytes);
  return TSR_OK;
}

static tsr_status sample_copy_out(tsri_queue *queue, void *dst, tsri_buffer *src, size_t offset, size_t bytes) {
  (void)queue;
  memcpy(dst, data_at(src, offset), bytes);
  return TSR_OK;
}

static tsr_status sample_copy(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src,
                              size_t src_offset, size_t bytes) {
  (void)queue;
  memmove(data_at(dst, dst_offset), data_at(src, src_offset), bytes);
  return TSR_OK;
}

static tsr_status sample_fill(tsri_queue *queue, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                              size_t pattern_bytes) {
  (void)queue;
  for (size_t i = 0; i < bytes; i += pattern_bytes) memcpy(data_at(dst, offset + i), pattern, pattern_bytes);
  return TSR_OK;
}

static const tsri_backend sample_backend = {
    .abi = TSRI_BACKEND_ABI,
    .table_bytes = sizeof(tsri_backend),
    .name = "sample",
    .title = "Sample plug-in",
    .start = sample_start,
    .device_count = sample_device_count,
    .device_info = sample_device_info,
    .device_open = sample_device_open,
    .device_close = sample_device_close,
    .buffer_create = sample_buffer_create,
    .buffer_destroy = sample_buffer_destroy,
    .queue_create = sample_queue_create,
    .queue_destroy = sample_queue_destroy,
    .queue_wait = sample_queue_wait,
    .copy_in = sample_copy_in,
    .copy_out = sample_copy_out,
    .copy = sample_copy,
    .fill = sample_fill,
};

TSR_EXPORT const tsri_backend *tsr_plugin_backend(void);
TSR_EXPORT const tsri_backend *tsr_plugin_backend(void) { return &sample_backend; }
