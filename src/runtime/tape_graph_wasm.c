// SPDX-License-Identifier: MIT
// In place of tape_graph.c in web pages, where no device records graphs.
#include "runtime/tape_steps.h"

void tsri_tape_make_graph(tsri_tape *tape, tsri_queue *queue, tsri_graph **graph) {
  (void)tape, (void)queue, (void)graph;
}
