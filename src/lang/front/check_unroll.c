// SPDX-License-Identifier: MIT
// `unroll for`: checks the body once for every value of the loop's variable, which is a constant in it.
//
// So indices computed from this variable are constants, and a small array that has only constant indices is kept in
// registers on every device.
#include "lang/front/check.h"

enum { MOST_ROUNDS = 256 };

// The declaration of the loop's variable; NULL, with an error, if the loop has another form.
static const tsri_ast *variable_of(tsri_checker *c, const tsri_ast *ast) {
  const tsri_ast *start = tsri_ast_of(c, ast->a), *decl = tsri_ast_of(c, start->a);
  bool is_one = ast->a && start->kind == TSRI_AST_DECLS && !decl->next && decl->b && !decl->c;
  if (is_one && ast->b && !(ast->flags & TSRI_AST_HAS_RETURN)) return decl;
  if (ast->flags & TSRI_AST_HAS_RETURN) {
    tsri_diag_error(c->diag, ast->pos, "there is a 'return' in an 'unroll for'");
  } else {
    tsri_diag_error(c->diag, ast->pos, "'unroll for' declares one variable with a value, and has a condition");
    tsri_diag_hint(c->diag, "as in: unroll for (u32 i = 0; i < 4; i++)");
  }
  return NULL;
}

// False, with an error, if the value is not known at compile time.
static bool need_constant(tsri_checker *c, const tsri_check_operand *value, const char *what) {
  if (value->kind != TSRI_OPERAND_VALUE) return false;  // already reported
  if (tsri_is_const(c, value)) return true;
  tsri_diag_error(c->diag, value->pos, "the %s of an 'unroll for' must be known at compile time", what);
  return false;
}

// Whether another iteration follows. False also after an error.
static bool goes_on(tsri_checker *c, const tsri_ast *ast, uint32_t rounds) {
  tsri_check_operand condition = tsri_need_bool(c, tsri_check_expr(c, ast->b, TSR_BOOL), "the condition of a loop");
  if (!need_constant(c, &condition, "condition") || !tsri_const_bits(c, &condition)) return false;
  if (rounds < MOST_ROUNDS) return true;
  tsri_diag_error(c->diag, ast->pos, "an 'unroll for' of more than %d rounds", MOST_ROUNDS);
  return false;
}

// Computes the variable's next value. False, with an error, if the step does anything else.
static bool take_step(tsri_checker *c, const tsri_ast *ast, uint32_t variable, tsr_dtype storage) {
  for (uint32_t node = ast->c; node; node = tsri_ast_of(c, node)->next) {
    const tsri_ast *step = tsri_ast_of(c, node), *target = tsri_ast_of(c, step->a);
    tsri_check_operand old = tsri_name_binding_at(c, variable)->value;
    if (step->kind != TSRI_AST_ASSIGN || target->kind != TSRI_AST_NAME ||
        target->symbol != tsri_name_binding_at(c, variable)->symbol) {
      tsri_diag_error(c->diag, step->pos, "the step of an 'unroll for' changes its variable and nothing else");
      return false;
    }
    tsri_check_operand value = tsri_check_expr(c, step->b, (tsr_dtype)old.type.dtype);
    if (value.kind != TSRI_OPERAND_ERROR && step->op) {
      tsri_check_operand args[2] = {old, value};
      value = tsri_check_op(c, step->pos, (tsri_ir_op)(step->op - 1), args);
    }
    value = tsri_assignable(c, value, storage, 1, "the loop's variable");
    if (!need_constant(c, &value, "step")) return false;
    tsri_name_binding_at(c, variable)->value = value;
  }
  return true;
}

static void check_rounds(tsri_checker *c, const tsri_ast *ast, const tsri_ast *decl) {
  tsr_dtype storage;
  uint8_t lanes;
  if (!tsri_check_type(c, decl->a, &storage, &lanes)) return;
  tsri_check_operand value = tsri_check_expr(c, decl->b, tsri_ir_compute_dtype(storage));
  value = tsri_assignable(c, value, storage, lanes, "the loop's variable");
  if (!need_constant(c, &value, "first value")) return;
  uint32_t variable = tsri_bind(c, TSRI_BIND_CONST, decl->symbol, decl->pos), errors = c->diag->error_count;
  tsri_name_binding_at(c, variable)->value = value;
  for (uint32_t rounds = 0; goes_on(c, ast, rounds); rounds++) {
    uint32_t scope = tsri_scope_open(c);
    if (ast->d) tsri_check_statement(c, ast->d);
    tsri_scope_close(c, scope);
    if (c->diag->error_count != errors || tsri_check_is_over(c) || !take_step(c, ast, variable, storage)) break;
  }
}

void tsri_check_unrolled(tsri_checker *c, const tsri_ast *ast) {
  const tsri_ast *decl = variable_of(c, ast);
  if (!decl) return;
  uint32_t scope = tsri_scope_open(c), loop_depth = c->frame->loop_depth;
  c->frame->loop_depth = 0;  // break and continue are not allowed in an unrolled loop
  c->unrolled++;
  check_rounds(c, ast, decl);
  c->unrolled--;
  c->frame->loop_depth = loop_depth;
  tsri_scope_close(c, scope);
}
