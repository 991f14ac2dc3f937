// SPDX-License-Identifier: MIT
// For the tests of this folder: an open Metal device used directly through its tsri_backend table, without the core. On a Mac it is
// the GPU; elsewhere the stand-in of tests/standins/metal, whose switches the tests set.
#ifndef TSRI_METAL_FIXTURE_H
#define TSRI_METAL_FIXTURE_H

#include "backends/common/fixture_testing.h"
#include "backends/metal/metal.h"
#include "standins/metal/standin.h"
#include "support/devices.h"

extern const tsri_backend tsri_metal_backend;

static standin_metal *fixture_standin __attribute__((unused));  // NULL: real GPUs are in use

// The stand-in's record of switches; NULL on a Mac. The test is skipped if there is neither.
static inline standin_metal *fixture_switches(void) {
  const char *missing = test_use_metal();
  if (missing) SKIP(missing);
  const char *path = getenv("TSRI_METAL_LIB");
  char reason[200];
  tsri_library *library = path ? tsri_library_open(path, reason, sizeof reason) : NULL;
  void *symbol = library ? tsri_library_symbol(library, "standin_metal_state") : NULL;
  standin_metal_state_fn state = NULL;
  memcpy(&state, &symbol, sizeof state);
  return fixture_standin = state ? state() : NULL;
}

static inline fixture fixture_open_with(const tsri_open_options *options) {
  fixture f = {.backend = &tsri_metal_backend};
  int count = 0;
  fixture_switches();
  CHECK_OK(f.backend->start(NULL));
  if (f.backend->device_count(&count) != TSR_OK) SKIP("there is no GPU with Metal here");
  fixture_open_device(&f, options);
  f.emit = tsri_emit_defaults_metal;
  f.emit.subgroups = f.emit.subgroup_shuffle = f.limits.has_subgroups;
  f.emit.fragments = f.limits.fragments;
  f.emit.fragment_count = f.limits.fragment_count;
  return f;
}

static inline fixture fixture_open(void) { return fixture_open_with(&(tsri_open_options){.timeout_ns = UINT64_MAX}); }

// Also checks that every object of Metal's was released.
static inline void fixture_close(const fixture *f) {
  fixture_close_device(f);
  f->backend->stop();
  // The thread that ran the last command buffer may still hold it.
  for (int i = 0; fixture_standin && __atomic_load_n(&fixture_standin->live_objects, __ATOMIC_RELAXED) > 0 && i < 1000;
       i++)
    tsri_sleep_ns(1000000);
  if (fixture_standin) CHECK_EQ_INT(fixture_standin->live_objects, 0);
}

#endif
