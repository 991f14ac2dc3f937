// SPDX-License-Identifier: MIT
// Opens the Objective-C runtime and Metal.framework; where they are missing, the message says who has them.
#include "backends/metal/loader.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/trail.h"
#include "core/error.h"
#include "platform/platform.h"
#include "platform/trust.h"

tsri_metal_api tsri_mtl;
tsri_metal_selectors tsri_mtl_sel;

const metal_system tsri_metal_systems[METAL_SYSTEMS] = {
    [METAL_APPLE] = {.runtime = "/usr/lib/libobjc.A.dylib",
                     .metal = "/System/Library/Frameworks/Metal.framework/Metal",
                     .mps = "/System/Library/Frameworks/MetalPerformanceShaders.framework/MetalPerformanceShaders",
                     .who_has_it = "Metal is part of macOS 10.15 and iOS 13 and newer: update the system"},
    [METAL_ELSEWHERE] = {.who_has_it = "Metal is Apple's: it runs on Macs, iPhones and iPads; use Vulkan, CUDA, ROCm "
                                       "or OpenCL on this system"},
};

#if defined(__APPLE__)
const metal_system *tsri_metal_system = &tsri_metal_systems[METAL_APPLE];
#else
const metal_system *tsri_metal_system = &tsri_metal_systems[METAL_ELSEWHERE];
#endif

// For tests: one library in place of all of Apple's.
#define STAND_IN_VARIABLE "TSRI_METAL_LIB"

static tsri_library *runtime, *framework;

// memcpy, because ISO C has no conversion from object pointers to function pointers.
static bool find(tsri_library *library, const char *name, void *out_function) {
  void *symbol = tsri_library_symbol(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
  return symbol != NULL;
}

#define FIND(library, name) find(library, #name, &tsri_mtl.name)

static const char *missing_symbol(void) {
  if (!find(runtime, "objc_msgSend", &tsri_mtl.send)) return "objc_msgSend";
  if (!FIND(runtime, sel_registerName)) return "sel_registerName";
  if (!FIND(runtime, objc_getClass)) return "objc_getClass";
  if (!FIND(runtime, objc_retain)) return "objc_retain";
  if (!FIND(runtime, objc_release)) return "objc_release";
  if (!FIND(runtime, objc_autoreleasePoolPush)) return "objc_autoreleasePoolPush";
  if (!FIND(runtime, objc_autoreleasePoolPop)) return "objc_autoreleasePoolPop";
  if (!FIND(framework, MTLCreateSystemDefaultDevice)) return "MTLCreateSystemDefaultDevice";
  (void)FIND(framework, MTLCopyAllDevices);
  return NULL;
}

static tsri_library *open_named(const char *name, char *trail, size_t trail_bytes) {
  char reason[200];
  tsri_library *library = tsri_library_open(name, reason, sizeof reason);
  if (!library) tsri_trail_add(trail, trail_bytes, name, reason);
  return library;
}

tsr_status tsri_metal_load(void) {
  if (tsri_mtl.send) return TSR_OK;
  const char *stand_in = tsri_environment(STAND_IN_VARIABLE);
  const metal_system *here = tsri_metal_system;
  const char *runtime_name = stand_in ? stand_in : here->runtime, *framework_name = stand_in ? stand_in : here->metal;
  if (!runtime_name) return TSRI_FAIL(TSR_ERR_NOT_FOUND, "there is no Metal on this system; %s", here->who_has_it);
  char trail[400] = "";
  runtime = open_named(runtime_name, trail, sizeof trail);
  framework = runtime ? open_named(framework_name, trail, sizeof trail) : NULL;
  const char *missing = framework ? missing_symbol() : NULL;
  if (!framework || missing) {
    tsri_library_close(framework);
    tsri_library_close(runtime);
    tsri_mtl = (tsri_metal_api){0};
    if (missing) tsri_trail_add(trail, sizeof trail, framework_name, missing);
    return TSRI_FAIL(TSR_ERR_NOT_FOUND, "no Metal here (%s); %s", trail, here->who_has_it);
  }
#define METAL_SELECTOR(name, text) tsri_mtl_sel.name = tsri_mtl.sel_registerName(text);
#include "backends/metal/selectors.def"
#undef METAL_SELECTOR
  return TSR_OK;
}

bool tsri_metal_load_mps(void) {
  static tsri_library *library;
  char reason[200];
  const char *stand_in = tsri_environment(STAND_IN_VARIABLE), *name = stand_in ? stand_in : tsri_metal_system->mps;
  if (!library && name) library = tsri_library_open(name, reason, sizeof reason);
  return library != NULL;
}
