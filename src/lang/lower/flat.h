// SPDX-License-Identifier: MIT
// Rewrites control flow so that no barrier is under a condition.
//
// The language allows a barrier in an if, or in a loop after a break or continue, if all items of the work-group take the same branch. PoCL 3.1 compiles that
// wrongly: in a branch with a barrier, it evaluates later conditions only once, for the first item. So
//
// if (c) { a; barrier(); b; }      becomes      on = c; if (on) a; barrier(); if (on) b;
//
// and a loop whose body has jumps gets two flags: `on`, until a jump, and `go`, until a break. Barriers then run once more than needed, which is harmless,
// because all items run them.
#ifndef TSRI_LANG_FLAT_H
#define TSRI_LANG_FLAT_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// Makes a kernel with every BARRIER outside of any IF. `kernel` has no COLLECTIVE (lower/collectives.h). `*out_kernel` is NULL if the kernel has no barrier.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_flat(const tsri_kernel *kernel, tsri_kernel **out_kernel);

#endif
