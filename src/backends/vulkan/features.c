// SPDX-License-Identifier: MIT
// Queries a physical device: its features, limits, names and memory.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <stdio.h>
#include <string.h>

#include "backends/vulkan/cooperative.h"
#include "backends/vulkan/robustness.h"
#include "core/alloc.h"

// --- Extensions -----------------------------------------------------------------------------------------------------

// Optional extensions, each with the member of vulkan_features that says whether the device has it.
#define EXTENSIONS(X)                                                   \
  X(VK_KHR_8BIT_STORAGE_EXTENSION_NAME, has_8bit)                       \
  X(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, float16_int8)            \
  X(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, float_controls)        \
  X(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, subgroup_size_control) \
  X(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, push_descriptors)            \
  X(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, memory_budget)                 \
  X(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME, driver_properties)         \
  X(VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, memory_model)            \
  X(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, timeline)                 \
  X(VK_EXT_HOST_QUERY_RESET_EXTENSION_NAME, host_query_reset)           \
  X(VULKAN_COOPERATIVE_EXTENSION, cooperative)                          \
  X(VULKAN_BFLOAT16_EXTENSION, bfloat16)                                \
  X(VULKAN_ROBUSTNESS_EXTENSION, robustness)

static void query_extensions(VkPhysicalDevice physical, vulkan_features *f) {
  uint32_t count = 0;
  if (tsri_vk.EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL) != VK_SUCCESS || count == 0) return;
  VkExtensionProperties *list = tsri_calloc(count, sizeof *list);
  if (list && tsri_vk.EnumerateDeviceExtensionProperties(physical, NULL, &count, list) >= VK_SUCCESS) {
    for (uint32_t i = 0; i < count; i++) {
#define X(text, field) \
  if (strcmp(list[i].extensionName, text) == 0) f->field = true;
      EXTENSIONS(X)
#undef X
    }
  }
  tsri_free(list);
}

// --- Feature structures, chained ------------------------------------------------------------------------------------

typedef struct feature_chain {
  VkPhysicalDeviceFeatures2 base;
  VkPhysicalDevice16BitStorageFeatures storage16;
  VkPhysicalDevice8BitStorageFeaturesKHR storage8;
  VkPhysicalDeviceShaderFloat16Int8FeaturesKHR float16_int8;
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroup_size;
  VkPhysicalDeviceVulkanMemoryModelFeaturesKHR memory_model;
  VkPhysicalDeviceTimelineSemaphoreFeaturesKHR timeline;
  VkPhysicalDeviceHostQueryResetFeaturesEXT host_query_reset;
  vulkan_cooperative_features cooperative;
  vulkan_bfloat16_features bfloat16;
  vulkan_robustness_features robustness;
} feature_chain;

static VkBaseOutStructure *link_next(VkBaseOutStructure *last, void *structure) {
  last->pNext = structure;
  return structure;
}

// The chain may contain only structures of extensions that the device has.
static void link_features(feature_chain *c, const vulkan_features *f) {
  c->base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  c->storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  c->storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES_KHR;
  c->float16_int8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES_KHR;
  c->subgroup_size.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT;
  c->memory_model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES_KHR;
  c->timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES_KHR;
  c->host_query_reset.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES_EXT;
  c->cooperative.sType = VULKAN_COOPERATIVE_FEATURES;
  c->bfloat16.sType = VULKAN_BFLOAT16_FEATURES;
  c->robustness.sType = VULKAN_ROBUSTNESS_FEATURES;
  VkBaseOutStructure *last = (VkBaseOutStructure *)&c->base;
  last = link_next(last, &c->storage16);
  if (f->memory_model) last = link_next(last, &c->memory_model);
  if (f->timeline) last = link_next(last, &c->timeline);
  if (f->host_query_reset) last = link_next(last, &c->host_query_reset);
  if (f->cooperative) last = link_next(last, &c->cooperative);
  if (f->bfloat16) last = link_next(last, &c->bfloat16);
  if (f->robustness) last = link_next(last, &c->robustness);
  if (f->has_8bit) last = link_next(last, &c->storage8);
  if (f->float16_int8) last = link_next(last, &c->float16_int8);
  if (f->subgroup_size_control) (void)link_next(last, &c->subgroup_size);
}

