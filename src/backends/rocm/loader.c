// SPDX-License-Identifier: MIT
// Opens libamdhip64 and hiprtc; if one is missing, the message says what to install.
#include <stdio.h>

#include "backends/rocm/rocm.h"

tsri_cuda_api tsri_hip;
tsri_nvrtc_api tsri_hiprtc;
rocm_api tsri_rocm;

// --- Systems --------------------------------------------------------------------------------------------------------

static const char *const linux_hip[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                        "/opt/rocm/lib/libamdhip64.so", NULL};
static const char *const linux_rtc[] = {"libhiprtc.so.%d", "libamdhip64.so.%d", "/opt/rocm/lib/libhiprtc.so", NULL};
static const char *const windows_hip[] = {"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll", NULL};
static const char *const windows_rtc[] = {"hiprtc%02d%02d.dll", NULL};
static const char *const macos_hip[] = {"libamdhip64.dylib", NULL};
static const char *const macos_rtc[] = {"libhiprtc.dylib", NULL};

#define NONE_ON_MACOS "AMD has no ROCm for macOS: use the metal backend, which runs on AMD GPUs in Macs, too"

const rocm_system tsri_rocm_systems[ROCM_SYSTEMS] = {
    [ROCM_LINUX] = {.hip_names = linux_hip,
                    .rtc_patterns = linux_rtc,
                    .how_to_get_hip =
                        "on a machine with an AMD GPU install ROCm's HIP runtime (Debian: libamdhip64-5; AMD's "
                        "repository: hip-runtime-amd)",
                    .how_to_get_hiprtc = "install it with ROCm's HIP runtime (AMD's repository: hip-runtime-amd)",
                    .what_hides_gpus = "(HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, the container's --device=/dev/kfd "
                                       "--device=/dev/dri), and may you open /dev/kfd (groups render and video)?",
                    .who_says_more = "rocminfo"},
    [ROCM_WINDOWS] = {.hip_names = windows_hip,
                      .rtc_patterns = windows_rtc,
                      .how_to_get_hip = "on a machine with an AMD GPU install AMD's graphics driver (2024 or newer), "
                                        "which brings it, or AMD's HIP SDK for Windows",
                      .how_to_get_hiprtc = "install AMD's HIP SDK for Windows",
                      .what_hides_gpus = "(HIP_VISIBLE_DEVICES), and is its driver of 2024 or newer?",
                      .who_says_more = "hipInfo of AMD's HIP SDK"},
    [ROCM_MACOS] = {.hip_names = macos_hip,
                    .rtc_patterns = macos_rtc,
                    .how_to_get_hip = NONE_ON_MACOS,
                    .how_to_get_hiprtc = NONE_ON_MACOS,
                    .what_hides_gpus = "? " NONE_ON_MACOS,
                    .who_says_more = "System Information"},
};

#if defined(_WIN32)
const rocm_system *tsri_rocm_system = &tsri_rocm_systems[ROCM_WINDOWS];
#elif defined(__APPLE__)
const rocm_system *tsri_rocm_system = &tsri_rocm_systems[ROCM_MACOS];
#else
const rocm_system *tsri_rocm_system = &tsri_rocm_systems[ROCM_LINUX];
#endif

const char *const *tsri_hip_names = NULL, *const *tsri_hiprtc_names = NULL;

// --- The driver -----------------------------------------------------------------------------------------------------

typedef struct both_tables {
  tsri_cuda_api hip;
  rocm_api rocm;
} both_tables;

#define HIP(entry, exported) \
  { exported, offsetof(both_tables, hip.entry) }
#define ROCM(entry, exported) \
  { exported, offsetof(both_tables, rocm.entry) }

