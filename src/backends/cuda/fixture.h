// SPDX-License-Identifier: MIT
// For the tests of this folder: an open CUDA device at the seam, below the core. It is the stand-in of tests/fakes/cuda where
// the test is about the driver, and a real GPU where it must be one.
#ifndef TSRI_CUDA_FIXTURE_H
#define TSRI_CUDA_FIXTURE_H

#include <stdlib.h>
#include <unistd.h>

#include "backends/cuda/blas.h"
#include "backends/cuda/cuda.h"
#include "fakes/cuda/fake.h"
#include "support/test.h"

extern const tsri_backend tsri_cuda_backend;

typedef struct fixture {
  const tsri_backend *cu;
  fake_cuda *fake;  // NULL: a real one
  tsri_device *device;
  tsri_queue *queue;
  tsri_limits limits;
} fixture;

// All of NVIDIA's libraries are the stand-in from here on. Its state is as it was loaded.
static inline fake_cuda *fixture_use_fake(void) {
  static char path[1024];
  static const char *names[] = {path, NULL};
  const char *folder = getenv("TSR_TEST_FAKE_DIR");
  snprintf(path, sizeof path, "%s/fake_cuda.so", folder ? folder : "tests/fakes");
  tsri_cuda_names = tsri_nvrtc_names = tsri_nvml_names = tsri_cublaslt_names = names;
  char reason[200];
  tsri_library *library = tsri_library_open(path, reason, sizeof reason);
  if (!library) test_fail(__FILE__, __LINE__, "%s", reason);
  void *symbol = tsri_library_symbol(library, "fake_cuda_state");
  fake_cuda_state_fn state = NULL;
  memcpy(&state, &symbol, sizeof state);
  return state();
}

static inline void fixture_open_device(fixture *f, const tsri_open_options *options) {
  CHECK_OK(f->cu->device_open(0, options, &f->limits, &f->device));
  CHECK_OK(f->cu->queue_create(f->device, &f->queue));
}

// The stand-in, with one queue.
static inline fixture fixture_open_with(const tsri_open_options *options) {
  fixture f = {.cu = &tsri_cuda_backend, .fake = fixture_use_fake()};
  int count = 0;
  CHECK_OK(f.cu->start(NULL));
  CHECK_OK(f.cu->device_count(&count));
  fixture_open_device(&f, options);
  return f;
}

static inline fixture fixture_open(void) {
  return fixture_open_with(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
}

// A real GPU; the test is skipped where there is none.
static inline fixture fixture_open_real(const tsri_open_options *options) {
  fixture f = {.cu = &tsri_cuda_backend};
  int count = 0;
  if (f.cu->start(NULL) != TSR_OK || f.cu->device_count(&count) != TSR_OK) SKIP("there is no NVIDIA GPU here");
  fixture_open_device(&f, options);
  return f;
}

static inline void fixture_close(fixture *f) {
  f->cu->queue_destroy(f->queue);
  f->cu->device_close(f->device);
  if (!f->fake) return;
  f->cu->stop();
  CHECK_EQ_INT(f->fake->retained_contexts, 0);
  CHECK_EQ_INT(f->fake->current_contexts, 0);
  CHECK_EQ_INT(f->fake->live_buffers, 0);
  CHECK_EQ_INT(f->fake->live_pinned, 0);
  CHECK_EQ_INT(f->fake->live_streams, 0);
  CHECK_EQ_INT(f->fake->live_events, 0);
  CHECK_EQ_INT(f->fake->live_modules, 0);
  CHECK_EQ_INT(f->fake->live_plans, 0);
}

static inline tsri_buffer *fixture_buffer(const fixture *f, size_t bytes) {
  tsri_buffer *buffer = NULL;
  CHECK_OK(f->cu->buffer_create(f->device, bytes, &buffer));
  return buffer;
}

static inline void fixture_wait(const fixture *f) { CHECK_OK(f->cu->queue_wait(f->queue, UINT64_MAX)); }

static inline void fixture_read(const fixture *f, tsri_buffer *from, size_t offset, void *to, size_t bytes) {
  CHECK_OK(f->cu->copy_out(f->queue, to, from, offset, bytes));
  fixture_wait(f);
}

static inline void fixture_write(const fixture *f, tsri_buffer *to, size_t offset, const void *from, size_t bytes) {
  CHECK_OK(f->cu->copy_in(f->queue, to, offset, from, bytes));
  fixture_wait(f);
}

// Text of a kernel with 64 items per group along x.
static inline tsri_code fixture_code(const char *name, const char *text, uint32_t buffers, uint32_t params_bytes) {
  return (tsri_code){.form = TSRI_CODE_TEXT,
                     .name = name,
                     .data = text,
                     .data_bytes = strlen(text),
                     .buffer_count = buffers,
                     .params_bytes = params_bytes,
                     .local = {64, 1, 1},
                     .options = "-fmad=false"};
}

static inline tsri_program *fixture_build(const fixture *f, tsri_code code) {
  tsri_program *program = NULL;
  CHECK_OK(f->cu->program_create(f->device, &code, &program));
  return program;
}

static inline unsigned char *fixture_pattern(size_t bytes) {
  unsigned char *memory = malloc(bytes);
  CHECK(memory != NULL);
  for (size_t i = 0; i < bytes; i++) memory[i] = (unsigned char)(i * 31 + (i >> 11) * 7 + 3);
  return memory;
}

// An empty folder for the cache on disk. `folder` is as mkdtemp takes it.
static inline void fixture_use_cache(char *folder) {
  CHECK(mkdtemp(folder) && setenv("XDG_CACHE_HOME", folder, 1) == 0);
}

static inline void fixture_remove_cache(const char *folder) {
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_EQ_INT(system(command), 0);
}

#endif
