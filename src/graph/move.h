// SPDX-License-Identifier: MIT
// Moves between devices as recorded operators.
//
// A move is two nodes: a copy on the source device, and a tsri_op_move on the destination, which reads that copy. Like
// any other reader, the copy runs before a later write to the source, so the node on the destination never reads memory
// that can be overwritten. If the source is contiguous, the copy is not made: the bytes are transferred directly.
//
// A plan never contains a pending move: run.c runs the moves that its nodes need before it plans.
#ifndef TSRI_GRAPH_MOVE_H
#define TSRI_GRAPH_MOVE_H

#include "graph/node.h"

extern const tsri_op tsri_op_move;

// A pending move and the value it reads, with a reference to each.
typedef struct tsri_needed_move {
  tsri_node *node;
  tsri_value *source;
  uint64_t tape;  // the tape on which it was recorded
} tsri_needed_move;

typedef struct tsri_needed_moves {
  tsri_needed_move *moves;
  uint32_t count;
} tsri_needed_moves;

// Finds the pending moves that must run before `targets` can. Call with state->lock held. Release the result with
// tsri_moves_release, without the lock.
//
// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_moves_find(tsri_graph_state *state, tsri_node *const *targets, uint32_t target_count,
                           tsri_garbage *garbage, tsri_needed_moves *out);
tsr_status tsri_moves_run(const tsri_needed_moves *moves);  // call without any graph's lock
void tsri_moves_release(tsri_needed_moves *moves);

// Records the move of a tensor's elements to `device`. `*out_value` is row-major and has one reference, the caller's.
//
// Errors: TSR_ERR_OUT_OF_MEMORY; in eager mode also those of tsri_graph_run.
tsr_status tsri_move_record(tsr_tensor *tensor, tsr_device *device, tsri_value **out_value);

#endif