static void query_feature_bits(VkPhysicalDevice physical, vulkan_features *f) {
  feature_chain c;
  memset(&c, 0, sizeof c);
  link_features(&c, f);
  tsri_vk.GetPhysicalDeviceFeatures2(physical, &c.base);
  f->f64 = c.base.features.shaderFloat64;
  f->i64 = c.base.features.shaderInt64;
  f->i16 = c.base.features.shaderInt16;
  f->storage16 = c.storage16.storageBuffer16BitAccess;
  f->storage8 = c.storage8.storageBuffer8BitAccess;
  f->f16 = c.float16_int8.shaderFloat16;
  f->i8 = c.float16_int8.shaderInt8;
  f->fixes_subgroup_size = c.subgroup_size.subgroupSizeControl;
  f->full_subgroups = c.subgroup_size.computeFullSubgroups;
  // Both or none: without device scope in the memory model, the atomics of ordinary kernels could not use the device
  // scope.
  f->memory_model = c.memory_model.vulkanMemoryModel && c.memory_model.vulkanMemoryModelDeviceScope;
  f->timeline = c.timeline.timelineSemaphore;
  f->host_query_reset = c.host_query_reset.hostQueryReset;
  f->cooperative = c.cooperative.cooperativeMatrix;
  f->bfloat16 = c.bfloat16.shaderBFloat16Type && c.bfloat16.shaderBFloat16CooperativeMatrix;
  f->robustness = c.robustness.pipelineRobustness;
}

// --- Properties -----------------------------------------------------------------------------------------------------

typedef struct property_chain {
  VkPhysicalDeviceProperties2 base;
  VkPhysicalDeviceIDProperties id;
  VkPhysicalDeviceMaintenance3Properties maintenance;
  VkPhysicalDeviceSubgroupProperties subgroup;
  VkPhysicalDeviceDriverPropertiesKHR driver;
  VkPhysicalDeviceFloatControlsPropertiesKHR floats;
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT subgroup_size;
} property_chain;

static void query_properties(VkPhysicalDevice physical, const vulkan_features *f, property_chain *c) {
  memset(c, 0, sizeof *c);
  c->base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  c->id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  c->maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  c->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  c->driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES_KHR;
  c->floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES_KHR;
  c->subgroup_size.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT;
  VkBaseOutStructure *last = (VkBaseOutStructure *)&c->base;
  last = link_next(last, &c->id);
  last = link_next(last, &c->maintenance);
  last = link_next(last, &c->subgroup);
  if (f->driver_properties) last = link_next(last, &c->driver);
  if (f->float_controls) last = link_next(last, &c->floats);
  if (f->subgroup_size_control) (void)link_next(last, &c->subgroup_size);
  tsri_vk.GetPhysicalDeviceProperties2(physical, &c->base);
}

// Bits 0, 1 and 2 for 16, 32 and 64 bits. Removes bits that can only be set together with one that is missing.
static uint8_t float_bits(VkBool32 f16, VkBool32 f32, VkBool32 f64, VkShaderFloatControlsIndependenceKHR independence) {
  uint8_t bits = (uint8_t)((f16 ? 1 : 0) | (f32 ? 2 : 0) | (f64 ? 4 : 0));
  if (independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE_KHR) return bits == 7 ? bits : 0;
  bool is_split = independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY_KHR && (bits & 5) != 5;
  return is_split ? bits & 2 : bits;
}

static void query_floats(const VkPhysicalDeviceFloatControlsPropertiesKHR *p, vulkan_features *f) {
  f->keeps_denormals = float_bits(p->shaderDenormPreserveFloat16, p->shaderDenormPreserveFloat32,
                                  p->shaderDenormPreserveFloat64, p->denormBehaviorIndependence);
  f->rounds_to_even = float_bits(p->shaderRoundingModeRTEFloat16, p->shaderRoundingModeRTEFloat32,
                                 p->shaderRoundingModeRTEFloat64, p->roundingModeIndependence);
  f->keeps_nan = float_bits(p->shaderSignedZeroInfNanPreserveFloat16, p->shaderSignedZeroInfNanPreserveFloat32,
                            p->shaderSignedZeroInfNanPreserveFloat64, VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL_KHR);
}

