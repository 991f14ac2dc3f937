// SPDX-License-Identifier: MIT
// Words of C and of other kernel languages, and what is written here instead: hints for those who come from there.
#ifndef TSRI_LANG_FOREIGN_H
#define TSRI_LANG_FOREIGN_H

#include <stddef.h>

typedef enum tsri_foreign_kind {
  TSRI_FOREIGN_TYPE,       // `ours` is the type
  TSRI_FOREIGN_NAME,       // `ours` is the function or id
  TSRI_FOREIGN_SPECIFIER,  // stands before a declaration, where nothing is needed; `ours` is the hint
  TSRI_FOREIGN_WORD        // `ours` is the hint
} tsri_foreign_kind;

typedef struct tsri_foreign {
  const char *word;
  tsri_foreign_kind kind;
  const char *ours;
} tsri_foreign;

// NULL: no such word. Static.
const tsri_foreign *tsri_foreign_find(const char *text, size_t bytes);

// "here it is called f32", or the hint of the word. `room` holds the text.
#define TSRI_FOREIGN_HINT_BYTES 160
const char *tsri_foreign_hint(const tsri_foreign *foreign, char *room);

#endif
