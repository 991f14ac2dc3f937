// SPDX-License-Identifier: MIT
// Interned names. The language's own names come first, in the order of tsri_symbol.
#include <string.h>

#include "core/alloc.h"
#include "lang/front/front.h"

#define FIRST_SLOTS 1024u

typedef struct builtin_name {
  const char *text;
  uint32_t bytes;
} builtin_name;

static const builtin_name builtin_names[TSRI_SYM_BUILTIN_COUNT] = {
    {"", 0},
#define TSRI_X(name, spelling) {spelling, sizeof spelling - 1},
    TSRI_LANG_KEYWORDS(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, lower, bytes, kind, text) {#lower, sizeof #lower - 1},
        TSR_DTYPES(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, has_axis, uniform, meaning) {spelling, sizeof spelling - 1},
            TSRI_IR_IDS(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, rows, cols, meaning) {spelling, sizeof spelling - 1},
                TSRI_IR_ROLES(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling) {spelling, sizeof spelling - 1},
                    TSRI_LANG_NAMES(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, arity, rule, is_operator, meaning) {spelling, sizeof spelling - 1},
                        TSRI_IR_OPS(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, scope, arity, rule, meaning) {spelling, sizeof spelling - 1},
                            TSRI_IR_COLLECTIVES(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, operands, meaning) {spelling, sizeof spelling - 1},
                                TSRI_IR_ATOMICS(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, least, most, form) {spelling, sizeof spelling - 1},
                                    TSRI_IR_FRAGMENT_OPS(TSRI_X)
#undef TSRI_X
};

static uint32_t hash_of(const char *text, size_t bytes) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  return hash ^ (hash >> 15);
}

const tsri_name *tsri_names_at(const tsri_names *names, uint32_t symbol) {
  return (const tsri_name *)names->pool.items + symbol;
}

// Returns the slot of the name, or the free slot where it belongs.
static uint32_t slot_of(const tsri_names *names, const char *text, size_t bytes, uint32_t hash) {
  uint32_t slot = hash & (names->slot_count - 1);
  for (;;) {
    uint32_t symbol = names->slots[slot];
    if (!symbol) return slot;
    const tsri_name *name = tsri_names_at(names, symbol);
    if (name->hash == hash && name->bytes == bytes && memcmp(name->text, text, bytes) == 0) return slot;
    slot = (slot + 1) & (names->slot_count - 1);
  }
}

static bool grow_slots(tsri_names *names) {
  uint32_t slot_count = names->slot_count * 4;
  uint32_t *slots = tsri_calloc(slot_count, sizeof *slots);
  if (!slots) return false;
  for (uint32_t symbol = 1; symbol < names->pool.count; symbol++) {
    uint32_t slot = tsri_names_at(names, symbol)->hash & (slot_count - 1);
    while (slots[slot]) slot = (slot + 1) & (slot_count - 1);
    slots[slot] = symbol;
  }
  tsri_free(names->slots);
  names->slots = slots;
  names->slot_count = slot_count;
  return true;
}

uint32_t tsri_names_find(const tsri_names *names, const char *text, size_t bytes) {
  return names->slots[slot_of(names, text, bytes, hash_of(text, bytes))];
}

void tsri_names_mark_lost(tsri_names *names, uint32_t symbol) {
  ((tsri_name *)names->pool.items + symbol)->is_in_lost_text = true;
}

uint32_t tsri_names_intern(tsri_names *names, const char *text, size_t bytes) {
  uint32_t hash = hash_of(text, bytes);
  uint32_t slot = slot_of(names, text, bytes, hash);
  if (names->slots[slot]) return names->slots[slot];
  if (names->pool.count * 2 > names->slot_count) {
    if (!grow_slots(names)) {
      names->pool.has_failed = true;
      return 0;
    }
    slot = slot_of(names, text, bytes, hash);
  }
  uint32_t symbol = tsri_item_array_add(&names->pool);
  if (!symbol) return 0;
  memcpy(names->store, text, bytes);
  names->store[bytes] = 0;
  *((tsri_name *)names->pool.items + symbol) =
      (tsri_name){.text = names->store, .bytes = (uint32_t)bytes, .hash = hash};
  names->store += bytes + 1;
  names->slots[slot] = symbol;
  return symbol;
}

// The list of operations contains operators as well. They are never looked up by text, so they get a number but no
// slot.
static void add_builtin(tsri_names *names, const builtin_name *builtin) {
  uint32_t symbol = tsri_item_array_add(&names->pool);
  char first = builtin->text[0];
  bool is_word = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  uint32_t hash = is_word ? hash_of(builtin->text, builtin->bytes) : 0;
  *((tsri_name *)names->pool.items + symbol) =
      (tsri_name){.text = builtin->text, .bytes = builtin->bytes, .hash = hash};
  if (is_word) names->slots[slot_of(names, builtin->text, builtin->bytes, hash)] = symbol;
}

bool tsri_names_init(tsri_names *names, char *store) {
  *names = (tsri_names){.slot_count = FIRST_SLOTS, .store = store};
  if (!tsri_item_array_init(&names->pool, sizeof(tsri_name), 256, UINT32_MAX)) return false;
  names->slots = tsri_calloc(FIRST_SLOTS, sizeof *names->slots);
  if (!names->slots) return false;
  for (uint32_t i = 1; i < TSRI_SYM_BUILTIN_COUNT; i++) add_builtin(names, &builtin_names[i]);
  return !names->pool.has_failed;
}

void tsri_names_deinit(tsri_names *names) {
  tsri_item_array_deinit(&names->pool);
  tsri_free(names->slots);
  names->slots = NULL;
}
