// SPDX-License-Identifier: MIT
// The tables of all SIMD levels of this build.
#include <string.h>

#include "backends/cpu/lanes/isa.h"

// As cmake/isa.cmake builds them.
#if defined(__x86_64__) && defined(__GNUC__)
#define LEVELS(X) X(baseline) X(avx2) X(avx512)
#else
#define LEVELS(X) X(baseline)
#endif

#define TSRI_X(level) extern const tsri_lanes_isa tsri_lanes_isa_##level;
LEVELS(TSRI_X)
#undef TSRI_X

static const tsri_lanes_isa *const levels[] = {
#define TSRI_X(level) &tsri_lanes_isa_##level,
    LEVELS(TSRI_X)
#undef TSRI_X
};

const tsri_lanes_isa *tsri_lanes_isa_for(const char *simd_level) {
  for (size_t i = 0; simd_level && i < sizeof levels / sizeof levels[0]; i++) {
    if (strcmp(levels[i]->name, simd_level) == 0) return levels[i];
  }
  return levels[0];
}
