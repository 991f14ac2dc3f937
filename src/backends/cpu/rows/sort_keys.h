// SPDX-License-Identifier: MIT
// Converts elements to unsigned keys whose order is that of sorting: NaN last in both directions, -0 equal to 0.
#ifndef TSRI_CPU_SORT_KEYS_H
#define TSRI_CPU_SORT_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/dtype.h>

#include "backends/cpu/rows/sort_items.h"

// The functions that convert elements of a dtype to items and back.
typedef struct tsri_sort_keys {
  const tsri_item_sorter *sorter;
  int first_digit, digits;
  // Converts the elements x[0] to x[n - 1] to items; the index of the first one is `index`.
  void (*make)(const void *x, int64_t n, int64_t index, bool is_descending, void *items);
  // Converts sorted items back to elements. `x`: all elements that the items were made of. `out` may be `items` if both have the same size.
  void (*take)(const void *items, int64_t n, const void *x, bool is_descending, void *out);
} tsri_sort_keys;

// Returns the functions. wants_order: `take` writes indices (int32_t) instead of elements. NULL: `dtype` is not a number. `simd`: a result of
// tsri_cpu_simd_level.
const tsri_sort_keys *tsri_sort_keys_for(const char *simd, tsr_dtype dtype, bool wants_order);

#endif
