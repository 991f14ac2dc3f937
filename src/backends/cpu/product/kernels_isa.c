// SPDX-License-Identifier: MIT
// The inner loops of matrix products at one SIMD level, for f32 and f64. Compiled once per level (cmake/isa.cmake).
//
// A register tile has rows of two vectors: as many as leave registers for a row of b and an element of a. The kernels use fused multiply-add if the level has
// it; otherwise they multiply and add.
#include <assert.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/product/groups.h"
#include "backends/cpu/product/product.h"

#if defined(__AVX512F__)
enum { TILE_ROWS = 14 };
#elif defined(__aarch64__)
enum { TILE_ROWS = 12 };
#else
enum { TILE_ROWS = 6 };
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
enum { DOTS_ROWS = 6 };
#else
enum { DOTS_ROWS = 2 };
#endif
enum { TILE_VECTORS = 2, DOT_ROWS = 4, ROWS_ACROSS = 256 };

#if defined(__GNUC__)
#define ISA_INLINE __attribute__((always_inline))
#else
#define ISA_INLINE
#endif

typedef float f32_vec ISA_IN_VECTORS;
typedef double f64_vec ISA_IN_VECTORS;

// Selects elements of two vectors of four, by their indices.
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
#define ISA_SHUFFLE __builtin_shufflevector
typedef float quad_f32 __attribute__((vector_size(4 * sizeof(float))));
typedef double quad_f64 __attribute__((vector_size(4 * sizeof(double))));
#endif

static inline f32_vec muladd_f32(f32_vec x, f32_vec y, f32_vec z) {
#if defined(__AVX512F__)
  return (f32_vec)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
#elif defined(__AVX2__)
  return (f32_vec)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
#elif defined(__aarch64__) && defined(__GNUC__)
  return (f32_vec)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
#else
  return x * y + z;
#endif
}

static inline f64_vec muladd_f64(f64_vec x, f64_vec y, f64_vec z) {
#if defined(__AVX512F__)
  return (f64_vec)_mm512_fmadd_pd((__m512d)x, (__m512d)y, (__m512d)z);
#elif defined(__AVX2__)
  return (f64_vec)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)z);
#elif defined(__aarch64__) && defined(__GNUC__)
  return (f64_vec)vfmaq_f64((float64x2_t)z, (float64x2_t)x, (float64x2_t)y);
#else
  return x * y + z;
#endif
}

// Prefetches the cache line at an address, which may be outside of any object. The macro's further arguments say whether it will be written, and into which
// cache.
#if defined(__GNUC__)
#define ISA_FETCH(...) __builtin_prefetch(__VA_ARGS__)
#else
#define ISA_FETCH(...) (void)0
#endif

typedef uint32_t word_vec ISA_IN_VECTORS;

static void gather(char *to, int64_t line_bytes, int64_t lines, const char *from, const int64_t *places,
                   const tsri_product_copy *copies, int count) {
  static_assert(sizeof(word_vec) <= TSRI_PRODUCT_COPY_SLACK, "a vector is more than may be copied beyond the end");
  for (int64_t i = 0; i < lines; i++, to += line_bytes) {
    const char *line = from + places[i];
    for (int j = 0; j < count; j++) {
      const char *source = line + copies[j].from;
      char *target = to + copies[j].to;
      for (int64_t at = 0; at < copies[j].bytes; at += (int64_t)sizeof(word_vec)) {
        word_vec x;
        memcpy(&x, source + at, sizeof x);
        memcpy(target + at, &x, sizeof x);
      }
    }
  }
}

// Tiles for direct.c, and quantised weights, which are not part of the browser module.
#if defined(__wasm__)
#define HAS_DIRECT 0
#else
#define HAS_DIRECT 1
#endif

