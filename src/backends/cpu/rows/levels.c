// SPDX-License-Identifier: MIT
// The loops over rows of all SIMD levels of this build.
#include <string.h>

#include "backends/cpu/lanes/isa_levels.h"
#include "backends/cpu/rows/pool_lines.h"
#include "backends/cpu/rows/reduce_lines.h"
#include "backends/cpu/rows/scan_lines.h"
#include "backends/cpu/rows/sort_keys.h"

#define TSRI_X(level)                                                           \
  extern const tsri_pool_lines *const tsri_pool_lines_##level[2];               \
  extern const tsri_scan_lines *const tsri_scan_lines_##level[TSR_DTYPE_COUNT]; \
  extern const tsri_sort_keys tsri_sort_keys_##level[TSR_DTYPE_COUNT][2];       \
  extern const tsri_reduce_lines *const tsri_reduce_lines_##level[TSRI_REDUCTIONS][TSR_DTYPE_COUNT];
TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X

typedef struct row_level {
  const char *level;
  const tsri_pool_lines *const *pool_lines;
  const tsri_scan_lines *const *scan_lines;
  const tsri_sort_keys (*sort_keys)[2];
  const tsri_reduce_lines *const (*reduce_lines)[TSR_DTYPE_COUNT];
} row_level;

static const row_level *level_named(const char *name) {
  static const row_level levels[] = {
#define TSRI_X(level) \
  {#level, tsri_pool_lines_##level, tsri_scan_lines_##level, tsri_sort_keys_##level, tsri_reduce_lines_##level},
      TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X
  };
  const row_level *found = levels;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
    if (strcmp(levels[i].level, name) == 0) found = &levels[i];
  }
  return found;
}

const tsri_pool_lines *tsri_pool_lines_for(const char *simd, tsr_dtype dtype) {
  return level_named(simd)->pool_lines[dtype == TSR_F64];
}

const tsri_scan_lines *tsri_scan_lines_for(const char *simd, tsr_dtype dtype) {
  return level_named(simd)->scan_lines[dtype];
}

const tsri_sort_keys *tsri_sort_keys_for(const char *simd, tsr_dtype dtype, bool wants_order) {
  const tsri_sort_keys *found = &level_named(simd)->sort_keys[dtype][wants_order];
  return found->sorter ? found : NULL;
}

const tsri_reduce_lines *tsri_reduce_lines_for(const char *simd, tsri_reduction kind, tsr_dtype dtype) {
  return level_named(simd)->reduce_lines[kind][dtype];
}
