// SPDX-License-Identifier: MIT
// Subgroup matrices: the kernel that tests them, and the device that is opened with them.
#include <stdio.h>

#include "backends/webgpu/webgpu.h"

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

size_t tsri_webgpu_matrix_probe(int side, uint32_t items, char *text, size_t text_bytes) {
  return (size_t)snprintf(text, text_bytes, matrix_text, side, (unsigned)items);
}

static bool multiplies(webgpu_device *device, int side) {
  char text[sizeof matrix_text + 32];
  const uint32_t input[WEBGPU_PROBE_WORDS] = {7, 5};
  uint32_t words[WEBGPU_PROBE_WORDS] = {0};
  (void)tsri_webgpu_matrix_probe(side, device->adapter.subgroup_min, text, sizeof text);
  return tsri_webgpu_run_probe(device, text, input, words) == TSR_OK && words[0] == 2u * (uint32_t)(side * side);
}

// The side of the largest matrices whose sums are exact for integers; 0: there are none.
static int find_side(webgpu_device *device) {
  uint32_t sides = tsri_wgpu.matrices(device->handle);
  if ((sides & TSRI_WGPU_MATRIX_16) && multiplies(device, 16)) return 16;
  return (sides & TSRI_WGPU_MATRIX_8) && multiplies(device, 8) ? 8 : 0;
}

// Subgroup matrices are an experiment of the library, so only a device that multiplies by them is opened with them: a second
// one, which takes the first one's place if their results are right.
void tsri_webgpu_try_matrices(webgpu_device *device, int index, webgpu_arithmetic *arithmetic) {
  webgpu_device first = {.handle = device->handle, .uniform = device->uniform};
  device->handle = NULL;
  device->uniform = NULL;
  if (tsri_webgpu_open_handle(device, index, true) == TSR_OK) arithmetic->matrix_side = find_side(device);
  if (arithmetic->matrix_side > 0) {
    tsri_webgpu_close_handle(&first);
    return;
  }
  tsri_webgpu_close_handle(device);
  device->handle = first.handle;
  device->uniform = first.uniform;
}
