// SPDX-License-Identifier: MIT
// NVIDIA GPUs: discovery, device information, opening and closing, and making the context current.
#include <stdio.h>
#include <string.h>

#include "backends/common/choices.h"
#include "backends/cuda/blas_api.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/dnn.h"
#include "backends/cuda/heads.h"
#include "backends/cuda/join.h"
#include "core/alloc.h"
#include "core/log.h"
#include "core/native.h"

// No lock is needed: the core calls the discovery entries from one thread at a time.
static bool is_started, has_nvml;
static int found_count;

// --- Finding --------------------------------------------------------------------------------------------------------

static tsr_status find_devices(void) {
  char text[256];
  int count = 0;
  cu_result code = tsri_cu.Init(0);
  if (code == CU_SUCCESS) code = tsri_cu.DeviceGetCount(&count);
  if (code == CU_NO_DEVICE || (code == CU_SUCCESS && count == 0)) {
    return TSRI_FAIL(TSR_ERR_UNAVAILABLE,
                     "NVIDIA's driver is there but finds no GPU; is one installed, and visible to this process "
                     "(CUDA_VISIBLE_DEVICES, the container's --gpus)?");
  }
  if (code != CU_SUCCESS) {
    return TSRI_FAIL(TSR_ERR_UNAVAILABLE, "NVIDIA's driver does not start: %s; nvidia-smi says more",
                     tsri_cuda_code_text(&tsri_cuda_vendor, code, text, sizeof text));
  }
  tsr_status status = tsri_nvrtc_load();
  if (status != TSR_OK) return status;
  has_nvml = tsri_nvml_load() && tsri_nvml.Init() == 0;
  found_count = count;
  is_started = true;
  return TSR_OK;
}

// In CUDA's order: fastest first, unless the environment variable CUDA_DEVICE_ORDER says otherwise.
tsr_status tsri_cuda_device_count(int *out_count) {
  tsr_status status = is_started ? TSR_OK : find_devices();
  if (status == TSR_OK) *out_count = found_count;
  return status;
}

void tsri_cuda_stop(void) { is_started = false; }

// --- Facts ----------------------------------------------------------------------------------------------------------

// Returns a device attribute, or 0 if the driver does not know it.
static int ask(cu_device id, int attribute) {
  int value = 0;
  return tsri_cu.DeviceGetAttribute(&value, attribute, id) == CU_SUCCESS ? value : 0;
}

