// SPDX-License-Identifier: MIT
// Launch cache: launches a fusion exactly as an equal fusion was launched before. It does not plan, nor make the key of a kernel, nor look up the kernel.
//
// Programs evaluate the same few small expressions again and again, and then planning is most of the cost. Cached are
// the launches that are common and simple: element-wise nodes alone, all over the same elements in row-major order,
// which the planner fuses into one kernel.
#ifndef TSRI_REPEAT_H
#define TSRI_REPEAT_H

#include "graph/graph.h"
#include "graph/ways.h"

struct tsri_fused;

// Limits of a form. Its key has one word for each input of a node and two words for each node.
enum { TSRI_REPEAT_NODES = 48, TSRI_REPEAT_WORDS = 192, TSRI_REPEAT_PARAMS = 64 };

// The pending nodes that compute a value, as a key of the launch cache. The kernel, the number of work-groups and the size of every binding depend on the words
// alone. Scalars of nodes are not among the words, because they are parameters of the kernel.
typedef struct tsri_repeat_form {
  const tsri_node *nodes[TSRI_REPEAT_NODES];  // the root first, then in the order in which inputs name them
  uint32_t node_count, leaf_count, word_count;
  struct tsri_repeat_leaf {
    const tsri_value *value;
    tsr_dtype dtype;
  } leaves[TSRI_MAX_LEAVES];  // what the nodes read from memory
  uint64_t hash;
  uint64_t words[TSRI_REPEAT_WORDS];
} tsri_repeat_form;

typedef struct tsri_repeat {
  const tsri_built *built;  // NULL: the entry is empty
  uint32_t groups[3];
  uint32_t leaf_count, scalar_count, word_count;
  uint8_t leaf_of[TSRI_MAX_LEAVES];  // for each buffer that the kernel reads, the leaf of the form
  // For each parameter after the first, which is the number of elements: a node of the form, and its scalar.
  struct {
    uint8_t node, index;
  } scalars[TSRI_REPEAT_PARAMS - 1];
  uint64_t words[TSRI_REPEAT_WORDS];
} tsri_repeat;

typedef struct tsri_repeats {
  tsri_ways ways;  // by the hash of an entry's words
  tsri_repeat places[TSRI_WAY_PLACES];
} tsri_repeats;

// Call all of these with the graph's lock held.

// The cached launch for a pending node and the pending nodes before it, or NULL. `*out_form` is valid if there is one.
const tsri_repeat *tsri_repeat_find(const tsri_repeats *repeats, const tsri_node *root, tsri_repeat_form *out_form);

// Cuts a chain with more nodes than are fused into one kernel into pieces, at the nodes where the planner cuts it. Lists the last node of each piece in the
// order in which they must run; the last one is `root`. Returns their number, at most `limit`; 1 if one piece is enough or more than `limit` would be needed.
uint32_t tsri_repeat_cut(tsri_node *root, tsri_node **out_roots, uint32_t limit);

// Launches the nodes of the form, which tsri_repeat_find gave, into `output`.
tsr_status tsri_repeat_launch(const tsri_repeat *repeat, const tsri_repeat_form *form, tsr_buffer *output);

// Stores the launch of a fusion if it is cacheable. The fusion is the whole plan and was launched in one piece.
void tsri_repeat_keep(tsri_repeats *repeats, const struct tsri_fused *fused, const tsri_built *built,
                      const uint32_t groups[3]);

#endif
