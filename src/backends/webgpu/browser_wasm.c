// SPDX-License-Identifier: MIT
// The table of webgpu_api.h in a web page: every entry is a function of web/webgpu.js, which calls navigator.gpu.
//
// Entries that have to wait suspend the WebAssembly module, so that the page stays responsive.
#include "backends/webgpu/webgpu_api.h"

#define FROM_PAGE(name) __attribute__((import_module("webgpu"), import_name(#name))) page_##name

tsr_status FROM_PAGE(start)(const char *library);
void FROM_PAGE(stop)(void);
void FROM_PAGE(error_text)(char *text, size_t text_bytes);
uint32_t FROM_PAGE(adapter_count)(void);
tsr_status FROM_PAGE(adapter_info)(uint32_t index, tsri_wgpu_adapter *out_adapter);
tsr_status FROM_PAGE(device_open)(uint32_t index, double timeout_ms, tsri_wgpu_device **out_device);
void FROM_PAGE(device_close)(tsri_wgpu_device *device);
tsr_status FROM_PAGE(device_check)(tsri_wgpu_device *device);
tsr_status FROM_PAGE(buffer_create)(tsri_wgpu_device *device, uint32_t kind, size_t bytes,
                                    tsri_wgpu_buffer **out_buffer);
void FROM_PAGE(buffer_destroy)(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer);
tsr_status FROM_PAGE(program_create)(tsri_wgpu_device *device, const char *text, size_t text_bytes, const char *entry,
                                     uint32_t storage_count, const uint32_t read_only[2], uint32_t uniform_bytes,
                                     tsri_wgpu_program **out_program);
void FROM_PAGE(program_destroy)(tsri_wgpu_device *device, tsri_wgpu_program *program);
tsr_status FROM_PAGE(write)(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, const void *data,
                            size_t bytes);
tsr_status FROM_PAGE(copy)(tsri_wgpu_device *device, tsri_wgpu_buffer *dst, size_t dst_offset, tsri_wgpu_buffer *src,
                           size_t src_offset, size_t bytes);
tsr_status FROM_PAGE(dispatch)(tsri_wgpu_device *device, tsri_wgpu_program *program, const tsri_wgpu_binding *storage,
                               uint32_t storage_count, tsri_wgpu_buffer *uniform, size_t uniform_offset,
                               uint32_t groups_x, uint32_t groups_y, uint32_t groups_z);
tsr_status FROM_PAGE(submit)(tsri_wgpu_device *device, uint32_t *out_number);
tsr_status FROM_PAGE(wait)(tsri_wgpu_device *device, uint32_t number, double timeout_ms);
tsr_status FROM_PAGE(read)(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, void *data, size_t bytes,
                           double timeout_ms);

// Pages do not ask for subgroup matrices.
static tsr_status open_in_page(uint32_t index, bool wants_matrices, double timeout_ms, tsri_wgpu_device **out_device) {
  (void)wants_matrices;
  return page_device_open(index, timeout_ms, out_device);
}

tsri_wgpu_api tsri_wgpu = {
    .start = page_start,
    .stop = page_stop,
    .error_text = page_error_text,
    .adapter_count = page_adapter_count,
    .adapter_info = page_adapter_info,
    .device_open = open_in_page,
    .device_close = page_device_close,
    .device_check = page_device_check,
    .buffer_create = page_buffer_create,
    .buffer_destroy = page_buffer_destroy,
    .program_create = page_program_create,
    .program_destroy = page_program_destroy,
    .write = page_write,
    .copy = page_copy,
    .dispatch = page_dispatch,
    .submit = page_submit,
    .wait = page_wait,
    .read = page_read,
};
