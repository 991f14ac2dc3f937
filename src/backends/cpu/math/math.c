// SPDX-License-Identifier: MIT
// Which function is used where: our own, or SLEEF's if it is there and faster.
#include "backends/cpu/math/math.h"

#include <string.h>

#include "backends/cpu/math/math_levels.h"

#define TSRI_X(level) #level,
const char *const tsri_math_level_names[TSRI_MATH_LEVEL_COUNT] = {TSRI_MATH_LEVELS(TSRI_X)};
#undef TSRI_X

static const tsri_lane_math *const math[TSRI_MATH_LEVEL_COUNT] = {
#define TSRI_X(level) &tsri_math_own_##level,
    TSRI_MATH_LEVELS(TSRI_X)
#undef TSRI_X
};

static bool (*const load_sleef[TSRI_MATH_LEVEL_COUNT])(tsri_library *, tsri_lane_math *) = {
#define TSRI_X(level) tsri_math_sleef_##level,
    TSRI_MATH_LEVELS(TSRI_X)
#undef TSRI_X
};

typedef struct level_state {
  bool was_tried, has_sleef;
  tsri_lane_math sleef;   // as loaded
  tsri_lane_math chosen;  // the faster function of each
} level_state;

#if defined(__APPLE__)
static const char sleef_name[] = "libsleef.3.dylib";
#else
static const char sleef_name[] = "libsleef.so.3";
#endif

// All under `lock` until was_tried, then constant.
static tsri_mutex lock = TSRI_MUTEX_INIT;
static level_state states[TSRI_MATH_LEVEL_COUNT];

// The lowest level at which SLEEF's f64 function takes less time than the C library's, by bench/math on an AMD EPYC
// (Zen 4) with SLEEF 3.5.1, glibc 2.36 and gcc 12. On a processor of another family, where only the baseline exists,
// that column holds too.
//
// Our own f32 functions take less time than SLEEF's at every level, or the same (exp2 at AVX-512), within the same 2
// ULP: SLEEF's f32 are never taken.
enum { FROM_BASELINE = 0, FROM_AVX2 = 1, NEVER = 99 };
static const unsigned char sleef_f64_wins[TSRI_MATH_COUNT] = {
    // ns per element:                 f32, ours / SLEEF's at               f64, SLEEF's at            C library's
    //                                 baseline     avx2         avx512     baseline  avx2  avx512    f64
    [TSRI_MATH_SQRT] = NEVER,         // 0.34 / -     0.17 / -     0.17 / -           -     -     -      1.1
    [TSRI_MATH_RSQRT] = NEVER,        // 0.57 / -     0.28 / -     0.27 / -           -     -     -      1.8
    [TSRI_MATH_EXP] = FROM_BASELINE,  // 1.05 / 1.3   0.34 / 0.6   0.26 / 0.3       3.4   1.4   1.0      5.4
    [TSRI_MATH_EXP2] = FROM_AVX2,     // 0.87 / 1.7   0.28 / 0.4   0.22 / 0.2       4.0   1.2   0.8      3.5
    [TSRI_MATH_EXPM1] = FROM_AVX2,    // 1.47 / 5.1   0.40 / 1.6   0.30 / 1.2      10.3   3.2   2.4      6.5
    [TSRI_MATH_LOG] = FROM_AVX2,      // 1.70 / 3.1   0.50 / 1.0   0.36 / 0.5       7.6   2.7   1.2      4.6
    [TSRI_MATH_LOG2] = FROM_AVX2,     // 1.94 / 3.5   0.60 / 1.2   0.43 / 0.6       8.1   3.0   1.3      4.3
    [TSRI_MATH_LOG10] = FROM_AVX2,    // 2.11 / 3.5   0.65 / 1.1   0.47 / 0.5       8.0   2.8   1.3      6.3
    [TSRI_MATH_LOG1P] = FROM_AVX2,    // 1.94 / 3.9   0.66 / 1.6   0.40 / 1.1       9.2   3.7   2.4      5.3
    [TSRI_MATH_SIN] = FROM_AVX2,      // 1.92 / 3.0   0.47 / 0.9   0.38 / 0.5      10.2   3.5   2.4      8.9
    [TSRI_MATH_COS] = FROM_AVX2,      // 1.81 / 3.4   0.45 / 1.1   0.37 / 0.7      10.8   4.1   2.7      8.9
    [TSRI_MATH_TAN] = FROM_AVX2,      // 2.60 / 7.0   0.67 / 1.6   0.49 / 1.0      18.0   5.6   3.8     11.3
    [TSRI_MATH_ASIN] = FROM_AVX2,     // 1.12 / 3.3   0.41 / 1.0   0.34 / 0.7       7.7   2.5   1.7      4.7
    [TSRI_MATH_ACOS] = FROM_AVX2,     // 1.24 / 3.7   0.36 / 1.3   0.30 / 0.9       8.2   3.1   2.1      5.4
    [TSRI_MATH_ATAN] = FROM_AVX2,     // 1.47 / 6.5   0.53 / 1.4   0.44 / 0.9      12.5   3.3   2.2     10.3
    [TSRI_MATH_ATAN2] = FROM_AVX2,    // 2.25 / 8.2   0.67 / 2.1   0.44 / 1.3      15.5   4.6   3.1     11.3
    [TSRI_MATH_SINH] = FROM_AVX2,     // 1.82 / 6.5   0.56 / 2.5   0.42 / 1.6      13.6   4.8   3.1     11.2
    [TSRI_MATH_COSH] = FROM_AVX2,     // 1.21 / 6.3   0.39 / 2.5   0.32 / 1.6      13.4   4.7   3.1      7.1
    [TSRI_MATH_TANH] = FROM_AVX2,     // 1.86 / 7.3   0.54 / 2.1   0.42 / 1.4      15.8   4.6   3.2     10.0
    [TSRI_MATH_ERF] = FROM_AVX2,      // 2.96 / 10.7  0.77 / 3.7   0.53 / 2.3      30.4  10.2   6.2     10.5
    [TSRI_MATH_POW] = FROM_AVX2,      // 4.85 / 13.6  1.99 / 4.0   1.55 / 2.3      25.6   8.9   5.0      9.9
};

