// SPDX-License-Identifier: MIT
// Conditions around barriers, for dialects that must see by themselves that all items of a work-group decide alike.
#ifndef TSRI_LANG_UNIFORM_CONDITIONS_H
#define TSRI_LANG_UNIFORM_CONDITIONS_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// WGSL refuses a barrier where its own analysis cannot see that all items arrive, and that analysis knows less than ours
// (ir/uniform.c): what comes from memory that is written counts as varying. The kernel that this makes decides such
// conditions by item 0: it writes its answer to shared memory, from where one load gives it to all items
// (TSRI_LOAD_FOR_ALL). The checked form promises that all would have the same.
//
// `*out_kernel` is NULL if WGSL sees enough. To be the last pass, because it has to see what WGSL sees.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_uniform_conditions(const tsri_kernel *kernel, tsri_kernel **out_kernel);

#endif
