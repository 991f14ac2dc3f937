// SPDX-License-Identifier: MIT
// Sorts rows on the device, for operators that need sorted data.
#ifndef TSRI_OPS_SORT_H
#define TSRI_OPS_SORT_H

#include "graph/graph.h"

typedef struct tsri_sort {
  tsr_device *device;
  tsr_dtype dtype;  // any dtype but bool
  tsr_buffer *x;    // `rows` rows of `n` elements, from element `x_at` on
  int64_t rows, n, x_at;
  int64_t keep;  // how many elements of each sorted row are wanted; below n only as tsri_radix_sort allows
  int key_bits;  // unsigned integers: upper bits that are 0 need not be sorted; 0: unknown
  bool is_descending;
  tsr_buffer *values;  // gets the sorted elements; NULL: not wanted
  tsr_buffer *order;   // gets the index (i32) each of them had in its row; NULL: not wanted
} tsri_sort;

// Queues the work. n must be below 2^31.
tsr_status tsri_sort_rows(const tsri_sort *sort);

// As tsri_sort_rows, by the device's native operator. It computes the order or, if `order` is NULL, the values. TSR_ERR_UNSUPPORTED, without a message, if the
// device has none.
tsr_status tsri_sort_rows_natively(const tsri_sort *sort);

#endif
