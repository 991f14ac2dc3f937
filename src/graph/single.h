// SPDX-License-Identifier: MIT
// Launch cache of single operators: runs a node by the native operators and fused kernels by which an equal node was run before,
// without planning it.
//
// For few elements, running an operator takes less time than planning it. repeat.h caches the launches of element-wise kernels on contiguous elements. This
// cache has all other nodes, such as a sum, a sort, a product or an element-wise operator on views, for which only a few steps (runtime/steps.h) were queued.
// An entry may have several nodes, such as a copy of a view and a sort, if each node before the last is referred to only by nodes of the entry.
#ifndef TSRI_SINGLE_H
#define TSRI_SINGLE_H

#include "graph/graph.h"
#include "graph/ways.h"
#include "runtime/steps.h"

enum { TSRI_SINGLE_NODES = 12, TSRI_SINGLE_WORDS = 160, TSRI_SINGLE_INPUTS = 4, TSRI_SINGLE_PLACES = 9 };

// A pending node (the root) and the pending nodes that compute its inputs. The steps that run them depend on the words and on the addresses of the buffers that
// they read, and on nothing else.
typedef struct tsri_single_form {
  const tsri_node *nodes[TSRI_SINGLE_NODES];  // the root first, then in the order in which inputs name them
  tsr_buffer *inputs[TSRI_SINGLE_INPUTS];     // the different buffers that the nodes read; not references
  // The memory of each input before the run. The run may release an input that is not needed any more and reuse its memory for a result.
  tsri_step_buffer input_places[TSRI_SINGLE_INPUTS];
  uint32_t node_count, input_count, word_count;
  uint32_t readers[TSRI_SINGLE_NODES];  // for each node, how many inputs of the form's nodes it is
  bool is_repeat;                       // nodes like these belong in the launch cache of repeat.h
  uint64_t hash;
  uint64_t words[TSRI_SINGLE_WORDS];
} tsri_single_form;

// An operand of a cached step: which field or argument of the step holds it, and the buffer to put there.
typedef struct tsri_single_place {
  uint16_t at;     // native operator: bytes from its start to the tsri_place; kernel: number of the argument
  uint8_t buffer;  // index in buffer_list of single.c: a result, an input or a temporary buffer
  size_t offset;   // bytes from the start of that buffer
} tsri_single_place;

typedef struct tsri_single_step {
  const tsri_built *built;  // NULL: a native operator
  union {
    tsri_native_op op;
    tsri_step_launch launch;
  } is;
  uint32_t place_count;
  tsri_single_place places[TSRI_SINGLE_PLACES];
} tsri_single_step;

typedef struct tsri_single {
  uint32_t word_count;  // 0: the entry is empty
  uint32_t step_count;  // 0: nodes of this form have to be planned
  uint32_t temporary_count;
  size_t temporary_bytes[TSRI_STEP_TEMPORARIES];  // 0: this number is not used
  tsri_single_step steps[TSRI_STEPS];
  uint64_t words[TSRI_SINGLE_WORDS];
} tsri_single;

typedef struct tsri_singles {
  tsri_ways ways;  // by the hash of an entry's words
  tsri_single places[TSRI_WAY_PLACES];
} tsri_singles;

// Call all of these with the graph's lock held.

// Describes the node and the pending nodes before it. False if they cannot be cached: there are too many, one of them belongs to a capture
// or is an assignment, or something other than these nodes refers to a node before the last.
bool tsri_single_describe(const tsri_node *node, tsri_single_form *out_form);

// The entry of an equal node, or NULL.
tsri_single *tsri_single_find(tsri_singles *singles, const tsri_single_form *form);

// Queues the entry's steps for the node with this form; `outputs` are the buffers of its results. Errors: TSR_ERR_UNSUPPORTED, without a message, if the device does not
// accept one of them now; those of the backend; TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_single_run(tsri_single *single, const tsri_single_form *form, tsr_buffer *const *outputs);

// Stores the steps that computed the node of this form; `output` is the buffer of its first result. `is_all`: nothing else was queued for the node. If `is_all` is false, or the steps cannot
// be repeated with other buffers, the entry says that nodes of this form have to be planned (step_count is 0).
void tsri_single_keep(tsri_singles *singles, const tsri_single_form *form, const tsri_steps *steps, bool is_all,
                      tsr_buffer *output);

#endif
