// SPDX-License-Identifier: MIT
// A range: what a thread has recorded from watched tensors, so that tsr_grad can go back through it.
//
// A slot is a value that depends on watched tensors, or is watched itself. A step is an operator that was recorded with such a value
// among its inputs: a copy of the node's description, since the node drops its inputs when it runs and may become a copy of an equal one.
#ifndef TSRI_GRAD_RANGE_H
#define TSRI_GRAD_RANGE_H

#include "graph/watch.h"

enum { TSRI_NO_STEP = -1 };

typedef struct grad_slot {
  tsri_value *value;  // one reference
  tsr_dtype dtype;
  tsr_shape shape;  // its elements are row-major in this shape
  int64_t step;     // the step that computes it; TSRI_NO_STEP: it is watched
  bool is_tracked;  // gradients go through it
  bool is_used;     // some step reads it
  bool is_overwritten;
  // While tsr_grad runs: whether the result depends on it, and its gradient so far; NULL: 0. One reference.
  bool is_reached;
  tsr_tensor *gradient;
} grad_slot;

typedef struct grad_step {
  const tsri_op *op;
  uint32_t axes;     // of a reduction
  void *attributes;  // as those of a node; NULL: none. Owned
  uint32_t input_count, output_count;
  tsri_input *inputs;                  // one allocation with `attributes`; one reference to each value
  uint32_t outputs[TSRI_MAX_RESULTS];  // slots
} grad_step;

typedef struct grad_range {
  tsri_watcher watcher;  // must be first
  tsr_status status;     // TSR_ERR_OUT_OF_MEMORY: something could not be remembered
  int pauses;
  grad_slot *slots;
  uint32_t slot_count, slot_room;
  grad_step *steps;
  uint32_t step_count, step_room;
  uint32_t *table;  // number of a slot plus 1, hashed by its value; 0: empty
  uint32_t table_room;
} grad_range;

// The calling thread's range; NULL: none is open.
grad_range *tsri_grad_range(void);

// The slot of the tensor's value or of the value that an input reads; NULL: there is none.
grad_slot *tsri_grad_find(const grad_range *range, const tsri_value *value);

// Forgets all steps, and all slots but the watched ones.
void tsri_grad_forget(grad_range *range);

// Stops remembering on this thread until tsri_grad_resume. Both take NULL.
void tsri_grad_pause(grad_range *range);
void tsri_grad_resume(grad_range *range);

// Adds a step that has no node: `output` was computed from `input` through the view `layout`, by elements that were placed there (place.h).
void tsri_grad_add_place(grad_range *range, const tsr_tensor *input, const tsr_tensor *output,
                         const tsri_layout *layout);

#endif
