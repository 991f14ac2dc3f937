// SPDX-License-Identifier: MIT
// In place of tape_order.c in web pages, where no device records graphs.
#include "runtime/tape_order.h"

bool tsri_tape_order_init(tsri_tape_order *order, const tsri_step_memory *steps, int count) {
  (void)order, (void)steps, (void)count;
  return false;
}

void tsri_tape_order_deinit(tsri_tape_order *order) { (void)order; }
