// SPDX-License-Identifier: MIT
// How to compute collectives on devices that have none: by an operation that combines the values of two items.
#ifndef TSRI_LANG_COLLECTIVE_H
#define TSRI_LANG_COLLECTIVE_H

#include "lang/ir/ir.h"

typedef struct tsri_collective_way {
  bool is_group;    // over the whole work-group; otherwise over the subgroup
  bool is_shuffle;  // combines nothing: moves the value of one item to another
  bool is_bool;     // OR and AND of bools; MAX and MIN of 0 and 1 if shared memory cannot hold bools
  tsri_ir_op op;    // ADD, MIN or MAX; OR or AND if is_bool
} tsri_collective_way;

tsri_collective_way tsri_collective_way_of(tsri_ir_collective collective);

// "add", "min" or "max": the operation on the values as stored in shared memory. Emitters name their helper functions
// after it.
const char *tsri_collective_name(const tsri_collective_way *way);

#endif
