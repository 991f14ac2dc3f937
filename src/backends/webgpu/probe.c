// SPDX-License-Identifier: MIT
// Tests what WGSL leaves open, with small kernels when a device is opened: whether fma rounds once, whether f16
// conversions are exact, which items form a subgroup, and whether subgroup matrices multiply exactly.
//
// For a = b = 1 + 2^-12, the product is 1 + 2^-11 + 2^-24, which f32 rounds to 1 + 2^-11. So fma(a, b, -(1 + 2^-11))
// is 2^-24 if it rounds once, and 0 if it rounds the product first.
#include <stdio.h>
#include <string.h>

#include "backends/webgpu/webgpu.h"

enum { PROBE_WORDS = 16, PROBE_BYTES = PROBE_WORDS * 4 };

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

// Counts the items whose place in their subgroup is that among all items, by 256 items in three dimensions.
enum { PROBE_ITEMS = 256 };
static const char subgroup_text[] =
    "enable subgroups;\n@group(0) @binding(0) var<storage, read_write> y: array<atomic<u32>>;\n"
    "@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 4>;\n"
    "@compute @workgroup_size(16, 4, 4) fn probe(@builtin(local_invocation_index) i: u32,\n"
    "    @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32) {\n"
    "  let next = subgroupShuffleXor(i, 1u);\n  let last = subgroupShuffle(i, p[0].x - 1u);\n"
    "  let is_ours = (size == p[0].x) & (lane == i % size) & (next == (i ^ 1u)) & (last == (i | (size - 1u)));\n"
    "  atomicAdd(&y[0], u32(is_ours));\n}\n";

// Multiplies two matrices of small integers by one subgroup, by rows and then by columns, and counts the elements of
// 3 + a * b that are right. A line of a matrix is followed by 8 elements that are not part of it. The first number is the
// side of the matrices, the second the number of items.
static const char matrix_text[] =
    "enable f16;\nenable chromium_experimental_subgroup_matrix;\n"
    "diagnostic(off, chromium.subgroup_matrix_uniformity);\n"
    "const S = %du;\nconst ITEMS = %uu;\nconst PITCH = S + 8u;\n"
    "@group(0) @binding(0) var<storage, read_write> y: array<atomic<u32>>;\n"
    "@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 4>;\n"
    "var<workgroup> a: array<f16, S * PITCH>;\nvar<workgroup> b: array<f16, S * PITCH>;\n"
    "var<workgroup> sums: array<f32, S * PITCH>;\n"
    "fn at(is_turned: bool, row: u32, col: u32) -> u32 {\n"
    "  return select(row * PITCH + col, col * PITCH + row, is_turned);\n}\n"
    "fn wanted(is_turned: bool, row: u32, col: u32) -> f32 {\n  var sum = 3.0f;\n"
    "  for (var k = 0u; k < S; k = k + 1u) {\n"
    "    sum = sum + f32(a[at(is_turned, row, k)]) * f32(b[at(is_turned, k, col)]);\n  }\n  return sum;\n}\n"
    "fn check(is_turned: bool, i: u32) {\n  workgroupBarrier();\n"
    "  for (var e = i; e < S * S; e = e + ITEMS) {\n"
    "    let is_right = sums[at(is_turned, e / S, e %% S)] == wanted(is_turned, e / S, e %% S);\n"
    "    atomicAdd(&y[0], u32(is_right));\n  }\n  workgroupBarrier();\n}\n"
    "@compute @workgroup_size(ITEMS) fn probe(@builtin(local_invocation_index) i: u32) {\n"
    "  for (var e = i; e < S * PITCH; e = e + ITEMS) {\n"
    "    a[e] = f16(f32((e * p[0].x) %% 13u) - 6.0f);\n    b[e] = f16(f32((e * p[0].y) %% 11u) - 5.0f);\n  }\n"
    "  workgroupBarrier();\n"
    "  var l = subgroupMatrixLoad<subgroup_matrix_left<f16, S, S>>(&a, 0u, false, PITCH);\n"
    "  var r = subgroupMatrixLoad<subgroup_matrix_right<f16, S, S>>(&b, 0u, false, PITCH);\n"
    "  var sum = subgroup_matrix_result<f32, S, S>(3.0f);\n"
    "  subgroupMatrixStore(&sums, 0u, subgroupMatrixMultiplyAccumulate(l, r, sum), false, PITCH);\n"
    "  check(false, i);\n"
    "  l = subgroupMatrixLoad<subgroup_matrix_left<f16, S, S>>(&a, 0u, true, PITCH);\n"
    "  r = subgroupMatrixLoad<subgroup_matrix_right<f16, S, S>>(&b, 0u, true, PITCH);\n"
    "  subgroupMatrixStore(&sums, 0u, subgroupMatrixMultiplyAccumulate(l, r, sum), true, PITCH);\n"
    "  check(true, i);\n}\n";

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

static tsr_status build_and_run(webgpu_device *device, const char *text, const uint32_t input[PROBE_WORDS],
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
         build_and_run(device, subgroup_text, input, words) == TSR_OK && words[0] == PROBE_ITEMS;
}

size_t tsri_webgpu_matrix_probe(int side, uint32_t items, char *text, size_t text_bytes) {
  return (size_t)snprintf(text, text_bytes, matrix_text, side, (unsigned)items);
}

static bool multiplies(webgpu_device *device, int side) {
  char text[sizeof matrix_text + 32];
  const uint32_t input[PROBE_WORDS] = {7, 5};
  uint32_t words[PROBE_WORDS] = {0};
  (void)tsri_webgpu_matrix_probe(side, device->adapter.subgroup_min, text, sizeof text);
  return build_and_run(device, text, input, words) == TSR_OK && words[0] == 2u * (uint32_t)(side * side);
}

int tsri_webgpu_probe_matrices(webgpu_device *device) {
  uint32_t sides = tsri_wgpu.matrices(device->handle);
  if ((sides & TSRI_WGPU_MATRIX_16) && multiplies(device, 16)) return 16;
  return (sides & TSRI_WGPU_MATRIX_8) && multiplies(device, 8) ? 8 : 0;
}

tsr_status tsri_webgpu_probe(webgpu_device *device, webgpu_arithmetic *out_arithmetic) {
  uint32_t words[PROBE_WORDS] = {0};
  tsr_status status = build_and_run(device, fma_text, fma_input, words);
  if (status != TSR_OK) return status;
  out_arithmetic->fuses = words[0] != 0;
  out_arithmetic->has_subgroups = has_subgroups(device);
  // If the library numbers its features differently, the device has another feature, and this kernel does not build.
  bool has_half = (device->adapter.features & TSRI_WGPU_F16) != 0;
  out_arithmetic->has_half = has_half && build_and_run(device, half_text, half_input, words) == TSR_OK &&
                             memcmp(words, half_wanted, sizeof words) == 0;
  return TSR_OK;
}
