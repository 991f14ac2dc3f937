// SPDX-License-Identifier: MIT
// Launch cache: launches a node exactly as an equal one was launched before, without planning, making a key or
// searching its kernel.
//
// Programs evaluate the same few small operators again and again, and then planning is most of the cost. Cached are the
// launches that are common and simple: a single element-wise node whose inputs are computed and contiguous.
#ifndef TSRI_REPEAT_H
#define TSRI_REPEAT_H

#include "graph/graph.h"

// Everything that the kernel, the number of work-groups and the parameters depend on. It is compared by memcmp, so it
// must be zeroed before it is filled.
typedef struct tsri_repeat_key {
  const tsri_op *op;
  int64_t count;
  uint64_t scalars[TSRI_MAX_SCALARS];  // the bits of the doubles
  uint8_t dtype, input_count, scalar_count, unused;
  uint8_t dtypes[TSRI_MAX_LEAVES], as[TSRI_MAX_LEAVES];
  uint8_t same_as[TSRI_MAX_LEAVES];  // the first input that reads the same value with the same dtype
} tsri_repeat_key;

typedef struct tsri_repeat {
  tsri_repeat_key key;
  const tsri_built *built;  // NULL: the entry is empty
  uint32_t groups[3];
  uint32_t leaf_count;
  uint8_t input_of[TSRI_MAX_LEAVES];     // for each leaf, the input that it binds
  uint64_t block[1 + TSRI_MAX_SCALARS];  // the kernel's parameter block
} tsri_repeat;

enum { TSRI_REPEATS = 64 };

// Direct-mapped: an entry's place is a hash of its key, and a new entry replaces the old one.
typedef struct tsri_repeats {
  tsri_repeat places[TSRI_REPEATS];
} tsri_repeats;

// Call all of these with the graph's lock held.

// The cached launch for a pending node, or NULL.
const tsri_repeat *tsri_repeat_find(const tsri_repeats *repeats, const tsri_node *node);

// Launches the node into `output` as cached.
tsr_status tsri_repeat_launch(const tsri_repeat *repeat, const tsri_node *node, tsr_buffer *output);

// Stores this launch if it is cacheable: one element-wise node with contiguous, computed inputs. leaf_of[i] is the
// argument that input i binds.
void tsri_repeat_keep(tsri_repeats *repeats, const tsri_node *node, const uint8_t *leaf_of, uint32_t leaf_count,
                      const tsri_built *built, const uint32_t groups[3], const uint64_t *block);

#endif
