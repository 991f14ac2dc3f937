// SPDX-License-Identifier: MIT
// Cooperative matrices: the definitions of VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16 under our own names,
// since the installed headers may be older than these extensions; and how matrix sizes and tiles are chosen.
#ifndef TSRI_VULKAN_COOPERATIVE_H
#define TSRI_VULKAN_COOPERATIVE_H

#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#define VULKAN_COOPERATIVE_EXTENSION "VK_KHR_cooperative_matrix"
#define VULKAN_BFLOAT16_EXTENSION    "VK_KHR_shader_bfloat16"

#define VULKAN_COOPERATIVE_FEATURES   ((VkStructureType)1000506000)
#define VULKAN_COOPERATIVE_PROPERTIES ((VkStructureType)1000506001)
#define VULKAN_BFLOAT16_FEATURES      ((VkStructureType)1000141000)

// Values of VkComponentTypeKHR and VkScopeKHR.
enum {
  VULKAN_COMPONENT_F16 = 0,
  VULKAN_COMPONENT_F32 = 1,
  VULKAN_COMPONENT_BF16 = 1000141000,
  VULKAN_SCOPE_SUBGROUP = 3
};

typedef struct vulkan_cooperative_features {
  VkStructureType sType;
  void *pNext;
  VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
} vulkan_cooperative_features;

typedef struct vulkan_bfloat16_features {
  VkStructureType sType;
  void *pNext;
  VkBool32 shaderBFloat16Type, shaderBFloat16DotProduct, shaderBFloat16CooperativeMatrix;
} vulkan_bfloat16_features;

// The layout of VkCooperativeMatrixPropertiesKHR.
typedef struct vulkan_cooperative_properties {
  VkStructureType sType;
  void *pNext;
  uint32_t m, n, k;
  uint32_t a, b, c, result;  // component types
  VkBool32 saturates;
  uint32_t scope;
} vulkan_cooperative_properties;

// Chooses the largest matrix size whose inputs have this component type, which sums in f32 and which the kernel
// supports. All 0 if there is none.
vulkan_matrix tsri_vulkan_choose_matrix(const vulkan_cooperative_properties *list, uint32_t count, uint32_t component);

#endif
#endif
