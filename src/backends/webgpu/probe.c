// SPDX-License-Identifier: MIT
// Whether fma rounds once, which WGSL leaves open, found out by a small kernel when a device is opened.
//
// With a = b = 1 + 2^-12, a * b is 1 + 2^-11 + 2^-24, of which rounding leaves 1 + 2^-11. Less that, it is 0 if the product
// was rounded, and 2^-24 if it was not.
#include "backends/webgpu/webgpu.h"

static const char text[] =
    "@group(0) @binding(0) var<storage, read_write> y: array<f32>;\n"
    "@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;\n"
    "@compute @workgroup_size(1) fn probe() {\n"
    "  let a = bitcast<f32>(p[0].x);\n  let b = bitcast<f32>(p[0].y);\n  let c = bitcast<f32>(p[0].z);\n"
    "  y[0] = fma(a, b, c);\n}\n";

static tsr_status run(webgpu_device *device, tsri_wgpu_program *program, float *out_result) {
  enum { BYTES = 256, PROBE_TIMEOUT_MS = 30000 };
  static const uint32_t numbers[8] = {0x3f800800, 0x3f800800, 0xbf801000};  // a, b, -(1 + 2^-11)
  webgpu_buffer storage = {0}, readback = {0};
  uint32_t number = 0;
  tsr_status status = tsri_webgpu_allocate(device, TSRI_WGPU_STORAGE, BYTES, &storage);
  if (status == TSR_OK) status = tsri_webgpu_allocate(device, TSRI_WGPU_READBACK, BYTES, &readback);
  if (status == TSR_OK) {
    tsri_wgpu_binding binding = {storage.handle, 0, BYTES};
    status = tsri_wgpu.write(device->handle, device->uniform, 0, numbers, sizeof numbers);
    if (status == TSR_OK) {
      status = tsri_wgpu.dispatch(device->handle, program, &binding, 1, device->uniform, 0, 1, 1, 1);
    }
    if (status == TSR_OK) status = tsri_wgpu.copy(device->handle, readback.handle, 0, storage.handle, 0, BYTES);
    if (status == TSR_OK) status = tsri_wgpu.submit(device->handle, &number);
    if (status == TSR_OK) {
      status = tsri_wgpu.read(device->handle, readback.handle, 0, out_result, sizeof *out_result, PROBE_TIMEOUT_MS);
    }
    if (status != TSR_OK) status = WEBGPU_FAIL(device, status, "the first kernel");
  }
  if (storage.handle) tsri_wgpu.buffer_destroy(device->handle, storage.handle);
  if (readback.handle) tsri_wgpu.buffer_destroy(device->handle, readback.handle);
  return status;
}

tsr_status tsri_webgpu_probe(webgpu_device *device, bool *out_fuses) {
  static const uint32_t none[2] = {0, 0};
  float result = 0;
  tsri_wgpu_program *program = NULL;
  tsr_status status = tsri_wgpu.program_create(device->handle, text, sizeof text - 1, "probe", 1, none, 32, &program);
  if (status != TSR_OK) return WEBGPU_FAIL(device, status, "building the first kernel");
  status = run(device, program, &result);
  tsri_wgpu.program_destroy(device->handle, program);
  *out_fuses = result > 0;
  return status;
}
