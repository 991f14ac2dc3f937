// SPDX-License-Identifier: MIT
// For the tests of this folder: an open WebGPU device at the seam, below the core, and kernels from text on it.
#ifndef TSRI_WEBGPU_FIXTURE_H
#define TSRI_WEBGPU_FIXTURE_H

#include "backends/webgpu/webgpu.h"
#include "lang/emit/emit.h"
#include "lang/lang.h"
#include "support/devices.h"
#include "support/test.h"

extern const tsri_backend tsri_webgpu_backend;

#define UNUSED_HERE __attribute__((unused))

typedef struct fixture {
  const tsri_backend *wg;
  tsri_device *device;
  tsri_queue *queue;
  tsri_limits limits;
  tsri_emit_options emit;
} fixture;

static const char *fixture_setting(const char *name) {
  return strcmp(name, "webgpu_lib") == 0 ? getenv("TSR_TEST_WEBGPU_LIB") : NULL;
}

UNUSED_HERE static fixture fixture_open_with(const tsri_open_options *options) {
  static const tsri_host host = {.bytes = sizeof host, .setting = fixture_setting};
  fixture f = {.wg = &tsri_webgpu_backend};
  int count = 0;
  const char *missing = test_use_webgpu();
  if (missing) SKIP(missing);
  CHECK_OK(f.wg->start(&host));
  if (f.wg->device_count(&count) == TSR_ERR_UNAVAILABLE) SKIP("the WebGPU library finds no adapter here");
  CHECK_OK(f.wg->device_open(0, options, &f.limits, &f.device));
  CHECK_OK(f.wg->queue_create(f.device, &f.queue));
  f.emit = tsri_emit_defaults_wgsl;
  f.emit.exact_fma = f.limits.has_exact_fma;
  f.emit.exact_divide = f.limits.has_exact_divide;
  return f;
}

UNUSED_HERE static fixture fixture_open(void) {
  return fixture_open_with(&(tsri_open_options){.timeout_ns = UINT64_MAX});
}

UNUSED_HERE static void fixture_close(fixture *f) {
  CHECK_OK(f->wg->queue_wait(f->queue, UINT64_MAX));
  f->wg->queue_destroy(f->queue);
  f->wg->device_close(f->device);
}

UNUSED_HERE static tsri_buffer *fixture_buffer(const fixture *f, size_t bytes, const void *data) {
  tsri_buffer *buffer = NULL;
  CHECK_OK(f->wg->buffer_create(f->device, bytes, &buffer));
  if (data) {
    CHECK_OK(f->wg->copy_in(f->queue, buffer, 0, data, bytes));
    CHECK_OK(f->wg->queue_wait(f->queue, UINT64_MAX));
  }
  return buffer;
}

UNUSED_HERE static void fixture_read(const fixture *f, tsri_buffer *from, void *to, size_t bytes) {
  CHECK_OK(f->wg->copy_out(f->queue, to, from, 0, bytes));
  CHECK_OK(f->wg->queue_wait(f->queue, UINT64_MAX));
}

// --- Kernels from text ----------------------------------------------------------------------------------------------

typedef struct fixture_kernel {
  tsri_kernel *kernel;
  tsri_emitted code;
  tsri_program *program;
} fixture_kernel;

// Takes the kernel over.
UNUSED_HERE static fixture_kernel fixture_build(const fixture *f, tsri_kernel *kernel) {
  fixture_kernel k = {.kernel = kernel};
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, &f->emit, &k.code));
  tsri_code code = {.form = TSRI_CODE_TEXT,
                    .name = k.code.entry,
                    .data = k.code.data,
                    .data_bytes = k.code.data_bytes,
                    .buffer_count = k.code.buffer_count,
                    .params_bytes = k.code.params_bytes,
                    .options = k.code.build_options,
                    .shared_bytes = k.code.shared_bytes};
  memcpy(code.local, k.code.local, sizeof code.local);
  if (f->wg->program_create(f->device, &code, &k.program) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "%s: %s\n%s", kernel->variant, tsr_last_error(), (const char *)k.code.data);
  }
  return k;
}

// The only kernel of the text.
UNUSED_HERE static fixture_kernel fixture_compile(const fixture *f, const char *text, bool checked) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  CHECK_OK(tsri_lang_parse("test.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_specialise(module, NULL, NULL, 0, &(tsri_lang_options){.checked = checked}, NULL, &kernel));
  tsri_module_release(module);
  return fixture_build(f, kernel);
}

UNUSED_HERE static void fixture_discard(const fixture *f, fixture_kernel *k) {
  f->wg->program_destroy(f->device, k->program);
  tsri_emitted_deinit(&k->code);
  tsri_kernel_release(k->kernel);
}

typedef struct fixture_bound {
  tsri_buffer *buffer;
  size_t offset, bytes;
} fixture_bound;

UNUSED_HERE static void fixture_launch(const fixture *f, const fixture_kernel *k, uint32_t x, uint32_t y, uint32_t z,
                                       const fixture_bound *buffers, const void *params) {
  tsri_binding bindings[TSRI_WGPU_MAX_BINDINGS];
  for (uint32_t i = 0; i < k->code.buffer_count; i++) {
    bool is_written = i >= k->kernel->buffer_count || k->kernel->buffers[i].access != TSRI_ACCESS_IN;
    bindings[i] = (tsri_binding){buffers[i].buffer, buffers[i].offset, buffers[i].bytes, is_written};
  }
  tsri_launch launch = {
      .groups = {x, y, z}, .buffer_count = k->code.buffer_count, .buffers = bindings, .params = params};
  CHECK_OK(f->wg->launch(f->queue, k->program, &launch));
}

#endif
