// SPDX-License-Identifier: MIT
// The loops over rows of all SIMD levels of this build.
#include <string.h>

#include "backends/cpu/rows/scan_lines.h"

// As cmake/isa.cmake builds them.
#if defined(__x86_64__) && defined(__GNUC__)
#define LEVELS(X) X(baseline) X(avx2) X(avx512)
#else
#define LEVELS(X) X(baseline)
#endif

#define TSRI_X(level) extern const tsri_scan_lines *const tsri_scan_lines_##level[TSR_DTYPE_COUNT];
LEVELS(TSRI_X)
#undef TSRI_X

static const struct {
  const char *level;
  const tsri_scan_lines *const *scan_lines;
} levels[] = {
#define TSRI_X(level) {#level, tsri_scan_lines_##level},
    LEVELS(TSRI_X)
#undef TSRI_X
};

const tsri_scan_lines *tsri_scan_lines_for(const char *simd_level, tsr_dtype dtype) {
  size_t found = 0;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
    if (strcmp(levels[i].level, simd_level) == 0) found = i;
  }
  return levels[found].scan_lines[dtype];
}
