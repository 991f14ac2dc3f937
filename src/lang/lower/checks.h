// SPDX-License-Identifier: MIT
// Implements checked mode by statements, for dialects without checked accesses: every load, store and atomic is put under a test of its index, and the first
// item that finds an index out of range writes the report (TSRI_EMIT_REPORT_…, emit.h).
#ifndef TSRI_LANG_CHECKS_H
#define TSRI_LANG_CHECKS_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// Makes an unchecked kernel that contains the tests. It has one more buffer after the others, the report; and for each buffer two more u32 parameters after the
// others, the low and the high word of its element count. A load out of range gives 0, a store out of range does nothing.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_checks(const tsri_kernel *kernel, tsri_kernel **out_kernel);

#endif
