// SPDX-License-Identifier: MIT
// Growing arrays of equal items, addressed by index, in which item 0 is scratch.
//
// A compilation makes thousands of small records. Each kind lives in one array, so that building one costs no malloc and
// nothing can leak. When memory is out (or `limit` is reached) adding returns 0, the scratch item: the caller may write
// to it as if nothing had happened, and looks at `has_failed` once at the end.
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
  uint32_t limit;   // most items there may be
  bool has_failed;  // memory ran out
  bool is_full;     // the limit was met
} tsri_item_array;

// False: no memory; the array is then unusable, but may be passed to deinit.
bool tsri_item_array_init(tsri_item_array *array, size_t item_bytes, uint32_t capacity, uint32_t limit);
void tsri_item_array_deinit(tsri_item_array *array);

// A new item, all zero. Pointers to items are void after this.
uint32_t tsri_item_array_add(tsri_item_array *array);

#endif
