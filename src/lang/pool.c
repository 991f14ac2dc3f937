// SPDX-License-Identifier: MIT
// Growing arrays and growing text of a compilation.
#include "lang/pool.h"

#include <string.h>

#include "core/alloc.h"

bool tsri_pool_init(tsri_pool *pool, size_t item_bytes, uint32_t capacity, uint32_t limit) {
  *pool = (tsri_pool){.item_bytes = (uint32_t)item_bytes, .capacity = capacity < 2 ? 2 : capacity, .limit = limit};
  pool->items = tsri_malloc(item_bytes * pool->capacity);
  if (!pool->items) {
    pool->has_failed = true;
    return false;
  }
  memset(pool->items, 0, item_bytes);
  pool->count = 1;
  return true;
}

void tsri_pool_deinit(tsri_pool *pool) {
  tsri_free(pool->items);
  pool->items = NULL;
}

static bool pool_grow(tsri_pool *pool) {
  if (pool->count >= pool->limit) {
    pool->is_full = true;
    return false;
  }
  uint32_t capacity = pool->capacity > pool->limit / 2 ? pool->limit : pool->capacity * 2;
  void *items = pool->has_failed ? NULL : tsri_realloc(pool->items, (size_t)capacity * pool->item_bytes);
  if (!items) {
    pool->has_failed = true;
    return false;
  }
  pool->items = items;
  pool->capacity = capacity;
  return true;
}

uint32_t tsri_pool_add(tsri_pool *pool) {
  if (pool->count == pool->capacity && !pool_grow(pool)) return 0;
  memset((char *)pool->items + (size_t)pool->count * pool->item_bytes, 0, pool->item_bytes);
  return pool->count++;
}
