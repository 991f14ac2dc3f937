// SPDX-License-Identifier: MIT
// Text with holes, which begin with $: "TSR_FN $t tsr_neg_$t($t a) { return -a; }\n".
#ifndef TSRI_LANG_EMIT_TEMPLATE_H
#define TSRI_LANG_EMIT_TEMPLATE_H

#include <stdint.h>

#include "core/builder.h"

// A hole and the text that replaces it. A list of holes ends with a NULL word.
typedef struct tsri_hole {
  const char *word, *text;  // "$name", "tsr_neg_i32"
} tsri_hole;

// Adds `pattern` with its holes filled. A $ that does not begin a word of the list is kept; if several words match, the first one counts.
//
// A part $[between$:text$] is repeated for each of `lanes` lanes, with `between` between repetitions. In it, $l is the lane's letter: x, y, z or w.
void tsri_template_put(tsri_builder *out, const char *pattern, const tsri_hole *holes, uint32_t lanes);

#endif
