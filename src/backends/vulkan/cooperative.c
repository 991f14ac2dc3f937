// SPDX-License-Identifier: MIT
// Which cooperative matrices a device has. Kernels use them as fragments (lang/emit/spirv/fragment.c).
#include "backends/vulkan/cooperative.h"

#if TSRI_HAS_VULKAN

#include "core/alloc.h"

typedef VkResult(VKAPI_PTR *get_properties)(VkPhysicalDevice physical, uint32_t *count,
                                            vulkan_cooperative_properties *list);

static bool is_usable(const vulkan_cooperative_properties *p, uint32_t component) {
  bool has_types =
      p->a == component && p->b == component && p->c == VULKAN_COMPONENT_F32 && p->result == VULKAN_COMPONENT_F32;
  bool has_sizes = (p->m == 8 || p->m == 16 || p->m == 32) && (p->n == 8 || p->n == 16 || p->n == 32) &&
                   (p->k == 8 || p->k == 16 || p->k == 32);
  return has_types && has_sizes && p->scope == VULKAN_SCOPE_SUBGROUP && !p->saturates;
}

vulkan_matrix tsri_vulkan_choose_matrix(const vulkan_cooperative_properties *list, uint32_t count, uint32_t component) {
  vulkan_matrix best = {0, 0, 0};
  for (uint32_t i = 0; i < count; i++) {
    bool is_larger = list[i].m * list[i].n * list[i].k > best.m * best.n * best.k;
    if (is_usable(&list[i], component) && is_larger) best = (vulkan_matrix){list[i].m, list[i].n, list[i].k};
  }
  return best;
}

void tsri_vulkan_query_matrices(const vulkan_physical *physical, vulkan_features *f) {
  if (!f->cooperative || !f->memory_model || !f->storage16 || !f->subgroups) return;
  get_properties get =
      (get_properties)tsri_vulkan_instance_function("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  uint32_t count = 0;
  if (!get || get(physical->handle, &count, NULL) != VK_SUCCESS || count == 0) return;
  vulkan_cooperative_properties *list = tsri_calloc(count, sizeof *list);
  for (uint32_t i = 0; list && i < count; i++) list[i].sType = VULKAN_COOPERATIVE_PROPERTIES;
  if (list && get(physical->handle, &count, list) >= VK_SUCCESS) {
    if (f->f16) f->f16_matrix = tsri_vulkan_choose_matrix(list, count, VULKAN_COMPONENT_F16);
    if (f->bfloat16) f->bf16_matrix = tsri_vulkan_choose_matrix(list, count, VULKAN_COMPONENT_BF16);
  }
  tsri_free(list);
}

#endif
