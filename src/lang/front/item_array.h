// SPDX-License-Identifier: MIT
// Growing arrays of equal items, addressed by index. Item 0 is a scratch item.
//
// A compilation makes thousands of small records. Each kind lives in one array, so that a record costs no malloc and
// nothing can leak. If memory runs out (or `limit` is reached), adding an item returns 0, the scratch item: the caller
// may write to it as usual, and checks `has_failed` once at the end.
#ifndef TSRI_LANG_ITEM_ARRAY_H
#define TSRI_LANG_ITEM_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsri_item_array {
  void *items;
  uint32_t item_bytes;
  uint32_t count;  // including item 0
  uint32_t capacity;
  uint32_t limit;   // largest number of items
  bool has_failed;  // memory ran out
  bool is_full;     // the limit was reached
} tsri_item_array;

// False: memory is out; the array is then unusable, but may be passed to tsri_item_array_deinit.
bool tsri_item_array_init(tsri_item_array *array, size_t item_bytes, uint32_t capacity, uint32_t limit);
void tsri_item_array_deinit(tsri_item_array *array);

// Adds an item, all zero, and returns its index. Pointers to items become invalid.
uint32_t tsri_item_array_add(tsri_item_array *array);

#endif
