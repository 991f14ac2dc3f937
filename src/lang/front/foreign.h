// SPDX-License-Identifier: MIT
// Words of C and of other kernel languages, with their equivalents in this language: hints for people who come from
// there.
#ifndef TSRI_LANG_FOREIGN_H
#define TSRI_LANG_FOREIGN_H

#include <stddef.h>

typedef enum tsri_foreign_kind {
  TSRI_FOREIGN_TYPE,       // `ours` is our name of the type
  TSRI_FOREIGN_NAME,       // `ours` is our function or id
  TSRI_FOREIGN_SPECIFIER,  // a specifier before a declaration, not needed here; `ours` is the hint
  TSRI_FOREIGN_WORD        // `ours` is the hint
} tsri_foreign_kind;

typedef struct tsri_foreign {
  const char *word;
  size_t bytes;  // of `word`
  tsri_foreign_kind kind;
  const char *ours;
} tsri_foreign;

// Returns a static record, or NULL if it is not such a word.
const tsri_foreign *tsri_foreign_find(const char *text, size_t bytes);

// Returns "here it is called f32", or the word's hint. The text is stored in `room`.
#define TSRI_FOREIGN_HINT_BYTES 160
const char *tsri_foreign_hint(const tsri_foreign *foreign, char *room);

#endif
