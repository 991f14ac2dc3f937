// SPDX-License-Identifier: MIT
// For the tests of this folder: an open CUDA device used directly through its tsri_backend table, without the core.
// Tests of the driver code use the fake library of tests/fakes/cuda; tests that need real hardware use a GPU.
#ifndef TSRI_CUDA_FIXTURE_H
#define TSRI_CUDA_FIXTURE_H

#include <unistd.h>

#include "backends/common/fixture_testing.h"
#include "backends/cuda/blas.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/dnn.h"
#include "backends/cuda/solver.h"
#include "fakes/cuda/fake.h"

extern const tsri_backend tsri_cuda_backend;

static fake_cuda *fixture_fake __attribute__((unused));  // NULL: the real driver is in use

// Replaces all of NVIDIA's libraries by the fake, and resets its state.
static inline fake_cuda *fixture_use_fake(void) {
  static char path[1024];
  static const char *names[] = {path, NULL};
  const char *folder = getenv("TSR_TEST_FAKE_DIR");
  snprintf(path, sizeof path, "%s/fake_cuda.so", folder ? folder : "tests/fakes");
  tsri_cuda_names = tsri_nvrtc_names = tsri_nvml_names = tsri_cublaslt_names = tsri_cudnn_names = names;
  tsri_cusolver_names = tsri_cublas_names = names;
  char reason[200];
  tsri_library *library = tsri_library_open(path, reason, sizeof reason);
  if (!library) test_fail(__FILE__, __LINE__, "%s", reason);
  void *symbol = tsri_library_symbol(library, "fake_cuda_state");
  fake_cuda_state_fn state = NULL;
  memcpy(&state, &symbol, sizeof state);
  return state();
}

// Opens the fake device with one queue.
static inline fixture fixture_open_with(const tsri_open_options *options) {
  fixture f = {.backend = &tsri_cuda_backend};
  int count = 0;
  fixture_fake = fixture_use_fake();
  CHECK_OK(f.backend->start(NULL));
  CHECK_OK(f.backend->device_count(&count));
  fixture_open_device(&f, options);
  return f;
}

static inline fixture fixture_open(void) {
  return fixture_open_with(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
}

// Opens a real GPU with one queue; the test is skipped if there is none.
static inline fixture fixture_open_real(const tsri_open_options *options) {
  fixture f = {.backend = &tsri_cuda_backend};
  int count = 0;
  if (f.backend->start(NULL) != TSR_OK || f.backend->device_count(&count) != TSR_OK)
    SKIP("there is no NVIDIA GPU here");
  fixture_open_device(&f, options);
  return f;
}

static inline void fixture_close(const fixture *f) {
  fixture_close_device(f);
  if (!fixture_fake) return;
  f->backend->stop();
  CHECK_EQ_INT(fixture_fake->retained_contexts, 0);
  CHECK_EQ_INT(fixture_fake->current_contexts, 0);
  CHECK_EQ_INT(fixture_fake->live_buffers, 0);
  CHECK_EQ_INT(fixture_fake->live_pinned, 0);
  CHECK_EQ_INT(fixture_fake->live_streams, 0);
  CHECK_EQ_INT(fixture_fake->live_events, 0);
  CHECK_EQ_INT(fixture_fake->live_modules, 0);
  CHECK_EQ_INT(fixture_fake->live_plans, 0);
}

static inline unsigned char *fixture_pattern(size_t bytes) {
  unsigned char *memory = malloc(bytes);
  CHECK(memory != NULL);
  for (size_t i = 0; i < bytes; i++) memory[i] = (unsigned char)(i * 31 + (i >> 11) * 7 + 3);
  return memory;
}

// Uses an empty folder for the disk cache. `folder` is a template for mkdtemp.
static inline void fixture_use_cache(char *folder) {
  CHECK(mkdtemp(folder) && setenv("XDG_CACHE_HOME", folder, 1) == 0);
}

static inline void fixture_remove_cache(const char *folder) {
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_EQ_INT(system(command), 0);
}

#endif
