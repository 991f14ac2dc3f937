// SPDX-License-Identifier: MIT
// Operands that may go unevaluated, for dialects whose expressions have none: &&, || and ?: become an if where they save
// work, and otherwise an operation on all operands.
#ifndef TSRI_LANG_LAZY_H
#define TSRI_LANG_LAZY_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// The kernel without AND_THEN, OR_ELSE and COND. An operand with a load in it, which must not happen in vain, or with a
// function that takes long stands in a branch; any others are evaluated, and one is selected. `*out_kernel` is NULL if
// the kernel has none of these expressions.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_lazy(const tsri_kernel *kernel, tsri_kernel **out_kernel);

#endif
