// SPDX-License-Identifier: MIT
// Hides values from the compiler, for dialects that allow it to rewrite operations on floats.
#ifndef TSRI_LANG_HIDE_H
#define TSRI_LANG_HIDE_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// `op` of a BITCAST from f32 to f32: how the value is hidden.
typedef enum tsri_hide {
  TSRI_HIDE_NOTHING,
  TSRI_HIDE_ROUNDED,  // a rounded result: the compiler can neither fuse it with the operation that uses it nor know that it is 0
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
