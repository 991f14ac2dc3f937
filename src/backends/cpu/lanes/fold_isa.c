// SPDX-License-Identifier: MIT
// Many rounds of acc = op(acc, element) at one SIMD level: the inner loop of a reduction.
//
// ops_isa.c would load and store acc in every round. This keeps as much of acc as possible in registers, which makes reading memory 1.5 times as fast. If
// consecutive rounds are contiguous in memory and longer than all registers together, the order of reading matters more: reading with gaps and filling them
// later would take twice as long, so such rounds are read in order. Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/lanes/isa_parts.h"

#if defined(__GNUC__)

#if defined(__AVX512F__) || defined(__aarch64__)
enum { VECTOR = ISA_VECTOR, MOST_VECTORS = 16 };
#else
enum { VECTOR = ISA_VECTOR, MOST_VECTORS = 8 };
#endif
enum { FEW_VECTORS = TSRI_LANE_FOLD_BYTES / VECTOR < MOST_VECTORS ? TSRI_LANE_FOLD_BYTES / VECTOR : MOST_VECTORS };

typedef float f32_vec __attribute__((vector_size(VECTOR)));
typedef double f64_vec __attribute__((vector_size(VECTOR)));
typedef int32_t i32_vec __attribute__((vector_size(VECTOR)));
typedef uint32_t u32_vec __attribute__((vector_size(VECTOR)));
typedef int64_t i64_vec __attribute__((vector_size(VECTOR)));
typedef uint64_t u64_vec __attribute__((vector_size(VECTOR)));

// condition ? x : y by bit operations; `bits` is the type of vectors of integers as wide as the elements. The language's min and max of floats are NaN if
// either operand is.
#define PICK(vec, bits, condition, x, y) ((vec)(((condition) & (bits)(x)) | (~(condition) & (bits)(y))))
#define GREATER(vec, bits)               PICK(vec, bits, x > y, x, y)
#define SMALLER(vec, bits)               PICK(vec, bits, x < y, x, y)
#define GREATER_REAL(vec, bits)          PICK(vec, bits, (x > y) | (x != x), x, y)
#define SMALLER_REAL(vec, bits)          PICK(vec, bits, (x < y) | (x != x), x, y)

// name, vector type, the new value of x (acc) from y and z (the elements); z only for instructions with two elements.
#define FOLDS_OF_ONE(X)                               \
  X(ADD_F32, f32_vec, x + y)                          \
  X(MUL_F32, f32_vec, x *y)                           \
  X(MAX_F32, f32_vec, GREATER_REAL(f32_vec, i32_vec)) \
  X(MIN_F32, f32_vec, SMALLER_REAL(f32_vec, i32_vec)) \
  X(ADD_F64, f64_vec, x + y)                          \
  X(MUL_F64, f64_vec, x *y)                           \
  X(MAX_F64, f64_vec, GREATER_REAL(f64_vec, i64_vec)) \
  X(MIN_F64, f64_vec, SMALLER_REAL(f64_vec, i64_vec)) \
  X(ADD_U32, u32_vec, x + y)                          \
  X(MAX_I32, i32_vec, GREATER(i32_vec, i32_vec))      \
  X(MIN_I32, i32_vec, SMALLER(i32_vec, i32_vec))      \
  X(MAX_U32, u32_vec, GREATER(u32_vec, i32_vec))      \
  X(MIN_U32, u32_vec, SMALLER(u32_vec, i32_vec))      \
  X(ADD_I64, u64_vec, x + y)                          \
  X(MAX_I64, i64_vec, GREATER(i64_vec, i64_vec))      \
  X(MIN_I64, i64_vec, SMALLER(i64_vec, i64_vec))
#define FOLDS_OF_TWO(X) X(MULADD_F32, f32_vec, y *z + x) X(MULADD_F64, f64_vec, y *z + x)

