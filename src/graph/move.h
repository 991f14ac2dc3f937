// SPDX-License-Identifier: MIT
// Moves between devices as recorded operators.
//
// A move is two nodes: a copy on the device the elements come from, and a tsri_op_move on the one they go to, which reads that copy. The
// copy is what a later write has to run first, like any other reader there, so nothing on the second device reads memory that can
// be written. Where the copy has nothing to change it is never made: the elements travel from where they lie.
//
// A plan never contains a move: run.c runs the moves that its nodes need before it plans.
#ifndef TSRI_GRAPH_MOVE_H
#define TSRI_GRAPH_MOVE_H

#include "graph/node.h"

extern const tsri_op tsri_op_move;

// A pending move and what it reads, with a reference each.
typedef struct tsri_needed_move {
  tsri_node *node;
  tsri_value *source;
  uint64_t tape;  // that it was recorded on
} tsri_needed_move;

typedef struct tsri_needed_moves {
  tsri_needed_move *moves;
  uint32_t count;
} tsri_needed_moves;

// The pending moves that must run before `targets` can. Call with state->lock held; release with tsri_moves_release, not under the lock.
//
// Errors: TSR_ERR_OUT_OF_MEMORY; then there are none.
tsr_status tsri_moves_find(tsri_graph_state *state, tsri_node *const *targets, uint32_t target_count,
                           tsri_garbage *garbage, tsri_needed_moves *out);
tsr_status tsri_moves_run(const tsri_needed_moves *moves);  // not under any graph's lock
void tsri_moves_release(tsri_needed_moves *moves);

// Records the move of a tensor's elements; `*out_value` has one reference, the caller's, and lies row-major.
//
// Errors: TSR_ERR_OUT_OF_MEMORY; in eager mode what running gives.
tsr_status tsri_move_record(tsr_tensor *tensor, tsr_device *device, tsri_value **out_value);

#endif
