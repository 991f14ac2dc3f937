// SPDX-License-Identifier: MIT
// Text that grows.
#include "ops/print_text.h"

#include <string.h>

#include "core/alloc.h"

static bool make_room(tsri_print_text *text, size_t length) {
  if (text->is_short) return false;
  if (text->room - text->length >= length) return true;
  size_t room = 0;
  char *data = NULL;
  // Doubling keeps the copying in proportion to the text.
  if (tsri_add_size(text->length, length, &room) && tsri_mul_size(room, 2, &room))
    data = tsri_realloc(text->data, room);
  text->is_short = data == NULL;
  if (text->is_short) return false;
  text->data = data;
  text->room = room;
  return true;
}

void tsri_print_text_put(tsri_print_text *text, const char *data, size_t length) {
  if (length == 0 || !make_room(text, length)) return;
  memcpy(text->data + text->length, data, length);
  text->length += length;
}

void tsri_print_text_put_word(tsri_print_text *text, const char *word) {
  tsri_print_text_put(text, word, strlen(word));
}

void tsri_print_text_put_repeated(tsri_print_text *text, char c, size_t count) {
  if (count == 0 || !make_room(text, count)) return;
  memset(text->data + text->length, c, count);
  text->length += count;
}

void tsri_print_text_trim(tsri_print_text *text) {
  while (text->length > 0 && text->data[text->length - 1] == ' ') text->length--;
}

void tsri_print_text_deinit(tsri_print_text *text) {
  tsri_free(text->data);
  *text = (tsri_print_text){0};
}
