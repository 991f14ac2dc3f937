// SPDX-License-Identifier: MIT
// The Vulkan instance, its devices in order of preference, and opening and closing a device.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/disk_cache.h"
#include "backends/vulkan/cooperative.h"
#include "core/alloc.h"
#include "core/log.h"
#include "core/native.h"
#include "platform/trust.h"

enum { MAX_DEVICES = 16 };

static VkInstance instance;
static vulkan_physical devices[MAX_DEVICES];
static int device_count;
static VkDebugUtilsMessengerEXT messenger;
static atomic_int message_count = -1;

// --- The validation layer, for tests --------------------------------------------------------------------------------

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

int tsri_vulkan_validation_count(void) { return atomic_load(&message_count); }

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT type,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  (void)severity;
  (void)type;
  (void)user;
  atomic_fetch_add(&message_count, 1);
  tsri_log(TSR_LOG_ERROR, "vulkan validation: %s", data->pMessage);
  return VK_FALSE;
}

static bool has_validation_layer(void) {
  uint32_t count = 0;
  bool found = false;
  const char *wanted = tsri_environment("TSRI_VULKAN_VALIDATION");
  if (!wanted || strcmp(wanted, "1") != 0) return false;
  if (tsri_vk.EnumerateInstanceLayerProperties(&count, NULL) != VK_SUCCESS || count == 0) return false;
  VkLayerProperties *layers = tsri_calloc(count, sizeof *layers);
  if (layers && tsri_vk.EnumerateInstanceLayerProperties(&count, layers) >= VK_SUCCESS) {
    for (uint32_t i = 0; i < count; i++) found = found || strcmp(layers[i].layerName, VALIDATION_LAYER) == 0;
  }
  tsri_free(layers);
  return found;
}

static const VkDebugUtilsMessengerCreateInfoEXT messenger_info = {
    .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
    .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
    .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
    .pfnUserCallback = on_message,
};

static void start_messages(void) {
  PFN_vkCreateDebugUtilsMessengerEXT create =
      (PFN_vkCreateDebugUtilsMessengerEXT)tsri_vk.GetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT");
  if (!create || create(instance, &messenger_info, NULL, &messenger) != VK_SUCCESS) return;
  atomic_store(&message_count, 0);
  tsri_log(TSR_LOG_INFO, "vulkan: the validation layer is on, with synchronisation validation");
}

static void stop_messages(void) {
  PFN_vkDestroyDebugUtilsMessengerEXT destroy =
      (PFN_vkDestroyDebugUtilsMessengerEXT)tsri_vk.GetInstanceProcAddr(instance, "vkDestroyDebugUtilsMessengerEXT");
  if (messenger && destroy) destroy(instance, messenger, NULL);
  messenger = VK_NULL_HANDLE;
}

// --- The instance ---------------------------------------------------------------------------------------------------

static tsr_status create_instance(void) {
  static const char *const layer = VALIDATION_LAYER;
  static const char *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  static const VkValidationFeatureEnableEXT synchronisation =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  bool validates = has_validation_layer();
  uint32_t version = 0;
  (void)tsri_vk.EnumerateInstanceVersion(&version);
  if (version < VK_API_VERSION_1_1) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "the Vulkan library is of version 1.0; 1.1 or newer will do");
  }
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .pApplicationName = "tessera",
                                   .pEngineName = "tessera",
                                   .apiVersion = VK_API_VERSION_1_1};
  VkValidationFeaturesEXT checks = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                    .enabledValidationFeatureCount = 1,
                                    .pEnabledValidationFeatures = &synchronisation};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pNext = validates ? &checks : NULL,
                               .pApplicationInfo = &application,
                               .enabledLayerCount = validates,
                               .ppEnabledLayerNames = &layer,
                               .enabledExtensionCount = validates,
                               .ppEnabledExtensionNames = &extension};
  VkResult result = tsri_vk.CreateInstance(&info, NULL, &instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return TSRI_FAIL(
        TSR_ERR_UNAVAILABLE,
        "the Vulkan library is there and found no driver; install the GPU maker's, or mesa-vulkan-drivers");
  }
  if (result != VK_SUCCESS) return VULKAN_FAIL(NULL, result, TSR_ERR_UNAVAILABLE, "vkCreateInstance");
  tsr_status status = tsri_vulkan_load_instance(instance);
  if (status == TSR_OK && validates) start_messages();
  return status;
}

// --- Devices --------------------------------------------------------------------------------------------------------