#define EACH _Pragma("GCC unroll 16") for (int k = 0; k < vectors; k++)

#define DEFINE(name, vec, result, LOAD_Z, MOVE)                                                                     \
  LANE void name##_some(char *acc, const char *a, int64_t a_step, const char *b, int64_t b_step, uint32_t rounds,   \
                        bool looks_ahead, const int vectors) {                                                      \
    vec sums[MOST_VECTORS];                                                                                         \
    (void)b, (void)b_step;                                                                                          \
    EACH memcpy(&sums[k], acc + (size_t)k * VECTOR, VECTOR);                                                        \
    for (uint32_t i = 0; i < rounds; i++, MOVE) {                                                                   \
      if (looks_ahead) isa_look_ahead(a, a_step);                                                                   \
      EACH {                                                                                                        \
        vec x = sums[k], y;                                                                                         \
        memcpy(&y, a + (size_t)k * VECTOR, VECTOR);                                                                 \
        LOAD_Z(vec)                                                                                                 \
        sums[k] = result;                                                                                           \
      }                                                                                                             \
    }                                                                                                               \
    EACH memcpy(acc + (size_t)k * VECTOR, &sums[k], VECTOR);                                                        \
  }                                                                                                                 \
  static void name##_fold(void *acc, const void *a, int64_t a_step, const void *b, int64_t b_step, uint32_t rounds, \
                          size_t bytes) {                                                                           \
    char *to = acc;                                                                                                 \
    const char *x = a, *y = b;                                                                                      \
    bool is_stream = a_step == (int64_t)bytes;                                                                      \
    uint32_t most = is_stream && bytes > (size_t)MOST_VECTORS * VECTOR ? 1 : UINT32_MAX; /* in order */             \
    while (rounds > 0) {                                                                                            \
      uint32_t now = rounds < most ? rounds : most;                                                                 \
      size_t at = 0;                                                                                                \
      for (; at + (size_t)MOST_VECTORS * VECTOR <= bytes; at += (size_t)MOST_VECTORS * VECTOR) {                    \
        bool looks_ahead = is_stream && at == 0;                                                                    \
        name##_some(to + at, x + at, a_step, y ? y + at : NULL, b_step, now, looks_ahead, MOST_VECTORS);            \
      }                                                                                                             \
      for (; at < bytes; at += (size_t)FEW_VECTORS * VECTOR) {                                                      \
        bool looks_ahead = is_stream && at == 0;                                                                    \
        name##_some(to + at, x + at, a_step, y ? y + at : NULL, b_step, now, looks_ahead, FEW_VECTORS);             \
      }                                                                                                             \
      rounds -= now;                                                                                                \
      x += now * a_step;                                                                                            \
      y = y ? y + now * b_step : NULL;                                                                              \
    }                                                                                                               \
  }

#define NO_Z(vec)
#define Z_OF_B(vec) \
  vec z;            \
  memcpy(&z, b + (size_t)k * VECTOR, VECTOR);

#define A_MOVES   a += a_step
#define BOTH_MOVE a += a_step, b += b_step

#define TSRI_X(name, vec, result) DEFINE(name, vec, result, NO_Z, A_MOVES)
FOLDS_OF_ONE(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, vec, result) DEFINE(name, vec, result, Z_OF_B, BOTH_MOVE)
FOLDS_OF_TWO(TSRI_X)
#undef TSRI_X

#else
#define FOLDS_OF_ONE(X)
#define FOLDS_OF_TWO(X)
#endif

const tsri_lane_fold ISA_NAME(tsri_lanes_folds_)[TSRI_LANE_OPS - TSRI_LANE_FIRST_MATH] = {
#define TSRI_X(name, ...) [TSRI_LANE_##name - TSRI_LANE_FIRST_MATH] = name##_fold,
    FOLDS_OF_ONE(TSRI_X) FOLDS_OF_TWO(TSRI_X)
#undef TSRI_X
};
