// SPDX-License-Identifier: MIT
#include "lang/emit/tree.h"

#include "core/alloc.h"

bool tsri_tree_init(tsri_tree *tree, const tsri_kernel *kernel) {
  enum { MOST_OPERANDS = 4, SPARE = 8 };
  *tree = (tsri_tree){.kernel = kernel};
  tree->stack = tsri_malloc((MOST_OPERANDS * (size_t)kernel->expr_count + SPARE) * sizeof *tree->stack);
  return tree->stack != NULL;
}

void tsri_tree_deinit(tsri_tree *tree) { tsri_free(tree->stack); }

void tsri_tree_visit(tsri_tree *tree, uint32_t expr, void (*visit)(void *emitter, uint32_t expr), void *emitter) {
  const uint32_t has_operands = 0x80000000u;  // on the stack: the operands have been visited
  uint32_t bottom = tree->used;
  tree->stack[tree->used++] = expr;
  while (tree->used > bottom) {
    uint32_t top = tree->stack[--tree->used], index = top & ~has_operands;
    const tsri_ir_expr *x = &tree->kernel->exprs[index];
    uint32_t count = tsri_ir_plain_operands(x);
    if (count == 0 || (top & has_operands)) {
      visit(emitter, index);
    } else {
      tree->stack[tree->used++] = index | has_operands;
      for (uint32_t i = count; i-- > 0;) tree->stack[tree->used++] = x->args[i];
    }
  }
}
