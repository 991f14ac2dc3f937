// SPDX-License-Identifier: MIT
// Visits an expression tree, operands first. Uses an explicit stack, since a chain of additions may be as deep as it is
// long. The kernel must have no lazy operands (lower/lazy.h).
#ifndef TSRI_LANG_EMIT_TREE_H
#define TSRI_LANG_EMIT_TREE_H

#include "lang/ir/ir.h"

typedef struct tsri_tree {
  const tsri_kernel *kernel;
  uint32_t *stack;
  uint32_t used;
} tsri_tree;

bool tsri_tree_init(tsri_tree *tree, const tsri_kernel *kernel);  // false: no memory
void tsri_tree_deinit(tsri_tree *tree);

// Calls visit(emitter, index) for each expression of the tree, `expr` last. `visit` may walk other trees.
void tsri_tree_visit(tsri_tree *tree, uint32_t expr, void (*visit)(void *emitter, uint32_t expr), void *emitter);

#endif
