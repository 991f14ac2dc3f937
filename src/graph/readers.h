// SPDX-License-Identifier: MIT
// For each pending assignment, the nodes that read the elements it overwrites; they must run before it (assign.h).
#ifndef TSRI_GRAPH_READERS_H
#define TSRI_GRAPH_READERS_H

#include "graph/node.h"

// A node that reads elements which an assignment overwrites.
typedef struct tsri_reader {
  tsri_node *node;
  // Next reader of the same assignment, as its index in tsri_readers.all plus 1; 0: this is the last.
  uint32_t next;
} tsri_reader;

typedef struct tsri_readers {
  tsri_reader *all;  // NULL if count is 0
  uint32_t count;
} tsri_readers;

// Lists the readers of all pending assignments and adds a reference to each to `garbage`. Call with state->lock held;
// the caller frees `out->all`. False when host memory is out; then `out->all` is NULL.
bool tsri_readers_init(tsri_graph_state *state, tsri_garbage *garbage, tsri_readers *out);

// Index plus 1 of the first reader of an assignment; 0 if it has none, or if the node is not an assignment.
uint32_t tsri_readers_first(const tsri_node *node);

// The pending assignment of another node that overwrites input `index` of the node; NULL: none, or the node does not read that input.
// Call with the lock held.
tsri_node *tsri_readers_overwriter(const tsri_node *node, uint32_t index);

#endif
