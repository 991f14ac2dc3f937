// SPDX-License-Identifier: MIT
// AMD's GPUs: discovery, device information, opening and closing.
#include <stdio.h>
#include <string.h>

#include "backends/rocm/blas_lt_api.h"
#include "backends/rocm/rocm.h"
#include "core/alloc.h"
#include "core/native.h"

// Attributes of a device: HIP's numbers, which have not changed since HIP 4.
enum {
  HIP_INTEGRATED = 16,
  HIP_MAX_GRID_Y = 30,
  HIP_MAX_GRID_Z = 31,
  HIP_MULTIPROCESSORS = 63,
  HIP_PCI_BUS = 67,
  HIP_PCI_DEVICE = 68,
  HIP_PCI_DOMAIN = 69,
  HIP_SHARED_BYTES_PER_BLOCK = 74,
  HIP_WAVE = 87
};

enum { HIP_INVALID_DEVICE = 101 };

// No lock is needed: the core calls the discovery entries from one thread at a time.
static bool is_started;
static int found_count;

const cuda_vendor tsri_rocm_vendor = {
    .name = "rocm",
    .title = "HIP",
    .compiler = "hiprtc",
    .target_option = "--offload-arch=",
    .newer_compiler = "are hiprtc and the HIP runtime of the same ROCm?",
    .cu = &tsri_hip,
    .rtc = &tsri_hiprtc,
    .blas = &tsri_hipblaslt,
    .copied_at_once = 0,  // HIP does not promise when it reads pageable memory
    .reads_image = true,
    .memory_kind = 10,
};

// --- Finding --------------------------------------------------------------------------------------------------------

static tsr_status find_devices(void) {
  char text[256];
  int count = 0;
  cu_result code = tsri_hip.Init(0);
  if (code == CU_SUCCESS) code = tsri_hip.DeviceGetCount(&count);
  if (code == CU_NO_DEVICE || code == HIP_INVALID_DEVICE || (code == CU_SUCCESS && count == 0)) {
    return TSRI_FAIL(TSR_ERR_UNAVAILABLE,
                     "ROCm is there but finds no GPU; is one installed that ROCm supports, is it visible to this "
                     "process %s",
                     tsri_rocm_system->what_hides_gpus);
  }
  if (code != CU_SUCCESS) {
    return TSRI_FAIL(TSR_ERR_UNAVAILABLE, "AMD's driver does not start: %s; %s says more",
                     tsri_cuda_code_text(&tsri_rocm_vendor, code, text, sizeof text), tsri_rocm_system->who_says_more);
  }
  tsr_status status = tsri_hiprtc_load();
  if (status != TSR_OK) return status;
  found_count = count;
  is_started = true;
  return TSR_OK;
}

tsr_status tsri_rocm_device_count(int *out_count) {
  tsr_status status = is_started ? TSR_OK : find_devices();
  if (status == TSR_OK) *out_count = found_count;
  return status;
}

void tsri_rocm_stop(void) { is_started = false; }

// --- Facts ----------------------------------------------------------------------------------------------------------

// Returns a device attribute, or 0 if the driver does not know it.
static int ask(cu_device id, int attribute) {
  int value = 0;
  return tsri_hip.DeviceGetAttribute(&value, attribute, id) == CU_SUCCESS ? value : 0;
}

// The name that compilers use, with features: "gfx90a:sramecc+:xnack-". HIP tells it only in a struct whose layout its
// versions changed, so it is searched for behind the device's own name, with which every layout begins. "": not found.
static void ask_gfx(cu_device id, char *text, size_t text_bytes) {
  enum { NAME_BYTES = 256, MOST_BYTES = 8192 };  // the largest layout so far has 1,472 bytes
  char *properties = tsri_calloc(1, MOST_BYTES);
  text[0] = '\0';
  if (properties && tsri_rocm.GetDeviceProperties(properties, id) == CU_SUCCESS) {
    for (int i = NAME_BYTES; i < MOST_BYTES - 64 && !text[0]; i++) {
      if (memcmp(properties + i, "gfx", 3) == 0) snprintf(text, text_bytes, "%s", properties + i);
    }
  }
  tsri_free(properties);
}

