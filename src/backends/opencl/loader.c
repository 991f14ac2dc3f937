// SPDX-License-Identifier: MIT
// Opens libOpenCL; if it is missing, the message says what to install.
#include "backends/opencl/loader.h"

#if TSRI_HAS_OPENCL

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "backends/common/trail.h"
#include "core/error.h"
#include "platform/platform.h"

tsri_opencl_api tsri_cl;

#if defined(_WIN32)
#define HOW_TO_GET_IT "install the graphics driver of the GPU's maker"
const char *const tsri_opencl_library_names[] = {"OpenCL.dll", NULL};
#elif defined(__APPLE__)
#define HOW_TO_GET_IT "macOS has it up to now; Metal is the better choice there"
const char *const tsri_opencl_library_names[] = {"/System/Library/Frameworks/OpenCL.framework/OpenCL", NULL};
#else
#define HOW_TO_GET_IT                                                                      \
  "install a loader and a driver (Debian: ocl-icd-libopencl1 with the GPU maker's driver " \
  "or, for the CPU, pocl-opencl-icd)"
const char *const tsri_opencl_library_names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
#endif

// Looks up every function. memcpy stores the addresses, because ISO C has no conversion from object pointers to
// function pointers.
static bool find_entry_points(tsri_library *library, tsri_opencl_api *api, char *reason, size_t reason_bytes) {
#define TSRI_ENTRY(name)                                                                   \
  void *name = tsri_library_symbol(library, "cl" #name);                                   \
  if (!name) {                                                                             \
    snprintf(reason, reason_bytes, "has no cl" #name ", so it is no OpenCL 1.2 or newer"); \
    return false;                                                                          \
  }                                                                                        \
  memcpy(&api->name, &name, sizeof name);
#include "backends/opencl/entry_points.def"
#undef TSRI_ENTRY
  return true;
}

tsr_status tsri_opencl_load(const char *const *names) {
  char trail[400] = "";
  for (; *names; names++) {
    char reason[200];
    tsri_opencl_api api;
    tsri_library *library = tsri_library_open(*names, reason, sizeof reason);
    if (library && find_entry_points(library, &api, reason, sizeof reason)) {
      tsri_cl = api;
      return TSR_OK;
    }
    tsri_library_close(library);
    tsri_trail_add(trail, sizeof trail, *names, reason);
  }
  return TSRI_FAIL(TSR_ERR_NOT_FOUND, "no OpenCL library here (%s); %s", trail, HOW_TO_GET_IT);
}

#endif
