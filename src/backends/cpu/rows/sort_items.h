// SPDX-License-Identifier: MIT
// Sorts arrays of items on one thread, and merges two sorted arrays in parts.
#ifndef TSRI_CPU_SORT_ITEMS_H
#define TSRI_CPU_SORT_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// An item consists of a key and mostly of an index, which orders items with equal keys.
typedef struct tsri_keyed_index {
  uint64_t key, index;
} tsri_keyed_index;

typedef struct tsri_item_sorter {
  size_t bytes;  // of an item
  // Sorts by `digits` bytes of each item from byte `first_digit` on; the bytes below are the index. Returns `items` or `spare`, whichever has the result; the
  // contents of the other are undefined.
  void *(*sort)(void *items, void *spare, int64_t n, int first_digit, int digits);
  // `items`: a_count sorted items, followed by b_count sorted items. Writes the items `first` to `last` - 1 of the merged sequence.
  void (*merge_part)(const void *items, int64_t a_count, int64_t b_count, void *to, int64_t first, int64_t last);
} tsri_item_sorter;

extern const tsri_item_sorter tsri_sorter_u32;          // keys without an index
extern const tsri_item_sorter tsri_sorter_u64;          // keys without an index, or 32-bit keys above 32-bit indices
extern const tsri_item_sorter tsri_sorter_keyed_index;  // tsri_keyed_index; digits are the key's

#endif
