// SPDX-License-Identifier: MIT
// GPUs: finding, describing, opening and closing them.
#include <stdio.h>
#include <string.h>

#include "backends/metal/metal.h"
#include "core/alloc.h"
#include "core/native.h"

enum {
  MOST_GPUS = 16,
  FAMILY_APPLE = 1000,    // MTLGPUFamilyApple1 is 1001
  LEAST_FAMILY_1024 = 4,  // groups of 1024 items
  LEAST_FAMILY_SIMD = 7,
  NEWEST_FAMILY = 20,
  LANGUAGE_BFLOAT = 3 << 16 | 1
};

static metal_gpu gpus[MOST_GPUS];
static int gpu_count;

// --- Finding --------------------------------------------------------------------------------------------------------------

// Asks the object for a number; 0 on older systems, where it does not know the message.
#define ASK(result, object, selector) \
  (responds((object), tsri_mtl_sel.selector) ? METAL_GET(result, (object), selector) : (result)0)

static bool responds(metal_id object, metal_sel selector) {
  return METAL_SEND(signed char, object, responds, (metal_sel), selector) != 0;
}

static bool supports(metal_id device, metal_int family) {
  return METAL_SEND(signed char, device, supports_family, (metal_int), family) != 0;
}

static uint32_t family_of(metal_id device) {
  for (int family = NEWEST_FAMILY; family > 0; family--) {
    if (supports(device, FAMILY_APPLE + family)) return (uint32_t)family;
  }
  return 0;
}

// The version of the language that text is compiled as, unless told otherwise: the newest that the system knows.
static uint32_t newest_language(void) {
  metal_id options = METAL_GET(metal_id, tsri_mtl.objc_getClass("MTLCompileOptions"), alloc);
  options = options ? METAL_GET(metal_id, options, init) : NULL;
  uint32_t version = options ? (uint32_t)METAL_GET(metal_uint, options, language_version) : 0;
  metal_release(options);
  return version;
}

// Takes over the reference to the device.
static void add_gpu(metal_id device) {
  if (gpu_count == MOST_GPUS || !responds(device, tsri_mtl_sel.supports_family)) {
    tsri_mtl.objc_release(device);
    return;
  }
  metal_gpu gpu = {.device = device,
                   .is_unified = METAL_GET(signed char, device, is_unified) != 0,
                   .family = family_of(device),
                   .language = newest_language(),
                   .shared_bytes = (uint32_t)METAL_GET(metal_uint, device, max_shared),
                   .max_buffer_bytes = METAL_GET(metal_uint, device, max_buffer)};
  metal_id name = METAL_GET(metal_id, device, name);
  const char *text = name ? METAL_GET(const char *, name, utf8) : NULL;
  snprintf(gpu.name, sizeof gpu.name, "%s", text ? text : "a GPU without a name");
  gpu.has_simd = gpu.family >= LEAST_FAMILY_SIMD;
  gpu.has_bfloat = gpu.language >= LANGUAGE_BFLOAT;
  // Of several GPUs the ones that save power come last.
  bool is_last = ASK(signed char, device, is_low_power) != 0;
  int at = gpu_count++;
  for (; !is_last && at > 0 && ASK(signed char, gpus[at - 1].device, is_low_power) != 0; at--) gpus[at] = gpus[at - 1];
  gpus[at] = gpu;
}

static void list_gpus(void) {
  metal_id all = tsri_mtl.MTLCopyAllDevices ? tsri_mtl.MTLCopyAllDevices() : NULL;
  metal_uint count = all ? METAL_GET(metal_uint, all, count) : 0;
  for (metal_uint i = 0; i < count; i++) {
    add_gpu(tsri_mtl.objc_retain(METAL_SEND(metal_id, all, at, (metal_uint), i)));
  }
  metal_release(all);
  metal_id only = count == 0 ? tsri_mtl.MTLCreateSystemDefaultDevice() : NULL;
  if (only) add_gpu(only);
}

tsr_status tsri_metal_start(const tsri_host *host) {
  (void)host;  // built in: errors are reported by TSRI_FAIL, not through the host table
  tsr_status status = tsri_metal_load();
  if (status != TSR_OK || gpu_count > 0) return status;
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  list_gpus();
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return TSR_OK;
}

void tsri_metal_stop(void) {
  for (int i = 0; i < gpu_count; i++) tsri_mtl.objc_release(gpus[i].device);
  gpu_count = 0;
}

tsr_status tsri_metal_device_count(int *out_count) {
  *out_count = gpu_count;
  if (gpu_count > 0) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_UNAVAILABLE,
                   "Metal is there but finds no GPU that it supports; a virtual machine needs a graphics device, and "
                   "the GPU of a Mac must be of 2012 or newer");
}

// --- Describing -----------------------------------------------------------------------------------------------------------

static void memory_of(const metal_gpu *gpu, uint64_t *out_free, uint64_t *out_total) {
  uint64_t total = ASK(uint64_t, gpu->device, working_set), used = ASK(metal_uint, gpu->device, allocated);
  if (total == 0) tsri_memory_size(&total, out_free);  // older versions of iOS do not report it
  *out_total = total;
  *out_free = used < total ? total - used : 0;
}

