// SPDX-License-Identifier: MIT
// Host memory as buffers: allocated here, or foreign memory used in place.
#include <stdlib.h>

#include "backends/cpu/cpu.h"
#include "core/alloc.h"
#include "core/error.h"
#include "platform/platform.h"

typedef struct cpu_buffer {
  void *memory;
  bool is_imported;
} cpu_buffer;

static tsr_status wrap(void *memory, bool is_imported, tsri_buffer **out_buffer) {
  cpu_buffer *buffer = tsri_malloc(sizeof *buffer);
  if (!buffer) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cpu: no host memory for a buffer's record");
  *buffer = (cpu_buffer){memory, is_imported};
  *out_buffer = (tsri_buffer *)buffer;
  return TSR_OK;
}

tsr_status tsri_cpu_buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer) {
  (void)device;
  void *memory = tsri_aligned_alloc(bytes);
  if (!memory) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cpu: the system has no %zu bytes left", bytes);
  tsr_status status = wrap(memory, false, out_buffer);
  if (status != TSR_OK) tsri_aligned_free(memory);
  return status;
}

tsr_status tsri_cpu_buffer_import(tsri_device *device, void *host_memory, size_t bytes, tsri_buffer **out_buffer) {
  (void)device;
  (void)bytes;
  return wrap(host_memory, true, out_buffer);
}

void tsri_cpu_buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  (void)device;
  cpu_buffer *host_buffer = (cpu_buffer *)buffer;
  if (!host_buffer->is_imported) tsri_aligned_free(host_buffer->memory);
  tsri_free(host_buffer);
}

void *tsri_cpu_buffer_host(tsri_device *device, tsri_buffer *buffer) {
  (void)device;
  return ((cpu_buffer *)buffer)->memory;
}