#if HAS_DIRECT
// A mask with ones in the last `bytes` bytes of a vector.
static inline word_vec last_lanes(size_t bytes) {
  enum { WORDS = sizeof(word_vec) / sizeof(uint32_t) };
  uint32_t words[2 * WORDS] = {0};
  word_vec kept;
  memset(words + WORDS, 0xff, sizeof kept);
  memcpy(&kept, (const char *)words + bytes, sizeof kept);
  return kept;
}

static void fetch(const char *at, int64_t rows, int64_t bytes, int64_t step) {
  enum { LINE = 64 };
  for (int64_t i = 0; i < rows; i++, at += step) {
    for (int64_t byte = 0; byte < bytes; byte += LINE) ISA_FETCH(at + byte, 0, 2);
  }
}
#endif

// TURN_LINES packs lines that are contiguous along k by transposing; it is false if pack_panel must do that.
#if defined(__AVX512F__) && TSRI_HAS_GROUPS
static bool turn_lines_f32(float *to, int width, int64_t lines, int64_t k, const void *from, int64_t line_step) {
  if (width > GROUP_LANES && width != 2 * GROUP_LANES) return false;
  tsri_pack_across((uint32_t *)(void *)to, width, k, lines, k, from, line_step, 1, sizeof(float));
  return true;
}
#define TURN_LINES turn_lines_f32
#else
#define TURN_LINES(to, width, lines, k, from, line_step) false
#endif

enum { STRETCH = 256 };  // elements for which an activation is computed at a time

// log2 of the upper tail of the normal distribution, as log2_normal_tail of kernels/fn_activation.tk. `a` is from 0 to 40.
static inline f32_vec log2_normal_tail(f32_vec a) {
  static const float coefficients[] = {
      7.58629028e-07f, -9.88856027e-06f, 7.01567478e-05f, -0.000258020795f, -4.43667486e-05f,
      0.00699962024f,  -0.0524750315f,   -0.459210783f,   -1.15110517f,     -1.0f};
  f32_vec p = -2.49389487e-08f - (f32_vec){0};
  ISA_UNROLL for (size_t i = 0; i < sizeof coefficients / sizeof *coefficients; i++) {
    p = muladd_f32(p, a, coefficients[i] - (f32_vec){0});
  }
  return p;
}

// gelu of up to STRETCH elements: max(x, 0) - a Q(a), where a = |x| and Q is the tail of the normal distribution.
static void gelu_f32(float *x, uint32_t count, const tsri_lane_math *math) {
  enum { IN_VECTOR = sizeof(f32_vec) / sizeof(float) };
  float size[STRETCH], tail[STRETCH];
  for (uint32_t i = 0; i < count; i++) {
    float a = x[i] < 0 ? -x[i] : x[i];
    size[i] = a > 40 ? 40 : a;
  }
  for (uint32_t i = count; i % IN_VECTOR != 0; i++) size[i] = 0;
  for (uint32_t i = 0; i < count; i += IN_VECTOR) {
    f32_vec a, p;
    memcpy(&a, size + i, sizeof a);
    p = log2_normal_tail(a);
    memcpy(tail + i, &p, sizeof p);
  }
  math->f32[TSRI_MATH_EXP2](tail, tail, NULL, count);
  for (uint32_t i = 0; i < count; i++) x[i] = (x[i] > 0 ? x[i] : 0) - size[i] * tail[i];
}

// gelu in f64, by erf. Below -40 it is 0: -infinity * 0 would be NaN.
static void gelu_f64(double *x, uint32_t count, const tsri_lane_math *math) {
  double inner[STRETCH];
  for (uint32_t i = 0; i < count; i++) inner[i] = x[i] * 0.7071067811865476;
  math->f64[TSRI_MATH_ERF](inner, inner, NULL, count);
  for (uint32_t i = 0; i < count; i++) x[i] = x[i] < -40 ? 0 : 0.5 * x[i] * (1 + inner[i]);
}

