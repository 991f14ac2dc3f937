// SPDX-License-Identifier: MIT
// Framework for passes that replace accesses of a kernel by other expressions, and put the statements that these need before them. The statements run once,
// under the same conditions as the access.
#ifndef TSRI_LANG_HOIST_H
#define TSRI_LANG_HOIST_H

#include "lang/lower/rewrite_build.h"

#define TSRI_HOIST_SHARED 6

typedef struct hoister {
  rewriter w;
  tsri_ir_var *vars;
  uint32_t var_count, var_capacity;
  // Copies of the original's arrays and parameters, with room for one more buffer, TSRI_HOIST_SHARED more shared arrays, and two more parameters per buffer and
  // one more per parameter.
  tsri_ir_array *buffers, *shared, *locals;
  tsri_ir_param *params;
  uint32_t buffer_count, shared_count, param_count, params_bytes, needs;
  uint32_t body;                 // the first statement
  uint32_t *places;              // by expression of the original: the expression that replaces it
  list *before;                  // by expression of the original: the statements that must run before it
  const tsri_ir_stmt *original;  // while a statement is rewritten: the original statement
  void *context;                 // for the pass's own use
} hoister;

typedef struct tsri_hoist_pass {
  // Returns the replacement of the original's expression `index`; 0: it stays, with its operands replaced. Statements
  // that it needs go to `before`. The statements of operands of ?: are still in h->before. NULL: all expressions stay.
  uint32_t (*expr)(hoister *h, uint32_t index, list *before);
  // Returns the replacement of a LOAD whose operands have been replaced already; 0: it stays. Statements that it needs
  // go to `before`. NULL: all loads stay.
  uint32_t (*load)(hoister *h, tsri_ir_expr load, list *before);
  // Appends the replacement of a STORE, ATOMIC or COLLECTIVE (with `has_assignments` also of an ASSIGN) whose operands
  // have been replaced already. NULL: all stay.
  void (*stmt)(hoister *h, tsri_ir_stmt stmt, list *to);
  bool has_assignments;
  // Returns the replacement of the condition `value` of the IF or LOOP `index`, whose operands have been replaced
  // already. Statements that it needs go to `before`. NULL: all conditions stay.
  uint32_t (*condition)(hoister *h, uint32_t index, uint32_t value, list *before);
  // Rearranges the statements from h->body on, when all have been rewritten. NULL: they stay.
  void (*blocks)(hoister *h);
} tsri_hoist_pass;

// Rewrites `kernel` into another one, which uses its names. `prepare` may first change and add arrays and parameters; NULL: none.
//
// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_hoist(const tsri_kernel *kernel, const tsri_hoist_pass *pass, void (*prepare)(hoister *h),
                      void *context, tsri_kernel **out_kernel);

// This item's number in its work-group, as an expression that may be used any number of times.
uint32_t tsri_hoist_item_number(hoister *h, list *to);

// Writes a COND, AND_THEN or OR_ELSE of the original as an if, which goes to `before`, and returns the variable that
// the if assigns the result to.
uint32_t tsri_hoist_branch(hoister *h, const tsri_ir_expr *x, list *before);

// A new variable.
uint32_t tsri_hoist_var(hoister *h, tsri_ir_type type);

// Appends an assignment of `value` to a new variable to `to`, and returns the variable as an expression that may be used any number of times. A leaf is
// returned as it is.
uint32_t tsri_hoist_value(hoister *h, list *to, uint32_t value);

#endif
