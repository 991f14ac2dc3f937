// SPDX-License-Identifier: MIT
// Running sums and products along an axis.
#ifndef TSRI_CPU_SCAN_H
#define TSRI_CPU_SCAN_H

#include "backends/cpu/cpu.h"

// y[o, i, j] = x[o, 0, j] + … + x[o, i, j], or the product, for o < outer, i < n and j < inner; row-major.
typedef struct tsri_scan {
  const char *x;
  char *y;  // does not overlap x
  int64_t outer, n, inner;
  tsr_dtype dtype;  // a number; f16 and bf16 are accumulated in f32
  bool is_product;
} tsri_scan;

void tsri_cpu_scan(const cpu_device *device, const tsri_scan *scan);

#endif
