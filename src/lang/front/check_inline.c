// SPDX-License-Identifier: MIT
// Calls of functions in the file. Each call checks the function's body again with its arguments, and builds it in
// place.
#include "lang/front/check.h"

#include <stdio.h>

// --- Type parameters of functions -----------------------------------------------------------------------------------

// The dtype that an argument suggests for the type parameter of its parameter; TSR_DTYPE_COUNT: none.
static tsr_dtype dtype_of_argument(const tsri_checker *c, const tsri_check_operand *arg) {
  if (arg->kind == TSRI_OPERAND_VALUE) return (tsr_dtype)arg->type.dtype;
  if (arg->kind == TSRI_OPERAND_ARRAY) {
    const tsri_name_binding *binding = tsri_name_binding_at(c, arg->binding);
    return (tsr_dtype)tsri_array_at(c, binding->space, binding->object)->storage;
  }
  return TSR_DTYPE_COUNT;
}

static tsr_dtype dtype_of_literal(const tsri_check_operand *arg) {
  return arg->kind == TSRI_OPERAND_INT ? TSR_I32 : arg->kind == TSRI_OPERAND_FLOAT ? TSR_F32 : TSR_DTYPE_COUNT;
}

// Deduces a type parameter from the arguments. Arguments with a type take precedence over literals.
static tsr_dtype deduce(const tsri_checker *c, uint32_t symbol, uint32_t first_param, const tsri_check_operand *args) {
  for (int pass = 0; pass < 2; pass++) {
    uint32_t i = 0;
    for (uint32_t param = first_param; param; param = tsri_ast_of(c, param)->next, i++) {
      const tsri_ast *type = tsri_ast_of(c, tsri_ast_of(c, param)->a);
      if (type->symbol != symbol) continue;
      tsr_dtype dtype = pass == 0 ? dtype_of_argument(c, &args[i]) : dtype_of_literal(&args[i]);
      if (dtype != TSR_DTYPE_COUNT) return dtype;
    }
  }
  return TSR_DTYPE_COUNT;
}

static bool bind_generics(tsri_checker *c, uint32_t function, const tsri_check_operand *args, tsri_ir_pos call) {
  const tsri_ast *ast = tsri_ast_of(c, function);
  for (uint32_t node = ast->a; node; node = tsri_ast_of(c, node)->next) {
    const tsri_ast *generic = tsri_ast_of(c, node);
    if (!generic->op) {
      int64_t value = 0;
      if (!generic->a) {
        tsri_diag_error(c->diag, generic->pos, "a compile-time number of a function needs a default");
        return false;
      }
      if (!tsri_check_constant(c, generic->a, "a default", &value)) return false;
      uint32_t id = tsri_bind(c, TSRI_BIND_CONST, generic->symbol, generic->pos);
      tsri_name_binding_at(c, id)->value =
          (tsri_check_operand){.kind = TSRI_OPERAND_INT, .integer = value, .pos = generic->pos};
      continue;
    }
    tsr_dtype dtype = deduce(c, generic->symbol, ast->b, args);
    if (dtype == TSR_DTYPE_COUNT && generic->a) {
      uint8_t lanes;
      if (!tsri_check_type(c, generic->a, &dtype, &lanes)) return false;
    }
    if (dtype == TSR_DTYPE_COUNT || !(generic->b & (1u << dtype))) {
      bool is_unknown = dtype == TSR_DTYPE_COUNT;
      tsri_diag_error(
          c->diag, call,
          is_unknown ? "the arguments do not say what '%.*s' is" : "'%.*s' would be %s, which it may not be",
          TSRI_NAME(c, generic->symbol), is_unknown ? "" : tsr_dtype_name(dtype));
      tsri_diag_note(c->diag, generic->pos, "declared here");
      return false;
    }
    uint32_t id = tsri_bind(c, TSRI_BIND_TYPE, generic->symbol, generic->pos);
    tsri_name_binding_at(c, id)->storage = (uint8_t)dtype;
  }
  return true;
}

// --- Parameters -----------------------------------------------------------------------------------------------------

