// SPDX-License-Identifier: MIT
// Which steps of a tape depend on which: those that use the same memory, of which at least one writes it.
#ifndef TSRI_RUNTIME_TAPE_ORDER_H
#define TSRI_RUNTIME_TAPE_ORDER_H

#include "backends/backend.h"

// The ranges of memory that a step reads and writes.
typedef struct tsri_step_memory {
  const tsri_binding *ranges;
  uint32_t count;
} tsri_step_memory;

// Step i begins after the steps after[first[i]] to after[first[i + 1] - 1] have ended. A step that one of these depends on is not listed.
typedef struct tsri_tape_order {
  int *after, *first;
} tsri_tape_order;

// Finds the dependencies between `count` steps, which are given in the order in which they were queued. False: host memory is out, or there are more than
// TSRI_MOST_ORDERED steps, for which this would take too long.
enum { TSRI_MOST_ORDERED = 4096 };
bool tsri_tape_order_init(tsri_tape_order *order, const tsri_step_memory *steps, int count);
void tsri_tape_order_deinit(tsri_tape_order *order);

#endif
