// SPDX-License-Identifier: MIT
// In place of matrix.c in web pages, which do not ask for subgroup matrices.
#include "backends/webgpu/webgpu.h"

void tsri_webgpu_try_matrices(webgpu_device *device, int index, webgpu_arithmetic *arithmetic) {
  (void)device, (void)index, (void)arithmetic;
}
