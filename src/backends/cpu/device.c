// SPDX-License-Identifier: MIT
// The single CPU device: its properties, opening and closing.
#include <stdio.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/native.h"
#include "platform/parallel.h"
#include "platform/platform.h"

tsr_status tsri_cpu_device_count(int *out_count) {
  *out_count = 1;
  return TSR_OK;
}

tsr_status tsri_cpu_device_info(int index, tsr_device_info *out_info) {
  const char *simd = tsri_cpu_simd_level(NULL);
  int cores = tsri_cpu_count();
  char full[TSR_NAME_BYTES], model[96];
  tsri_cpu_name(full, sizeof full);
  tsri_cpu_short_name(full, model, sizeof model);
  *out_info =
      (tsr_device_info){.index = index, .type = TSR_DEVICE_CPU, .has_unified_memory = true, .compute_units = cores};
  snprintf(out_info->name, sizeof out_info->name, "%s, %d core%s, %s", model[0] ? model : "CPU", cores,
           cores == 1 ? "" : "s", tsri_cpu_simd_title(simd));
  snprintf(out_info->driver, sizeof out_info->driver, "built in");
  snprintf(out_info->arch, sizeof out_info->arch, "%s", simd);
  tsri_memory_size(&out_info->total_bytes, &out_info->free_bytes);
  out_info->max_buffer_bytes = out_info->total_bytes;
  return TSR_OK;
}

// A kernel is interpreted until its launches have had this many work items in total, and then compiled: interpreting ten operators for 4096 items takes less
// than half the time of compiling them.
enum { INTERPRETED_ITEMS = 4096 };

tsr_status tsri_cpu_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                tsri_device **out_device) {
  (void)index;
  cpu_device *device = tsri_calloc(1, sizeof *device);
  if (!device) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cpu: no host memory for the device's record");
  device->threads = options->threads > 0 ? options->threads : tsri_cpu_count();
  if (device->threads > TSRI_MOST_PARTS) device->threads = TSRI_MOST_PARTS;
  device->simd = tsri_cpu_simd_level(options->simd);
  device->units = tsri_cpu_units(options->simd);
  device->allow_sleef = tsri_native_allows(options->native, "sleef");
  device->allow_lapack = tsri_native_allows(options->native, "lapack");
  device->timeout_ns = options->timeout_ns;
  device->allow_jit = !options->no_jit;
  device->interpreted_items = options->jit_always ? 0 : INTERPRETED_ITEMS;
  *out_limits = (tsri_limits){
      .buffer_alignment = 256,  // a multiple of the size of every cache line and vector
      .binding_alignment = 1,   // an element's own alignment is enough
      .runs_at_once = true,
      .max_group_size = 1024,
      .max_groups = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
      .shared_bytes = 1u << 18,
      .subgroup_size = 32,  // TSRI_LANE_SUBGROUP
      .dtype_storage = (1u << TSR_DTYPE_COUNT) - 1,
      .dtype_arithmetic = (1u << TSR_DTYPE_COUNT) - 1,
      .has_exact_divide = true,
      .reads_directly = true,
      .has_exact_fma =
          !tsri_cpu_simd_has_slow_fma(device->simd),  // false if FMA is slow, so that products do not use it
  };
  *out_device = (tsri_device *)device;
  return TSR_OK;
}

int tsri_cpu_threads(const cpu_device *device, uint64_t pieces) {
  if (pieces < (uint64_t)device->threads) return pieces < 2 ? 1 : (int)pieces;
  return device->threads;
}

// Several parts per thread: if a thread is delayed, the others take over the parts it has not started.
static int some_parts(int threads, uint64_t pieces, uint64_t parts_per_thread) {
  uint64_t parts = threads > 1 ? (uint64_t)threads * parts_per_thread : 1;
  if (parts > TSRI_MOST_PARTS) parts = TSRI_MOST_PARTS;
  return (int)(pieces < parts ? pieces : parts);
}

int tsri_cpu_parts(int threads, uint64_t pieces) { return some_parts(threads, pieces, 4); }

int tsri_cpu_small_parts(int threads, uint64_t pieces) { return some_parts(threads, pieces, 8); }

void tsri_cpu_device_close(tsri_device *device) {
  tsri_aligned_free(((cpu_device *)device)->scratch);
  tsri_free(device);
}

tsr_status tsri_cpu_memory_info(tsri_device *device, uint64_t *out_free, uint64_t *out_total) {
  (void)device;
  tsri_memory_size(out_total, out_free);
  return TSR_OK;
}
