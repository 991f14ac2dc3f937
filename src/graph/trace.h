// SPDX-License-Identifier: MIT
// The trace of a capture: the operators that were recorded between tsr_capture_begin and tsr_capture_end, so that they
// can be saved to a file and recorded again on any device (src/saved). A tape has the launches of one device; a trace
// has what they were made from.
//
// A trace describes operators and holds no reference to their results, so that the memory of a dead result is still reused (dead.h). It holds one reference to
// each leaf: a value that existed before the operators were recorded.
//
// Threads: only the thread that captures adds to the trace. Afterwards it does not change.
#ifndef TSRI_GRAPH_TRACE_H
#define TSRI_GRAPH_TRACE_H

#include "graph/node.h"

// A view through which a step reads or writes a value. Values are numbered from 1 in the order in which they were added to the trace; leaves and results of
// steps are numbered together.
typedef struct tsri_traced_view {
  uint32_t value;
  tsr_dtype dtype, as;  // as tsri_input
  tsri_layout layout;
} tsri_traced_view;

// A leaf: a value that no step computes.
typedef struct tsri_traced_leaf {
  uint32_t value;     // its number
  tsri_value *is_of;  // one reference
  tsr_dtype dtype;
  bool is_filled;  // the capture fills it with `pattern` whenever it runs
  unsigned char pattern[8];
} tsri_traced_leaf;

typedef enum tsri_traced_kind {
  TSRI_TRACED_OPERATOR,
  TSRI_TRACED_ASSIGNMENT,  // views: the target, the source. Its result is the target's value
  TSRI_TRACED_LAUNCH,  // of a user's kernel, which is in `object`. Views: its tensors, in the order of the parameters
  TSRI_TRACED_UPDATE   // a step of an optimiser, which is `object`. Views: the tensors of tsri_optim_tensors
} tsri_traced_kind;

typedef struct tsri_traced_step {
  tsri_traced_kind kind;
  const tsri_op *op;  // OPERATOR
  uint32_t axes;      // as tsri_node.axes
  void *attributes;   // op's attributes, owned; NULL: none
  uint32_t first_result, result_count;
  tsri_result *results;  // owned
  uint32_t view_count;
  tsri_traced_view *views;  // owned
  void *object;
  void (*release)(void *object);
} tsri_traced_step;

typedef struct tsri_trace {
  uint64_t tape;
  tsr_device *device;  // borrowed: the tape holds a reference
  tsr_status status;   // TSR_ERR_OUT_OF_MEMORY: something is missing
  uint32_t value_count;
  tsri_traced_leaf *leaves;
  uint32_t leaf_count, leaf_room;
  tsri_traced_step *steps;
  uint32_t step_count, step_room;
} tsri_trace;

// Begins a trace of the tape that the calling thread has just opened. The trace ends with that tape. If host memory is
// out, the tape has no trace.
void tsri_trace_begin(void);

// Adds a node that is about to be recorded to the trace of its tape. The node has its inputs, dtype, shape and results.
void tsri_trace_node(tsri_node *node);

// Adds a tensor that the capture fills with `pattern` whenever it runs.
void tsri_trace_fill(const tsr_tensor *tensor, const void *pattern, size_t bytes);

// Adds a launch of a user's kernel, or a step of an optimiser, on `device` with these tensors. Takes over `object`, which `release` frees. `object` NULL: the
// caller had no host memory for it, and the trace is marked as incomplete.
void tsri_trace_object(const tsr_device *device, tsri_traced_kind kind, tsr_tensor *const *tensors, int tensor_count,
                       void *object, void (*release)(void *object));

// The number of the tensor's value in the trace; 0 if the trace does not have it.
uint32_t tsri_trace_find(const tsri_trace *trace, const tsr_tensor *tensor);

#endif
