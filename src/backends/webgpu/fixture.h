// SPDX-License-Identifier: MIT
// For the tests of this folder: an open WebGPU device used directly through its tsri_backend table, without the core,
// and kernels compiled from text.
#ifndef TSRI_WEBGPU_FIXTURE_H
#define TSRI_WEBGPU_FIXTURE_H

#include "backends/common/fixture_testing.h"
#include "backends/webgpu/webgpu.h"
#include "support/devices.h"

extern const tsri_backend tsri_webgpu_backend;

#define UNUSED_HERE __attribute__((unused))

static const char *fixture_setting(const char *name) {
  return strcmp(name, "webgpu_lib") == 0 ? getenv("TSR_TEST_WEBGPU_LIB") : NULL;
}

UNUSED_HERE static fixture fixture_open_with(const tsri_open_options *options) {
  static const tsri_host host = {.bytes = sizeof host, .setting = fixture_setting};
  fixture f = {.backend = &tsri_webgpu_backend};
  int count = 0;
  const char *missing = test_use_webgpu();
  if (missing) SKIP(missing);
  CHECK_OK(f.backend->start(&host));
  if (f.backend->device_count(&count) == TSR_ERR_UNAVAILABLE) SKIP("the WebGPU library finds no adapter here");
  fixture_open_device(&f, options);
  f.emit = tsri_emit_defaults_wgsl;
  f.emit.exact_fma = f.limits.has_exact_fma;
  f.emit.exact_divide = f.limits.has_exact_divide;
  return f;
}

UNUSED_HERE static fixture fixture_open(void) {
  return fixture_open_with(&(tsri_open_options){.timeout_ns = UINT64_MAX});
}

UNUSED_HERE static void fixture_close(const fixture *f) {
  fixture_wait(f);
  fixture_close_device(f);
}

#endif
