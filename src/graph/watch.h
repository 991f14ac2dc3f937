// SPDX-License-Identifier: MIT
// Watchers: callbacks for what a thread records. Gradients keep a record of it (grad/range.h).
#ifndef TSRI_WATCH_H
#define TSRI_WATCH_H

#include "graph/node.h"

// A composed operator: several operators that were recorded one by one, but have one gradient rule, that of `op`.
typedef struct tsri_whole {
  const tsri_op *op;
  const void *attributes;  // of `op`, copied by the watcher; NULL: none
  size_t attribute_bytes;
  tsr_tensor *const *inputs;
  int input_count;
  tsr_tensor *const *outputs;
  int output_count;
} tsri_whole;

typedef struct tsri_watcher {
  // The thread records this node. It has its inputs, dtype and shape; it is not in the graph yet.
  void (*recorded)(struct tsri_watcher *watcher, const tsri_node *node);
  // The thread is about to overwrite elements of the value by an action that records no node.
  void (*overwritten)(struct tsri_watcher *watcher, const tsri_value *value);
  // The nodes that are recorded between these two calls are parts of the composed operator `whole`.
  void (*whole_begin)(struct tsri_watcher *watcher);
  void (*whole_end)(struct tsri_watcher *watcher, const tsri_whole *whole);
} tsri_watcher;

// The calling thread's watcher; NULL: none.
extern TSRI_THREAD_LOCAL tsri_watcher *tsri_watching;

// The pass of a training step in which the calling thread records (tsri_pool_set_pass). Valid while the thread has a watcher.
extern TSRI_THREAD_LOCAL uint64_t tsri_recording_pass;

// Enclose the recording of a composed operator (tsri_whole). Calls may be nested; only the outermost pair has an effect on gradients.
static inline void tsri_whole_begin(void) {
  if (tsri_watching) tsri_watching->whole_begin(tsri_watching);
}
static inline void tsri_whole_end(const tsri_whole *whole) {
  if (tsri_watching) tsri_watching->whole_end(tsri_watching, whole);
}

#endif
