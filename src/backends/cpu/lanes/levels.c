// SPDX-License-Identifier: MIT
// The tables of all SIMD levels of this build.
#include <string.h>

#include "backends/cpu/lanes/isa.h"
#include "backends/cpu/lanes/isa_levels.h"

#define TSRI_X(level) extern const tsri_lanes_isa tsri_lanes_isa_##level;
TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X

static const tsri_lanes_isa *const levels[] = {
#define TSRI_X(level) &tsri_lanes_isa_##level,
    TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X
};

const tsri_lanes_isa *tsri_lanes_isa_for(const char *simd_level) {
  for (size_t i = 0; simd_level && i < sizeof levels / sizeof levels[0]; i++) {
    if (strcmp(levels[i]->name, simd_level) == 0) return levels[i];
  }
  return levels[0];
}
