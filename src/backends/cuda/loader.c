// SPDX-License-Identifier: MIT
// Opens libcuda, NVRTC and NVML; if one is missing, the message says what to install.
#include "backends/cuda/loader.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/trail.h"
#include "core/error.h"
#include "platform/platform.h"

tsri_cuda_api tsri_cu;
tsri_nvrtc_api tsri_nvrtc;
tsri_nvml_api tsri_nvml;

#if defined(_WIN32)
#define HOW_TO_GET_NVRTC "install NVIDIA's CUDA toolkit, or its part \"nvrtc\" alone"
static const char *const cuda_names[] = {"nvcuda.dll", NULL};
static const char *const nvrtc_names[] = {"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll", NULL};
static const char *const nvml_names[] = {"nvml.dll", NULL};
#else
#define HOW_TO_GET_NVRTC                                                                                             \
  "install NVRTC, a part of NVIDIA's CUDA toolkit (Debian: libnvrtc12 or nvidia-cuda-toolkit; NVIDIA's repository: " \
  "cuda-nvrtc-13-0)"
static const char *const cuda_names[] = {"libcuda.so.1", "libcuda.so", NULL};
static const char *const nvrtc_names[] = {
    "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so", NULL};
static const char *const nvml_names[] = {"libnvidia-ml.so.1", NULL};
#endif

const char *const *tsri_cuda_names = cuda_names, *const *tsri_nvrtc_names = nvrtc_names,
                  *const *tsri_nvml_names = nvml_names;

#define TSRI_ENTRY(name, exported, parameters) {exported, offsetof(tsri_cuda_api, name)},
static const tsri_entry_point cuda_entries[] = {CUDA_ENTRY_POINTS(TSRI_ENTRY) TSRI_OPTIONAL_ENTRIES,
                                                CUDA_OPTIONAL_ENTRY_POINTS(TSRI_ENTRY){NULL, 0}};
#undef TSRI_ENTRY
#define TSRI_ENTRY(name, exported, parameters) {exported, offsetof(tsri_nvrtc_api, name)},
static const tsri_entry_point nvrtc_entries[] = {NVRTC_ENTRY_POINTS(TSRI_ENTRY){NULL, 0}};
#undef TSRI_ENTRY
#define TSRI_ENTRY(name, exported, parameters) {exported, offsetof(tsri_nvml_api, name)},
static const tsri_entry_point nvml_entries[] = {NVML_ENTRY_POINTS(TSRI_ENTRY){NULL, 0}};
#undef TSRI_ENTRY

// Looks up every function. memcpy stores the addresses, because ISO C has no conversion from object pointers to
// function pointers.
static bool find_entry_points(tsri_library *library, const tsri_entry_point *entries, void *table, char *reason,
                              size_t reason_bytes) {
  bool is_optional = false;
  for (; entries->name; entries++) {
    if (!entries->name[0]) {
      is_optional = true;
      continue;
    }
    void *found = tsri_library_symbol(library, entries->name);
    if (!found && !is_optional) {
      snprintf(reason, reason_bytes, "has no %s, so it is too old or something else", entries->name);
      return false;
    }
    memcpy((char *)table + entries->offset, &found, sizeof found);
  }
  return true;
}

bool tsri_cuda_open_library(const char *const *names, const tsri_entry_point *entries, void *table, char *trail,
                            size_t trail_bytes) {
  for (; *names; names++) {
    char reason[200];
    tsri_library *library = tsri_library_open(*names, reason, sizeof reason);
    if (library && find_entry_points(library, entries, table, reason, sizeof reason)) return true;
    // The library is not closed: loading HIP 5.7 a second time would end the process, because the LLVM in it keeps state from the first time.
    tsri_trail_add(trail, trail_bytes, *names, reason);
  }
  return false;
}

tsr_status tsri_cuda_load(void) {
  char trail[400] = "";
  if (tsri_cuda_open_library(tsri_cuda_names, cuda_entries, &tsri_cu, trail, sizeof trail)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_NOT_FOUND,
                   "no NVIDIA driver here (%s); on a machine with an NVIDIA GPU install it (Debian: "
                   "nvidia-driver, or libcuda1 beside it)",
                   trail);
}

tsr_status tsri_nvrtc_load(void) {
  char trail[600] = "";
  if (tsri_cuda_open_library(tsri_nvrtc_names, nvrtc_entries, &tsri_nvrtc, trail, sizeof trail)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_NOT_FOUND,
                   "the GPU is there, but not the compiler for its kernels (%s); %s; until then use the vulkan or "
                   "opencl backend, which run on the same GPU and need only the driver",
                   trail, HOW_TO_GET_NVRTC);
}

bool tsri_nvml_load(void) {
  char trail[200] = "";
  return tsri_cuda_open_library(tsri_nvml_names, nvml_entries, &tsri_nvml, trail, sizeof trail);
}
