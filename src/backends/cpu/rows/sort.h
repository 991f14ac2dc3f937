// SPDX-License-Identifier: MIT
// Stable sorting of rows of n elements each, side by side.
#ifndef TSRI_CPU_SORT_H
#define TSRI_CPU_SORT_H

#include "backends/cpu/cpu.h"

typedef struct tsri_row_sort {
  const char *x;
  char *out;        // elements, or with wants_order their indices as int32_t; does not overlap x
  int64_t rows, n;  // n below 2^31
  tsr_dtype dtype;  // a number
  bool is_descending, wants_order;
} tsri_row_sort;

// Errors: TSR_ERR_OUT_OF_MEMORY, with nothing written.
tsr_status tsri_cpu_sort_rows(cpu_device *device, const tsri_row_sort *sort);

#endif
