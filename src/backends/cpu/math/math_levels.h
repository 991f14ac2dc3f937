// SPDX-License-Identifier: MIT
// What the files for each level export to math.c, and to tests and benchmarks that use only one source of functions.
#ifndef TSRI_CPU_MATH_LEVELS_H
#define TSRI_CPU_MATH_LEVELS_H

#include "backends/cpu/math/math.h"
#include "platform/platform.h"

// Levels this build has, lowest first; as cmake/isa.cmake chooses them.
#if defined(__x86_64__) && defined(__GNUC__)
#define TSRI_MATH_LEVELS(X) X(baseline) X(avx2) X(avx512)
#else
#define TSRI_MATH_LEVELS(X) X(baseline)
#endif

typedef enum tsri_math_level {
#define TSRI_X(level) TSRI_MATH_LEVEL_##level,
  TSRI_MATH_LEVELS(TSRI_X)
#undef TSRI_X
      TSRI_MATH_LEVEL_COUNT
} tsri_math_level;

#define TSRI_X(level)                                \
  extern const tsri_lane_math tsri_math_own_##level; \
  bool tsri_math_sleef_##level(tsri_library *sleef, tsri_lane_math *functions);
TSRI_MATH_LEVELS(TSRI_X)
#undef TSRI_X

extern const char *const tsri_math_level_names[TSRI_MATH_LEVEL_COUNT];

// Our own functions (for f64: the C library's).
const tsri_lane_math *tsri_math_own(tsri_math_level level);

// SLEEF's functions, with NULL for those it lacks. Returns NULL if its library cannot be opened or is not used at this level.
const tsri_lane_math *tsri_math_sleef(tsri_math_level level);

#endif
