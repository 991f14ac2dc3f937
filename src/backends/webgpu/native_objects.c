// SPDX-License-Identifier: MIT
// Buffers and programs of a webgpu.h library.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/webgpu/native.h"
#include "core/alloc.h"

// --- Buffers --------------------------------------------------------------------------------------------------------

tsr_status tsri_wgpu_native_buffer_create(tsri_wgpu_device *device, uint32_t kind, size_t bytes,
                                          tsri_wgpu_buffer **out_buffer) {
  static const uint64_t usages[] = {
      [TSRI_WGPU_STORAGE] = WGPU_USAGE_STORAGE | WGPU_USAGE_COPY_SRC | WGPU_USAGE_COPY_DST,
      [TSRI_WGPU_UNIFORM] = WGPU_USAGE_UNIFORM | WGPU_USAGE_COPY_DST,
      [TSRI_WGPU_READBACK] = WGPU_USAGE_MAP_READ | WGPU_USAGE_COPY_DST,
  };
  tsr_status status = tsri_wgpu_check_lost(device);
  if (status != TSR_OK) return status;
  tsri_wgpu_buffer *buffer = tsri_calloc(1, sizeof *buffer);
  if (!buffer) return tsri_wgpu_fail(TSR_ERR_OUT_OF_MEMORY, "no host memory for a buffer's record");
  char what[64];
  snprintf(what, sizeof what, "a buffer of %zu bytes", bytes);
  tsri_wgpu_begin_scopes(device);
  wgpu_buffer_descriptor descriptor = {.usage = usages[kind], .bytes = bytes};
  buffer->bytes = bytes;
  buffer->handle = tsri_wgpu_lib.DeviceCreateBuffer(device->handle, &descriptor);
  status = tsri_wgpu_end_scopes(device, TSR_ERR_INTERNAL, what);
  if (status == TSR_OK && !buffer->handle) status = tsri_wgpu_fail(TSR_ERR_OUT_OF_MEMORY, "WebGPU: %s", what);
  if (status != TSR_OK) {
    tsri_wgpu_native_buffer_destroy(device, buffer);
    return status;
  }
  *out_buffer = buffer;
  return TSR_OK;
}

void tsri_wgpu_native_buffer_destroy(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer) {
  tsri_wgpu_drop_groups_with(device, &buffer->uses);
  if (buffer->handle) {
    tsri_wgpu_lib.BufferDestroy(buffer->handle);
    tsri_wgpu_lib.BufferRelease(buffer->handle);
  }
  tsri_free(buffer);
}

// --- Programs -------------------------------------------------------------------------------------------------------

void tsri_wgpu_put_layout(bool has_array_sizes, uint32_t storage_count, const uint32_t read_only[2],
                          uint32_t uniform_bytes, wgpu_layout_entries *out) {
  memset(out, 0, sizeof *out);
  for (uint32_t i = 0; i <= storage_count; i++) {
    bool is_uniform = i == storage_count, reads = !is_uniform && (read_only[i / 32] >> (i % 32) & 1u);
    wgpu_layout_kinds kinds = {0};
    kinds.buffer.type = is_uniform ? WGPU_BINDING_UNIFORM : reads ? WGPU_BINDING_READ_ONLY : WGPU_BINDING_STORAGE;
    kinds.buffer.has_dynamic_offset = is_uniform;
    kinds.buffer.min_bytes = is_uniform ? uniform_bytes : 0;
    if (has_array_sizes) {
      out->entries[i] = (wgpu_layout_entry){.binding = i, .visibility = WGPU_STAGE_COMPUTE, .kinds = kinds};
    } else {
      out->old[i] = (wgpu_old_layout_entry){.binding = i, .visibility = WGPU_STAGE_COMPUTE, .kinds = kinds};
    }
  }
}

static wgpu_object create_layout(tsri_wgpu_device *device, uint32_t storage_count, const uint32_t read_only[2],
                                 uint32_t uniform_bytes) {
  wgpu_layout_entries entries;
  bool has_array_sizes = tsri_wgpu_has_array_sizes(tsri_wgpu_current(), tsri_wgpu_version());
  tsri_wgpu_put_layout(has_array_sizes, storage_count, read_only, uniform_bytes, &entries);
  wgpu_layout_descriptor descriptor = {.count = storage_count + 1, .entries = &entries};
  return tsri_wgpu_lib.DeviceCreateBindGroupLayout(device->handle, &descriptor);
}

static void create_pipeline(tsri_wgpu_device *device, wgpu_text text, wgpu_text entry, tsri_wgpu_program *program) {
  const tsri_wgpu_entries *lib = &tsri_wgpu_lib;
  wgpu_shader_text source = {.chain = {.type = WGPU_TYPE_SHADER_WGSL}, .code = text};
  wgpu_labelled module_descriptor = {.next = &source.chain};
  wgpu_object module = lib->DeviceCreateShaderModule(device->handle, &module_descriptor);
  wgpu_pipeline_layout_descriptor layout_descriptor = {.count = 1, .layouts = &program->layout};
  wgpu_object layout = lib->DeviceCreatePipelineLayout(device->handle, &layout_descriptor);
  wgpu_pipeline_descriptor descriptor = {.layout = layout, .compute = {.module = module, .entry = entry}};
  program->pipeline = lib->DeviceCreateComputePipeline(device->handle, &descriptor);
  if (layout) lib->PipelineLayoutRelease(layout);
  if (module) lib->ShaderModuleRelease(module);
}

tsr_status tsri_wgpu_native_program_create(tsri_wgpu_device *device, const char *text, size_t text_bytes,
                                           const char *entry, uint32_t storage_count, const uint32_t read_only[2],
                                           uint32_t uniform_bytes, tsri_wgpu_program **out_program) {
  tsr_status status = tsri_wgpu_check_lost(device);
  if (status != TSR_OK) return status;
  tsri_wgpu_program *program = tsri_calloc(1, sizeof *program);
  if (!program) return tsri_wgpu_fail(TSR_ERR_OUT_OF_MEMORY, "no host memory for a program's record");
  program->uniform_bytes = uniform_bytes;
  tsri_wgpu_begin_scopes(device);
  program->layout = create_layout(device, storage_count, read_only, uniform_bytes);
  create_pipeline(device, (wgpu_text){text, text_bytes}, (wgpu_text){entry, WGPU_STRLEN}, program);
  status = tsri_wgpu_end_scopes(device, TSR_ERR_BUILD, entry);
  if (status == TSR_OK && !program->pipeline) status = tsri_wgpu_fail(TSR_ERR_BUILD, "WebGPU: no pipeline: %s", entry);
  if (status != TSR_OK) {
    tsri_wgpu_native_program_destroy(device, program);
    return status;
  }
  *out_program = program;
  return TSR_OK;
}

void tsri_wgpu_native_program_destroy(tsri_wgpu_device *device, tsri_wgpu_program *program) {
  tsri_wgpu_drop_groups_with(device, &program->uses);
  if (program->pipeline) tsri_wgpu_lib.ComputePipelineRelease(program->pipeline);
  if (program->layout) tsri_wgpu_lib.BindGroupLayoutRelease(program->layout);
  tsri_free(program);
}
