// SPDX-License-Identifier: MIT
// Limits the height of expression trees: C compilers limit how deep brackets nest.
#ifndef TSRI_LANG_HEIGHTS_H
#define TSRI_LANG_HEIGHTS_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// Returns the kernel with expressions of at most `most` levels above their leaves (one more for a loop's negated
// condition). Parts of a higher expression are assigned to variables before the statement, under the same conditions
// under which they were evaluated. `*out_kernel` is NULL if no expression is higher.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_heights(const tsri_kernel *kernel, uint32_t most, tsri_kernel **out_kernel);

#endif
