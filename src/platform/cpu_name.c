// SPDX-License-Identifier: MIT
// Shortens a processor's name: removes trade marks, "CPU", the clock frequency and the core count.
#include <stdio.h>
#include <string.h>

#include "platform/platform.h"

typedef struct word {
  const char *text;
  size_t length;
} word;

// The next word, up to a space; its length is 0 at the end.
static word next_word(const char **at) {
  *at += strspn(*at, " \t\n");
  word found = {*at, strcspn(*at, " \t\n")};
  *at += found.length;
  return found;
}

static bool is_word(word w, const char *text) {
  return w.length == strlen(text) && memcmp(w.text, text, w.length) == 0;
}

static bool ends_with(word w, const char *tail) {
  size_t length = strlen(tail);
  return w.length > length && memcmp(w.text + w.length - length, tail, length) == 0;
}

// After such a word come only the clock frequency or the name of an integrated GPU.
static bool ends_the_name(word w) { return is_word(w, "@") || is_word(w, "with") || is_word(w, "w/"); }

static bool is_filler(word w) { return is_word(w, "CPU") || is_word(w, "Processor") || ends_with(w, "-Core"); }

static size_t mark_length(const char *at) {
  static const char *const marks[] = {"(R)", "(r)", "(TM)", "(tm)"};
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
    if (strncmp(at, marks[i], strlen(marks[i])) == 0) return strlen(marks[i]);
  }
  return 0;
}

// Appends the word without its trade marks. Characters that do not fit are dropped.
static size_t append_word(char *name, size_t name_bytes, size_t used, word w) {
  size_t start = used;
  for (size_t i = 0; i < w.length;) {
    size_t mark = mark_length(w.text + i);
    if (mark > 0) {
      i += mark;
      continue;
    }
    if (used == start && used > 0 && used + 1 < name_bytes) name[used++] = ' ';
    if (used + 1 < name_bytes) name[used++] = w.text[i];
    i++;
  }
  return used;
}

void tsri_cpu_short_name(const char *full, char *name, size_t name_bytes) {
  if (name_bytes == 0) return;
  size_t used = 0;
  const char *at = full;
  for (word w = next_word(&at); w.length > 0 && !ends_the_name(w); w = next_word(&at)) {
    if (!is_filler(w)) used = append_word(name, name_bytes, used, w);
  }
  name[used] = 0;
  if (used == 0) snprintf(name, name_bytes, "%s", full);
}
