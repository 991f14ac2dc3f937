// SPDX-License-Identifier: MIT
// WebGPU adapters: discovery, device information, opening and closing.
#include <stdio.h>
#include <string.h>

#include "backends/webgpu/webgpu.h"
#include "core/alloc.h"
#include "core/native.h"

enum { MAX_ADAPTERS = 8, OPEN_TIMEOUT_MS = 30000 };

static tsri_wgpu_adapter adapters[MAX_ADAPTERS];
static int adapter_count = -1;  // -1: not queried yet

// --- Finding --------------------------------------------------------------------------------------------------------

tsr_status tsri_webgpu_start(const tsri_host *host) {
  const char *library =
      host->bytes > offsetof(tsri_host, setting) && host->setting ? host->setting("webgpu_lib") : NULL;
  tsr_status status = tsri_wgpu.start(library);
  adapter_count = -1;
  if (status == TSR_OK) return TSR_OK;
  char text[1200];
  tsri_wgpu.error_text(text, sizeof text);
  return TSRI_FAIL(status, "%s", text);
}

void tsri_webgpu_stop(void) { tsri_wgpu.stop(); }

tsr_status tsri_webgpu_device_count(int *out_count) {
  uint32_t count = tsri_wgpu.adapter_count();
  adapter_count = 0;
  for (uint32_t i = 0; i < count && i < MAX_ADAPTERS; i++) {
    if (tsri_wgpu.adapter_info(i, &adapters[i]) != TSR_OK) break;
    adapter_count++;
  }
  *out_count = adapter_count;
  if (adapter_count > 0) return TSR_OK;
  char text[1200];
  tsri_wgpu.error_text(text, sizeof text);
  return TSRI_FAIL(TSR_ERR_UNAVAILABLE, "%s", text);
}

static uint64_t max_buffer(const tsri_wgpu_adapter *a) {
  uint32_t pages = a->max_buffer_pages < a->max_binding_pages ? a->max_buffer_pages : a->max_binding_pages;
  return (uint64_t)pages * 256;
}

tsr_status tsri_webgpu_device_info(int index, tsr_device_info *out_info) {
  const tsri_wgpu_adapter *a = &adapters[index];
  bool is_software = a->kind == TSRI_WGPU_SOFTWARE;
  *out_info = (tsr_device_info){
      .index = index,
      .type = is_software                       ? TSR_DEVICE_CPU
              : a->kind == TSRI_WGPU_INTEGRATED ? TSR_DEVICE_INTEGRATED_GPU
                                                : TSR_DEVICE_DISCRETE_GPU,
      .is_software = is_software,
      .has_unified_memory = a->kind != TSRI_WGPU_GPU,
      .max_buffer_bytes = max_buffer(a),
  };
  snprintf(out_info->name, sizeof out_info->name, "%s", a->name[0] ? a->name : "WebGPU adapter");
  snprintf(out_info->driver, sizeof out_info->driver, "%s", a->driver);
  snprintf(out_info->arch, sizeof out_info->arch, "%.31s", a->vendor);
  if (is_software) tsri_memory_size(&out_info->total_bytes, &out_info->free_bytes);
  return TSR_OK;
}

// --- Opening --------------------------------------------------------------------------------------------------------

static void fill_limits(const webgpu_device *device, const webgpu_arithmetic *arithmetic, tsri_limits *out) {
  const tsri_wgpu_adapter *a = &device->adapter;
  bool is_software = a->kind == TSRI_WGPU_SOFTWARE;
  out->buffer_alignment = a->storage_alignment > WEBGPU_ROUND_BYTES ? a->storage_alignment : WEBGPU_ROUND_BYTES;
  out->max_buffer_bytes = max_buffer(a);
  out->binds_whole_buffers = true;
  out->max_group_size = a->max_group_items;
  for (int i = 0; i < 3; i++)
    out->max_groups[i] = UINT32_MAX;  // program.c folds launches that exceed the device's
                                      // limit
  out->shared_bytes = a->shared_bytes;
  // 8-bit and 16-bit elements are parts of 32-bit words; i64 is two words.
  out->dtype_storage = ((1u << TSR_DTYPE_COUNT) - 1) & ~(1u << TSR_F64);
  out->dtype_arithmetic = arithmetic->has_half ? out->dtype_storage : out->dtype_storage & ~(1u << TSR_F16);
  out->has_exact_divide = is_software;  // CPUs divide exactly; WGSL allows an error of 2.5 ULP
  out->copies_slowly = !is_software;    // 0.84 TB/s on an H200, while kernels copy at 4.2 TB/s
  out->has_exact_fma = arithmetic->fuses;
  out->has_subgroups = out->has_subgroup_shuffle = arithmetic->has_subgroups;
  if (arithmetic->has_subgroups) out->subgroup_size = a->subgroup_min;
  out->groups_progress = strcmp(a->vendor, "nvidia") == 0;
  int side = arithmetic->matrix_side;
  if (side > 0) out->fragments[out->fragment_count++] = (tsr_fragment_size){TSR_F16, side, side, side};
}

