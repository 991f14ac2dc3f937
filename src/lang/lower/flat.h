// SPDX-License-Identifier: MIT
// Control flow around barriers without barriers under conditions.
//
// The language lets a barrier stand in an if, or in a loop after a break or continue, where all items of the work-group
// decide alike. PoCL 3.1 compiles that wrongly: in the branch with the barrier it decides later conditions once, for the
// first item. So here
//
//   if (c) { a; barrier(); b; }      becomes      on = c; if (on) a; barrier(); if (on) b;
//
// and a loop whose body has jumps keeps two flags: `on`, until a jump, and `go`, until a break. Barriers then run once
// more than needed, which is harmless: all items run them.
#ifndef TSRI_LANG_FLAT_H
#define TSRI_LANG_FLAT_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// The kernel, which has no COLLECTIVE (lower/collectives.h), with every BARRIER outside of any IF. `*out_kernel` is NULL
// if the kernel has no barrier.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_flat(const tsri_kernel *kernel, tsri_kernel **out_kernel);

#endif
