// SPDX-License-Identifier: MIT
// The definitions of VK_EXT_pipeline_robustness under our own names, since the installed headers may be older.
//
// With robustBufferAccess off, NVIDIA's driver (580) still compares the offset of every load and store with the length of its buffer, unless a pipeline says that it
// need not: then a kernel has an instruction less for each of them, and its addresses may be computed once for several.
#ifndef TSRI_VULKAN_ROBUSTNESS_H
#define TSRI_VULKAN_ROBUSTNESS_H

#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#define VULKAN_ROBUSTNESS_EXTENSION "VK_EXT_pipeline_robustness"

#define VULKAN_ROBUSTNESS_CREATE_INFO ((VkStructureType)1000068000)
#define VULKAN_ROBUSTNESS_FEATURES    ((VkStructureType)1000068001)

// A value of VkPipelineRobustnessBufferBehaviorEXT and of VkPipelineRobustnessImageBehaviorEXT.
enum { VULKAN_ROBUSTNESS_DISABLED = 1 };

typedef struct vulkan_robustness_features {
  VkStructureType sType;
  void *pNext;
  VkBool32 pipelineRobustness;
} vulkan_robustness_features;

// The layout of VkPipelineRobustnessCreateInfoEXT.
typedef struct vulkan_robustness_create_info {
  VkStructureType sType;
  const void *pNext;
  uint32_t storage_buffers, uniform_buffers, vertex_inputs, images;
} vulkan_robustness_create_info;

#endif
#endif
