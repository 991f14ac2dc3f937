// SPDX-License-Identifier: MIT
// For the tests of this folder: an open Vulkan device used directly through its tsri_backend table, without the core,
// and kernels compiled from text. If the validation layer is installed, every test runs under it, and fixture_close
// checks that it reported nothing.
#ifndef TSRI_VULKAN_FIXTURE_H
#define TSRI_VULKAN_FIXTURE_H

#include "backends/common/fixture_testing.h"
#include "backends/vulkan/vulkan.h"

extern const tsri_backend tsri_vulkan_backend;

#if TSRI_HAS_VULKAN

#define UNUSED_HERE __attribute__((unused))

// The validation layer does not free all of its memory, which the address sanitizer would report as leaks.
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

static int fixture_messages;  // messages of the validation layer before the test

static tsri_emit_options fixture_emit_options(const tsri_limits *limits) {
  tsri_emit_options o = tsri_emit_defaults_spirv;
  o.f64 = (limits->dtype_arithmetic >> TSR_F64 & 1) != 0;
  o.f16 = (limits->dtype_arithmetic >> TSR_F16 & 1) != 0;
  o.i64 = limits->has_i64;
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
  fixture f = {.backend = &tsri_vulkan_backend};
  int count = 0;
  if (f.backend->start(NULL) != TSR_OK) SKIP("there is no Vulkan library or driver here");
  CHECK_OK(f.backend->device_count(&count));
  if (count == 0) SKIP("there is no Vulkan device here");
  fixture_messages = tsri_vulkan_validation_count();
  fixture_open_device(&f, options);
  f.emit = fixture_emit_options(&f.limits);
  return f;
}

UNUSED_HERE static fixture fixture_open(void) {
  return fixture_open_with(&(tsri_open_options){.timeout_ns = UINT64_MAX});
}

UNUSED_HERE static void fixture_close(const fixture *f) {
  fixture_wait(f);
  fixture_close_device(f);
  if (fixture_messages >= 0) CHECK_EQ_INT(tsri_vulkan_validation_count(), fixture_messages);
}

// Reads a file of kernels/. The text stays valid until the next call.
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
