// SPDX-License-Identifier: MIT
// Lowers collectives to statements that exchange values through shared memory. Subgroup collectives that the device has in hardware stay as they are; those of
// a work-group are then made of them, with one value per subgroup in shared memory.
#ifndef TSRI_LANG_COLLECTIVES_H
#define TSRI_LANG_COLLECTIVES_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

typedef struct tsri_collectives_options {
  uint32_t subgroup_size;   // a power of two: this many consecutive items of the work-group form a subgroup
  uint32_t hardware_bytes;  // subgroup collectives exist for values of up to this size; 0: there are none
  // The result of a work-group collective is read by one load for all items (TSRI_LOAD_FOR_ALL), where the dialect
  // has one; without it, by a load between two barriers.
  bool load_for_all;
  bool has_only_shuffles;  // hardware has only shuffles and ballots: other subgroup collectives are made of these
} tsri_collectives_options;

// Makes a kernel without COLLECTIVE statements except those in hardware (with has_only_shuffles: SHUFFLE, SHUFFLE_XOR and BALLOT). It has a shared array for
// each type of value that is combined through shared memory. If a work-group is no whole number of subgroups, no hardware is used.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_collectives(const tsri_kernel *kernel, tsri_collectives_options options,
                                  tsri_kernel **out_kernel);

#endif
