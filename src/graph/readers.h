// SPDX-License-Identifier: MIT
// Which pending nodes have to run before which assignment (assign.h).
#ifndef TSRI_GRAPH_READERS_H
#define TSRI_GRAPH_READERS_H

#include "graph/node.h"

// A node that reads what an assignment overwrites.
typedef struct tsri_reader {
  tsri_node *node;
  uint32_t next;  // of the same assignment: its place in `all` plus 1; 0: the last
} tsri_reader;

typedef struct tsri_readers {
  tsri_reader *all;  // NULL: there are none
  uint32_t count;
} tsri_readers;

// Lists the readers of all pending assignments; a reference to each goes to `garbage`. Call with state->lock held; the caller frees `all`.
// False when host memory is out; then `all` is NULL.
bool tsri_readers_init(tsri_graph_state *state, tsri_garbage *garbage, tsri_readers *out);

// Place plus 1 of the node's first reader; 0 for nodes that are no assignments.
uint32_t tsri_readers_first(const tsri_node *node);

#endif