// Subgroups are used only if their size is certain: the device has only one size, or a pipeline can request a size.
static void query_subgroups(const property_chain *c, vulkan_features *f) {
  const VkSubgroupFeatureFlags needed = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
                                        VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |
                                        VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  const VkPhysicalDeviceProperties *p = &c->base.properties;
  f->subgroup_size = c->subgroup.subgroupSize;
  bool is_single = p->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU || p->vendorID == VULKAN_NVIDIA;
  if (f->subgroup_size_control) is_single = c->subgroup_size.minSubgroupSize == c->subgroup_size.maxSubgroupSize;
  bool can_require = (c->subgroup_size.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  if (is_single || !can_require) f->fixes_subgroup_size = false;
  bool is_power = f->subgroup_size > 0 && (f->subgroup_size & (f->subgroup_size - 1)) == 0;
  f->subgroups = (c->subgroup.supportedOperations & needed) == needed && is_power && f->subgroup_size <= 128 &&
                 (c->subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) && (is_single || f->fixes_subgroup_size);
}

void tsri_vulkan_query_features(const vulkan_physical *physical, vulkan_features *out_features) {
  property_chain c;
  memset(out_features, 0, sizeof *out_features);
  query_extensions(physical->handle, out_features);
  query_feature_bits(physical->handle, out_features);
  query_properties(physical->handle, out_features, &c);
  query_floats(&c.floats, out_features);
  query_subgroups(&c, out_features);
  tsri_vulkan_query_matrices(physical, out_features);
}

// Fills in which queues to create, and returns of how many families.
static uint32_t describe_queues(const vulkan_physical *physical, const vulkan_plan *plan,
                                VkDeviceQueueCreateInfo out_infos[2]) {
  static const float priorities[VULKAN_STREAMS] = {1, 1, 1, 1, 1, 1};
  uint32_t count = plan->compute_count + (plan->has_copy_family ? 0 : plan->copy_count);
  out_infos[0] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = physical->family,
                                           .queueCount = plan->shares_queue ? 1 : count,
                                           .pQueuePriorities = priorities};
  out_infos[1] = out_infos[0];
  out_infos[1].queueFamilyIndex = physical->copy_family;
  out_infos[1].queueCount = plan->copy_count;
  return plan->has_copy_family ? 2 : 1;
}

VkResult tsri_vulkan_create_device(const vulkan_physical *physical, const vulkan_features *f, const vulkan_plan *plan,
                                   VkDevice *out_device) {
  const char *names[16];
  uint32_t count = 0;
#define X(text, field) \
  if (f->field) names[count++] = text;
  EXTENSIONS(X)
#undef X
  feature_chain c;
  memset(&c, 0, sizeof c);
  link_features(&c, f);
  c.base.features.shaderFloat64 = f->f64;
  c.base.features.shaderInt64 = f->i64;
  c.base.features.shaderInt16 = f->i16;
  c.storage16.storageBuffer16BitAccess = f->storage16;
  c.storage8.storageBuffer8BitAccess = f->storage8;
  c.float16_int8.shaderFloat16 = f->f16;
  c.float16_int8.shaderInt8 = f->i8;
  c.subgroup_size.subgroupSizeControl = f->fixes_subgroup_size;
  c.subgroup_size.computeFullSubgroups = f->full_subgroups;
  c.memory_model.vulkanMemoryModel = c.memory_model.vulkanMemoryModelDeviceScope = f->memory_model;
  c.timeline.timelineSemaphore = f->timeline;
  c.host_query_reset.hostQueryReset = f->host_query_reset;
  c.cooperative.cooperativeMatrix = f->cooperative;
  c.bfloat16.shaderBFloat16Type = c.bfloat16.shaderBFloat16CooperativeMatrix = f->bfloat16;
  c.robustness.pipelineRobustness = f->robustness;
  VkDeviceQueueCreateInfo queues[2];
  uint32_t queue_infos = describe_queues(physical, plan, queues);
  VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             .pNext = &c.base,
                             .queueCreateInfoCount = queue_infos,
                             .pQueueCreateInfos = queues,
                             .enabledExtensionCount = count,
                             .ppEnabledExtensionNames = names};
  return tsri_vk.CreateDevice(physical->handle, &info, NULL, out_device);
}

