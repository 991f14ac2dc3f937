// SPDX-License-Identifier: MIT
// Texts of the profiler: each is kept once, for as long as the library is loaded, and known by its number.
#include <string.h>

#include "core/alloc.h"
#include "runtime/profile/recorder.h"

enum { MOST_TEXTS = 1 << 16, MOST_BYTES = 1024, TABLE = 2 * MOST_TEXTS, ARENA_BYTES = 64 << 10 };

static tsri_mutex lock = TSRI_MUTEX_INIT;
static const char **texts;  // texts[0] is ""; MOST_TEXTS long
static uint32_t *table;     // numbers by hash; 0: free
static uint32_t text_count = 1;
static char *arena;  // rest of the newest piece of memory
static size_t arena_left;

static bool prepare(void) {
  if (!texts) texts = tsri_calloc(MOST_TEXTS, sizeof *texts);
  if (!table) table = tsri_calloc(TABLE, sizeof *table);
  return texts && table;
}

static char *keep(const char *text, size_t bytes) {
  if (arena_left < bytes + 1) {
    char *piece = tsri_malloc(ARENA_BYTES);
    if (!piece) return NULL;
    arena = piece;
    arena_left = ARENA_BYTES;
  }
  char *kept = arena;
  memcpy(kept, text, bytes);
  kept[bytes] = 0;
  arena += bytes + 1;
  arena_left -= bytes + 1;
  return kept;
}

// FNV-1a, cut to the table.
static uint32_t place_of(const char *text, size_t bytes) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  return (hash ^ hash >> 16) % TABLE;
}

static bool is_text(uint32_t number, const char *text, size_t bytes) {
  return strncmp(texts[number], text, bytes) == 0 && texts[number][bytes] == 0;
}

static uint32_t intern_locked(const char *text, size_t bytes) {
  uint32_t at = place_of(text, bytes);
  while (table[at] != 0 && !is_text(table[at], text, bytes)) at = (at + 1) % TABLE;
  if (table[at] != 0 || text_count == MOST_TEXTS) return table[at];
  const char *kept = keep(text, bytes);
  if (!kept) return 0;
  texts[text_count] = kept;
  table[at] = text_count;
  return text_count++;
}

uint32_t tsri_profile_intern(const char *text) {
  size_t bytes = text ? strlen(text) : 0;
  if (bytes == 0) return 0;
  if (bytes > MOST_BYTES) bytes = MOST_BYTES;
  tsri_mutex_lock(&lock);
  uint32_t number = prepare() ? intern_locked(text, bytes) : 0;
  tsri_mutex_unlock(&lock);
  return number;
}

const char *tsri_profile_text(uint32_t number) {
  tsri_mutex_lock(&lock);
  const char *text = number > 0 && number < text_count ? texts[number] : "";
  tsri_mutex_unlock(&lock);
  return text;
}
