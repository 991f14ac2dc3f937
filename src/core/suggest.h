// SPDX-License-Identifier: MIT
// "Did you mean …?": the known word nearest to a mistyped one. Depends on nothing else, so that the command-line
// program compiles it in as well.
#ifndef TSRI_SUGGEST_H
#define TSRI_SUGGEST_H

#include <stddef.h>

// The entry of `words` that `text` was probably meant to be, or NULL if none is near; the first of several equally
// near ones. A letter too many, missing, wrong or swapped with its neighbour counts 1; letter case and '-' for '_'
// count nothing; about a third of the word may be wrong. Three letters or more that begin a word count 1 too.
const char *tsri_text_nearest(const char *text, const char *const *words, size_t word_count);

#endif