static void choose(tsri_math_level level, level_state *state) {
  state->chosen = *math[level];
  for (int op = 0; op < TSRI_MATH_COUNT; op++) {
    tsri_math_f64 f64 = state->sleef.f64[op];
    if (f64 && (int)level >= sleef_f64_wins[op]) state->chosen.f64[op] = f64;
  }
}

static level_state *state_of(tsri_math_level level) {
  level_state *state = &states[level];
  tsri_mutex_lock(&lock);
  if (!state->was_tried) {
    state->was_tried = true;
    char reason[8];  // the reason is not reported: our own functions are used
    tsri_library *library = tsri_library_open(sleef_name, reason, sizeof reason);
    state->has_sleef = library && load_sleef[level](library, &state->sleef);
    if (state->has_sleef) {
      choose(level, state);  // the library stays open
    } else if (library) {
      tsri_library_close(library);
    }
  }
  tsri_mutex_unlock(&lock);
  return state;
}

static tsri_math_level find_level(const char *name) {
  for (int i = 0; name && i < TSRI_MATH_LEVEL_COUNT; i++) {
    if (strcmp(tsri_math_level_names[i], name) == 0) return (tsri_math_level)i;
  }
  return TSRI_MATH_LEVEL_baseline;
}

const tsri_lane_math *tsri_math_own(tsri_math_level level) { return math[level]; }

const tsri_lane_math *tsri_math_sleef(tsri_math_level level) {
  const level_state *state = state_of(level);
  return state->has_sleef ? &state->sleef : NULL;
}

const tsri_lane_math *tsri_lane_math_for(const char *simd_level, bool allow_sleef) {
  tsri_math_level level = find_level(simd_level);
  if (!allow_sleef) return math[level];
  const level_state *state = state_of(level);
  return state->has_sleef ? &state->chosen : math[level];
}
