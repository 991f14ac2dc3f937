// SPDX-License-Identifier: MIT
// Replaces operands that may go unevaluated, for dialects whose expressions evaluate all operands: &&, || and ?: become
// an if where that saves work, and otherwise an operation on all operands.
#ifndef TSRI_LANG_LAZY_H
#define TSRI_LANG_LAZY_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// Returns the kernel without AND_THEN, OR_ELSE and COND. An operand that contains a load, which must happen only if
// needed, or a long function is put in a branch. All other operands are evaluated, and one is selected. `*out_kernel`
// is NULL if the kernel has none of these expressions.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_lazy(const tsri_kernel *kernel, tsri_kernel **out_kernel);

#endif
