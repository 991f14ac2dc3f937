// SPDX-License-Identifier: MIT
// Subgroup matrices of Dawn: whether a device has them, and of which sizes.
//
// The feature is experimental, so Dawn shows it only on an adapter that was requested with the toggle allow_unsafe_apis. The toggle
// also shows other experimental features, but a device has only those that it is opened with.
#include "backends/webgpu/native.h"

tsr_status tsri_wgpu_find_matrix_adapter(uint32_t index, double timeout_ms, wgpu_object *out_instance,
                                         wgpu_object *out_adapter) {
  uint32_t numbers[2];
  tsr_status status = tsri_wgpu_find_adapter(index, true, timeout_ms, out_instance, out_adapter);
  if (status != TSR_OK || tsri_wgpu_matrix_features(*out_adapter, numbers) > 0) return status;
  tsri_wgpu_lib.AdapterRelease(*out_adapter);
  tsri_wgpu_lib.InstanceRelease(*out_instance);
  *out_instance = *out_adapter = NULL;
  return tsri_wgpu_find_adapter(index, false, timeout_ms, out_instance, out_adapter);
}

uint32_t tsri_wgpu_matrix_sides(const wgpu_matrix_config *configs, size_t count) {
  uint32_t bits = 0;
  for (size_t i = 0; i < count; i++) {
    const wgpu_matrix_config *c = &configs[i];
    bool is_square = c->m == c->n && c->m == c->k;
    if (c->component != WGPU_MATRIX_F16 || c->result != WGPU_MATRIX_F32 || !is_square) continue;
    bits |= c->m == 16 ? TSRI_WGPU_MATRIX_16 : c->m == 8 ? TSRI_WGPU_MATRIX_8 : 0;
  }
  return bits;
}

// Whether the device has this feature, and not another one that has its number in this library.
static bool knows_matrices(tsri_wgpu_device *device) {
  static const char text[] =
      "enable chromium_experimental_subgroup_matrix;\n@compute @workgroup_size(1) fn probe() {}\n";
  static const uint32_t none[2] = {0, 0};
  tsri_wgpu_program *program = NULL;
  bool is_known =
      tsri_wgpu_native_program_create(device, text, sizeof text - 1, "probe", 0, none, 16, &program) == TSR_OK;
  if (is_known) tsri_wgpu_native_program_destroy(device, program);
  return is_known;
}

// Sizes that the hardware lacks must not even be tried: Dawn passes them on to the driver.
uint32_t tsri_wgpu_native_matrices(tsri_wgpu_device *device) {
  if (!tsri_wgpu_free_matrix_configs || !device->has_matrices || !knows_matrices(device)) return 0;
  wgpu_matrix_configs configs = {.chain = {.type = tsri_wgpu_current()->matrix_configs_type}};
  wgpu_adapter_info info = {.next = &configs.chain};
  if (tsri_wgpu_lib.AdapterGetInfo(device->adapter, &info) != WGPU_SUCCESS) return 0;
  uint32_t bits = tsri_wgpu_matrix_sides(configs.configs, configs.count);
  tsri_wgpu_lib.AdapterInfoFreeMembers(info);
  tsri_wgpu_free_matrix_configs(configs);
  return bits;
}