#define T          float
#define VEC        f32_vec
#define MULADD     muladd_f32
#define MATH(m, f) (m)->f32[TSRI_MATH_##f]
#define NAME(x)    x##_f32
#include "kernels_isa.inc"
#if HAS_DIRECT
#include "bf16_isa.inc"
#include "direct_isa.inc"
#define STRIP  rows_f32
#define DOTS   few_dots_f32
#define B      float
#define LOAD_B load_f32
#include "strips_isa.inc"
#if defined(__AVX2__)
#define STRIP  rows_of_bf16
#define DOTS   few_dots_bf16
#define B      uint16_t
#define LOAD_B load_bf16
#include "strips_isa.inc"
#endif
#if defined(__AVX512F__)
static inline f32_vec load_f16(const uint16_t *from) {
  return (f32_vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from));
}
#define STRIP  rows_of_f16
#define DOTS   few_dots_f16
#define B      uint16_t
#define LOAD_B load_f16
#include "strips_isa.inc"
#endif
#include "quant_isa.inc"
#endif
#if defined(__AVX512F__)
#include "few_isa.inc"
#endif
#undef T
#undef VEC
#undef MULADD
#undef MATH
#undef NAME
#undef TURN_LINES

#define TURN_LINES(to, width, lines, k, from, line_step) false
#define T                                                double
#define VEC                                              f64_vec
#define MULADD                                           muladd_f64
#define MATH(m, f)                                       (m)->f64[TSRI_MATH_##f]
#define NAME(x)                                          x##_f64
#include "kernels_isa.inc"
#if HAS_DIRECT
#include "direct_isa.inc"
#define STRIP  rows_f64
#define DOTS   few_dots_f64
#define B      double
#define LOAD_B load_f64
#include "strips_isa.inc"
#endif

enum { WIDTH = TILE_VECTORS * (int)(sizeof(f32_vec) / sizeof(float)) };
_Static_assert((int)WIDTH <= (int)TSRI_PRODUCT_MOST_WIDTH && (int)TILE_ROWS <= (int)TSRI_PRODUCT_MOST_WIDTH,
               "panels are packed through memory for so many lines");

const tsri_product_kernels ISA_NAME(tsri_product_f32_) = {
    .tile_rows = TILE_ROWS,
    .tile_columns = WIDTH,
    .tile = tile_f32,
#if HAS_DIRECT
    .tile_at = tile_at_f32,
    .direct = direct_f32,
    .rows = rows_f32,
    .few_dots = few_dots_f32,
    .dots_rows = DOTS_ROWS,
#if defined(__AVX2__)
    .rows_of_bf16 = rows_of_bf16,
    .few_dots_bf16 = few_dots_bf16,
#endif
    .fetch = fetch,
    .outer = outer_f32,
    .quant = quant_rows,
#endif
#if defined(__AVX512F__)
    .few_columns = few_columns_f32,
    .rows_of_f16 = rows_of_f16,
    .few_dots_f16 = few_dots_f16,
#endif
    .pack = pack_f32,
    .gather = gather,
    .dots = dots_f32,
    .add_rows = add_rows_f32,
#if HAS_DIRECT
    .dots_bf16 = dots_bf16,
    .add_rows_bf16 = add_rows_bf16,
    .add_short_rows = add_short_rows_f32,
#endif
    .finish = finish_f32,
};

const tsri_product_kernels ISA_NAME(tsri_product_f64_) = {
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_VECTORS * (int)(sizeof(f64_vec) / sizeof(double)),
    .tile = tile_f64,
#if HAS_DIRECT
    .add_short_rows = add_short_rows_f64,
    .tile_at = tile_at_f64,
    .direct = direct_f64,
    .rows = rows_f64,
    .few_dots = few_dots_f64,
    .dots_rows = DOTS_ROWS,
    .fetch = fetch,
    .outer = outer_f64,
#endif
    .pack = pack_f64,
    .gather = gather,
    .dots = dots_f64,
    .add_rows = add_rows_f64,
    .finish = finish_f64,
};
