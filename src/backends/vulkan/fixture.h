// SPDX-License-Identifier: MIT
// For the tests of this folder: an open Vulkan device at the seam, below the core, and kernels from text on it. Every test
// runs under the validation layer where that is installed, and fixture_close checks that it had nothing to say.
#ifndef TSRI_VULKAN_FIXTURE_H
#define TSRI_VULKAN_FIXTURE_H

#include "backends/vulkan/vulkan.h"
#include "lang/emit/emit.h"
#include "lang/lang.h"
#include "support/test.h"

extern const tsri_backend tsri_vulkan_backend;

#if TSRI_HAS_VULKAN

#define UNUSED_HERE __attribute__((unused))

// The layer keeps memory until the process ends, which the address sanitizer would call a leak of ours.
#if defined(__SANITIZE_ADDRESS__)
#define WANTS_VALIDATION "0"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WANTS_VALIDATION "0"
#endif
#endif
#if !defined(WANTS_VALIDATION)
#define WANTS_VALIDATION "1"
#endif

__attribute__((constructor)) static void switch_validation_on(void) {
  setenv("TSRI_VULKAN_VALIDATION", WANTS_VALIDATION, 0);
}

typedef struct fixture {
  const tsri_backend *vk;
  tsri_device *device;
  tsri_queue *queue;
  tsri_limits limits;
  tsri_emit_options emit;
  int messages;  // of the validation layer, before
} fixture;

static tsri_emit_options fixture_emit_options(const tsri_limits *limits) {
  tsri_emit_options o = tsri_emit_defaults_spirv;
  o.f64 = (limits->dtype_arithmetic >> TSR_F64 & 1) != 0;
  o.f16 = (limits->dtype_arithmetic >> TSR_F16 & 1) != 0;
  o.i64 = (limits->dtype_arithmetic >> TSR_I64 & 1) != 0;
  o.subgroups = limits->has_subgroups;
  o.subgroup_shuffle = limits->has_subgroup_shuffle;
  if (limits->subgroup_size) o.subgroup_size = limits->subgroup_size;
  o.exact_divide = limits->has_exact_divide;
  o.exact_fma = limits->has_exact_fma;
  o.quirks = limits->has_quirks;
  o.storage16 = limits->has_storage16;
  o.storage8 = limits->has_storage8;
  o.i16 = limits->has_i16;
  o.i8 = limits->has_i8;
  o.keeps_denormals = limits->keeps_denormals;
  o.keeps_nan = limits->keeps_nan;
  o.rounds_to_even = limits->rounds_to_even;
  return o;
}

UNUSED_HERE static fixture fixture_open_with(const tsri_open_options *options) {
  fixture f = {.vk = &tsri_vulkan_backend};
  int count = 0;
  if (f.vk->start(NULL) != TSR_OK) SKIP("there is no Vulkan library or driver here");
  CHECK_OK(f.vk->device_count(&count));
  if (count == 0) SKIP("there is no Vulkan device here");
  f.messages = tsri_vulkan_validation_count();
  CHECK_OK(f.vk->device_open(0, options, &f.limits, &f.device));
  CHECK_OK(f.vk->queue_create(f.device, &f.queue));
  f.emit = fixture_emit_options(&f.limits);
  return f;
}

UNUSED_HERE static fixture fixture_open(void) {
  return fixture_open_with(&(tsri_open_options){.timeout_ns = UINT64_MAX});
}

UNUSED_HERE static void fixture_close(fixture *f) {
  CHECK_OK(f->vk->queue_wait(f->queue, UINT64_MAX));
  f->vk->queue_destroy(f->queue);
  f->vk->device_close(f->device);
  if (f->messages >= 0) CHECK_EQ_INT(tsri_vulkan_validation_count(), f->messages);
}

UNUSED_HERE static tsri_buffer *fixture_buffer(const fixture *f, size_t bytes, const void *data) {
  tsri_buffer *buffer = NULL;
  CHECK_OK(f->vk->buffer_create(f->device, bytes, &buffer));
  if (data) {
    CHECK_OK(f->vk->copy_in(f->queue, buffer, 0, data, bytes));
    CHECK_OK(f->vk->queue_wait(f->queue, UINT64_MAX));
  }
  return buffer;
}

UNUSED_HERE static void fixture_read(const fixture *f, tsri_buffer *from, void *to, size_t bytes) {
  CHECK_OK(f->vk->copy_out(f->queue, to, from, 0, bytes));
  CHECK_OK(f->vk->queue_wait(f->queue, UINT64_MAX));
}

// --- Kernels from text ----------------------------------------------------------------------------------------------

typedef struct fixture_kernel {
  tsri_kernel *kernel;
  tsri_emitted code;
  tsri_program *program;
} fixture_kernel;

// `args` as "T=f16 WG=64"; `name` NULL: the only kernel.
UNUSED_HERE static fixture_kernel fixture_compile(const fixture *f, const char *text, const char *name,
                                                  const char *args, bool checked) {
  fixture_kernel k = {0};
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
  CHECK_OK(tsri_lang_specialise(module, name, list, count, &options, NULL, &k.kernel));
  tsri_module_release(module);
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("spirv"), k.kernel, &f->emit, &k.code));
  tsri_code code = {.form = TSRI_CODE_WORDS,
                    .name = k.code.entry,
                    .data = k.code.data,
                    .data_bytes = k.code.data_bytes,
                    .buffer_count = k.code.buffer_count,
                    .params_bytes = k.code.params_bytes,
                    .options = "",
                    .shared_bytes = k.code.shared_bytes};
  memcpy(code.local, k.code.local, sizeof code.local);
  CHECK_OK(f->vk->program_create(f->device, &code, &k.program));
  return k;
}

UNUSED_HERE static void fixture_discard(const fixture *f, fixture_kernel *k) {
  f->vk->program_destroy(f->device, k->program);
  tsri_emitted_deinit(&k->code);
  tsri_kernel_release(k->kernel);
}

typedef struct fixture_bound {
  tsri_buffer *buffer;
  size_t bytes;
} fixture_bound;

UNUSED_HERE static void fixture_launch(const fixture *f, const fixture_kernel *k, uint32_t groups_x, uint32_t groups_y,
                                       const fixture_bound *buffers, const void *params) {
  tsri_binding bindings[40];
  for (uint32_t i = 0; i < k->code.buffer_count; i++) {
    bool is_written = i >= k->kernel->buffer_count || k->kernel->buffers[i].is_stored;
    bindings[i] = (tsri_binding){buffers[i].buffer, 0, buffers[i].bytes, is_written};
  }
  tsri_launch launch = {
      .groups = {groups_x, groups_y, 1}, .buffer_count = k->code.buffer_count, .buffers = bindings, .params = params};
  CHECK_OK(f->vk->launch(f->queue, k->program, &launch));
}

// A file of kernels/, in memory that stays.
UNUSED_HERE static const char *fixture_kernel_file(const char *name) {
  static char text[1 << 16];
  char path[1024];
  const char *source = getenv("TSR_TEST_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/kernels/%s", source ? source : ".", name);
  FILE *file = fopen(path, "rb");
  if (!file) SKIP("the source folder is not here");
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

#endif
#endif
