// SPDX-License-Identifier: MIT
// Growing arrays for the records of a compilation.
#include "lang/front/item_array.h"

#include <string.h>

#include "core/alloc.h"

bool tsri_item_array_init(tsri_item_array *array, size_t item_bytes, uint32_t capacity, uint32_t limit) {
  *array =
      (tsri_item_array){.item_bytes = (uint32_t)item_bytes, .capacity = capacity < 2 ? 2 : capacity, .limit = limit};
  array->items = tsri_malloc(item_bytes * array->capacity);
  if (!array->items) {
    array->has_failed = true;
    return false;
  }
  memset(array->items, 0, item_bytes);
  array->count = 1;
  return true;
}

void tsri_item_array_deinit(tsri_item_array *array) {
  tsri_free(array->items);
  array->items = NULL;
}

static bool grow(tsri_item_array *array) {
  if (array->count >= array->limit) {
    array->is_full = true;
    return false;
  }
  uint32_t capacity = array->capacity > array->limit / 2 ? array->limit : array->capacity * 2;
  void *items = array->has_failed ? NULL : tsri_realloc(array->items, (size_t)capacity * array->item_bytes);
  if (!items) {
    array->has_failed = true;
    return false;
  }
  array->items = items;
  array->capacity = capacity;
  return true;
}

uint32_t tsri_item_array_add(tsri_item_array *array) {
  if (array->count == array->capacity && !grow(array)) return 0;
  memset((char *)array->items + (size_t)array->count * array->item_bytes, 0, array->item_bytes);
  return array->count++;
}