static bool bind_array(tsri_checker *c, const tsri_ast *param, const tsri_check_operand *arg, tsr_dtype storage) {
  if (arg->kind != TSRI_OPERAND_ARRAY) {
    tsri_diag_error(c->diag, arg->pos, "'%.*s' wants an array, this is %s", TSRI_NAME(c, param->symbol),
                    tsri_check_operand_type_name(arg));
    tsri_diag_note(c->diag, param->pos, "declared here");
    return false;
  }
  tsri_name_binding given = *tsri_name_binding_at(c, arg->binding);
  tsr_dtype is = (tsr_dtype)tsri_array_at(c, given.space, given.object)->storage;
  if (is != storage) {
    tsri_diag_error(c->diag, arg->pos, "'%.*s' wants elements of type %s, these are %s", TSRI_NAME(c, param->symbol),
                    tsr_dtype_name(storage), tsr_dtype_name(is));
    tsri_diag_note(c->diag, param->pos, "declared here");
    return false;
  }
  bool reads = param->op == TSRI_ACCESS_IN + 1 || param->op == TSRI_ACCESS_INOUT + 1;
  bool writes = param->op == TSRI_ACCESS_OUT + 1 || param->op == TSRI_ACCESS_INOUT + 1;
  if ((reads && given.access == TSRI_ACCESS_OUT) || (writes && (given.access == TSRI_ACCESS_IN || given.is_const))) {
    tsri_diag_error(c->diag, arg->pos, "'%.*s' may only be %s, and the function %s it", TSRI_NAME(c, given.symbol),
                    given.access == TSRI_ACCESS_OUT ? "written" : "read",
                    given.access == TSRI_ACCESS_OUT ? "reads" : "writes");
    tsri_diag_note(c->diag, param->pos, "declared here");
    return false;
  }
  tsri_name_binding *binding = tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_ARRAY, param->symbol, param->pos));
  binding->space = given.space;
  binding->object = given.object;
  binding->is_const = given.is_const;
  binding->access = param->op ? (uint8_t)(param->op - 1) : given.access;
  binding->dim_count = 1;
  binding->dims[0] = tsri_array_at(c, given.space, given.object)->count;
  return true;
}

// Binds a parameter to its argument. If the body never assigns to it and the value is a leaf, no variable is needed.
static bool bind_value(tsri_checker *c, const tsri_ast *param, tsri_check_operand arg, tsr_dtype storage,
                       uint8_t lanes) {
  char what[64];
  snprintf(what, sizeof what, "parameter '%.*s'", TSRI_NAME(c, param->symbol));
  tsri_check_operand value = tsri_assignable(c, arg, storage, lanes, what);
  if (value.kind != TSRI_OPERAND_VALUE) {
    tsri_diag_note(c->diag, param->pos, "declared here");
    return false;
  }
  if (tsri_is_leaf(c, value.expr) && !(param->flags & TSRI_AST_IS_ASSIGNED)) {
    tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_CONST, param->symbol, param->pos))->value = value;
    return true;
  }
  if (c->is_const_only) {
    tsri_diag_error(c->diag, arg.pos, "this is not known at compile time");
    return false;
  }
  uint32_t var = tsri_new_var(c, tsri_names_at(&c->module->names, param->symbol)->text, value.type);
  uint32_t before = c->block->last;
  tsri_assign(c, var, value, arg.pos);
  tsri_name_binding *binding = tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_VAR, param->symbol, param->pos));
  binding->object = var;
  binding->storage = (uint8_t)storage;
  binding->type = value.type;
  binding->before = before;
  binding->node = c->block->last;
  binding->is_read = param->flags & TSRI_AST_IS_ASSIGNED;
  return true;
}

static bool bind_params(tsri_checker *c, uint32_t first, const tsri_check_operand *args) {
  bool ok = true;
  uint32_t i = 0;
  for (uint32_t node = first; node; node = tsri_ast_of(c, node)->next, i++) {
    const tsri_ast *param = tsri_ast_of(c, node);
    tsr_dtype storage;
    uint8_t lanes;
    if (!tsri_check_type(c, param->a, &storage, &lanes)) return false;
    if (args[i].kind == TSRI_OPERAND_ERROR) {
      ok = false;
    } else if (param->flags & TSRI_AST_IS_ARRAY) {
      ok = bind_array(c, param, &args[i], storage) && ok;
    } else {
      ok = bind_value(c, param, args[i], storage, lanes) && ok;
    }
  }
  return ok;
}

// Removes the assignments to parameters that the body did not read. Hooks often pass more values than their filling
// uses.
static void drop_unread(const tsri_checker *c, uint32_t first_binding) {
  tsri_stmt_list *block = c->block;
  for (uint32_t id = c->bindings.count; id-- > first_binding;) {
    const tsri_name_binding *binding = tsri_name_binding_at(c, id);
    if (binding->kind != TSRI_BIND_VAR || binding->is_read || !binding->node) continue;
    uint32_t *link = binding->before ? &tsri_stmt_at(c, binding->before)->next : &block->first;
    if (*link != binding->node) continue;  // another statement was inserted between them to keep the order
    *link = tsri_stmt_at(c, binding->node)->next;
    if (block->last == binding->node) block->last = binding->before;
  }
}

// --- The call -------------------------------------------------------------------------------------------------------

// Reports an error if the function is being called already. Returns whether it is.
static bool refuse_recursion(tsri_checker *c, uint32_t function, tsri_ir_pos call) {
  for (const tsri_frame *frame = c->frame; frame; frame = frame->parent) {
    if (frame->function != function) continue;
    tsri_diag_error(c->diag, call, "'%.*s' calls itself", TSRI_NAME(c, tsri_ast_of(c, function)->symbol));
    tsri_diag_hint(c->diag, "functions are inlined, so there is no recursion: use a loop");
    return true;
  }
  return false;
}

// Inlines a body that is a single return statement: its value becomes part of the caller's expression.
static tsri_check_operand return_value(tsri_checker *c, uint32_t statement, tsri_ir_pos call) {
  const tsri_ast *ast = tsri_ast_of(c, statement);
  tsri_check_operand value = tsri_check_expr(c, ast->a, tsri_ir_compute_dtype((tsr_dtype)c->frame->storage));
  value = tsri_assignable(c, value, (tsr_dtype)c->frame->storage, c->frame->lanes, "the function's result");
  value.pos = call;
  return value;
}

