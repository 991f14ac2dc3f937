// SPDX-License-Identifier: MIT
// Watching what a thread records: gradients remember it (grad/range.h).
#ifndef TSRI_WATCH_H
#define TSRI_WATCH_H

#include "graph/node.h"

// Operators that were recorded one by one, but count as one: their results, computed from inputs.
typedef struct tsri_whole {
  const tsri_op *op;
  const void *attributes;  // NULL: none. They are copied
  size_t attribute_bytes;
  tsr_tensor *const *inputs;
  int input_count;
  tsr_tensor *const *outputs;
  int output_count;
} tsri_whole;

typedef struct tsri_watcher {
  // The thread records this node. It has its inputs, dtype and shape; it is not in the graph yet.
  void (*recorded)(struct tsri_watcher *watcher, const tsri_node *node);
  // The thread is about to overwrite elements of the value, by something that is not recorded.
  void (*overwritten)(struct tsri_watcher *watcher, const tsri_value *value);
  // Between the two, recorded nodes are parts of a whole; `whole` says of which.
  void (*whole_begin)(struct tsri_watcher *watcher);
  void (*whole_end)(struct tsri_watcher *watcher, const tsri_whole *whole);
} tsri_watcher;

// The calling thread's watcher; NULL: none.
extern TSRI_THREAD_LOCAL tsri_watcher *tsri_watching;

// While it has one: the pass of a training step in which it records (tsri_pool_set_pass).
extern TSRI_THREAD_LOCAL uint64_t tsri_recording_pass;

// For an operator that is composed of others, but whose gradient is known as a whole. Calls nest; the outermost counts.
static inline void tsri_whole_begin(void) {
  if (tsri_watching) tsri_watching->whole_begin(tsri_watching);
}
static inline void tsri_whole_end(const tsri_whole *whole) {
  if (tsri_watching) tsri_watching->whole_end(tsri_watching, whole);
}

#endif
