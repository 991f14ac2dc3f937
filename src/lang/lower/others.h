// SPDX-License-Identifier: MIT
// Lowers types of the language that no later pass and no emitter supports: u64, u16 and the two f8. Kernels are rewritten as soon as they are checked.
//
// A u64 becomes an i64 with the same bits; operations that depend on the sign (comparisons, division, shifts to the right, conversions) are made of operations
// on i64. An array of u16 becomes one of i16, an array of f8 one of u8; elements are converted when they are loaded and stored.
#ifndef TSRI_LANG_OTHERS_H
#define TSRI_LANG_OTHERS_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// Replaces `*kernel` by one without these types, if it has any. The new kernel owns the old one (`base`).
//
// Errors: TSR_ERR_OUT_OF_MEMORY. Then `*kernel` is unchanged.
tsr_status tsri_lower_others(tsri_kernel **kernel);

#endif
