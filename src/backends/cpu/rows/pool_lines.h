// SPDX-License-Identifier: MIT
// Pooling windows on one thread, many windows at a time, for f32 or f64.
#ifndef TSRI_CPU_POOL_LINES_H
#define TSRI_CPU_POOL_LINES_H

#include <stdint.h>

#include <tessera/dtype.h>

// In these functions, `n` windows take one element each: window i takes row[i * step].
typedef struct tsri_pool_lines {
  // best[i] = the larger of best[i] and window i's element, or NaN if either is NaN.
  void (*largest)(void *best, const void *row, int64_t step, int64_t n);
  void (*add)(void *sums, const void *row, int64_t step, int64_t n);
  // As `largest`, and taps[i] = `tap` if the element of this call becomes the best. A tap of -1: no element so far.
  void (*find)(void *best, int32_t *taps, const void *row, int64_t step, int64_t n, int32_t tap);
  // to[i * step + offsets[taps[i]]] += values[i], in order; nothing if taps[i] is -1.
  void (*spread)(void *to, const int32_t *taps, const int64_t *offsets, int64_t step, const void *values, int64_t n);
  // copy_rows: copies `rows` rows of `n` elements, which are `step` elements apart, to `to` without gaps. The next functions combine the rows of a and b: the
  // larger elements, or the sums. Up to 64 bytes are written after the last row.
  void (*copy_rows)(void *to, const void *a, int64_t n, int64_t rows, int64_t step);
  void (*largest_rows)(void *to, const void *a, const void *b, int64_t n, int64_t rows, int64_t step);
  void (*add_rows)(void *to, const void *a, const void *b, int64_t n, int64_t rows, int64_t step);
  // to[i * width + k] = taps[i] == tap + k ? values[i] : 0, for k < width.
  void (*spread_windows)(void *to, const int32_t *taps, const void *values, int64_t n, int32_t tap, int64_t width);
  // Row i * parts + k of `to` = row i of part k. Rows have `n` elements; parts are part_step elements apart. Nothing is written after the last row, and up to
  // 64 bytes are read there.
  void (*join_rows)(void *to, const void *from, int64_t n, int64_t rows, int64_t parts, int64_t part_step);
  // For adjacent windows two elements wide and `height` rows high: `rows` rows of `n` windows each; rows of windows and rows of x are contiguous. NULL in the
  // browser module, and if the compiler cannot shuffle vectors.
  void (*largest_pairs)(void *y, const void *x, int64_t n, int64_t rows, int64_t height);
  // Gradient for the same windows. Each element of `to` (of the size of x) = the window's element of g if the element is the first of the largest elements in
  // its window, else 0.
  void (*spread_pairs)(void *to, const void *x, const void *g, int64_t n, int64_t rows, int64_t height);
  void (*fill)(void *to, double value, int64_t n);
  // sums[i] /= factor * counts[i]
  void (*divide)(void *sums, const void *counts, double factor, int64_t n);
} tsri_pool_lines;

// Returns the functions. `simd`: a result of tsri_cpu_simd_level; `dtype`: TSR_F32 or TSR_F64.
const tsri_pool_lines *tsri_pool_lines_for(const char *simd, tsr_dtype dtype);

#endif
