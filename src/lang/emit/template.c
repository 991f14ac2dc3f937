// SPDX-License-Identifier: MIT
#include "lang/emit/template.h"

#include <string.h>

// The hole at the start of the text; its word is NULL if there is none.
static tsri_hole hole_at(const char *text, const tsri_hole *holes) {
  while (holes->word && (holes->word[1] != text[1] || strncmp(text, holes->word, strlen(holes->word)) != 0)) holes++;
  return *holes;
}

// Writes the text from `pattern` to `end`, which has no per-lane part. `letter` is the letter of the current lane, or
// NULL.
static void put_range(tsri_builder *out, const char *pattern, const char *end, const tsri_hole *holes,
                      const char *letter) {
  const tsri_hole lane[] = {{"$l", letter}, {NULL, NULL}};
  while (pattern < end) {
    size_t plain = strcspn(pattern, "$"), rest = (size_t)(end - pattern);
    tsri_builder_put(out, pattern, plain < rest ? plain : rest);
    pattern += plain;
    if (pattern >= end) break;
    tsri_hole hole = letter ? hole_at(pattern, lane) : (tsri_hole){NULL, NULL};
    if (!hole.word) hole = hole_at(pattern, holes);
    if (!hole.word) hole = (tsri_hole){"$", "$"};
    tsri_builder_string(out, hole.text);
    pattern += strlen(hole.word);
  }
}

void tsri_template_put(tsri_builder *out, const char *pattern, const tsri_hole *holes, uint32_t lanes) {
  static const char *const letters[] = {"x", "y", "z", "w"};
  for (const char *part; (part = strstr(pattern, "$[")) != NULL;) {
    const char *between = part + 2, *text = strstr(between, "$:") + 2, *end = strstr(text, "$]");
    put_range(out, pattern, part, holes, NULL);
    for (uint32_t lane = 0; lane < lanes; lane++) {
      if (lane > 0) tsri_builder_put(out, between, (size_t)(text - 2 - between));
      put_range(out, text, end, holes, letters[lane]);
    }
    pattern = end + 2;
  }
  put_range(out, pattern, pattern + strlen(pattern), holes, NULL);
}
