// SPDX-License-Identifier: MIT
// Gives programs the functions of math/math.h: tsr_device_host_function.
#include <string.h>
#include <tessera/host.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/math/math.h"
#include "runtime/device.h"

extern const tsri_backend tsri_cpu_backend;

static bool is_name_of(const char *upper, const char *name) {
  size_t i = 0;
  while (upper[i] && name[i] == (upper[i] >= 'A' && upper[i] <= 'Z' ? upper[i] - 'A' + 'a' : upper[i])) i++;
  return !upper[i] && !name[i];
}

// Finds the function for an operator whose f32 expression is a single function (ops/operators.def). sqrt and rsqrt are not included: compiled kernels have
// instructions for both.
tsr_host_function tsr_device_host_function(const tsr_device *device, const char *operator_name) {
#define TSRI_X(name, count) #name,
  static const char *const names[TSRI_MATH_COUNT] = {TSRI_MATH_OPS(TSRI_X)};
#undef TSRI_X
  if (!device || !operator_name || device->backend != &tsri_cpu_backend) return NULL;
  const cpu_device *cpu = (const cpu_device *)device->handle;
  for (int i = TSRI_MATH_EXP; i < TSRI_MATH_COUNT; i++) {
    if (is_name_of(names[i], operator_name)) return tsri_lane_math_for(cpu->simd, cpu->allow_sleef)->f32[i];
  }
  return NULL;
}
