// SPDX-License-Identifier: MIT
// Text with holes, which begin with $: "TSR_FN $t tsr_neg_$t($t a) { return -a; }\n".
#ifndef TSRI_LANG_EMIT_TEMPLATE_H
#define TSRI_LANG_EMIT_TEMPLATE_H

#include <stdint.h>

#include "core/builder.h"

// A hole and what stands in its place. A list of holes ends with a NULL word.
typedef struct tsri_hole {
  const char *word, *text;  // "$name", "tsr_neg_i32"
} tsri_hole;

// Adds `pattern` with its holes filled. A $ that begins no word of the list stays; of several words that fit, the first counts.
//
// A part $[between$:text$] is there once for each of `lanes` lanes, with `between` between two of them. $l in it is the
// lane's letter: x, y, z or w.
void tsri_template_put(tsri_builder *out, const char *pattern, const tsri_hole *holes, uint32_t lanes);

#endif