static uint64_t ask_free(cu_device id, uint64_t total) {
  size_t free_bytes = 0, all = 0;
  int before = 0;
  if (tsri_rocm.GetDevice(&before) != CU_SUCCESS || tsri_rocm.SetDevice(id) != CU_SUCCESS) return total;
  bool is_known = tsri_hip.MemGetInfo(&free_bytes, &all) == CU_SUCCESS;
  (void)tsri_rocm.SetDevice(before);
  return is_known && free_bytes < total ? free_bytes : total;
}

// As `since` of rocm_gfx: 100 * major + minor.
static int hip_version(void) { return tsri_rocm.version / 10000000 * 100 + tsri_rocm.version / 100000 % 100; }

// The GPU's entry in the list, if kernels can be compiled for it. hiprtc ends the process where it does not know the name, so the
// list is asked before.
static tsr_status find_usable(const tsr_device_info *info, const rocm_gfx **out_gfx) {
  const rocm_gfx *gfx = tsri_rocm_find_gfx(info->arch);
  int version = hip_version();
  if (!gfx) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "%s is %s, which this version of Tessera does not know; HSA_OVERRIDE_GFX_VERSION may make it one "
                     "that it knows (10.3.0 for gfx1030), and the vulkan and opencl backends run on the same GPU",
                     info->name, info->arch[0] ? info->arch : "of a kind that HIP does not name");
  }
  if (version < gfx->since) {
    return TSRI_FAIL(
        TSR_ERR_UNSUPPORTED,
        "%s is %s, and the compiler of HIP %d.%d does not know it: install ROCm %d.%d or newer, or use the "
        "vulkan or opencl backend on the same GPU",
        info->name, gfx->name, version / 100, version % 100, gfx->since / 100, gfx->since % 100);
  }
  *out_gfx = gfx;
  return TSR_OK;
}

tsr_status tsri_rocm_device_info(int index, tsr_device_info *out_info) {
  cu_device id = 0;
  cu_uuid uuid;
  size_t total = 0;
  *out_info = (tsr_device_info){.index = index};
  cu_result code = tsri_hip.DeviceGet(&id, index);
  if (code == CU_SUCCESS) code = tsri_hip.DeviceGetName(out_info->name, (int)sizeof out_info->name, id);
  if (code == CU_SUCCESS) code = tsri_hip.DeviceTotalMem(&total, id);
  if (code != CU_SUCCESS) {
    char text[256];
    return TSRI_FAIL(TSR_ERR_UNAVAILABLE, "HIP: asking about GPU %d: %s", index,
                     tsri_cuda_code_text(&tsri_rocm_vendor, code, text, sizeof text));
  }
  if (tsri_hip.DeviceGetUuid(&uuid, id) == CU_SUCCESS) {
    tsri_cuda_uuid_text(&uuid, out_info->uuid, sizeof out_info->uuid);
  }
  char gfx[64];
  ask_gfx(id, gfx, sizeof gfx);
  snprintf(out_info->arch, sizeof out_info->arch, "%.*s", (int)strcspn(gfx, ":"), gfx);
  if (!out_info->name[0]) snprintf(out_info->name, sizeof out_info->name, "AMD %s", out_info->arch);
  snprintf(out_info->driver, sizeof out_info->driver, "ROCm, HIP %d.%d.%d", tsri_rocm.version / 10000000,
           tsri_rocm.version / 100000 % 100, tsri_rocm.version % 100000);
  snprintf(out_info->pci, sizeof out_info->pci, "%04x:%02x:%02x.0", (unsigned)ask(id, HIP_PCI_DOMAIN) & 0xffff,
           (unsigned)ask(id, HIP_PCI_BUS) & 0xff, (unsigned)ask(id, HIP_PCI_DEVICE) & 0xff);
  out_info->has_unified_memory = ask(id, HIP_INTEGRATED) != 0;
  out_info->type = out_info->has_unified_memory ? TSR_DEVICE_INTEGRATED_GPU : TSR_DEVICE_DISCRETE_GPU;
  out_info->compute_units = ask(id, HIP_MULTIPROCESSORS);
  out_info->total_bytes = out_info->max_buffer_bytes = total;
  out_info->free_bytes = ask_free(id, total);
  const rocm_gfx *listed = NULL;
  return find_usable(out_info, &listed);
}