tsr_status tsri_metal_device_info(int index, tsr_device_info *out_info) {
  const metal_gpu *gpu = &gpus[index];
  *out_info = (tsr_device_info){.index = index,
                                .type = gpu->is_unified ? TSR_DEVICE_INTEGRATED_GPU : TSR_DEVICE_DISCRETE_GPU,
                                .has_unified_memory = gpu->is_unified,
                                .max_buffer_bytes = gpu->max_buffer_bytes};
  snprintf(out_info->name, sizeof out_info->name, "%s", gpu->name);
  snprintf(out_info->driver, sizeof out_info->driver, "Metal %u.%u", gpu->language >> 16, gpu->language & 0xffff);
  if (gpu->family > 0) snprintf(out_info->arch, sizeof out_info->arch, "apple%u", gpu->family);
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  memory_of(gpu, &out_info->free_bytes, &out_info->total_bytes);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return TSR_OK;
}

tsr_status tsri_metal_memory_info(tsri_device *opaque, uint64_t *out_free, uint64_t *out_total) {
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  memory_of(&metal_device_of(opaque)->gpu, out_free, out_total);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return TSR_OK;
}

// --- Opening --------------------------------------------------------------------------------------------------------------

static void add_fragments(tsri_limits *out, tsr_dtype dtype) {
  out->fragments[out->fragment_count++] = (tsr_fragment_size){dtype, 8, 8, 8};
}

static void fill_limits(const metal_device *device, bool has_matrices, tsri_limits *out) {
  const metal_gpu *gpu = &device->gpu;
  out->buffer_alignment = 256;
  out->binding_alignment = 16;
  out->max_buffer_bytes = gpu->max_buffer_bytes;
  out->max_group_size = gpu->family > 0 && gpu->family < LEAST_FAMILY_1024 ? 512 : 1024;
  out->max_groups[0] = INT32_MAX;
  out->max_groups[1] = out->max_groups[2] = 65535;
  out->shared_bytes = gpu->shared_bytes;
  out->subgroup_size = device->simd_width;
  out->dtype_storage = ((1u << TSR_DTYPE_COUNT) - 1) & ~(1u << TSR_F64);
  out->dtype_arithmetic = out->dtype_storage;
  out->has_subgroups = out->has_subgroup_shuffle = device->simd_width > 0;
  out->has_exact_divide = out->has_exact_fma = true;  // without fast math, by the language's specification
  out->has_storage16 = out->has_storage8 = out->has_i16 = out->has_i8 = out->has_i64 = true;
  out->keeps_denormals = 1;  // f16; f32 may be flushed
  out->longest_launch_ns = UINT64_C(1000000000);
  if (!has_matrices) return;
  add_fragments(out, TSR_F16);
  if (gpu->has_bfloat) add_fragments(out, TSR_BF16);
  add_fragments(out, TSR_F32);
}

// Compile options with fast math off. Newer systems have a newer message for it and call the older one deprecated.
static tsr_status make_options(metal_device *device) {
  enum { MATH_MODE_SAFE = 0 };
  metal_id options = METAL_GET(metal_id, tsri_mtl.objc_getClass("MTLCompileOptions"), alloc);
  device->options = options ? METAL_GET(metal_id, options, init) : NULL;
  if (!device->options) return TSRI_FAIL(TSR_ERR_UNAVAILABLE, "%s: Metal gives no MTLCompileOptions", device->gpu.name);
  if (responds(device->options, tsri_mtl_sel.set_math_mode)) {
    METAL_SEND(void, device->options, set_math_mode, (metal_int), MATH_MODE_SAFE);
  } else {
    METAL_SEND(void, device->options, set_fast_math, (signed char), 0);
  }
  return TSR_OK;
}

static tsr_status open_parts(metal_device *device) {
  tsr_status status = make_options(device);
  if (status == TSR_OK) status = tsri_metal_build_copies(device);
  if (status != TSR_OK) return status;
  device->scratch = METAL_SEND(metal_id, device->gpu.device, new_buffer, (metal_uint, metal_uint), 16, 0);
  if (!device->scratch) return tsri_metal_no_memory(device, 16);
  metal_uint width = METAL_GET(metal_uint, device->fill_words, simd_width);
  if (device->gpu.has_simd && width == 32) device->simd_width = (uint32_t)width;
  return TSR_OK;
}

tsr_status tsri_metal_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                  tsri_device **out_device) {
  metal_device *device = tsri_calloc(1, sizeof *device);
  if (!device) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "metal: no host memory for the device's record");
  const char *native = options->native ? options->native : "all";
  device->gpu = gpus[index];
  tsri_mtl.objc_retain(device->gpu.device);
  device->timeout_ns = options->timeout_ns ? options->timeout_ns : UINT64_MAX;
  device->has_times = options->profiling;
  atomic_init(&device->is_lost, false);
  tsri_mutex_init(&device->pinned_lock);
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = open_parts(device);
  if (status == TSR_OK) {
    fill_limits(device, device->simd_width > 0 && tsri_native_allows(native, "simdgroup_matrix"), out_limits);
    tsri_metal_open_mps(device, native);
  }
  tsri_mtl.objc_autoreleasePoolPop(pool);
  if (status != TSR_OK) {
    tsri_metal_device_close((tsri_device *)device);
    return status;
  }
  *out_device = (tsri_device *)device;
  return TSR_OK;
}

// Accepts a partly initialised device.
void tsri_metal_device_close(tsri_device *opaque) {
  metal_device *device = metal_device_of(opaque);
  metal_id parts[] = {device->scratch,    device->copy_bytes, device->fill_bytes,
                      device->fill_words, device->options,    device->gpu.device};
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) metal_release(parts[i]);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  tsri_mutex_deinit(&device->pinned_lock);
  tsri_free(device);
}
