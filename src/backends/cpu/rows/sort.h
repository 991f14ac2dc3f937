// SPDX-License-Identifier: MIT
// Stable sorting of contiguous rows of n elements each.
#ifndef TSRI_CPU_SORT_H
#define TSRI_CPU_SORT_H

#include "backends/cpu/cpu.h"

typedef struct tsri_row_sort {
  const char *x;
  char *out;        // elements, or if wants_order their indices as int32_t; does not overlap x
  int64_t rows, n;  // n below 2^31
  tsr_dtype dtype;  // a number
  bool is_descending, wants_order;
} tsri_row_sort;

// Sorts all rows. Errors: TSR_ERR_OUT_OF_MEMORY; then nothing was written.
tsr_status tsri_cpu_sort_rows(cpu_device *device, const tsri_row_sort *sort);

#endif
