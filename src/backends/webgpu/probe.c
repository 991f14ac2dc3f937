// SPDX-License-Identifier: MIT
// Tests what WGSL leaves open, with small kernels when a device is opened: whether fma rounds once, whether f16
// conversions are exact, and which items form a subgroup. matrix.c tests subgroup matrices.
//
// For a = b = 1 + 2^-12, the product is 1 + 2^-11 + 2^-24, which f32 rounds to 1 + 2^-11. So fma(a, b, -(1 + 2^-11))
// is 2^-24 if it rounds once, and 0 if it rounds the product first.
#include <string.h>

#include "backends/webgpu/webgpu.h"

enum { PROBE_WORDS = WEBGPU_PROBE_WORDS, PROBE_BYTES = PROBE_WORDS * 4 };

static const char fma_text[] =
    "@group(0) @binding(0) var<storage, read_write> y: array<f32>;\n"
    "@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 4>;\n"
    "@compute @workgroup_size(1) fn probe() {\n"
    "  y[0] = fma(bitcast<f32>(p[0].x), bitcast<f32>(p[0].y), bitcast<f32>(p[0].z));\n}\n";

static const uint32_t fma_input[PROBE_WORDS] = {0x3f800800, 0x3f800800, 0xbf801000};

// Converts each number to f16 and then back to f32.
static const char half_text[] =
    "enable f16;\n@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n"
    "@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 4>;\n"
    "@compute @workgroup_size(1) fn probe() {\n  for (var i = 0u; i < 8u; i = i + 1u) {\n"
    "    let h = f16(bitcast<f32>(p[i / 4u][i % 4u]));\n    y[i] = bitcast<u32>(vec2<f16>(h, 0h));\n"
    "    y[8u + i] = bitcast<u32>(f32(bitcast<vec2<f16>>(p[2u + i / 4u][i % 4u]).x));\n  }\n}\n";

// 1 + 2^-11 and 1 + 3 * 2^-11 are halfway between two f16 values; 65520 rounds to infinity; then 1.5 and 0.75 times
// the smallest denormal, a larger denormal, minus infinity, and the largest number below 65520. The second half are
// bits of f16 values to convert to f32.
static const uint32_t half_input[PROBE_WORDS] = {0x3f801000, 0x3f803000, 0x477ff000, 0x33c00000, 0x33400000, 0x387f0000,
                                                 0xff800000, 0x477fef00, 0x3c00,     0x0001,     0x83ff,     0x7c00,
                                                 0xfbff,     0x0200,     0x8000,     0x3555};
static const uint32_t half_wanted[PROBE_WORDS] = {
    0x3c00,     0x3c02,     0x7c00,     0x0002,     0x0001,     0x03fc,     0xfc00,     0x7bff,
    0x3f800000, 0x33800000, 0xb87fc000, 0x7f800000, 0xc77fe000, 0x38000000, 0x80000000, 0x3eaaa000};

// Counts the items whose position in their subgroup follows from their position in the group, with 256 items in three dimensions.
enum { PROBE_ITEMS = 256 };
static const char subgroup_text[] =
    "enable subgroups;\n@group(0) @binding(0) var<storage, read_write> y: array<atomic<u32>>;\n"
    "@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 4>;\n"
    "@compute @workgroup_size(16, 4, 4) fn probe(@builtin(local_invocation_index) i: u32,\n"
    "    @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32) {\n"
    "  let next = subgroupShuffleXor(i, 1u);\n  let last = subgroupShuffle(i, p[0].x - 1u);\n"
    "  let is_ours = (size == p[0].x) & (lane == i % size) & (next == (i ^ 1u)) & (last == (i | (size - 1u)));\n"
    "  atomicAdd(&y[0], u32(is_ours));\n}\n";

static tsr_status run(webgpu_device *device, tsri_wgpu_program *program, const uint32_t input[PROBE_WORDS],
                      uint32_t out_words[PROBE_WORDS]) {
  enum { BYTES = 256, PROBE_TIMEOUT_MS = 30000 };
  webgpu_buffer storage = {0}, readback = {0};
  uint32_t number = 0;
  tsr_status status = tsri_webgpu_allocate(device, TSRI_WGPU_STORAGE, BYTES, &storage);
  if (status == TSR_OK) status = tsri_webgpu_allocate(device, TSRI_WGPU_READBACK, BYTES, &readback);
  if (status == TSR_OK) {
    tsri_wgpu_binding binding = {storage.handle, 0, BYTES};
    status = tsri_wgpu.write(device->handle, device->uniform, 0, input, PROBE_BYTES);
    if (status == TSR_OK) {
      status = tsri_wgpu.dispatch(device->handle, program, &binding, 1, device->uniform, 0, 1, 1, 1);
    }
    if (status == TSR_OK) status = tsri_wgpu.copy(device->handle, readback.handle, 0, storage.handle, 0, BYTES);
    if (status == TSR_OK) status = tsri_wgpu.submit(device->handle, &number);
    if (status == TSR_OK) {
      status = tsri_wgpu.read(device->handle, readback.handle, 0, out_words, PROBE_BYTES, PROBE_TIMEOUT_MS);
    }
    if (status != TSR_OK) status = WEBGPU_FAIL(device, status, "the first kernel");
  }
  if (storage.handle) tsri_wgpu.buffer_destroy(device->handle, storage.handle);
  if (readback.handle) tsri_wgpu.buffer_destroy(device->handle, readback.handle);
  return status;
}

tsr_status tsri_webgpu_run_probe(webgpu_device *device, const char *text, const uint32_t input[PROBE_WORDS],
                                 uint32_t out_words[PROBE_WORDS]) {
  static const uint32_t none[2] = {0, 0};
  tsri_wgpu_program *program = NULL;
  tsr_status status =
      tsri_wgpu.program_create(device->handle, text, strlen(text), "probe", 1, none, PROBE_BYTES, &program);
  if (status != TSR_OK) return WEBGPU_FAIL(device, status, "building the first kernel");
  status = run(device, program, input, out_words);
  tsri_wgpu.program_destroy(device->handle, program);
  return status;
}

static bool has_subgroups(webgpu_device *device) {
  const tsri_wgpu_adapter *a = &device->adapter;
  uint32_t size = a->subgroup_min, input[PROBE_WORDS] = {size}, words[PROBE_WORDS] = {0};
  bool is_fixed = size == a->subgroup_max && size >= 4 && size <= 128 && (size & (size - 1)) == 0;
  return (a->features & TSRI_WGPU_SUBGROUPS) && is_fixed && a->max_group_items >= PROBE_ITEMS &&
         tsri_webgpu_run_probe(device, subgroup_text, input, words) == TSR_OK && words[0] == PROBE_ITEMS;
}

tsr_status tsri_webgpu_probe(webgpu_device *device, webgpu_arithmetic *out_arithmetic) {
  uint32_t words[PROBE_WORDS] = {0};
  tsr_status status = tsri_webgpu_run_probe(device, fma_text, fma_input, words);
  if (status != TSR_OK) return status;
  out_arithmetic->fuses = words[0] != 0;
  out_arithmetic->has_subgroups = has_subgroups(device);
  // If the library numbers its features differently, the device has another feature, and this kernel does not build.
  bool has_half = (device->adapter.features & TSRI_WGPU_F16) != 0;
  out_arithmetic->has_half = has_half && tsri_webgpu_run_probe(device, half_text, half_input, words) == TSR_OK &&
                             memcmp(words, half_wanted, sizeof words) == 0;
  return TSR_OK;
}
