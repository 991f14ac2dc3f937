// SPDX-License-Identifier: MIT
// Traces of captures. If host memory runs out, the trace is marked as incomplete and the capture goes on: it can be run,
// but not saved.
#include "graph/trace.h"

#include <string.h>

#include "core/alloc.h"
#include "graph/assign.h"
#include "runtime/tape.h"

static void free_step(tsri_traced_step *step) {
  tsri_free(step->attributes);
  tsri_free(step->results);
  tsri_free(step->views);
  if (step->object) step->release(step->object);
}

static void destroy(void *memory) {
  tsri_trace *trace = memory;
  for (uint32_t i = 0; i < trace->step_count; i++) free_step(&trace->steps[i]);
  for (uint32_t i = 0; i < trace->leaf_count; i++) tsri_value_release(trace->leaves[i].is_of);
  tsri_free(trace->steps);
  tsri_free(trace->leaves);
  tsri_free(trace);
}

void tsri_trace_begin(void) {
  tsri_tape *tape = tsri_tape_now();
  tsri_trace *trace = tsri_calloc(1, sizeof *trace);
  if (!trace) return;
  trace->tape = tsri_tape_id();
  trace->device = tsri_tape_device(tape);
  tsri_tape_set_trace(tape, trace, destroy);
}

// The trace of the calling thread's tape if it is on this device; else NULL.
static tsri_trace *trace_on(const tsr_device *device) {
  tsri_tape *tape = tsri_tape_now();
  return tape && tsri_tape_device(tape) == device ? tsri_tape_trace(tape) : NULL;
}

// --- Values ----------------------------------------------------------------------------------------------------------

// Makes room for one more element.
static bool grow(tsri_trace *trace, void **array, uint32_t count, uint32_t *room, size_t bytes) {
  if (count < *room) return true;
  uint32_t more = *room ? 2 * *room : 16;
  void *larger = tsri_realloc(*array, more * bytes);
  if (larger) {
    *array = larger;
    *room = more;
  } else {
    trace->status = TSR_ERR_OUT_OF_MEMORY;
  }
  return larger != NULL;
}

static bool is_traced(const tsri_trace *trace, const tsri_value *value) {
  if (!tsri_value_is_node(value)) return false;
  const tsri_node *node = (const tsri_node *)value;
  return node->tape == trace->tape && node->traced != 0 && value->device == trace->device;
}

// An assignment that was recorded before the capture began stands for the memory that it writes to.
static tsri_value *leaf_of(const tsri_value *value) {
  return (tsri_value *)(uintptr_t)(value->storage ? value->storage : value);
}

static tsri_traced_leaf *find_leaf(const tsri_trace *trace, const tsri_value *value) {
  for (uint32_t i = 0; i < trace->leaf_count; i++) {
    if (trace->leaves[i].is_of == value) return &trace->leaves[i];
  }
  return NULL;
}

static tsri_traced_leaf *add_leaf(tsri_trace *trace, tsri_value *value, tsr_dtype dtype) {
  if (!grow(trace, (void **)&trace->leaves, trace->leaf_count, &trace->leaf_room, sizeof *trace->leaves)) return NULL;
  tsri_traced_leaf *leaf = &trace->leaves[trace->leaf_count++];
  *leaf = (tsri_traced_leaf){.value = ++trace->value_count, .is_of = tsri_value_retain(leaf_of(value)), .dtype = dtype};
  return leaf;
}

// The number of the value in the trace. A value that is not in the trace yet becomes a leaf. 0 when host memory is out.
static uint32_t number_of(tsri_trace *trace, tsri_value *value, tsr_dtype dtype) {
  if (is_traced(trace, value)) return ((const tsri_node *)value)->traced;
  tsri_traced_leaf *leaf = find_leaf(trace, leaf_of(value));
  if (!leaf) leaf = add_leaf(trace, value, dtype);
  return leaf ? leaf->value : 0;
}

uint32_t tsri_trace_find(const tsri_trace *trace, const tsr_tensor *tensor) {
  if (is_traced(trace, tensor->value)) return ((const tsri_node *)tensor->value)->traced;
  const tsri_traced_leaf *leaf = find_leaf(trace, leaf_of(tensor->value));
  return leaf ? leaf->value : 0;
}

// --- Steps -----------------------------------------------------------------------------------------------------------

