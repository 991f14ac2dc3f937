// SPDX-License-Identifier: MIT
// Launch cache of single nodes: runs a node by the native operators of its device by which an equal node was run before,
// without planning it.
//
// An operator on a few elements takes less time than its plan. repeat.h has the launches of element-wise kernels; here are
// nodes of any other kind, such as a sum, a sort, a copy of a view or a product, if nothing but one or two native operators
// was queued for them.
#ifndef TSRI_SINGLE_H
#define TSRI_SINGLE_H

#include "graph/graph.h"
#include "runtime/native_op.h"

enum {
  TSRI_SINGLES = 64,
  TSRI_SINGLE_WORDS = 64,
  TSRI_SINGLE_INPUTS = 3,
  TSRI_SINGLE_OPS = TSRI_NATIVE_WATCHED,
  TSRI_SINGLE_PLACES = 6
};

// A node whose inputs are all computed. The words are all that its native operator depends on, apart from the addresses
// of its buffers.
typedef struct tsri_single_form {
  tsr_buffer *inputs[TSRI_SINGLE_INPUTS];  // not references
  uint32_t input_count, word_count;
  uint64_t hash;
  uint64_t words[TSRI_SINGLE_WORDS];
} tsri_single_form;

// Where an operand of a cached operator is.
typedef struct tsri_single_place {
  uint16_t at;     // bytes from the start of the operator to its tsri_place
  uint8_t buffer;  // 0: the output; i + 1: input i
  size_t offset;   // bytes from the start of that buffer
} tsri_single_place;

typedef struct tsri_single {
  uint32_t word_count;  // 0: the entry is empty
  uint32_t op_count;    // 0: nodes of this form have to be planned
  struct {
    tsri_native_op op;
    uint32_t place_count;
    tsri_single_place places[TSRI_SINGLE_PLACES];
  } ops[TSRI_SINGLE_OPS];
  uint64_t hash;
  uint64_t words[TSRI_SINGLE_WORDS];
} tsri_single;

// Direct-mapped, as tsri_repeats.
typedef struct tsri_singles {
  tsri_single places[TSRI_SINGLES];
} tsri_singles;

// Call all of these with the graph's lock held.

// Describes the node. False if it is not cached: an input is pending, the node belongs to a capture, has several results or is an
// assignment.
bool tsri_single_describe(const tsri_node *node, tsri_single_form *out_form);

// The entry of an equal node, or NULL.
tsri_single *tsri_single_find(tsri_singles *singles, const tsri_single_form *form);

// Queues the entry's operators for the node with this form. Errors: TSR_ERR_UNSUPPORTED, without a message, if the device
// does not accept one of them now; those of the backend.
tsr_status tsri_single_run(tsri_single *single, const tsri_single_form *form, tsr_buffer *output);

// Stores the operators that the watch has seen while the node of this form ran into `output`. Nodes of this form have to be
// planned if they cannot be run again for other buffers, or if `is_all` is not set: more than these was queued.
void tsri_single_keep(tsri_singles *singles, const tsri_single_form *form, const tsri_native_watch *watch, bool is_all,
                      tsr_buffer *output);

#endif
