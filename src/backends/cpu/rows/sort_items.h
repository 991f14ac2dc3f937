// SPDX-License-Identifier: MIT
// Sorting arrays of items on one thread, and merging two sorted ones in parts.
#ifndef TSRI_CPU_SORT_ITEMS_H
#define TSRI_CPU_SORT_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What is sorted. Items are made of a key, which decides, and mostly of an index, which decides between equal keys.
typedef struct tsri_keyed_index {
  uint64_t key, index;
} tsri_keyed_index;

typedef struct tsri_item_sorter {
  size_t bytes;  // of an item
  // Sorts by `digits` bytes of each item from byte `first_digit` on; the bytes below are the index. Returns `items` or `spare`, whichever has
  // the result; the other's contents are undefined.
  void *(*sort)(void *items, void *spare, int64_t n, int first_digit, int digits);
  // `items`: a_count sorted items, b_count sorted items behind them. Writes what is at `first` to before `last` of all of them in order.
  void (*merge_part)(const void *items, int64_t a_count, int64_t b_count, void *to, int64_t first, int64_t last);
} tsri_item_sorter;

extern const tsri_item_sorter tsri_sorter_u32;          // keys alone
extern const tsri_item_sorter tsri_sorter_u64;          // keys alone, or a key of 32 bits above an index of 32 bits
extern const tsri_item_sorter tsri_sorter_keyed_index;  // tsri_keyed_index; digits are the key's

#endif
