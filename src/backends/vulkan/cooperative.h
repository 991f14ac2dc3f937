// SPDX-License-Identifier: MIT
// Cooperative matrices: the definitions of VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16 under our own names,
// since the installed headers may be older than these extensions; and how matrix sizes and tiles are chosen.
#ifndef TSRI_VULKAN_COOPERATIVE_H
#define TSRI_VULKAN_COOPERATIVE_H

#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include "lang/emit/spirv/matmul.h"

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

// A product that the cooperative-matrix kernel can compute, and its launches.
typedef struct vulkan_product {
  tsri_spv_matmul shape;
  uint32_t program;               // index in device->products
  tsri_spv_matmul_params params;  // of the first launch; offsets are relative to the start of each operand
  uint32_t groups[3];
  uint64_t spans[3];               // of a, b and y: number of elements from the first to the last
  int64_t walked[TSR_MAX_RANK];    // sizes of the batch axes that are split into separate launches
  int64_t steps[3][TSR_MAX_RANK];  // strides of a, b and y along those axes
  int walked_count;
} vulkan_product;

// Describes the product in out_product. False: the kernel cannot compute it. The buffers in `op` may be NULL.
bool tsri_vulkan_plan_product(const vulkan_features *features, const VkPhysicalDeviceLimits *limits, tsr_dtype dtype,
                              const tsri_product_op *op, vulkan_product *out_product);

#endif
#endif
