// SPDX-License-Identifier: MIT
// The loops over scores of all SIMD levels of this build.
#include <string.h>

#include "backends/cpu/attention/score_lines.h"
#include "backends/cpu/lanes/isa_levels.h"

#define TSRI_X(level) extern const tsri_score_lines tsri_score_lines_##level;
TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X

const tsri_score_lines *tsri_score_lines_for(const char *simd_level) {
#define TSRI_X(level) \
  if (strcmp(simd_level, #level) == 0) return &tsri_score_lines_##level;
  TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X
  return &tsri_score_lines_baseline;
}
