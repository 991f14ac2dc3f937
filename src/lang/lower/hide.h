// SPDX-License-Identifier: MIT
// Values that a compiler is not to know, for dialects that give it more freedom with floats than the language does.
//
// WGSL lets a compiler make one operation of several, take away what undoes each other, and assume that nothing is NaN or
// infinite: (a + b) - a, x - x, x * 0 and fma(x, b, x) do not survive that. So the operands and results for which it
// matters are hidden: the emitter writes them with a word mixed in that is 0, which the compiler does not know.
#ifndef TSRI_LANG_HIDE_H
#define TSRI_LANG_HIDE_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// `op` of a BITCAST of f32 to f32: the value is hidden.
typedef enum tsri_hide {
  TSRI_HIDE_NOTHING,
  TSRI_HIDE_ROUNDED,  // a result as it was rounded: not made one with what it goes into, nor taken for 0
  // The compiler does not know this value to be equal to another one. Mixed with another word than TSRI_HIDE_ROUNDED, as
  // hiding twice with one word is the value again.
  TSRI_HIDE_EQUAL
} tsri_hide;

// Whether the operation rounds.
bool tsri_hide_rounds(tsri_ir_op op, tsr_dtype dtype);

// The kernel, which has no lazy operands (lower/lazy.h), with hidden values. `has_fma`: the dialect's own fma is used.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_hide(const tsri_kernel *kernel, bool has_fma, tsri_kernel **out_kernel);

#endif