bool tsri_vulkan_is_software(const vulkan_physical *physical) {
  return physical->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

bool tsri_vulkan_is_unified(const vulkan_physical *physical) {
  return tsri_vulkan_is_software(physical) || physical->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

PFN_vkVoidFunction tsri_vulkan_instance_function(const char *name) {
  return tsri_vk.GetInstanceProcAddr(instance, name);
}

// Lower is better: discrete, integrated, others, software.
static int rank(const vulkan_physical *physical) {
  switch (physical->properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 3;
    default:
      return 2;
  }
}

// Whether the queue family can do nothing but copy. Families for video can copy as well, but are not used here.
static bool only_copies(const VkQueueFamilyProperties *family) {
  const VkQueueFlags may_have = VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT | VK_QUEUE_PROTECTED_BIT;
  return (family->queueFlags & VK_QUEUE_TRANSFER_BIT) && !(family->queueFlags & ~may_have);
}

// Chooses a queue family that can compute, preferably one without graphics, which is less busy, and one for copies.
static bool find_families(vulkan_physical *physical) {
  VkQueueFamilyProperties families[32];
  uint32_t count = sizeof families / sizeof *families;
  bool found = false;
  tsri_vk.GetPhysicalDeviceQueueFamilyProperties(physical->handle, &count, families);
  for (uint32_t i = 0; i < count; i++) {
    if (only_copies(&families[i]) && physical->copy_queue_count == 0) {
      physical->copy_family = i;
      physical->copy_queue_count = families[i].queueCount;
      physical->copy_timestamp_bits = families[i].timestampValidBits;
    }
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    if (found && (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)) continue;
    physical->family = i;
    physical->queue_count = families[i].queueCount;
    physical->timestamp_bits = families[i].timestampValidBits;
    found = true;
  }
  return found;
}

static void add_device(VkPhysicalDevice handle) {
  vulkan_physical physical = {.handle = handle};
  tsri_vk.GetPhysicalDeviceProperties(handle, &physical.properties);
  if (physical.properties.apiVersion < VK_API_VERSION_1_1 || !find_families(&physical)) return;
  int at = device_count;
  for (; at > 0 && rank(&devices[at - 1]) > rank(&physical); at--) devices[at] = devices[at - 1];
  devices[at] = physical;
  device_count++;
}

static tsr_status list_devices(void) {
  VkPhysicalDevice handles[MAX_DEVICES];
  uint32_t count = MAX_DEVICES;
  VkResult result = tsri_vk.EnumeratePhysicalDevices(instance, &count, handles);
  if (result == VK_ERROR_INITIALIZATION_FAILED) count = 0;  // returned by drivers that find no hardware
  else if (result < VK_SUCCESS) return VULKAN_FAIL(NULL, result, TSR_ERR_UNAVAILABLE, "vkEnumeratePhysicalDevices");
  device_count = 0;
  for (uint32_t i = 0; i < count; i++) add_device(handles[i]);
  return TSR_OK;
}

tsr_status tsri_vulkan_start(const tsri_host *host) {
  (void)host;  // built in: errors are reported by TSRI_FAIL, not through the host table
  if (instance) return TSR_OK;
  tsr_status status = tsri_vulkan_load(tsri_vulkan_library_names);
  if (status == TSR_OK) status = create_instance();
  if (status == TSR_OK) status = list_devices();
  if (status != TSR_OK) tsri_vulkan_stop();
  return status;
}

void tsri_vulkan_stop(void) {
  if (instance && tsri_vk.DestroyInstance) {
    stop_messages();
    tsri_vk.DestroyInstance(instance, NULL);
  }
  instance = NULL;
  device_count = 0;
}

tsr_status tsri_vulkan_device_count(int *out_count) {
  *out_count = device_count;
  return TSR_OK;
}

tsr_status tsri_vulkan_device_info(int index, tsr_device_info *out_info) {
  const vulkan_physical *physical = &devices[index];
  vulkan_features features;
  uint32_t heap = 0;
  tsri_vulkan_query_features(physical, &features);
  *out_info = (tsr_device_info){.index = index, .type = TSR_DEVICE_OTHER};
  tsri_vulkan_describe(physical, &features, out_info);
  if (rank(physical) == 0) out_info->type = TSR_DEVICE_DISCRETE_GPU;
  if (rank(physical) == 1) out_info->type = TSR_DEVICE_INTEGRATED_GPU;
  if (tsri_vulkan_is_software(physical)) out_info->type = TSR_DEVICE_CPU;
  out_info->is_software = tsri_vulkan_is_software(physical);
  out_info->has_unified_memory = tsri_vulkan_is_unified(physical);
  tsri_vulkan_memory_numbers(physical, &features, &heap, &out_info->free_bytes, &out_info->total_bytes);
  out_info->max_buffer_bytes = tsri_vulkan_max_buffer(physical);
  return TSR_OK;
}

// --- Opening --------------------------------------------------------------------------------------------------------

static void add_fragments(tsri_limits *out, tsr_dtype dtype, const vulkan_matrix *matrix) {
  if (matrix->m == 0) return;
  out->fragments[out->fragment_count++] = (tsr_fragment_size){dtype, (int)matrix->m, (int)matrix->n, (int)matrix->k};
}

static void fill_limits(const vulkan_device *device, tsri_limits *out) {
  const VkPhysicalDeviceLimits *l = &device->physical.properties.limits;
  const vulkan_features *f = &device->features;
  bool is_software = tsri_vulkan_is_software(&device->physical);
  out->buffer_alignment = l->minStorageBufferOffsetAlignment > 256 ? l->minStorageBufferOffsetAlignment : 256;
  out->overlaps_launches = true;  // batches have barriers only between commands that need one
  out->binding_alignment = l->minStorageBufferOffsetAlignment > 16 ? l->minStorageBufferOffsetAlignment : 16;
  out->max_buffer_bytes = tsri_vulkan_max_buffer(&device->physical);
  out->max_group_size = l->maxComputeWorkGroupInvocations;
  for (int i = 0; i < 3; i++) out->max_groups[i] = l->maxComputeWorkGroupCount[i];
  out->shared_bytes = l->maxComputeSharedMemorySize;
  out->subgroup_size = f->subgroups ? f->subgroup_size : 0;
  // Small elements and 64-bit integers that the device does not have are made of 32-bit words.
  uint32_t all = (1u << TSR_DTYPE_COUNT) - 1;
  out->dtype_storage = all & ~(f->f64 ? 0 : 1u << TSR_F64);
  // f16 arithmetic only if it rounds to nearest and keeps denormals; otherwise f16 is computed in f32.
  bool has_f16 = f->f16 && f->storage16 && (f->keeps_denormals & f->rounds_to_even & 1);
  out->dtype_arithmetic = (out->dtype_storage & ~(1u << TSR_F16)) | (has_f16 ? 1u << TSR_F16 : 0);
  out->has_subgroups = out->has_subgroup_shuffle = f->subgroups;
  out->groups_progress = device->physical.properties.vendorID == VULKAN_NVIDIA;
  if (out->groups_progress)
    out->core_shared_bytes = 48 << 10;  // measured on an H200 (docs/notes/performance/products-portable.md)
  out->has_exact_divide = is_software;  // CPUs divide exactly; Vulkan allows an error of 2.5 ULP
  out->copies_slowly = !is_software;    // 0.84 TB/s on an H200, while kernels copy at 4.2 TB/s
  out->has_exact_fma = !is_software;    // lavapipe multiplies, then adds, with two roundings; hardware fuses
  out->has_quirks = is_software;
  out->has_storage16 = f->storage16;
  out->has_storage8 = f->storage8;
  out->has_i16 = f->i16;
  out->has_i8 = f->i8;
  out->has_i64 = f->i64;
  out->keeps_denormals = f->keeps_denormals;
  out->keeps_nan = f->keeps_nan;
  out->rounds_to_even = f->rounds_to_even;
  out->max_binding_bytes = l->maxStorageBufferRange & ~UINT32_C(255);
  out->longest_launch_ns = UINT64_C(1000000000);
  add_fragments(out, TSR_F16, &f->f16_matrix);
  add_fragments(out, TSR_BF16, &f->bf16_matrix);
  out->max_held_fragments = 8;  // NVIDIA's driver gave wrong sums for 16 (attention with heads of 256, on an H200)
  if (is_software) {            // measured with lavapipe of Mesa 22.3: 0.8 MiB for 40 KiB of SPIR-V, 2.1 MiB for 87 KiB
    out->program_bytes = 64 << 10;
    out->program_bytes_per_code = 24;
  }
}

// The pipeline cache has one file per device and driver.
static char *cache_path_for(const vulkan_physical *physical) {
  const VkPhysicalDeviceProperties *p = &physical->properties;
  tsri_cache_key key;
  tsri_cache_key_init(&key);
  tsri_cache_key_add(&key, p->pipelineCacheUUID, VK_UUID_SIZE);
  tsri_cache_key_add(&key, &p->driverVersion, sizeof p->driverVersion);
  tsri_cache_key_add(&key, &p->vendorID, sizeof p->vendorID);
  tsri_cache_key_add(&key, &p->deviceID, sizeof p->deviceID);
  return tsri_cache_path("vulkan", &key);
}

// If the driver rejects the file, the cache starts empty.
static tsr_status open_cache(vulkan_device *device) {
  size_t bytes = 0;
  device->cache_path = cache_path_for(&device->physical);
  void *data = device->cache_path ? tsri_cache_load(device->cache_path, &bytes) : NULL;
  VkPipelineCacheCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, .initialDataSize = bytes, .pInitialData = data};
  VkResult result = device->vk.CreatePipelineCache(device->handle, &info, NULL, &device->cache);
  if (result != VK_SUCCESS && data) {
    info.initialDataSize = 0;
    result = device->vk.CreatePipelineCache(device->handle, &info, NULL, &device->cache);
  }
  tsri_free(data);
  if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_UNAVAILABLE, "vkCreatePipelineCache");
  return TSR_OK;
}