// Adds an empty step with room for `view_count` views. NULL when host memory is out.
static tsri_traced_step *add_step(tsri_trace *trace, tsri_traced_kind kind, uint32_t view_count) {
  if (!grow(trace, (void **)&trace->steps, trace->step_count, &trace->step_room, sizeof *trace->steps)) return NULL;
  tsri_traced_step *step = &trace->steps[trace->step_count];
  *step = (tsri_traced_step){.kind = kind, .view_count = view_count};
  step->views = tsri_malloc((view_count ? view_count : 1) * sizeof *step->views);
  if (!step->views) {
    trace->status = TSR_ERR_OUT_OF_MEMORY;
    return NULL;
  }
  trace->step_count++;
  return step;
}

static bool copy_attributes(const tsri_node *node, tsri_traced_step *step) {
  size_t bytes = node->attributes ? tsri_op_attribute_bytes(node->op) : 0;
  step->attributes = bytes ? tsri_malloc(bytes) : NULL;
  if (step->attributes) memcpy(step->attributes, node->attributes, bytes);
  return bytes == 0 || step->attributes;
}

// The nodes of the other results are not recorded yet, but have their dtypes.
static bool copy_results(const tsri_node *node, tsri_traced_step *step) {
  step->results = tsri_calloc(node->result_count, sizeof *step->results);
  if (!step->results) return false;
  step->results[0] = (tsri_result){node->dtype, node->shape};
  step->result_count = node->result_count;
  return true;
}

static void add_operator(tsri_trace *trace, tsri_node *node) {
  tsri_traced_step *step = add_step(trace, TSRI_TRACED_OPERATOR, node->input_count);
  if (!step) return;
  step->op = node->op;
  step->axes = node->axes;
  if (!copy_attributes(node, step) || !copy_results(node, step)) trace->status = TSR_ERR_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const tsri_input *input = &node->inputs[i];
    step->views[i] =
        (tsri_traced_view){number_of(trace, input->value, input->dtype), input->dtype, input->as, input->layout};
  }
  node->traced = step->first_result = trace->value_count + 1;
  trace->value_count += node->result_count;
}

// Gives the node of a further result of an operator (tsri_op_result) its number in the trace.
static void add_result(tsri_trace *trace, tsri_node *node) {
  const tsri_node *first = (const tsri_node *)node->inputs[0].value;
  if (!is_traced(trace, &first->value)) return;
  node->traced = first->traced + node->axes;
  for (uint32_t i = trace->step_count; i-- > 0;) {
    if (trace->steps[i].first_result != first->traced || !trace->steps[i].results) continue;
    trace->steps[i].results[node->axes] = (tsri_result){node->dtype, node->shape};
    return;
  }
}

static void add_assignment(tsri_trace *trace, tsri_node *node) {
  tsri_traced_step *step = add_step(trace, TSRI_TRACED_ASSIGNMENT, 2);
  for (uint32_t i = 0; step && i < 2; i++) {
    const tsri_input *input = &node->inputs[i];
    step->views[i] =
        (tsri_traced_view){number_of(trace, input->value, input->dtype), input->dtype, input->as, input->layout};
  }
  if (step) node->traced = step->first_result = step->views[0].value;
}

void tsri_trace_node(tsri_node *node) {
  tsri_trace *trace = trace_on(node->value.device);
  if (!trace) return;
  if (node->op == &tsri_op_assign) add_assignment(trace, node);
  else if (node->op == &tsri_op_result) add_result(trace, node);
  else add_operator(trace, node);
}

void tsri_trace_fill(const tsr_tensor *tensor, const void *pattern, size_t bytes) {
  tsri_trace *trace = tensor->status == TSR_OK ? trace_on(tensor->value->device) : NULL;
  tsri_traced_leaf *leaf = trace ? add_leaf(trace, tensor->value, tensor->dtype) : NULL;
  if (!leaf) return;
  leaf->is_filled = true;
  memcpy(leaf->pattern, pattern, bytes);
}

void tsri_trace_object(const tsr_device *device, tsri_traced_kind kind, tsr_tensor *const *tensors, int tensor_count,
                       void *object, void (*release)(void *object)) {
  tsri_trace *trace = trace_on(device);
  tsri_traced_step *step = trace ? add_step(trace, kind, (uint32_t)tensor_count) : NULL;
  if (trace && !object) trace->status = TSR_ERR_OUT_OF_MEMORY;
  if (!step) {
    if (object) release(object);
    return;
  }
  step->object = object;
  step->release = release;
  for (int i = 0; i < tensor_count; i++) {
    const tsr_tensor *tensor = tensors[i];
    step->views[i] = (tsri_traced_view){number_of(trace, tensor->value, tensor->dtype), tensor->dtype, tensor->dtype,
                                        tensor->layout};
  }
}
