// SPDX-License-Identifier: MIT
#include "lang/emit/helper_names.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

bool tsri_helper_names_has(const tsri_helper_names *names, const char *name) {
  for (uint32_t i = 0; i < names->count; i++) {
    if (strcmp(names->items[i], name) == 0) return true;
  }
  return false;
}

bool tsri_helper_names_add(tsri_helper_names *names, const char *name, bool *out_is_out_of_memory) {
  if (tsri_helper_names_has(names, name)) return false;
  if (names->count == names->capacity) {
    uint32_t capacity = names->capacity ? 2 * names->capacity : 32;
    void *grown = tsri_realloc(names->items, capacity * sizeof *names->items);
    if (!grown) {
      *out_is_out_of_memory = true;
      return false;
    }
    names->items = grown;
    names->capacity = capacity;
  }
  snprintf(names->items[names->count++], sizeof *names->items, "%s", name);
  return true;
}
