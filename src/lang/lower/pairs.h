// SPDX-License-Identifier: MIT
// Lowers 64-bit integers to pairs of 32-bit words, for dialects and devices without i64.
//
// A variable or parameter becomes two of type u32. An array of i64 becomes one of u32 with twice the elements, low word first. Every operation becomes a few
// operations on words; a division becomes a loop.
#ifndef TSRI_LANG_PAIRS_H
#define TSRI_LANG_PAIRS_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// Makes a kernel without values and arrays of i64. `kernel` has no collective of i64 and no f64.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_pairs(const tsri_kernel *kernel, tsri_kernel **out_kernel);

#endif
