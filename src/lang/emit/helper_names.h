// SPDX-License-Identifier: MIT
// A set of names: the helper functions that a text already contains.
#ifndef TSRI_LANG_EMIT_HELPER_NAMES_H
#define TSRI_LANG_EMIT_HELPER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#define TSRI_HELPER_NAME_BYTES 64  // most bytes of a name, including its NUL

// Zero-initialise it; the owner frees `items`.
typedef struct tsri_helper_names {
  char (*items)[TSRI_HELPER_NAME_BYTES];
  uint32_t count, capacity;
} tsri_helper_names;

bool tsri_helper_names_has(const tsri_helper_names *names, const char *name);
// Adds a name, truncated to fit. False if it exists already, or if memory is out.
bool tsri_helper_names_add(tsri_helper_names *names, const char *name, bool *out_is_out_of_memory);

#endif
