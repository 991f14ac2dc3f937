// SPDX-License-Identifier: MIT
// Types of the language that no pass and no emitter knows: u64, u16 and the two f8. Kernels are rewritten to do without
// them as soon as they are checked.
//
// A u64 becomes an i64 with the same bits; comparisons, division, shifts to the right and conversions, which depend on the
// sign, are made of operations on i64. An array of u16 becomes one of i16, an array of f8 one of u8; elements are converted
// where they are loaded and stored.
#ifndef TSRI_LANG_OTHERS_H
#define TSRI_LANG_OTHERS_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// Replaces `*kernel` by one without these types, if it has any. The new kernel owns the old one (`base`).
//
// Errors: TSR_ERR_OUT_OF_MEMORY. Then `*kernel` is unchanged.
tsr_status tsri_lower_others(tsri_kernel **kernel);

#endif
