// SPDX-License-Identifier: MIT
// Sorting rows on the device, for operators that need it on the way.
#ifndef TSRI_OPS_SORT_H
#define TSRI_OPS_SORT_H

#include "graph/graph.h"

typedef struct tsri_sort {
  tsr_device *device;
  tsr_dtype dtype;  // a number
  tsr_buffer *x;    // `rows` rows of `n` elements from `x_at` on
  int64_t rows, n, x_at;
  bool is_descending;
  tsr_buffer *values;  // sorted; NULL: not wanted
  tsr_buffer *order;   // i32, where each came from; NULL: not wanted
} tsri_sort;

// Queues the work. n is below 2^31.
tsr_status tsri_sort_rows(const tsri_sort *sort);

#endif
