// SPDX-License-Identifier: MIT
// Launching an operator in a form in which it was launched before: without a plan, a key, and a search for its kernel.
//
// A program evaluates the same few small operators again and again, and then planning is most of what they cost. Forms are kept
// of what is common and simple: one element-wise operator whose inputs have been computed and lie in order.
#ifndef TSRI_REPEAT_H
#define TSRI_REPEAT_H

#include "graph/graph.h"

// What kernel, groups and parameters depend on. Compared as bytes, so it is zeroed before it is filled.
typedef struct tsri_repeat_key {
  const tsri_op *op;
  int64_t count;
  uint64_t scalars[TSRI_MAX_SCALARS];  // their bits
  uint8_t dtype, input_count, scalar_count, unused;
  uint8_t dtypes[TSRI_MAX_LEAVES], as[TSRI_MAX_LEAVES];
  uint8_t same_as[TSRI_MAX_LEAVES];  // the first input that reads the same elements
} tsri_repeat_key;

typedef struct tsri_repeat {
  tsri_repeat_key key;
  const tsri_built *built;  // NULL: free
  uint32_t groups[3];
  uint32_t leaf_count;
  uint8_t input_of[TSRI_MAX_LEAVES];     // by leaf
  uint64_t block[1 + TSRI_MAX_SCALARS];  // the kernel's parameters
} tsri_repeat;

enum { TSRI_REPEATS = 64 };

// Places by a hash of the key: a later form takes the place of an earlier one.
typedef struct tsri_repeats {
  tsri_repeat places[TSRI_REPEATS];
} tsri_repeats;

// All under the graph's lock.

// The form of a pending node that was kept, or NULL.
const tsri_repeat *tsri_repeat_find(const tsri_repeats *repeats, const tsri_node *node);

// Launches the node in that form.
tsr_status tsri_repeat_launch(const tsri_repeat *repeat, const tsri_node *node, tsr_buffer *output);

// Stores this launch if it is cacheable: one element-wise node with contiguous, computed inputs. `leaf_of`: by input, the place of its argument.
void tsri_repeat_keep(tsri_repeats *repeats, const tsri_node *node, const uint8_t *leaf_of, uint32_t leaf_count,
                      const tsri_built *built, const uint32_t groups[3], const uint64_t *block);

#endif
