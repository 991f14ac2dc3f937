// SPDX-License-Identifier: MIT
// For the tests of this folder: an open OpenCL device at the seam, below the core.
#ifndef TSRI_OPENCL_FIXTURE_H
#define TSRI_OPENCL_FIXTURE_H

#include "backends/opencl/opencl.h"
#include "support/test.h"

extern const tsri_backend tsri_opencl_backend;

#if TSRI_HAS_OPENCL

typedef struct fixture {
  const tsri_backend *cl;
  tsri_device *device;
  tsri_queue *queue;
  tsri_limits limits;
} fixture;

// The first device, with one queue; the test is skipped where there is none.
static inline fixture fixture_open_with(const tsri_open_options *options) {
  fixture f = {.cl = &tsri_opencl_backend};
  int count = 0;
  if (f.cl->start(NULL) != TSR_OK || f.cl->device_count(&count) != TSR_OK) SKIP("there is no OpenCL device here");
  CHECK_OK(f.cl->device_open(0, options, &f.limits, &f.device));
  CHECK_OK(f.cl->queue_create(f.device, &f.queue));
  return f;
}

static inline fixture fixture_open(void) { return fixture_open_with(&(tsri_open_options){.threads = 0}); }

static inline void fixture_close(fixture *f) {
  f->cl->queue_destroy(f->queue);
  f->cl->device_close(f->device);
}

static inline tsri_buffer *fixture_buffer(const fixture *f, size_t bytes) {
  tsri_buffer *buffer = NULL;
  CHECK_OK(f->cl->buffer_create(f->device, bytes, &buffer));
  return buffer;
}

static inline void fixture_read(const fixture *f, tsri_buffer *from, size_t offset, void *to, size_t bytes) {
  CHECK_OK(f->cl->copy_out(f->queue, to, from, offset, bytes));
  CHECK_OK(f->cl->queue_wait(f->queue, UINT64_MAX));
}

static inline void fixture_write(const fixture *f, tsri_buffer *to, size_t offset, const void *from, size_t bytes) {
  CHECK_OK(f->cl->copy_in(f->queue, to, offset, from, bytes));
  CHECK_OK(f->cl->queue_wait(f->queue, UINT64_MAX));
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
                     .options = ""};
}

static inline tsri_program *fixture_build(const fixture *f, tsri_code code) {
  tsri_program *program = NULL;
  CHECK_OK(f->cl->program_create(f->device, &code, &program));
  return program;
}

#endif
#endif