// HIP's entry points: first those with CUDA's parameters, then those with others, which entry_points.c translates.
#define ENTRIES                                                                                                       \
  HIP(Init, "hipInit"), HIP(DriverGetVersion, "hipDriverGetVersion"), HIP(DeviceGetCount, "hipGetDeviceCount"),       \
      HIP(DeviceGet, "hipDeviceGet"), HIP(DeviceGetName, "hipDeviceGetName"), HIP(DeviceGetUuid, "hipDeviceGetUuid"), \
      HIP(DeviceTotalMem, "hipDeviceTotalMem"), HIP(DeviceGetAttribute, "hipDeviceGetAttribute"),                     \
      HIP(MemGetInfo, "hipMemGetInfo"), HIP(MemAlloc, "hipMalloc"), HIP(MemFree, "hipFree"),                          \
      HIP(MemHostAlloc, "hipHostMalloc"), HIP(MemFreeHost, "hipHostFree"), HIP(MemHostRegister, "hipHostRegister"),   \
      HIP(MemHostUnregister, "hipHostUnregister"), HIP(MemcpyHtoDAsync, "hipMemcpyHtoDAsync"),                        \
      HIP(MemcpyDtoHAsync, "hipMemcpyDtoHAsync"), HIP(MemcpyDtoDAsync, "hipMemcpyDtoDAsync"),                         \
      HIP(MemsetD8Async, "hipMemsetD8Async"), HIP(MemsetD16Async, "hipMemsetD16Async"),                               \
      HIP(MemsetD32Async, "hipMemsetD32Async"), HIP(StreamCreate, "hipStreamCreateWithFlags"),                        \
      HIP(StreamDestroy, "hipStreamDestroy"), HIP(StreamSynchronize, "hipStreamSynchronize"),                         \
      HIP(StreamQuery, "hipStreamQuery"), HIP(StreamWaitEvent, "hipStreamWaitEvent"),                                 \
      HIP(StreamBeginCapture, "hipStreamBeginCapture"), HIP(StreamEndCapture, "hipStreamEndCapture"),                 \
      HIP(GraphInstantiate, "hipGraphInstantiateWithFlags"), HIP(GraphLaunch, "hipGraphLaunch"),                      \
      HIP(GraphExecDestroy, "hipGraphExecDestroy"), HIP(GraphDestroy, "hipGraphDestroy"),                             \
      HIP(EventCreate, "hipEventCreateWithFlags"), HIP(EventDestroy, "hipEventDestroy"),                              \
      HIP(EventRecord, "hipEventRecord"), HIP(EventQuery, "hipEventQuery"),                                           \
      HIP(EventSynchronize, "hipEventSynchronize"), HIP(EventElapsedTime, "hipEventElapsedTime"),                     \
      HIP(ModuleLoadData, "hipModuleLoadData"), HIP(ModuleUnload, "hipModuleUnload"),                                 \
      HIP(ModuleGetFunction, "hipModuleGetFunction"), HIP(FuncGetAttribute, "hipFuncGetAttribute"),                   \
      HIP(LaunchKernel, "hipModuleLaunchKernel"), ROCM(SetDevice, "hipSetDevice"), ROCM(GetDevice, "hipGetDevice"),   \
      ROCM(DeviceSynchronize, "hipDeviceSynchronize"), ROCM(GetErrorName, "hipGetErrorName"),                         \
      ROCM(GetErrorString, "hipGetErrorString"), ROCM(PointerGetAttribute, "hipPointerGetAttribute"),                 \
      ROCM(MemcpyPeerAsync, "hipMemcpyPeerAsync")

#define OPTIONAL_ENTRIES                                                            \
  TSRI_OPTIONAL_ENTRIES, HIP(StreamGetCaptureInfo, "hipStreamGetCaptureInfo_v2"),   \
      HIP(StreamUpdateCaptureDependencies, "hipStreamUpdateCaptureDependencies"), { \
    NULL, 0                                                                         \
  }

// HIP 6 changed the layout of a device's properties, and the name of the function with it.
static const tsri_entry_point new_entries[] = {ENTRIES, ROCM(GetDeviceProperties, "hipGetDevicePropertiesR0600"),
                                               OPTIONAL_ENTRIES};
static const tsri_entry_point old_entries[] = {ENTRIES, ROCM(GetDeviceProperties, "hipGetDeviceProperties"),
                                               OPTIONAL_ENTRIES};

tsr_status tsri_rocm_load(void) {
  char trail[600] = "", ignored[600] = "";
  both_tables tables = {0};
  const char *const *names = tsri_hip_names ? tsri_hip_names : tsri_rocm_system->hip_names;
  if (!tsri_cuda_open_library(names, new_entries, &tables, ignored, sizeof ignored) &&
      !tsri_cuda_open_library(names, old_entries, &tables, trail, sizeof trail)) {
    return TSRI_FAIL(TSR_ERR_NOT_FOUND, "no ROCm runtime here (%s); %s", trail, tsri_rocm_system->how_to_get_hip);
  }
  tsri_rocm = tables.rocm;
  tsri_hip = tables.hip;
  tsri_rocm_fill_translated(&tsri_hip);
  if (tsri_hip.DriverGetVersion(&tsri_rocm.version) != CU_SUCCESS) tsri_rocm.version = 0;
  return TSR_OK;
}

// --- The compiler ---------------------------------------------------------------------------------------------------

#define RTC(entry, exported) \
  { exported, offsetof(tsri_nvrtc_api, entry) }
static const tsri_entry_point rtc_entries[] = {
    RTC(Version, "hiprtcVersion"),
    RTC(CreateProgram, "hiprtcCreateProgram"),
    RTC(CompileProgram, "hiprtcCompileProgram"),
    RTC(GetProgramLogSize, "hiprtcGetProgramLogSize"),
    RTC(GetProgramLog, "hiprtcGetProgramLog"),
    RTC(GetCubinSize, "hiprtcGetCodeSize"),
    RTC(GetCubin, "hiprtcGetCode"),
    RTC(DestroyProgram, "hiprtcDestroyProgram"),
    {NULL, 0},
};

// The compiler must be of the same ROCm as the runtime, so its major version is part of the names.
tsr_status tsri_hiprtc_load(void) {
  char made[4][64], trail[600] = "";
  const char *names[5] = {NULL};
  const char *const *patterns = tsri_rocm_system->rtc_patterns;
  for (int i = 0; patterns[i]; i++) {
    snprintf(made[i], sizeof made[i], patterns[i], tsri_rocm.version / 10000000, tsri_rocm.version / 100000 % 100);
    names[i] = made[i];
  }
  if (tsri_cuda_open_library(tsri_hiprtc_names ? tsri_hiprtc_names : names, rtc_entries, &tsri_hiprtc, trail,
                             sizeof trail)) {
    return TSR_OK;
  }
  return TSRI_FAIL(TSR_ERR_NOT_FOUND,
                   "the GPU is there, but not hiprtc, the compiler for its kernels (%s); %s; until then use the vulkan "
                   "or opencl backend, which run on the same GPU and need only the driver",
                   trail, tsri_rocm_system->how_to_get_hiprtc);
}