// --- Numbers and names ----------------------------------------------------------------------------------------------

// Reports the largest heap of device-local memory, and its budget if the driver reports one.
void tsri_vulkan_memory_numbers(const vulkan_physical *physical, const vulkan_features *features, uint32_t *out_heap,
                                uint64_t *out_free, uint64_t *out_total) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                              .pNext = features->memory_budget ? &budget : NULL};
  tsri_vk.GetPhysicalDeviceMemoryProperties2(physical->handle, &memory);
  const VkPhysicalDeviceMemoryProperties *m = &memory.memoryProperties;
  uint32_t best = 0;
  for (uint32_t i = 0; i < m->memoryHeapCount; i++) {
    bool is_own = (m->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    bool best_is_own = (m->memoryHeaps[best].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    bool is_larger = m->memoryHeaps[i].size > m->memoryHeaps[best].size;
    if ((is_own && !best_is_own) || (is_own == best_is_own && is_larger)) best = i;
  }
  uint64_t total = m->memoryHeapCount ? m->memoryHeaps[best].size : 0, free_bytes = total;
  if (features->memory_budget) {
    uint64_t limit = budget.heapBudget[best], used = budget.heapUsage[best];
    free_bytes = limit > used ? limit - used : 0;
  }
  if (tsri_vulkan_is_software(physical)) {  // a software device uses the host's memory, which the driver does not
                                            // check
    uint64_t host_total = 0, host_free = 0;
    tsri_memory_size(&host_total, &host_free);
    if (host_total && host_total < total) total = host_total;
    if (host_free && host_free < free_bytes) free_bytes = host_free;
  }
  *out_heap = best;
  *out_free = free_bytes < total ? free_bytes : total;
  *out_total = total;
}

uint64_t tsri_vulkan_max_buffer(const vulkan_physical *physical) {
  property_chain c;
  vulkan_features none = {0};
  query_properties(physical->handle, &none, &c);
  return c.maintenance.maxMemoryAllocationSize & ~UINT64_C(255);
}

static void format_uuid(const uint8_t *bytes, char *text, size_t text_bytes) {
  size_t used = 0;
  bool is_zero = true;
  for (uint32_t i = 0; i < VK_UUID_SIZE; i++) is_zero = is_zero && bytes[i] == 0;
  if (is_zero) return;
  for (uint32_t i = 0; i < VK_UUID_SIZE && used < text_bytes; i++) {
    bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    used += (size_t)snprintf(text + used, text_bytes - used, "%s%02x", dash ? "-" : "", bytes[i]);
  }
}

void tsri_vulkan_describe(const vulkan_physical *physical, const vulkan_features *features, tsr_device_info *out_info) {
  property_chain c;
  query_properties(physical->handle, features, &c);
  const VkPhysicalDeviceProperties *p = &c.base.properties;
  snprintf(out_info->name, sizeof out_info->name, "%.*s", (int)sizeof out_info->name - 1, p->deviceName);
  if (features->driver_properties) {
    const char *more = c.driver.driverInfo;
    snprintf(out_info->driver, sizeof out_info->driver, "%.60s%s%.60s", c.driver.driverName, more[0] ? " " : "", more);
  } else {
    snprintf(out_info->driver, sizeof out_info->driver, "version 0x%x", p->driverVersion);
  }
  snprintf(out_info->arch, sizeof out_info->arch, "Vulkan %u.%u", VK_API_VERSION_MAJOR(p->apiVersion),
           VK_API_VERSION_MINOR(p->apiVersion));
  format_uuid(c.id.deviceUUID, out_info->uuid, sizeof out_info->uuid);
}

#endif
