// SPDX-License-Identifier: MIT
// A growing text. It remembers that memory ran out, so callers check once, at the end.
#ifndef TSRI_BUILDER_H
#define TSRI_BUILDER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

// The zero value is an empty text.
typedef struct tsri_builder {
  char *text;  // terminated by 0; NULL while empty and after memory ran out
  size_t bytes, capacity;
  size_t most_bytes;  // it takes no more than this; 0: no limit
  bool has_failed;    // memory ran out
  bool is_full;       // something was left out, because the text would have become longer than most_bytes
} tsri_builder;

void tsri_builder_put(tsri_builder *builder, const char *text, size_t bytes);
void tsri_builder_string(tsri_builder *builder, const char *text);  // appends `text` unchanged
// Appends the text of `other`, and takes over its has_failed and is_full.
void tsri_builder_append(tsri_builder *builder, const tsri_builder *other);
void tsri_builder_repeat(tsri_builder *builder, char c, size_t count);
void tsri_builder_add(tsri_builder *builder, const char *format, ...) TSRI_PRINTF(2, 3);
void tsri_builder_deinit(tsri_builder *builder);

#endif
