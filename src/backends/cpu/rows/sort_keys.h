// SPDX-License-Identifier: MIT
// Elements as unsigned keys whose order is that of sorting: NaN last in both directions, -0 equal to 0.
#ifndef TSRI_CPU_SORT_KEYS_H
#define TSRI_CPU_SORT_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/dtype.h>

#include "backends/cpu/rows/sort_items.h"

// How elements of a dtype become items.
typedef struct tsri_sort_keys {
  const tsri_item_sorter *sorter;
  int first_digit, digits;
  // Makes items of the elements x[0] to x[n - 1]; the first one's index is `index`.
  void (*make)(const void *x, int64_t n, int64_t index, bool is_descending, void *items);
  // The elements in their order: `items` sorted, `x` what they were made of, all of it. `out` may be `items` where an element has as many bytes.
  void (*take)(const void *items, int64_t n, const void *x, bool is_descending, void *out);
} tsri_sort_keys;

// `wants_order`: `take` writes indices (int32_t) in place of elements. NULL: `dtype` is not a number. `simd_level` as tsri_cpu_simd_level has it.
const tsri_sort_keys *tsri_sort_keys_for(const char *simd, tsr_dtype dtype, bool wants_order);

#endif
