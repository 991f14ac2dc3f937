// SPDX-License-Identifier: MIT
// Conditions around barriers, for dialects that must see by themselves that all items of a work-group decide alike.
#ifndef TSRI_LANG_UNIFORM_CONDITIONS_H
#define TSRI_LANG_UNIFORM_CONDITIONS_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// WGSL refuses a barrier if its own analysis cannot see that all items arrive there. That analysis knows less than ours
// (ir/uniform.c): for example, it treats every value from writable memory as varying. In the kernel that this pass
// makes, item 0 decides such conditions: it writes its answer to shared memory, from where one load gives it to all
// items (TSRI_LOAD_FOR_ALL). The checked form guarantees that all items would decide the same.
//
// `*out_kernel` is NULL if no condition needs this. Must be the last pass, because it has to analyse exactly what WGSL
// will see.
tsr_status tsri_lower_uniform_conditions(const tsri_kernel *kernel, tsri_kernel **out_kernel);

#endif
