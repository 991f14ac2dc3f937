// SPDX-License-Identifier: MIT
// Running sums on one thread, for one dtype.
#ifndef TSRI_CPU_SCAN_LINES_H
#define TSRI_CPU_SCAN_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/dtype.h>

// A sum in the type in which a dtype is accumulated.
typedef union tsri_scan_sum {
  float f32;
  double f64;
  uint64_t whole;
} tsri_scan_sum;

typedef struct tsri_scan_lines {
  // join: the sum of two sums. total: the sum of n contiguous elements. sum_row: their running sums, starting from `before`.
  tsri_scan_sum (*join)(tsri_scan_sum a, tsri_scan_sum b);
  tsri_scan_sum (*total)(const void *x, int64_t n);
  void (*sum_row)(const void *x, void *y, int64_t n, tsri_scan_sum before);
  // Running sums of each of `rows` contiguous rows of n elements.
  void (*sum_rows)(const void *x, void *y, int64_t rows, int64_t n);
  // Running sums or products of `columns` columns (at most 512), whose elements are contiguous across columns; rows are `step` elements apart.
  void (*columns)(const void *x, void *y, int64_t n, int64_t step, int64_t columns, bool is_product);
} tsri_scan_lines;

// Returns the functions, or NULL: narrower integers are summed in i32. `simd`: a result of tsri_cpu_simd_level.
const tsri_scan_lines *tsri_scan_lines_for(const char *simd, tsr_dtype dtype);

#endif