void tsri_cuda_uuid_text(const cu_uuid *uuid, char *text, size_t text_bytes) {
  const unsigned char *b = uuid->bytes;
  snprintf(text, text_bytes, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
           b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

// Formats the driver as "NVIDIA 580.82.07, CUDA 13.0".
static void ask_driver(char *text, size_t text_bytes) {
  char version[80] = "";
  int cuda = 0;
  if (!has_nvml || tsri_nvml.SystemGetDriverVersion(version, sizeof version) != 0) version[0] = '\0';
  tsri_cu.DriverGetVersion(&cuda);
  snprintf(text, text_bytes, "NVIDIA%s%.79s, CUDA %d.%d", version[0] ? " " : "", version, cuda / 1000,
           cuda % 1000 / 10);
}

// Free memory, by NVML. CUDA itself reports it only within a context, and creating one takes half a second and half a
// gigabyte.
static uint64_t ask_free(const char *uuid, uint64_t total) {
  char name[64];
  nvml_device handle = NULL;
  nvml_memory memory = {0};
  snprintf(name, sizeof name, "GPU-%s", uuid);
  if (!has_nvml || tsri_nvml.DeviceGetHandleByUUID(name, &handle) != 0 ||
      tsri_nvml.DeviceGetMemoryInfo(handle, &memory) != 0) {
    return total;
  }
  return memory.free < total ? memory.free : total;
}

tsr_status tsri_cuda_device_info(int index, tsr_device_info *out_info) {
  cu_device id = 0;
  size_t total = 0;
  *out_info = (tsr_device_info){.index = index};
  cu_result code = tsri_cu.DeviceGet(&id, index);
  if (code == CU_SUCCESS) code = tsri_cu.DeviceGetName(out_info->name, (int)sizeof out_info->name, id);
  if (code == CU_SUCCESS) code = tsri_cu.DeviceTotalMem(&total, id);
  if (code != CU_SUCCESS) {
    char text[256];
    return TSRI_FAIL(TSR_ERR_UNAVAILABLE, "CUDA: asking about GPU %d: %s", index,
                     tsri_cuda_code_text(&tsri_cuda_vendor, code, text, sizeof text));
  }
  cu_uuid uuid;  // OpenCL and Vulkan report the same UUID for the same GPU
  if (tsri_cu.DeviceGetUuid(&uuid, id) == CU_SUCCESS) {
    tsri_cuda_uuid_text(&uuid, out_info->uuid, sizeof out_info->uuid);
  }
  ask_driver(out_info->driver, sizeof out_info->driver);
  snprintf(out_info->arch, sizeof out_info->arch, "%d.%d", ask(id, CU_CAPABILITY_MAJOR), ask(id, CU_CAPABILITY_MINOR));
  snprintf(out_info->pci, sizeof out_info->pci, "%04x:%02x:%02x.0", (unsigned)ask(id, CU_PCI_DOMAIN) & 0xffff,
           (unsigned)ask(id, CU_PCI_BUS) & 0xff, (unsigned)ask(id, CU_PCI_DEVICE) & 0xff);
  out_info->has_unified_memory = ask(id, CU_INTEGRATED) != 0;
  out_info->type = out_info->has_unified_memory ? TSR_DEVICE_INTEGRATED_GPU : TSR_DEVICE_DISCRETE_GPU;
  out_info->compute_units = ask(id, CU_MULTIPROCESSORS);
  out_info->total_bytes = out_info->max_buffer_bytes = total;
  out_info->free_bytes = ask_free(out_info->uuid, total);
  return TSR_OK;
}

tsr_status tsri_cuda_memory_info(tsri_device *device, uint64_t *out_free, uint64_t *out_total) {
  cuda_device *gpu_device = cuda_device_of(device);
  size_t free_bytes = 0, total = 0;
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_device);
  cu_result code = gpu_device->cu->MemGetInfo(&free_bytes, &total);
  tsri_cuda_leave(gpu_device, was_pushed);
  if (code != CU_SUCCESS) return CUDA_FAIL(gpu_device, code, TSR_ERR_INTERNAL, "asking for free memory");
  *out_free = free_bytes;
  *out_total = total;
  return TSR_OK;
}

// --- The context ----------------------------------------------------------------------------------------------------

bool tsri_cuda_enter(const cuda_device *device) {
  cu_context current = NULL;
  if (device->cu->CtxGetCurrent(&current) == CU_SUCCESS && current == device->context) return false;
  return device->cu->CtxPushCurrent(device->context) == CU_SUCCESS;
}

void tsri_cuda_leave(const cuda_device *device, bool was_pushed) {
  cu_context context = NULL;
  if (was_pushed) (void)device->cu->CtxPopCurrent(&context);
}

// The context that tsri_cuda_enter_to_stay left current on this thread, or NULL.
static TSRI_THREAD_LOCAL cu_context left_current;

// On a thread without a context, the CUDA runtime uses the primary context of GPU 0. Leaving that one current
// therefore changes nothing for other code; leaving the context of another GPU current would.
bool tsri_cuda_enter_to_stay(const cuda_device *device) {
  cu_context current = NULL;
  cu_result code = device->cu->CtxGetCurrent(&current);
  if (code == CU_SUCCESS && current == device->context) return false;
  if (device->cu->CtxPushCurrent(device->context) != CU_SUCCESS) return false;
  if (code != CU_SUCCESS || current || device->id != 0) return true;
  left_current = device->context;
  return false;
}

// Call before releasing the context. If tsri_cuda_enter_to_stay left it current on this thread, it is popped.
static void take_back_context(const cuda_device *device) {
  cu_context current = NULL;
  if (left_current != device->context) return;
  left_current = NULL;
  tsri_cuda_leave(device, device->cu->CtxGetCurrent(&current) == CU_SUCCESS && current == device->context);
}

// --- Opening --------------------------------------------------------------------------------------------------------

tsri_limits tsri_cuda_common_limits(uint64_t total_bytes) {
  const uint32_t all = 1u << TSR_BOOL | 1u << TSR_U8 | 1u << TSR_I8 | 1u << TSR_I16 | 1u << TSR_I32 | 1u << TSR_I64 |
                       1u << TSR_U32 | 1u << TSR_F16 | 1u << TSR_F32 | 1u << TSR_F64;
  enum { EVERY_FLOAT = 7, MOST_ITEMS = 1024 };  // MOST_ITEMS: work items per work-group
  return (tsri_limits){
      .buffer_alignment = 256,  // the alignment of cuMemAlloc, and a whole memory transaction
      .binding_alignment = 16,  // the size of the widest load
      .max_buffer_bytes = total_bytes,
      .max_group_size = MOST_ITEMS,
      // Work items are numbered with 32 bits, which allows fewer work-groups along x than the GPU does.
      .max_groups = {(uint32_t)(UINT64_C(0x100000000) / MOST_ITEMS)},
      .dtype_storage = all | 1u << TSR_BF16,
      .dtype_arithmetic = all,
      .has_subgroups = true,
      .has_subgroup_shuffle = true,
      .has_exact_divide = true,
      .has_exact_fma = true,
      .has_storage16 = true,
      .has_storage8 = true,
      .has_i16 = true,
      .has_i8 = true,
      .keeps_denormals = EVERY_FLOAT,
      .keeps_nan = EVERY_FLOAT,
      .rounds_to_even = EVERY_FLOAT,
  };
}

// shared_bytes is the 48 KiB that every GPU has for arrays declared in a kernel; more would have to be requested at
// each launch.
static tsri_limits limits_of(cu_device id, uint64_t total_bytes) {
  tsri_limits limits = tsri_cuda_common_limits(total_bytes);
  limits.max_groups[1] = (uint32_t)ask(id, CU_MAX_GRID_Y);
  limits.max_groups[2] = (uint32_t)ask(id, CU_MAX_GRID_Z);
  limits.shared_bytes = (uint32_t)ask(id, CU_SHARED_BYTES_PER_BLOCK);
  limits.subgroup_size = (uint32_t)ask(id, CU_WARP_SIZE);
  limits.groups_progress = true;
  return limits;
}

// The matrix fragments that the emitter can write (lang/emit/c/fragment_cuda.c). A product of fragments is two instructions
// mma.m16n8k16 for f16 and bf16, and twelve mma.m16n8k8 of TF32 for f32.
static void add_fragments(tsri_limits *limits) {
  limits->fragments[limits->fragment_count++] = (tsr_fragment_size){TSR_F16, 16, 16, 16};
  limits->fragments[limits->fragment_count++] = (tsr_fragment_size){TSR_BF16, 16, 16, 16};
  limits->fragments[limits->fragment_count++] = (tsr_fragment_size){TSR_F32, 16, 16, 16};
}

// If a kernel crashed in the context earlier, it still exists but answers every call with that kernel's error.
tsr_status tsri_cuda_open_context(cuda_device *device) {
  cu_result code = device->cu->DevicePrimaryCtxRetain(&device->context, device->id);
  if (code != CU_SUCCESS) {
    device->context = NULL;
  } else {
    bool was_pushed = tsri_cuda_enter(device);
    code = device->cu->CtxSynchronize();
    tsri_cuda_leave(device, was_pushed);
  }
  if (code == CU_SUCCESS) return TSR_OK;
  char text[256];
  tsri_cuda_code_text(device->vendor, code, text, sizeof text);
  if (!tsri_cuda_means_loss(code)) {
    return TSRI_FAIL(code == CU_OUT_OF_MEMORY ? TSR_ERR_OUT_OF_MEMORY : TSR_ERR_UNAVAILABLE, "no context on %s: %s",
                     device->name, text);
  }
  return TSRI_FAIL(TSR_ERR_DEVICE_LOST,
                   "%s cannot be opened: %s; if a kernel crashed on it, %s wants the program to be started again",
                   device->name, text, device->vendor->title);
}

cuda_device *tsri_cuda_device_create(const cuda_vendor *vendor, size_t bytes, int index, const tsr_device_info *info,
                                     const tsri_open_options *options) {
  cuda_device *device = tsri_calloc(1, bytes);
  if (!device) {
    TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for the device's record", vendor->name);
    return NULL;
  }
  tsri_mutex_init(&device->library_lock);
  device->vendor = vendor;
  device->cu = vendor->cu;
  device->cu->DeviceGet(&device->id, index);
  memcpy(device->name, info->name, sizeof device->name);
  device->info = *info;
  device->allows_timing = !options->no_timing;
  device->has_times = options->profiling;
  device->timeout_ns = options->timeout_ns > 0 ? options->timeout_ns : UINT64_MAX;
  return device;
}

const cuda_vendor tsri_cuda_vendor = {
    .name = "cuda",
    .title = "CUDA",
    .compiler = "NVRTC",
    .target_option = "--gpu-architecture=",
    .newer_compiler = "is the driver older than NVRTC? install the NVRTC of the CUDA version that nvidia-smi shows",
    .cu = &tsri_cu,
    .rtc = &tsri_nvrtc,
    .blas = &tsri_cublaslt,
    .copied_at_once = 64 << 10,
    .memory_kind = 2,
};

tsr_status tsri_cuda_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                 tsri_device **out_device) {
  tsr_device_info info;
  tsr_status status = tsri_cuda_device_info(index, &info);
  if (status != TSR_OK) return status;
  cuda_device *device = tsri_cuda_device_create(&tsri_cuda_vendor, sizeof *device, index, &info, options);
  if (!device) return TSR_ERR_OUT_OF_MEMORY;
  device->allows_tf32 = options->tf32;
  device->allows_solver = !options->native || tsri_native_allows(options->native, "cusolver");
  device->allows_blas = !options->native || tsri_native_allows(options->native, "cublaslt");
  device->allows_units = !options->native || tsri_native_allows(options->native, "wgmma");
  device->allows_dnn = !options->native || tsri_native_allows(options->native, "cudnn");
  status = tsri_cuda_choose_target(device, ask(device->id, CU_CAPABILITY_MAJOR), ask(device->id, CU_CAPABILITY_MINOR));
  if (status == TSR_OK) status = tsri_cuda_open_context(device);
  if (status != TSR_OK) {
    tsri_cuda_device_close((tsri_device *)device);
    return status;
  }
  *out_limits = limits_of(device->id, info.total_bytes);
  if (ask(device->id, CU_CAPABILITY_MAJOR) >= 8) add_fragments(out_limits);
  *out_device = (tsri_device *)device;
  return TSR_OK;
}

// Accepts a partly initialised device.
void tsri_cuda_device_close(tsri_device *device) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsri_cuda_solver_close(gpu_device);
  tsri_cuda_blas_close(gpu_device);
  tsri_cuda_dnn_close(gpu_device);
  tsri_cuda_heads_close(gpu_device);
  tsri_cuda_join_close(gpu_device);
  if (gpu_device->context) {
    take_back_context(gpu_device);
    (void)gpu_device->cu->DevicePrimaryCtxRelease(gpu_device->id);
  }
  tsri_choices_close(gpu_device->choices);
  tsri_mutex_deinit(&gpu_device->library_lock);
  tsri_free(gpu_device);
}