static void save_cache(vulkan_device *device) {
  size_t bytes = 0;
  if (!device->cache_path ||
      device->vk.GetPipelineCacheData(device->handle, device->cache, &bytes, NULL) != VK_SUCCESS) {
    return;
  }
  void *data = bytes ? tsri_malloc(bytes) : NULL;
  if (data && device->vk.GetPipelineCacheData(device->handle, device->cache, &bytes, data) == VK_SUCCESS) {
    (void)tsri_cache_store(device->cache_path, data, bytes);
  }
  tsri_free(data);
}

static tsr_status open_parts(vulkan_device *device) {
  device->plan = tsri_vulkan_streams_plan(&device->physical, &device->features, device->has_times);
  VkResult result = tsri_vulkan_create_device(&device->physical, &device->features, &device->plan, &device->handle);
  if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_UNAVAILABLE, "vkCreateDevice");
  tsr_status status = tsri_vulkan_load_device(device->handle, &device->vk);
  if (status != TSR_OK) return status;
  if (!tsri_vulkan_choose_memory(device)) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: no memory that both the host and the device can use", device->name);
  }
  status = open_cache(device);
  return status == TSR_OK ? tsri_vulkan_streams_init(device) : status;
}

tsr_status tsri_vulkan_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                   tsri_device **out_device) {
  vulkan_device *device = tsri_calloc(1, sizeof *device);
  if (!device) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "vulkan: no host memory for the device's record");
  uint64_t free_bytes = 0, total = 0;
  device->physical = devices[index];
  device->timeout_ns = options->timeout_ns ? options->timeout_ns : UINT64_MAX;
  device->has_times = options->profiling && device->physical.timestamp_bits > 0;
  atomic_init(&device->is_lost, false);
  tsri_mutex_init(&device->lock);
  snprintf(device->name, sizeof device->name, "%.*s", (int)sizeof device->name - 1,
           device->physical.properties.deviceName);
  tsri_vulkan_query_features(&device->physical, &device->features);
  if (!tsri_native_allows(options->native ? options->native : "all", "cooperative_matrix")) {
    device->features.f16_matrix = device->features.bf16_matrix = (vulkan_matrix){0, 0, 0};
  }
  tsri_vulkan_memory_numbers(&device->physical, &device->features, &device->heap, &free_bytes, &total);
  tsr_status status = open_parts(device);
  if (status != TSR_OK) {
    tsri_vulkan_device_close((tsri_device *)device);
    return status;
  }
  fill_limits(device, out_limits);
  out_limits->starts_late = true;
  *out_device = (tsri_device *)device;
  return TSR_OK;
}

// Accepts a partly initialised device.
void tsri_vulkan_device_close(tsri_device *opaque) {
  vulkan_device *device = vulkan_device_of(opaque);
  if (device->handle && device->vk.DestroyDevice) {
    device->vk.DeviceWaitIdle(device->handle);
    if (device->cache && !atomic_load(&device->is_lost)) save_cache(device);
    tsri_vulkan_streams_deinit(device);
    if (device->cache) device->vk.DestroyPipelineCache(device->handle, device->cache, NULL);
    device->vk.DestroyDevice(device->handle, NULL);
  }
  tsri_mutex_deinit(&device->lock);
  tsri_free(device->cache_path);
  tsri_free(device);
}

tsr_status tsri_vulkan_memory_info(tsri_device *opaque, uint64_t *out_free, uint64_t *out_total) {
  vulkan_device *device = vulkan_device_of(opaque);
  uint32_t heap = 0;
  tsri_vulkan_memory_numbers(&device->physical, &device->features, &heap, out_free, out_total);
  return TSR_OK;
}

#endif
