// SPDX-License-Identifier: MIT
// Properties of collectives: how they combine the values of items.
#ifndef TSRI_LANG_COLLECTIVE_H
#define TSRI_LANG_COLLECTIVE_H

#include "lang/ir/ir.h"

typedef struct tsri_collective_way {
  bool is_group;    // over the whole work-group; otherwise over the subgroup
  bool is_shuffle;  // combines nothing: moves the value of one item to another
  bool is_ballot;   // collects a bit of each item; its value is a u32 that is 0 or 1
  bool is_bool;     // OR and AND of bools; MAX and MIN of 0 and 1 if shared memory cannot hold bools
  tsri_ir_op op;    // ADD, MIN or MAX; OR or AND if is_bool
} tsri_collective_way;

tsri_collective_way tsri_collective_way_of(tsri_ir_collective collective);

// The subgroup collective that combines values in the same way as this work-group collective.
tsri_ir_collective tsri_collective_of_subgroup(tsri_ir_collective group);

// "add", "min" or "max": the operation on numbers; for bools, the one on 0 and 1. Emitters use it in the names of helper functions.
const char *tsri_collective_name(const tsri_collective_way *way);

#endif
