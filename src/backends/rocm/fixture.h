// SPDX-License-Identifier: MIT
// For the tests of this folder: an open ROCm device used directly through its tsri_backend table, without the core. It is the
// stand-in of tests/standins/hip, which runs HIP text on the CPU.
#ifndef TSRI_ROCM_FIXTURE_H
#define TSRI_ROCM_FIXTURE_H

#include "backends/common/fixture_testing.h"
#include "backends/rocm/rocm.h"
#include "standins/hip/hip.h"
#include "support/devices.h"

extern const tsri_backend tsri_rocm_backend;

static inline void *standin_symbol(const char *library_name, const char *name) {
  char reason[200];
  tsri_library *library = tsri_library_open(library_name, reason, sizeof reason);
  if (!library) test_fail(__FILE__, __LINE__, "%s", reason);
  return tsri_library_symbol(library, name);
}

// Replaces ROCm's libraries by the stand-ins, with these switches (tests/standins/README.md).
static inline void fixture_use_standin(const char *words) {
  enum { FILES = 4 };
  static char paths[FILES][1024];
  static const char *names[FILES][2] = {{paths[0], NULL}, {paths[1], NULL}, {paths[2], NULL}, {paths[3], NULL}};
  static const char *const files[FILES] = {"libamdhip64.so.6", "libhiprtc.so.6", "librocblas.so.4",
                                           "libhipblaslt.so.0"};
  const char *folder = getenv("TSR_TEST_STANDIN_DIR");
  const char *missing = test_use_rocm();
  if (missing) SKIP(missing);
  for (int i = 0; i < FILES; i++) {
    standin_hip_switch_fn change = NULL;
    snprintf(paths[i], sizeof paths[i], "%s/hip/%s", folder ? folder : "tests/standins", files[i]);
    void *symbol = standin_symbol(paths[i], "standin_hip_switch");
    memcpy(&change, &symbol, sizeof change);
    change(words);
  }
  tsri_hip_names = names[0];
  tsri_hiprtc_names = names[1];
  tsri_rocblas_names = names[2];
  tsri_hipblaslt_names = names[3];
}

// Opens the stand-in's first device with one queue. `words`: its switches.
static inline fixture fixture_open_switched(const char *words, const tsri_open_options *options) {
  fixture f = {.backend = &tsri_rocm_backend};
  int count = 0;
  fixture_use_standin(words);
  CHECK_OK(f.backend->start(NULL));
  CHECK_OK(f.backend->device_count(&count));
  fixture_open_device(&f, options);
  f.emit = *tsri_emitter_find("hip")->defaults;
  f.emit.subgroup_size = f.limits.subgroup_size;
  return f;
}

static inline fixture fixture_open_as(const char *words) {
  return fixture_open_switched(words, &(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
}

static inline fixture fixture_open_with(const tsri_open_options *options) { return fixture_open_switched("", options); }

static inline fixture fixture_open(void) { return fixture_open_as(""); }

static inline void fixture_close(const fixture *f) {
  standin_hip_live_fn live = NULL;
  void *symbol = standin_symbol(tsri_hip_names[0], "standin_hip_live");
  memcpy(&live, &symbol, sizeof live);
  fixture_close_device(f);
  f->backend->stop();
  CHECK_EQ_INT(live(), 0);
}

#endif
