// SPDX-License-Identifier: MIT
// For tests of drivers: an open device with one queue, used directly through its tsri_backend table, without the core.
// Creates its buffers and compiles kernels for it. Each backend's fixture.h opens and closes the device.
#ifndef TSRI_COMMON_FIXTURE_TESTING_H
#define TSRI_COMMON_FIXTURE_TESTING_H

#include <stdlib.h>

#include "backends/backend.h"
#include "lang/emit/emit.h"
#include "lang/lang.h"
#include "support/test.h"

typedef struct fixture {
  const tsri_backend *backend;
  tsri_device *device;
  tsri_queue *queue;
  tsri_limits limits;
  tsri_emit_options emit;  // options for kernels compiled from text
} fixture;

static inline void fixture_open_device(fixture *f, const tsri_open_options *options) {
  CHECK_OK(f->backend->device_open(0, options, &f->limits, &f->device));
  CHECK_OK(f->backend->queue_create(f->device, &f->queue));
}

static inline void fixture_wait(const fixture *f) { CHECK_OK(f->backend->queue_wait(f->queue, UINT64_MAX)); }

static inline void fixture_close_device(const fixture *f) {
  f->backend->queue_destroy(f->queue);
  f->backend->device_close(f->device);
}

// --- Buffers ----------------------------------------------------------------------------------------------------------

static inline void fixture_write(const fixture *f, tsri_buffer *to, size_t offset, const void *from, size_t bytes) {
  CHECK_OK(f->backend->copy_in(f->queue, to, offset, from, bytes));
  fixture_wait(f);
}

static inline void fixture_read(const fixture *f, tsri_buffer *from, size_t offset, void *to, size_t bytes) {
  CHECK_OK(f->backend->copy_out(f->queue, to, from, offset, bytes));
  fixture_wait(f);
}

// Creates a buffer and copies `data` into it, unless `data` is NULL.
static inline tsri_buffer *fixture_buffer(const fixture *f, size_t bytes, const void *data) {
  tsri_buffer *buffer = NULL;
  CHECK_OK(f->backend->buffer_create(f->device, bytes, &buffer));
  if (data) fixture_write(f, buffer, 0, data, bytes);
  return buffer;
}

// --- Programs in the driver's own language ----------------------------------------------------------------------------

// Describes kernel text in the driver's own language, with work-groups of 64 items along x.
static inline tsri_code fixture_code(const char *name, const char *text, uint32_t buffers, uint32_t params_bytes,
                                     const char *options) {
  return (tsri_code){.form = TSRI_CODE_TEXT,
                     .name = name,
                     .data = text,
                     .data_bytes = strlen(text),
                     .buffer_count = buffers,
                     .params_bytes = params_bytes,
                     .local = {64, 1, 1},
                     .options = options};
}

static inline tsri_program *fixture_build(const fixture *f, tsri_code code) {
  tsri_program *program = NULL;
  CHECK_OK(f->backend->program_create(f->device, &code, &program));
  return program;
}

// Building it fails with TSR_ERR_BUILD and a message that has these words.
static inline void fixture_check_refused(const fixture *f, tsri_code code, const char *words) {
  tsri_program *program = NULL;
  CHECK_STATUS(f->backend->program_create(f->device, &code, &program), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS(words);
  CHECK(program == NULL);
}

// --- Kernels ------------------------------------------------------------------------------------------------------------

typedef struct fixture_kernel {
  tsri_kernel *kernel;
  tsri_emitted code;
  tsri_program *program;
} fixture_kernel;

// Emits and builds `kernel`, which then belongs to the result.
static inline fixture_kernel fixture_emit(const fixture *f, tsri_kernel *kernel) {
  fixture_kernel k = {.kernel = kernel};
  bool is_text = (f->backend->code_forms & TSRI_CODE_TEXT) != 0;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find(f->backend->dialect), kernel, &f->emit, &k.code));
  tsri_code code = {.form = is_text ? TSRI_CODE_TEXT : TSRI_CODE_WORDS,
                    .name = k.code.entry,
                    .data = k.code.data,
                    .data_bytes = k.code.data_bytes,
                    .buffer_count = k.code.buffer_count,
                    .params_bytes = k.code.params_bytes,
                    .options = k.code.build_options,
                    .shared_bytes = k.code.shared_bytes};
  memcpy(code.local, k.code.local, sizeof code.local);
  if (f->backend->program_create(f->device, &code, &k.program) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "%s: %s\n%s", kernel->variant, tsr_last_error(),
              is_text ? (const char *)k.code.data : "");
  }
  return k;
}

// args: template arguments, as "T=f16 WG=64". name: the kernel, or NULL if `text` has only one.
static inline fixture_kernel fixture_compile(const fixture *f, const char *text, const char *name, const char *args,
                                             bool checked) {
  tsri_kernel *kernel = NULL;
  tsri_module *module = NULL;
  tsri_lang_arg list[8];
  char copy[128], names[8][32];
  size_t count = 0;
  CHECK_OK(tsri_lang_parse("test.tk", text, strlen(text), NULL, &module));
  snprintf(copy, sizeof copy, "%s", args);
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "), count++) {
    CHECK_OK(tsri_lang_arg_parse(word, names[count], sizeof names[count], &list[count]));
  }
  tsri_lang_options options = {.checked = checked};
  CHECK_OK(tsri_lang_specialise(module, name, list, count, &options, NULL, &kernel));
  tsri_module_release(module);
  return fixture_emit(f, kernel);
}

static inline void fixture_discard(const fixture *f, fixture_kernel *k) {
  f->backend->program_destroy(f->device, k->program);
  tsri_emitted_deinit(&k->code);
  tsri_kernel_release(k->kernel);
}

typedef struct fixture_bound {
  tsri_buffer *buffer;
  size_t bytes, offset;
} fixture_bound;

static inline void fixture_launch(const fixture *f, const fixture_kernel *k, uint32_t x, uint32_t y, uint32_t z,
                                  const fixture_bound *buffers, const void *params) {
  tsri_binding bindings[40];
  for (uint32_t i = 0; i < k->code.buffer_count; i++) {
    bool is_written = i >= k->kernel->buffer_count || k->kernel->buffers[i].access != TSRI_ACCESS_IN;
    bindings[i] = (tsri_binding){buffers[i].buffer, buffers[i].offset, buffers[i].bytes, is_written};
  }
  tsri_launch launch = {
      .groups = {x, y, z}, .buffer_count = k->code.buffer_count, .buffers = bindings, .params = params};
  CHECK_OK(f->backend->launch(f->queue, k->program, &launch));
}

// Copies bytes from one device to another through the host: both are open at once.
static inline void fixture_copy_between(const fixture *a, const fixture *b) {
  unsigned char in[4] = {1, 2, 3, 4}, out[4];
  tsri_buffer *x = fixture_buffer(a, 4, in), *y = fixture_buffer(b, 4, NULL);
  fixture_read(a, x, 0, out, 4);
  CHECK_OK(b->backend->copy_in(b->queue, y, 0, out, 4));
  memset(out, 0, 4);
  fixture_read(b, y, 0, out, 4);
  CHECK_BYTES(out, in, 4);
  a->backend->buffer_destroy(a->device, x);
  b->backend->buffer_destroy(b->device, y);
}

#endif
