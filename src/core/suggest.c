// SPDX-License-Identifier: MIT
// Edit distance between short words. A word longer than LONGEST is similar to none.
#include "suggest.h"  // found beside this file, also when the command-line program compiles it

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 48, FAR_AWAY = LONGEST + 1 };

static char fold(char c) {
  if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// Optimal string alignment: Levenshtein's distance with swaps of neighbours.
//   d[i][j] = min(d[i-1][j] + 1, d[i][j-1] + 1, d[i-1][j-1] + (a[i] != b[j]), d[i-2][j-2] + 1 if swapped)
// Only three rows of d are kept.
static size_t distance(const char *a, size_t a_count, const char *b, size_t b_count) {
  size_t rows[3][LONGEST + 1];
  size_t *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= b_count; j++) before[j] = above[j] = j;

  for (size_t i = 1; i <= a_count; i++) {
    row[0] = i;
    for (size_t j = 1; j <= b_count; j++) {
      char x = fold(a[i - 1]), y = fold(b[j - 1]);
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
      bool swapped = i > 1 && j > 1 && x == fold(b[j - 2]) && y == fold(a[i - 2]);
      if (swapped) row[j] = least(row[j], before[j - 2] + 1);
    }
    size_t *oldest = before;
    before = above;
    above = row;
    row = oldest;
  }
  return above[b_count];
}

static bool begins(const char *word, const char *text, size_t text_count) {
  for (size_t i = 0; i < text_count; i++) {
    if (fold(word[i]) != fold(text[i])) return false;  // also at the word's terminating 0
  }
  return true;
}

static size_t score(const char *text, size_t text_count, const char *word) {
  size_t word_count = strlen(word);
  if (word_count > LONGEST) return FAR_AWAY;
  size_t d = distance(text, text_count, word, word_count);
  size_t tolerated = (text_count > word_count ? text_count : word_count) / 3;
  if (d > 1 && text_count >= 3 && begins(word, text, text_count)) return 1;
  return d <= (tolerated > 1 ? tolerated : 1) ? d : FAR_AWAY;
}

const char *tsri_text_nearest(const char *text, const char *const *words, size_t word_count) {
  size_t text_count = strlen(text);
  if (text_count == 0 || text_count > LONGEST) return NULL;
  const char *nearest = NULL;
  size_t nearest_score = FAR_AWAY;
  for (size_t i = 0; i < word_count; i++) {
    size_t s = score(text, text_count, words[i]);
    if (s < nearest_score) {
      nearest_score = s;
      nearest = words[i];
    }
  }
  return nearest;
}
