// SPDX-License-Identifier: MIT
// Collectives as statements, for devices without subgroup operations: values go through shared memory.
#ifndef TSRI_LANG_COLLECTIVES_H
#define TSRI_LANG_COLLECTIVES_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

// `op` of a LOAD that gives all items of the work-group the same value: it is a barrier before and after the load, too.
#define TSRI_LOAD_FOR_ALL 1

typedef struct tsri_collectives_options {
  uint32_t subgroup_size;  // a power of two: this many consecutive items of the work-group form a subgroup
  // The result of a work-group collective is read by one load for all items (TSRI_LOAD_FOR_ALL), where the dialect
  // has one; without it, by a load between two barriers.
  bool load_for_all;
} tsri_collectives_options;

// The kernel without COLLECTIVE statements, with a shared array for each type of value that they combine.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_collectives(const tsri_kernel *kernel, tsri_collectives_options options,
                                  tsri_kernel **out_kernel);

#endif
