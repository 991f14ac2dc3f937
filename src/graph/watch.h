// SPDX-License-Identifier: MIT
// Watching what a thread records: gradients remember it (grad/range.h).
#ifndef TSRI_WATCH_H
#define TSRI_WATCH_H

#include "graph/node.h"

typedef struct tsri_watcher {
  // The thread records this node. It has its inputs, dtype and shape; it is not in the graph yet.
  void (*recorded)(struct tsri_watcher *watcher, const tsri_node *node);
  // The thread is about to overwrite elements of the value, by something that is not recorded.
  void (*overwritten)(struct tsri_watcher *watcher, const tsri_value *value);
} tsri_watcher;

// The calling thread's watcher; NULL: none.
extern TSRI_THREAD_LOCAL tsri_watcher *tsri_watching;

#endif