static tsri_check_operand run_body(tsri_checker *c, uint32_t function, tsri_ir_pos call) {
  const tsri_ast *ast = tsri_ast_of(c, function);
  bool is_void = !ast->d;
  uint32_t first = tsri_ast_of(c, ast->c)->a;
  const tsri_ast *first_ast = tsri_ast_of(c, first);
  if (!is_void && first && first_ast->kind == TSRI_AST_RETURN && first_ast->a) return return_value(c, first, call);
  if (c->is_const_only) {
    tsri_diag_error(c->diag, call, "this is not known at compile time");
    return tsri_error_operand(call);
  }
  if (!is_void) {
    tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype((tsr_dtype)c->frame->storage), c->frame->lanes};
    c->frame->result = tsri_new_var(c, tsri_temp_name, type);
  }
  uint32_t errors = c->diag->error_count;
  int flow = tsri_check_body(c, ast->c);
  ast = tsri_ast_of(c, function);
  if (!is_void && !(flow & TSRI_FLOW_STOPS) && c->diag->error_count == errors && !tsri_check_is_broken(c) &&
      !(tsri_ast_of(c, ast->c)->flags & TSRI_AST_ENDS)) {
    tsri_diag_error(c->diag, ast->pos, "'%.*s' can end without returning a value", TSRI_NAME(c, ast->symbol));
    tsri_diag_hint(c->diag, "end it with a return");
    return tsri_error_operand(call);
  }
  if (is_void) return (tsri_check_operand){.kind = TSRI_OPERAND_VOID, .pos = call};
  tsri_check_operand result = tsri_var_value(c, c->frame->result, call);
  if (result.kind == TSRI_OPERAND_VALUE) result.held = c->frame->storage;
  return result;
}

// Returns the node whose body a call runs: the function, or a hook's filling. Inside the filling, the hook's name
// means the default body that the kernel gives it. Returns 0, with an error, if there is no body.
static uint32_t body_of(tsri_checker *c, uint32_t function, tsri_ir_pos call) {
  const tsri_ast *ast = tsri_ast_of(c, function);
  if (ast->kind != TSRI_AST_HOOK) return function;
  bool is_inside = false;
  for (const tsri_frame *frame = c->frame; frame; frame = frame->parent) {
    is_inside = is_inside || (ast->a && frame->function == ast->a);
  }
  if (ast->a && !is_inside) return ast->a;
  if (ast->c) return function;
  if (c->is_trial && !ast->a) return 0;
  tsri_diag_error(c->diag, call, "the hook '%.*s' %s", TSRI_NAME(c, ast->symbol),
                  ast->a ? "has no body of its own" : "is not filled");
  tsri_diag_note(c->diag, ast->pos, "declared here");
  return 0;
}

tsri_check_operand tsri_inline(tsri_checker *c, uint32_t node, uint32_t function) {
  tsri_check_operand args[TSRI_LANG_MAX_ARGUMENTS];
  const tsri_ast *ast = tsri_ast_of(c, function);
  tsri_ir_pos call = tsri_ast_of(c, node)->pos;
  tsri_check_operand result = tsri_error_operand(call);
  uint32_t body = body_of(c, function, call);
  if (!body || refuse_recursion(c, body, call)) return result;
  uint32_t wanted = 0;
  for (uint32_t param = ast->b; param; param = tsri_ast_of(c, param)->next) wanted++;
  uint32_t count = tsri_check_args(c, tsri_ast_of(c, node)->a, args, TSRI_LANG_MAX_ARGUMENTS, TSR_DTYPE_COUNT);
  if (count != wanted) {
    tsri_diag_error(c->diag, call, "%.*s() takes %u argument%s, not %u", TSRI_NAME(c, ast->symbol), wanted,
                    wanted == 1 ? "" : "s", count);
    tsri_diag_note(c->diag, ast->pos, "declared here");
    return result;
  }
  if (!tsri_check_enter(c, call)) return result;
  tsri_frame frame = {.parent = c->frame,
                      .function = body,
                      .first_binding = c->bindings.count,
                      .sees_kernel = ast->kind == TSRI_AST_HOOK,
                      .call = call};
  uint32_t scope = tsri_scope_open(c);
  c->frame = &frame;
  tsr_dtype storage = TSR_F32;
  uint8_t lanes = 1;
  bool has_generics = ast->kind != TSRI_AST_HOOK;
  bool ok = (!has_generics || bind_generics(c, function, args, call)) && bind_params(c, ast->b, args);
  if (ok && ast->d) ok = tsri_check_type(c, ast->d, &storage, &lanes);
  frame.storage = (uint8_t)storage;
  frame.lanes = lanes;
  if (ok) result = run_body(c, body, call);
  if (c->block) drop_unread(c, frame.first_binding);
  tsri_scope_close(c, scope);
  c->frame = frame.parent;
  tsri_check_leave(c);
  return result;
}
