// SPDX-License-Identifier: MIT
// What the tests of this folder share: a CPU device with a number of threads, and numbers that look random.
#ifndef TSRI_CPU_ROWS_TESTING_H
#define TSRI_CPU_ROWS_TESTING_H

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

#endif
