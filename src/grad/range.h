// SPDX-License-Identifier: MIT
// A range: what a thread has recorded from watched tensors, so that tsr_grad can go back through it.
//
// A slot stands for the elements that a piece of memory has between two assignments to it. A step is a recorded operator with at least one input slot that depends
// on watched tensors. It is a copy of the node's description, because the node itself drops its inputs when it runs, and may be merged with an equal node. An
// assignment to such memory is a step, too: its result is a new slot of the same memory.
#ifndef TSRI_GRAD_RANGE_H
#define TSRI_GRAD_RANGE_H

#include "grad/place.h"
#include "graph/watch.h"

enum { TSRI_NO_STEP = -1, TSRI_MOST_RUNS = 4 };
static const uint32_t TSRI_NO_SLOT = UINT32_MAX;

typedef struct grad_slot {
  // The memory; one reference of the kind that tensors hold (tsri_value_hold), so that pending assignments to it stay readable after its last tensor is released.
  tsri_value *value;
  tsr_dtype dtype;
  tsr_shape shape;        // its elements are row-major in this shape
  int64_t step;           // the step that computes it; TSRI_NO_STEP: none
  uint32_t before;        // the memory's slot before the assignment that made this one
  bool is_watched;        // tsr_grad_watch was called for the memory
  bool is_tracked;        // gradients go through it
  uint32_t reader_count;  // inputs of steps that read it
  // Elements that were overwritten since: from the first to the last, if lost_from <= lost_to.
  int64_t lost_from, lost_to;
  // While tsr_grad runs: whether `y` depends on the slot, and the slot's gradient so far; NULL: 0. One reference.
  bool is_reached;
  bool is_asked;      // its gradient is a result: it is kept to the end
  bool is_rectified;  // the result of relu, whose gradient is already 0 where the result is
  tsr_tensor *gradient;
  // The parts of `gradient` that have been written; the rest is still 0, and nobody else uses the tensor. run_count 0: not known.
  grad_run runs[TSRI_MOST_RUNS];
  int run_count;
} grad_slot;

typedef struct grad_step {
  const tsri_op *op;
  uint32_t axes;     // of a reduction
  void *attributes;  // as those of a node; NULL: none
  uint32_t input_count, output_count;
  tsri_input *inputs;   // one reference to the memory of each. One allocation with all that follows, and `attributes`
  tsri_layout *views;   // layouts of the results in their slots' memory; NULL: row-major in the slots' shapes
  uint32_t *from, *to;  // slots of inputs and results
} grad_step;

typedef struct grad_range {
  tsri_watcher watcher;       // must be first
  struct grad_range *parent;  // of a range inside of another, for a part that is computed again
  tsr_status status;          // TSR_ERR_OUT_OF_MEMORY: something could not be remembered
  int pauses;
  grad_slot *slots;
  uint32_t slot_count, slot_room;
  grad_step *steps;
  uint32_t step_count, step_room;
  uint32_t *table;  // number of a memory's last slot plus 1, hashed by its value; 0: empty
  uint32_t table_room;
  // While a rule runs: values that it must not read, since they were overwritten, and whether it did.
  const tsri_value **lost;
  uint32_t lost_count, lost_room;
  bool has_read_lost;
} grad_range;

// The calling thread's range; NULL: none is open.
grad_range *tsri_grad_range(void);

// Whether the gradients are being remembered for gradients of gradients. Rules must then compose them of operators that have gradients themselves.
bool tsri_grad_is_remembered(void);

// Open and close a range inside the thread's range; the outer range continues to remember as before. NULL: out of host memory.
grad_range *tsri_grad_open_inner(void);
void tsri_grad_close_inner(void);

// The number of the memory's present slot; TSRI_NO_SLOT: there is none.
uint32_t tsri_grad_find(const grad_range *range, const tsri_value *value);

// Marks the tensor's memory as watched, so that gradients can be taken by it. False: out of host memory.
bool tsri_grad_add_watched(grad_range *range, const tsr_tensor *x);

// Forgets all steps, and all slots but the watched ones.
void tsri_grad_forget(grad_range *range);

// Releases what a step holds: tsr_grad has gone back through it.
void tsri_grad_drop_step(grad_step *step);

// Stops remembering on this thread until tsri_grad_resume. Both take NULL.
void tsri_grad_pause(grad_range *range);
void tsri_grad_resume(grad_range *range);

// Between the two, operators that the thread records belong to the backward pass (tsri_pool_set_pass). Calls nest; `before` is what begin returned. If
// the outermost call has emptied the range, a new step begins after it.
bool tsri_grad_pass_begin(void);
void tsri_grad_pass_end(bool before, bool is_emptied);

// A rule must not read this value from now on: range->has_read_lost tells whether it did.
void tsri_grad_lose(grad_range *range, const tsri_value *value);

#endif
