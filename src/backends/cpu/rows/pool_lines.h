// SPDX-License-Identifier: MIT
// Windows of pooling on one thread, many windows side by side, for f32 or f64.
#ifndef TSRI_CPU_POOL_LINES_H
#define TSRI_CPU_POOL_LINES_H

#include <stdint.h>

#include <tessera/dtype.h>

// `n` windows take one element each: window i takes row[i * step].
typedef struct tsri_pool_lines {
  // The larger one stays, or NaN.
  void (*largest)(void *best, const void *row, int64_t step, int64_t n);
  void (*add)(void *sums, const void *row, int64_t step, int64_t n);
  // As `largest`, with the number of the element that stays: `tap` for those of this call. -1: none so far.
  void (*find)(void *best, int32_t *taps, const void *row, int64_t step, int64_t n, int32_t tap);
  // to[i * step + offsets[taps[i]]] += values[i], one after the other; none for tap -1.
  void (*spread)(void *to, const int32_t *taps, const int64_t *offsets, int64_t step, const void *values, int64_t n);
  // Rows of `n` elements become neighbours in `to`: row i of them is that of `a`, i * step elements further on, or the larger one, or the sum, of those of a and b. Up to 64 bytes are
  // written behind the last row.
  void (*copy_rows)(void *to, const void *a, int64_t n, int64_t rows, int64_t step);
  void (*largest_rows)(void *to, const void *a, const void *b, int64_t n, int64_t rows, int64_t step);
  void (*add_rows)(void *to, const void *a, const void *b, int64_t n, int64_t rows, int64_t step);
  // to[i * width + k] = values[i] if taps[i] is tap + k, else 0, for k below `width`.
  void (*spread_windows)(void *to, const int32_t *taps, const void *values, int64_t n, int32_t tap, int64_t width);
  // Row number i * parts + k of `to` is row i of part k: rows of `n` elements, and parts part_step elements apart. Nothing is written behind the last row, and up to 64 bytes are read there.
  void (*join_rows)(void *to, const void *from, int64_t n, int64_t rows, int64_t parts, int64_t part_step);
  // Windows that are two elements wide and `height` rows high, side by side without gaps: `rows` rows of `n` windows each, one after the other in memory, as rows of x are. NULL on web
  // pages, whose module has to stay small, and where the compiler cannot shuffle vectors.
  void (*largest_pairs)(void *y, const void *x, int64_t n, int64_t rows, int64_t height);
  // Each element of `to`, which is as large as x, becomes its window's element of g if it is the first of the largest elements in its window, else 0.
  void (*spread_pairs)(void *to, const void *x, const void *g, int64_t n, int64_t rows, int64_t height);
  void (*fill)(void *to, double value, int64_t n);
  // sums[i] /= factor * counts[i]
  void (*divide)(void *sums, const void *counts, double factor, int64_t n);
} tsri_pool_lines;

// `simd` as tsri_cpu_simd_level has it; `dtype` is TSR_F32 or TSR_F64.
const tsri_pool_lines *tsri_pool_lines_for(const char *simd, tsr_dtype dtype);

#endif
