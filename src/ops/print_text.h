// SPDX-License-Identifier: MIT
// Text that grows. Lack of memory is remembered, so that callers look once, at the end.
#ifndef TSRI_PRINT_TEXT_H
#define TSRI_PRINT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

// The zero value is the empty text.
typedef struct tsri_print_text {
  char *data;  // `length` characters, not ended by 0; NULL while empty
  size_t length;
  size_t room;
  bool is_short;  // memory ran out: what came after that is missing
} tsri_print_text;

void tsri_print_text_put(tsri_print_text *text, const char *data, size_t length);
void tsri_print_text_put_word(tsri_print_text *text, const char *word);
void tsri_print_text_put_repeated(tsri_print_text *text, char c, size_t count);

// Takes spaces off the end.
void tsri_print_text_trim(tsri_print_text *text);

void tsri_print_text_deinit(tsri_print_text *text);

#endif
