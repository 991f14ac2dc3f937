// SPDX-License-Identifier: MIT
// Shared by the tests of this folder: a CPU device with a number of threads, and pseudo-random numbers.
#ifndef TSRI_CPU_ROWS_TESTING_H
#define TSRI_CPU_ROWS_TESTING_H

#include <math.h>

#include "backends/cpu/cpu.h"
#include "support/test.h"

static cpu_device *open_device(int threads, const char *simd) {
  tsri_limits limits;
  tsri_device *device = NULL;
  CHECK_OK(tsri_cpu_device_open(0, &(tsri_open_options){.threads = threads, .native = "all", .simd = simd}, &limits,
                                &device));
  return (cpu_device *)device;
}

static void close_device(cpu_device *device) { tsri_cpu_device_close((tsri_device *)device); }

static uint32_t random_word(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// Fills memory with integers of which many are equal; for floats also with NaN, -0 and infinities.
static inline void fill_with_ties_and_specials(tsr_dtype dtype, void *memory, int count) {
  uint32_t state = 9;
  bool is_float = tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT, is_unsigned = tsr_dtype_kind_of(dtype) == TSR_KIND_UINT;
  for (int i = 0; i < count; i++) {
    double x = (double)(random_word(&state) % 200) - (is_unsigned ? 0 : 100);
    if (is_float && i % 13 == 0) x = i % 2 ? NAN : -0.0;
    if (is_float && i % 17 == 0) x = i % 2 ? INFINITY : -INFINITY;
    CHECK_OK(tsr_convert(dtype, (char *)memory + (size_t)i * tsr_dtype_bytes(dtype), TSR_F64, &x, 1));
  }
}

#endif
