// SPDX-License-Identifier: MIT
// "Did you mean …?": finds the known word most similar to a mistyped one. Depends on nothing else, so that the
// command-line program can compile it too.
#ifndef TSRI_SUGGEST_H
#define TSRI_SUGGEST_H

#include <stddef.h>

// The word of `words` that `text` was probably meant to be, or NULL if none is similar; of several equally similar
// ones, the first. A letter too many, missing, wrong or swapped with its neighbour has distance 1; letter case, and '-'
// in place of '_', do not count. About a third of the word may be wrong. A beginning of a word, of three letters or
// more, has distance 1.
const char *tsri_text_nearest(const char *text, const char *const *words, size_t word_count);

#endif
