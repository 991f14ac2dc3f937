// SPDX-License-Identifier: MIT
// Random valid kernels give the same results on a driver's device as in plain C. Include a backend's fixture.h before it.
#ifndef TSRI_COMMON_RANDOM_TESTING_H
#define TSRI_COMMON_RANDOM_TESTING_H

#include "lang/random_denormals.h"

static inline void run_random_kernel(const fixture *f, random_case *c, bool flushes) {
  fixture_bound bound[RANDOM_MAX_BUFFERS];
  fixture_kernel k = fixture_compile(f, c->random.text, c->random.name, "", false);
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    size_t bytes = random_case_bytes(c, i);
    bound[i] = (fixture_bound){fixture_buffer(f, bytes, c->inputs + c->offsets[i]), bytes, 0};
  }
  fixture_launch(f, &k, c->random.groups, 1, 1, bound, c->params);
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    unsigned char *is = malloc(bound[i].bytes);
    CHECK(is);
    fixture_read(f, bound[i].buffer, 0, is, bound[i].bytes);
    // Twice the tolerance of the other backends: they use the C library's functions, ours are within 3 ULP.
    random_case_compare(c, i, f->backend->title, is, flushes, 2);
    free(is);
    f->backend->buffer_destroy(f->device, bound[i].buffer);
  }
  fixture_discard(f, &k);
}

// Runs `standard` of them, or as many as TSR_RANDOM_COUNT says, with the options of `f->emit`. `from`: the first seed, unless TSR_RANDOM_SEED names it. The device is closed before a skip.
static inline void run_random_kernels(fixture *f, uint64_t from, uint64_t standard) {
  random_denormals denormals = measure_denormals(f);
  const char *missing = emit_device_c.missing() ? emit_device_c.missing() : denormals_missing(denormals);
  if (missing) {
    fixture_close(f);
    SKIP(missing);
  }
  uint64_t count = random_case_count(standard), first = random_case_first_seed(from);
  int done = 0;
  for (uint64_t seed = first; seed < first + count; seed++) {
    random_case c;
    bool has_f64 = f->emit.f64 && seed % 3;
    random_case_init(&c, seed, (has_f64 ? RANDOM_F64 : 0) | RANDOM_SUBGROUPS);
    bool fits = (f->emit.f64 || !(c.kernel->needs & TSRI_NEEDS_F64)) && c.random.items <= f->limits.max_group_size;
    if (fits) {
      random_case_run_plain(&c, f->emit.subgroup_size, denormals);
      run_random_kernel(f, &c, random_denormals_any(denormals));
      done++;
    }
    random_case_deinit(&c);
  }
  printf("  %d kernels\n", done);
  if (done == 0) {
    fixture_close(f);
    SKIP("the device has no 64-bit integers, which random kernels use");
  }
}

#endif
