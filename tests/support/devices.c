// SPDX-License-Identifier: MIT
// Opening devices for tests.
#include "support/devices.h"

#include <dlfcn.h>
#include <unistd.h>

#include "standins/kernels/engine.h"
#include "support/test.h"

tsr_device *test_open(const char *backend) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = backend}, &device));
  return device;
}

tsr_device *test_open_with_faults(const char *backend, const char *faults) {
  CHECK_OK(tsr_config_set("faults", faults));
  tsr_device *device = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend}, &device);
  CHECK_OK(tsr_config_set("faults", NULL));
  CHECK_OK(status);
  return device;
}

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN true
#endif
#endif
#ifndef HAS_TSAN
#define HAS_TSAN false
#endif

const char *test_use_webgpu(void) {
  static const char icd[] = "/usr/lib/chromium/vk_swiftshader_icd.json";
  const char *library = getenv("TSR_TEST_WEBGPU_LIB");
  if (HAS_TSAN) return "the thread sanitizer does not know Dawn's threads";
  if (!library || access(library, R_OK) != 0) return "there is no WebGPU library here (scripts/setup-webgpu gets one)";
  if (!getenv("VK_ICD_FILENAMES")) {
    if (access(icd, R_OK) != 0) return "SwiftShader is not installed (it comes with the package chromium)";
    setenv("VK_ICD_FILENAMES", icd, 1);
    setenv("NODEVICE_SELECT", "1", 1);  // disables a layer of Mesa that complains without a window system
  }
  CHECK_OK(tsr_config_set("webgpu_lib", library));
  return NULL;
}

const char *test_use_metal(void) {
#if defined(__APPLE__)
  return NULL;
#else
  static char path[1024];
  const char *folder = getenv("TSR_TEST_BUILD_DIR");
  if (HAS_TSAN) return "the thread sanitizer does not know the fibers that run kernels in place of a GPU";
  if (standin_missing()) return standin_missing();
  snprintf(path, sizeof path, "%s/tests/standins/metal/libmetal_standin.so", folder ? folder : ".");
  if (access(path, R_OK) != 0) return "the stand-in for Metal was not built (target standin_metal)";
  setenv("TSRI_METAL_LIB", path, 1);
  return NULL;
#endif
}

// The loader finds a library that is loaded already by its name.
const char *test_use_rocm(void) {
  static const char *const names[] = {"libamdhip64.so.6", "libhiprtc.so.6", "librocblas.so.4", "libhipblaslt.so.0"};
  const char *folder = getenv("TSR_TEST_STANDIN_DIR");
  if (HAS_TSAN) return "the thread sanitizer does not know the fibers of the stand-in for ROCm";
  if (standin_missing()) return standin_missing();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/hip/%s", folder ? folder : "tests/standins", names[i]);
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) return "the stand-in for ROCm is not built here";
  }
  return NULL;
}

static void use_plugins(void) {
  const char *folder = getenv("TSR_TEST_PLUGIN_DIR");
  if (folder) CHECK_OK(tsr_config_set("plugin_path", folder));
}

int test_open_all(tsr_device **devices, int most) {
  int count = 0;
  tsr_discovery *found = NULL;
  use_plugins();
  (void)test_use_metal();
  CHECK_OK(tsr_discover(&found));
  for (int i = 0; i < found->backend_count; i++) {
    const tsr_backend_report *report = &found->backends[i];
    for (int j = 0; j < report->device_count && count < most; j++) {
      CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = report->name, .index = j}, &devices[count++]));
    }
  }
  tsr_discovery_release(found);
  if (count < most) devices[count++] = test_open("null");
  return count;
}

bool test_device_computes(const tsr_device *device) {
  const char *backend = tsr_device_backend(device);
  return strcmp(backend, "null") != 0 && strcmp(backend, "sample") != 0;
}

void test_on_every_device(void (*body)(tsr_device *device)) {
  enum { MOST = 32 };
  tsr_device *devices[MOST];
  int count = test_open_all(devices, MOST);
  for (int i = 0; i < count; i++) {
    printf("  on %s\n", tsr_device_backend(devices[i]));
    body(devices[i]);
    tsr_device_release(devices[i]);
  }
}
