// SPDX-License-Identifier: MIT
// For the tests of this folder: an open OpenCL device used directly through its tsri_backend table, without the core.
#ifndef TSRI_OPENCL_FIXTURE_H
#define TSRI_OPENCL_FIXTURE_H

#include "backends/common/fixture_testing.h"
#include "backends/opencl/opencl.h"

extern const tsri_backend tsri_opencl_backend;

#if TSRI_HAS_OPENCL

// Opens the first device with one queue; the test is skipped if there is no device.
static inline fixture fixture_open_with(const tsri_open_options *options) {
  fixture f = {.backend = &tsri_opencl_backend};
  int count = 0;
  if (f.backend->start(NULL) != TSR_OK || f.backend->device_count(&count) != TSR_OK)
    SKIP("there is no OpenCL device here");
  fixture_open_device(&f, options);
  return f;
}

static inline fixture fixture_open(void) { return fixture_open_with(&(tsri_open_options){.threads = 0}); }

static inline void fixture_close(const fixture *f) { fixture_close_device(f); }

#endif
#endif
