// SPDX-License-Identifier: MIT
// Growing arrays and growing text of a compilation.
#include "lang/pool.h"

#include <stdarg.h>
#include <stdio.h>
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

static bool text_reserve(tsri_text *text, size_t more) {
  if (text->has_failed) return false;
  if (text->bytes + more + 1 <= text->capacity) return true;
  size_t capacity = (text->bytes + more + 1) * 2;
  if (capacity < 512) capacity = 512;
  char *grown = tsri_realloc(text->text, capacity);
  if (!grown) {
    tsri_free(text->text);
    *text = (tsri_text){.has_failed = true};
    return false;
  }
  text->text = grown;
  text->capacity = capacity;
  return true;
}

void tsri_text_put(tsri_text *text, const char *bytes, size_t count) {
  if (!text_reserve(text, count)) return;
  memcpy(text->text + text->bytes, bytes, count);
  text->bytes += count;
  text->text[text->bytes] = 0;
}

void tsri_text_add(tsri_text *text, const char *format, ...) {
  char line[256];
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (length >= 0 && (size_t)length < sizeof line) {
    tsri_text_put(text, line, (size_t)length);
  } else if (length >= 0 && text_reserve(text, (size_t)length)) {
    vsnprintf(text->text + text->bytes, (size_t)length + 1, format, again);
    text->bytes += (size_t)length;
  }
  va_end(again);
}
