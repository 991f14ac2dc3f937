// SPDX-License-Identifier: MIT
// Arithmetic instructions at one SIMD level: a loop around each lane function of meaning.h, in each form.
//
// Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/lanes/meaning.h"

#define UNARY_LOOPS(name, R, A)                                                              \
  static void name##_V(void *dst, const void *a, const void *b, const void *c, uint32_t n) { \
    (void)b, (void)c;                                                                        \
    R *d = dst;                                                                              \
    const A *x = a;                                                                          \
    LANES for (uint32_t i = 0; i < n; i++) d[i] = op_##name(x[i]);                           \
  }

#define BINARY_LOOPS(name, R, A, B)                                                           \
  static void name##_VV(void *dst, const void *a, const void *b, const void *c, uint32_t n) { \
    (void)c;                                                                                  \
    R *d = dst;                                                                               \
    const A *x = a;                                                                           \
    const B *y = b;                                                                           \
    LANES for (uint32_t i = 0; i < n; i++) d[i] = op_##name(x[i], y[i]);                      \
  }                                                                                           \
  static void name##_VS(void *dst, const void *a, const void *b, const void *c, uint32_t n) { \
    (void)c;                                                                                  \
    R *d = dst;                                                                               \
    const A *x = a;                                                                           \
    const B y = *(const B *)b;                                                                \
    LANES for (uint32_t i = 0; i < n; i++) d[i] = op_##name(x[i], y);                         \
  }                                                                                           \
  static void name##_SV(void *dst, const void *a, const void *b, const void *c, uint32_t n) { \
    (void)c;                                                                                  \
    R *d = dst;                                                                               \
    const A x = *(const A *)a;                                                                \
    const B *y = b;                                                                           \
    LANES for (uint32_t i = 0; i < n; i++) d[i] = op_##name(x, y[i]);                         \
  }

#define TERNARY_LOOPS(name, R, A, B, C)                                                        \
  static void name##_VVV(void *dst, const void *a, const void *b, const void *c, uint32_t n) { \
    R *d = dst;                                                                                \
    const A *x = a;                                                                            \
    const B *y = b;                                                                            \
    const C *z = c;                                                                            \
    LANES for (uint32_t i = 0; i < n; i++) d[i] = op_##name(x[i], y[i], z[i]);                 \
  }                                                                                            \
  static void name##_VSV(void *dst, const void *a, const void *b, const void *c, uint32_t n) { \
    R *d = dst;                                                                                \
    const A *x = a;                                                                            \
    const B y = *(const B *)b;                                                                 \
    const C *z = c;                                                                            \
    LANES for (uint32_t i = 0; i < n; i++) d[i] = op_##name(x[i], y, z[i]);                    \
  }                                                                                            \
  static void name##_VVS(void *dst, const void *a, const void *b, const void *c, uint32_t n) { \
    R *d = dst;                                                                                \
    const A *x = a;                                                                            \
    const B *y = b;                                                                            \
    const C z = *(const C *)c;                                                                 \
    LANES for (uint32_t i = 0; i < n; i++) d[i] = op_##name(x[i], y[i], z);                    \
  }                                                                                            \
  static void name##_VSS(void *dst, const void *a, const void *b, const void *c, uint32_t n) { \
    R *d = dst;                                                                                \
    const A *x = a;                                                                            \
    const B y = *(const B *)b;                                                                 \
    const C z = *(const C *)c;                                                                 \
    LANES for (uint32_t i = 0; i < n; i++) d[i] = op_##name(x[i], y, z);                       \
  }

TSRI_LANE_UNARY(UNARY_LOOPS)
TSRI_LANE_BINARY(BINARY_LOOPS)
TSRI_LANE_TERNARY(TERNARY_LOOPS)

// The only unary instruction that makes lanes from a scalar.
static void splat_32(void *dst, const void *a, const void *b, const void *c, uint32_t n) {
  (void)b, (void)c;
  u32 *d = dst;
  const u32 x = *(const u32 *)a;
  for (uint32_t i = 0; i < n; i++) d[i] = x;
}

static void splat_64(void *dst, const void *a, const void *b, const void *c, uint32_t n) {
  (void)b, (void)c;
  u64 *d = dst;
  const u64 x = *(const u64 *)a;
  for (uint32_t i = 0; i < n; i++) d[i] = x;
}

const tsri_lane_fn ISA_NAME(tsri_lanes_ops_)[TSRI_LANE_OPS - TSRI_LANE_FIRST_MATH][TSRI_LANE_FORMS] = {
#define TSRI_X(name, ...)         [TSRI_LANE_##name - TSRI_LANE_FIRST_MATH] = {name##_V},
#define TSRI_X_MOVES(name, splat) [TSRI_LANE_##name - TSRI_LANE_FIRST_MATH] = {name##_V, splat},
    TSRI_LANE_UNARY_BUT_MOVES(TSRI_X) TSRI_X_MOVES(MOVE_32, splat_32) TSRI_X_MOVES(MOVE_64, splat_64)
#undef TSRI_X_MOVES
#undef TSRI_X
#define TSRI_X(name, ...) [TSRI_LANE_##name - TSRI_LANE_FIRST_MATH] = {name##_VV, name##_VS, name##_SV},
        TSRI_LANE_BINARY(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, ...) [TSRI_LANE_##name - TSRI_LANE_FIRST_MATH] = {name##_VVV, name##_VSV, name##_VVS, name##_VSS},
            TSRI_LANE_TERNARY(TSRI_X)
#undef TSRI_X
};
