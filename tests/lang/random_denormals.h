// SPDX-License-Identifier: MIT
// Measures with a launch which operations of a device flush f32 denormals. For tests of random kernels that have a `fixture`
// (the headers fixture.h of Vulkan and WebGPU), which is included before this header.
#ifndef TESSERA_RANDOM_DENORMALS_H
#define TESSERA_RANDOM_DENORMALS_H

#include "lang/random_case.h"

// The language leaves it to the device, for each operation: NVIDIA's Vulkan driver keeps denormals in + and *, and flushes
// them in fma and sqrt.
static random_denormals measure_denormals(const fixture *f) {
  enum { INFINITE = 0x7f800000 };
  const uint32_t x[4] = {0x00400000, 0x00100000, 0x3f800000, 0x00080000};  // the last is 2^-130
  uint32_t y[4] = {0};
  fixture_kernel k = fixture_compile(f,
                                     "kernel k(in f32 x[], out f32 y[]) {\n  if (global.x > 0) return;\n"
                                     "  y[0] = x[0] + x[1];\n  y[1] = fma(x[0], x[2], x[1]);\n  y[2] = rsqrt(x[3]);\n"
                                     "  y[3] = ceil(x[3]);\n}\n",
                                     NULL, "", false);
  fixture_bound bound[2] = {{fixture_buffer(f, sizeof x, x), sizeof x, 0},
                            {fixture_buffer(f, sizeof y, y), sizeof y, 0}};
  fixture_launch(f, &k, 1, 1, 1, bound, NULL);
  fixture_read(f, bound[1].buffer, 0, y, sizeof y);
  for (int i = 0; i < 2; i++) f->backend->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
  return (random_denormals){.in_arithmetic = y[0] != 0x00500000,
                            .in_fma = y[1] != 0x00500000,
                            .in_sqrt = y[2] == INFINITE,  // sqrt itself may be expanded, which keeps them
                            .in_rounding = y[3] == 0,
                            .keeps_in_division = !f->emit.exact_divide};
}

// Why the processor that runs plain C cannot flush as the device does; NULL if it can.
static const char *denormals_missing(random_denormals denormals) {
  bool can = !random_denormals_any(denormals) || random_can_flush();
  return can ? NULL : "the device makes 0 of f32 denormals, and this processor does not";
}

#endif
