// SPDX-License-Identifier: MIT
// Appends to a growing text.
#include "core/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

// Makes room for `more` characters and the terminating 0.
static bool reserve(tsri_builder *builder, size_t more) {
  if (builder->has_failed || builder->is_full) return false;
  if (builder->most_bytes && more > builder->most_bytes - builder->bytes) {
    builder->is_full = true;
    return false;
  }
  size_t wanted = builder->bytes + more + 1;
  if (wanted <= builder->capacity) return true;
  size_t capacity = builder->capacity * 2 > wanted ? builder->capacity * 2 : wanted + 256;
  char *grown = tsri_realloc(builder->text, capacity);
  if (!grown) {
    tsri_builder_deinit(builder);
    builder->has_failed = true;
    return false;
  }
  builder->text = grown;
  builder->capacity = capacity;
  return true;
}

void tsri_builder_put(tsri_builder *builder, const char *text, size_t bytes) {
  if (!reserve(builder, bytes)) return;
  memcpy(builder->text + builder->bytes, text, bytes);
  builder->bytes += bytes;
  builder->text[builder->bytes] = 0;
}

void tsri_builder_string(tsri_builder *builder, const char *text) { tsri_builder_put(builder, text, strlen(text)); }

void tsri_builder_append(tsri_builder *builder, const tsri_builder *other) {
  if (other->text) tsri_builder_put(builder, other->text, other->bytes);
  builder->has_failed |= other->has_failed;
  builder->is_full |= other->is_full;
}

void tsri_builder_repeat(tsri_builder *builder, char c, size_t count) {
  if (!reserve(builder, count)) return;
  memset(builder->text + builder->bytes, c, count);
  builder->bytes += count;
  builder->text[builder->bytes] = 0;
}

void tsri_builder_add(tsri_builder *builder, const char *format, ...) {
  char line[512];
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (length >= 0 && (size_t)length < sizeof line) {
    tsri_builder_put(builder, line, (size_t)length);
  } else if (length > 0 && reserve(builder, (size_t)length)) {
    vsnprintf(builder->text + builder->bytes, (size_t)length + 1, format, again);
    builder->bytes += (size_t)length;
  }
  va_end(again);
}

void tsri_builder_deinit(tsri_builder *builder) {
  tsri_free(builder->text);
  *builder = (tsri_builder){0};
}
