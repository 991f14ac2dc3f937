// SPDX-License-Identifier: MIT
// The passes of all SIMD levels of this build.
#include <string.h>

#include "backends/cpu/fft/pass.h"
#include "backends/cpu/lanes/isa_levels.h"

#define TSRI_X(level) extern const tsri_cpu_fft_level tsri_cpu_fft_levels_##level[2];
TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X

const tsri_cpu_fft_level *tsri_cpu_fft_level_for(const char *simd, tsr_dtype dtype) {
  static const struct {
    const char *name;
    const tsri_cpu_fft_level *by_dtype;
  } levels[] = {
#define TSRI_X(level) {#level, tsri_cpu_fft_levels_##level},
      TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X
  };
  size_t found = 0;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
    if (strcmp(levels[i].name, simd) == 0) found = i;
  }
  return &levels[found].by_dtype[dtype == TSR_F64];
}
