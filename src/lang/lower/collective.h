// SPDX-License-Identifier: MIT
// What collectives are made of where the hardware has none: an operation that joins the values of two items.
#ifndef TSRI_LANG_COLLECTIVE_H
#define TSRI_LANG_COLLECTIVE_H

#include "lang/ir/ir.h"

typedef struct tsri_collective_way {
  bool is_group;    // over the whole group, else over the subgroup
  bool is_shuffle;  // nothing is joined: an item's value goes to another
  bool is_bool;     // OR and AND of bools; MAX and MIN of 0 and 1 where bools cannot be kept in shared memory
  tsri_ir_op op;    // ADD, MIN or MAX; OR or AND where is_bool
} tsri_collective_way;

tsri_collective_way tsri_collective_way_of(tsri_ir_collective collective);

// "add", "min", "max": the operation on values as they are kept in shared memory, as helpers of it are named.
const char *tsri_collective_name(const tsri_collective_way *way);

#endif