// --- Opening --------------------------------------------------------------------------------------------------------

static void add_fragment(tsri_limits *limits, tsr_dtype dtype) {
  limits->fragments[limits->fragment_count++] = (tsr_fragment_size){dtype, 16, 16, 16};
}

// The size of a wavefront is taken from the list in gfx.c, because the compiler decides it. A device whose driver reports another size is refused.
static tsri_limits limits_of(cu_device id, const rocm_gfx *gfx, uint64_t total_bytes) {
  tsri_limits limits = tsri_cuda_common_limits(total_bytes);
  int most_y = ask(id, HIP_MAX_GRID_Y), most_z = ask(id, HIP_MAX_GRID_Z);
  limits.max_groups[1] = (uint32_t)(most_y > 0 && most_y < 65535 ? most_y : 65535);
  limits.max_groups[2] = (uint32_t)(most_z > 0 && most_z < 65535 ? most_z : 65535);
  limits.shared_bytes = (uint32_t)ask(id, HIP_SHARED_BYTES_PER_BLOCK);
  limits.subgroup_size = gfx->wave;
  if (gfx->matrix != ROCM_NO_MATRIX) add_fragment(&limits, TSR_F16);
  if (gfx->matrix == ROCM_MFMA || gfx->matrix == ROCM_WMMA) add_fragment(&limits, TSR_BF16);
  return limits;
}

static tsr_status check_wave(const cuda_device *device, const rocm_gfx *gfx) {
  int wave = ask(device->id, HIP_WAVE);
  if (wave == (int)gfx->wave) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: HIP says that %s has wavefronts of %d, its compiler makes them of %u",
                   device->name, gfx->name, wave, gfx->wave);
}

// Whether this HIP's hipBLASLt has kernels for the GPU. Without them it must not be called, because it would write messages to stderr.
static bool has_lt(const rocm_gfx *gfx) {
  return gfx->lt_since > 0 && hip_version() >= gfx->lt_since && hip_version() >= HIPLT_FIRST_VERSION;
}

tsr_status tsri_rocm_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                 tsri_device **out_device) {
  tsr_device_info info;
  const rocm_gfx *gfx = NULL;
  tsr_status status = tsri_rocm_device_info(index, &info);
  if (status == TSR_OK) status = find_usable(&info, &gfx);
  if (status != TSR_OK) return status;
  cuda_device *device = tsri_cuda_device_create(&tsri_rocm_vendor, sizeof(rocm_device), index, &info, options);
  if (!device) return TSR_ERR_OUT_OF_MEMORY;
  ((rocm_device *)device)->allows_rocblas = !options->native || tsri_native_allows(options->native, "rocblas");
  device->allows_blas = has_lt(gfx) && (!options->native || tsri_native_allows(options->native, "hipblaslt"));
  snprintf(device->target, sizeof device->target, "%s", gfx->name);
  snprintf(device->toolset, sizeof device->toolset, "%s hiprtc %d", gfx->name, tsri_rocm.version);
  status = check_wave(device, gfx);
  if (status == TSR_OK) status = tsri_cuda_open_context(device);
  if (status != TSR_OK) {
    tsri_rocm_device_close((tsri_device *)device);
    return status;
  }
  *out_limits = limits_of(device->id, gfx, info.total_bytes);
  *out_device = (tsri_device *)device;
  return TSR_OK;
}

void tsri_rocm_device_close(tsri_device *device) {
  tsri_rocm_blas_close((rocm_device *)device);
  tsri_cuda_device_close(device);
}