tsr_status tsri_webgpu_open_handle(webgpu_device *device, int index, bool wants_matrices) {
  double timeout = webgpu_milliseconds(device->timeout_ns);
  if (timeout > OPEN_TIMEOUT_MS) timeout = OPEN_TIMEOUT_MS;
  tsr_status status = tsri_wgpu.device_open((uint32_t)index, wants_matrices, timeout, &device->handle);
  if (status != TSR_OK) return WEBGPU_FAIL(device, status, "opening");
  webgpu_buffer uniform;
  status = tsri_webgpu_allocate(device, TSRI_WGPU_UNIFORM, WEBGPU_PARAMS_BYTES, &uniform);
  if (status == TSR_OK) device->uniform = uniform.handle;
  return status;
}

void tsri_webgpu_close_handle(webgpu_device *device) {
  if (device->uniform) tsri_wgpu.buffer_destroy(device->handle, device->uniform);
  if (device->handle) tsri_wgpu.device_close(device->handle);
  device->uniform = NULL;
  device->handle = NULL;
}

static tsr_status open_parts(webgpu_device *device, int index, const char *native, webgpu_arithmetic *arithmetic) {
  tsr_status status = tsri_webgpu_open_handle(device, index, false);
  if (status == TSR_OK) status = tsri_webgpu_probe(device, arithmetic);
  if (status != TSR_OK) return status;
  bool can_have_matrices = arithmetic->has_half && arithmetic->has_subgroups;
  if (can_have_matrices && tsri_native_allows(native, "subgroup_matrix")) {
    tsri_webgpu_try_matrices(device, index, arithmetic);
  }
  device->params = tsri_calloc(1, WEBGPU_PARAMS_BYTES);
  return device->params ? TSR_OK : TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "webgpu: no host memory for parameters");
}

tsr_status tsri_webgpu_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                   tsri_device **out_device) {
  webgpu_device *device = tsri_calloc(1, sizeof *device);
  if (!device) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "webgpu: no host memory for the device's record");
  device->adapter = adapters[index];
  device->timeout_ns = options->timeout_ns ? options->timeout_ns : UINT64_MAX;
  device->has_times = options->profiling;
  snprintf(device->name, sizeof device->name, "%.*s", (int)sizeof device->name - 1, device->adapter.name);
  tsri_mutex_init(&device->lock);
  webgpu_arithmetic arithmetic = {0};
  tsr_status status = open_parts(device, index, options->native ? options->native : "all", &arithmetic);
  if (status == TSR_OK && device->has_times) tsri_webgpu_stamps_open(device);
  if (status != TSR_OK) {
    tsri_webgpu_device_close((tsri_device *)device);
    return status;
  }
  fill_limits(device, &arithmetic, out_limits);
  *out_device = (tsri_device *)device;
  return TSR_OK;
}

// Accepts a partly initialised device.
void tsri_webgpu_device_close(tsri_device *opaque) {
  webgpu_device *device = webgpu_device_of(opaque);
  tsri_wgpu_device *handle = device->handle;
  if (handle) {
    for (uint32_t i = 0; i < device->temporary_count; i++) tsri_wgpu.buffer_destroy(handle, device->temporaries[i]);
    for (int i = 0; i < WEBGPU_SPARE_READBACKS; i++) {
      if (device->spare[i].handle) tsri_wgpu.buffer_destroy(handle, device->spare[i].handle);
    }
    if (device->fill_program) tsri_wgpu.program_destroy(handle, device->fill_program);
    if (device->copy_program) tsri_wgpu.program_destroy(handle, device->copy_program);
    if (device->wide_program) tsri_wgpu.program_destroy(handle, device->wide_program);
  }
  tsri_webgpu_close_handle(device);
  tsri_webgpu_stamps_close(device);
  tsri_mutex_deinit(&device->lock);
  tsri_free(device->params);
  tsri_free(device);
}

// WebGPU does not report memory; a software device uses the host's.
tsr_status tsri_webgpu_memory_info(tsri_device *opaque, uint64_t *out_free, uint64_t *out_total) {
  *out_free = *out_total = 0;
  if (webgpu_device_of(opaque)->adapter.kind == TSRI_WGPU_SOFTWARE) tsri_memory_size(out_total, out_free);
  return TSR_OK;
}
