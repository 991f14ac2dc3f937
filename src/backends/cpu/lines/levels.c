// SPDX-License-Identifier: MIT
// The loops over rows and columns of all SIMD levels of this build.
#include <string.h>

#include "backends/cpu/lanes/isa_levels.h"
#include "backends/cpu/lines/arg_lines.h"
#include "backends/cpu/lines/network_lines.h"
#include "backends/cpu/lines/norm_gradient_lines.h"
#include "backends/cpu/lines/norm_lines.h"
#include "backends/cpu/lines/softmax_lines.h"

#define TSRI_X(level)                                                                          \
  extern const tsri_arg_lines *const tsri_arg_lines_##level[TSRI_REDUCTIONS][TSR_DTYPE_COUNT]; \
  extern const tsri_softmax_lines *const tsri_softmax_lines_##level[TSR_DTYPE_COUNT];          \
  extern const tsri_norm_lines tsri_norm_lines_##level[TSR_DTYPE_COUNT];                       \
  extern const tsri_norm_gradient_lines tsri_norm_gradient_lines_##level;                      \
  void tsri_network_sort_##level(uint32_t *keys, int64_t n);
TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X

typedef struct line_level {
  const char *level;
  const tsri_arg_lines *const (*arg_lines)[TSR_DTYPE_COUNT];
  const tsri_softmax_lines *const *softmax_lines;
  const tsri_norm_lines *norm_lines;
  const tsri_norm_gradient_lines *norm_gradient_lines;
  tsri_network_sort network_sort;
} line_level;

static const line_level *level_named(const char *name) {
  static const line_level levels[] = {
#define TSRI_X(level)                 \
  {#level,                            \
   tsri_arg_lines_##level,            \
   tsri_softmax_lines_##level,        \
   tsri_norm_lines_##level,           \
   &tsri_norm_gradient_lines_##level, \
   tsri_network_sort_##level},
      TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X
  };
  const line_level *found = levels;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
    if (strcmp(levels[i].level, name) == 0) found = &levels[i];
  }
  return found;
}

const tsri_arg_lines *tsri_arg_lines_for(const char *simd, tsri_reduction kind, tsr_dtype dtype) {
  return level_named(simd)->arg_lines[kind][dtype];
}

const tsri_softmax_lines *tsri_softmax_lines_for(const char *simd, tsr_dtype dtype) {
  return level_named(simd)->softmax_lines[dtype];
}

tsri_norm_lines tsri_norm_lines_for(const char *simd, tsr_dtype dtype) { return level_named(simd)->norm_lines[dtype]; }

tsri_norm_gradient_lines tsri_norm_gradient_lines_for(const char *simd) {
  return *level_named(simd)->norm_gradient_lines;
}

tsri_network_sort tsri_network_sort_for(const char *simd) { return level_named(simd)->network_sort; }
