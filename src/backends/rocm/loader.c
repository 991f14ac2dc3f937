// SPDX-License-Identifier: MIT
// Opens libamdhip64 and hiprtc; if one is missing, the message says what to install.
#include <stdio.h>

#include "backends/rocm/rocm.h"

tsri_cuda_api tsri_hip;
tsri_nvrtc_api tsri_hiprtc;
rocm_api tsri_rocm;

#if defined(_WIN32)
#define HOW_TO_GET_HIP                                                                                                 \
  "on a machine with an AMD GPU install AMD's graphics driver (2024 or newer), which brings it, or AMD's HIP SDK for " \
  "Windows"
#define HOW_TO_GET_HIPRTC "install AMD's HIP SDK for Windows"
static const char *const hip_names[] = {"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll", NULL};
static const char *const rtc_patterns[] = {"hiprtc%02d%02d.dll", NULL};
#elif defined(__APPLE__)
#define HOW_TO_GET_HIP    "AMD has no ROCm for macOS: use the metal backend, which runs on AMD GPUs in Macs, too"
#define HOW_TO_GET_HIPRTC HOW_TO_GET_HIP
static const char *const hip_names[] = {"libamdhip64.dylib", NULL};
static const char *const rtc_patterns[] = {"libhiprtc.dylib", NULL};
#else
#define HOW_TO_GET_HIP \
  "on a machine with an AMD GPU install ROCm's HIP runtime (Debian: libamdhip64-5; AMD's repository: hip-runtime-amd)"
#define HOW_TO_GET_HIPRTC "install it with ROCm's HIP runtime (AMD's repository: hip-runtime-amd)"
static const char *const hip_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                        "/opt/rocm/lib/libamdhip64.so", NULL};
static const char *const rtc_patterns[] = {"libhiprtc.so.%d", "libamdhip64.so.%d", "/opt/rocm/lib/libhiprtc.so", NULL};
#endif

const char *const *tsri_hip_names = hip_names, *const *tsri_hiprtc_names = NULL;

// --- The driver -----------------------------------------------------------------------------------------------------

typedef struct both_tables {
  tsri_cuda_api hip;
  rocm_api rocm;
} both_tables;

#define HIP(entry, exported) \
  { exported, offsetof(both_tables, hip.entry) }
#define ROCM(entry, exported) \
  { exported, offsetof(both_tables, rocm.entry) }

// Those that have CUDA's parameters, and those that do not (entry_points.c).
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

// HIP 6 changed the layout of a device's properties, and the name of the function with it.
static const tsri_entry_point new_entries[] = {
    ENTRIES, ROCM(GetDeviceProperties, "hipGetDevicePropertiesR0600"), {NULL, 0}};
static const tsri_entry_point old_entries[] = {ENTRIES, ROCM(GetDeviceProperties, "hipGetDeviceProperties"), {NULL, 0}};

tsr_status tsri_rocm_load(void) {
  char trail[600] = "", ignored[600] = "";
  both_tables tables = {0};
  if (!tsri_cuda_open_library(tsri_hip_names, new_entries, &tables, ignored, sizeof ignored) &&
      !tsri_cuda_open_library(tsri_hip_names, old_entries, &tables, trail, sizeof trail)) {
    return TSRI_FAIL(TSR_ERR_NOT_FOUND, "no ROCm runtime here (%s); %s", trail, HOW_TO_GET_HIP);
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
  for (int i = 0; rtc_patterns[i]; i++) {
    snprintf(made[i], sizeof made[i], rtc_patterns[i], tsri_rocm.version / 10000000, tsri_rocm.version / 100000 % 100);
    names[i] = made[i];
  }
  if (tsri_cuda_open_library(tsri_hiprtc_names ? tsri_hiprtc_names : names, rtc_entries, &tsri_hiprtc, trail,
                             sizeof trail)) {
    return TSR_OK;
  }
  return TSRI_FAIL(TSR_ERR_NOT_FOUND,
                   "the GPU is there, but not hiprtc, the compiler for its kernels (%s); %s; until then use the vulkan "
                   "or opencl backend, which run on the same GPU and need only the driver",
                   trail, HOW_TO_GET_HIPRTC);
}
