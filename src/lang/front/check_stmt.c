// SPDX-License-Identifier: MIT
// Checks statements, and turns `return` into structured control flow.
//
// The checked form has no return. Outside loops, if one branch of an `if` returns, the statements after it move into
// the other branch. Where that is not possible, a variable (the flag) records "has returned", and the following
// statements test it. Inside a loop a return sets the flag and breaks; each enclosing loop then breaks as well.
#include "lang/front/check.h"

#include <stdio.h>

static int check_statement(tsri_checker *c, uint32_t node);

void tsri_check_statement(tsri_checker *c, uint32_t node) { (void)check_statement(c, node); }

static const char *name_text(const tsri_checker *c, uint32_t symbol) {
  return tsri_names_at(&c->module->names, symbol)->text;
}

static tsri_check_operand zero_of(tsri_checker *c, tsri_ir_type type, tsri_ir_pos pos) {
  return tsri_splat(c, tsri_const_value(c, (tsr_dtype)type.dtype, 0, pos), type.lanes);
}

// --- Declarations ---------------------------------------------------------------------------------------------------

bool tsri_check_sizes(tsri_checker *c, const tsri_ast *decl, tsri_name_binding *out, uint32_t *out_count) {
  uint64_t count = 1;
  uint32_t dims = 0;
  for (uint32_t node = decl->c; node; node = tsri_ast_of(c, node)->next, dims++) {
    int64_t size = 0;
    if (dims == TSRI_MAX_DIMS) {
      tsri_diag_error(c->diag, decl->pos, "an array has at most %d dimensions", TSRI_MAX_DIMS);
      return false;
    }
    if (!tsri_check_constant(c, node, "the size of an array", &size)) return false;
    if (size < 1 || size > (int64_t)TSRI_LANG_MAX_SHARED) {
      tsri_diag_error(c->diag, tsri_ast_of(c, node)->pos, "an array cannot have %lld elements", (long long)size);
      return false;
    }
    out->dims[dims] = (uint32_t)size;
    count *= (uint64_t)size;
    if (count > TSRI_LANG_MAX_SHARED) count = (uint64_t)TSRI_LANG_MAX_SHARED + 1;
  }
  out->dim_count = (uint8_t)dims;
  *out_count = (uint32_t)count;
  return true;
}

static void check_list_values(tsri_checker *c, uint32_t list, uint32_t array, uint32_t count) {
  uint32_t i = 0;
  for (uint32_t node = tsri_ast_of(c, list)->a; node; node = tsri_ast_of(c, node)->next, i++) {
    const tsri_ast *ast = tsri_ast_of(c, node);
    if (i == count) {
      tsri_diag_error(c->diag, ast->pos, "more values than the array has elements (%u)", count);
      return;
    }
    const tsri_name_binding *binding = tsri_name_binding_at(c, array);
    tsr_dtype storage = (tsr_dtype)tsri_array_at(c, binding->space, binding->object)->storage;
    tsri_check_operand value = tsri_check_expr(c, node, tsri_ir_compute_dtype(storage));
    tsri_element element = {array, tsri_const_value(c, TSR_U32, i, ast->pos)};
    tsri_store(c, &element, value, 1, ast->pos);
  }
}

static void add_local_array(tsri_checker *c, const tsri_ast *decl, uint32_t id, uint32_t count, tsr_dtype storage) {
  const tsri_ast *list = tsri_ast_of(c, decl->b);
  uint32_t object = tsri_name_binding_at(c, id)->object, given = 0;
  if (count * tsr_dtype_bytes(tsri_ir_compute_dtype(storage)) > TSRI_LANG_MAX_LOCAL) {
    tsri_diag_error(c->diag, decl->pos, "a local array of %u elements is too large: %u bytes at most", count,
                    TSRI_LANG_MAX_LOCAL);
    tsri_diag_hint(c->diag, "use a 'shared' array or a buffer");
    return;
  }
  c->local_bytes += count * tsr_dtype_bytes(tsri_ir_compute_dtype(storage));
  if (c->local_bytes > TSRI_LANG_MAX_LOCALS) {
    tsri_diag_error(c->diag, decl->pos, "the kernel's local arrays take more than %u bytes together",
                    TSRI_LANG_MAX_LOCALS);
    tsri_diag_hint(c->diag, "use 'shared' arrays or buffers; a function has its own arrays at each call");
    return;
  }
  for (uint32_t node = list->a; decl->b && node; node = tsri_ast_of(c, node)->next) given++;
  if (decl->b && list->kind != TSRI_AST_LIST) {
    tsri_diag_error(c->diag, list->pos, "an array is initialised by a list: { …, … }");
    return;
  }
  if (given < count)
    tsri_append(c,
                (tsri_ir_stmt){.kind = TSRI_STMT_CLEAR, .pos = decl->pos, .space = TSRI_SPACE_LOCAL, .object = object});
  if (decl->b) check_list_values(c, decl->b, id, count);
  tsri_name_binding_at(c, id)->is_const = decl->flags & TSRI_AST_IS_CONST;
}

static void check_array(tsri_checker *c, const tsri_ast *decl, tsr_dtype storage, uint8_t lanes) {
  bool is_shared = decl->flags & TSRI_AST_IS_SHARED;
  tsri_name_binding sized = {0};
  uint32_t count = 0;
  bool ok = tsri_check_sizes(c, decl, &sized, &count);
  if (lanes > 1) {
    tsri_diag_error(c->diag, decl->pos, "arrays hold single values, not vectors");
    tsri_diag_hint(c->diag, "declare %u times as many elements, or several vectors", lanes);
    ok = false;
  }
  if (is_shared && (c->frame->parent || c->scope != 2)) {
    tsri_diag_error(c->diag, decl->pos, "'shared' arrays are declared at the outer level of a kernel");
    tsri_diag_hint(c->diag, "declare it in the kernel and pass it to functions");
    ok = false;
  }
  if (is_shared && decl->b) {
    tsri_diag_error(c->diag, decl->pos, "a 'shared' array cannot be initialised: fill it, then call barrier()");
    ok = false;
  }
  int space = is_shared ? TSRI_SPACE_SHARED : TSRI_SPACE_LOCAL;
  uint32_t id = tsri_bind(c, ok ? TSRI_BIND_ARRAY : TSRI_BIND_BROKEN, decl->symbol, decl->pos);
  if (!ok || c->is_const_only) return;
  uint32_t object = tsri_item_array_add(&c->arrays[space]);
  *tsri_array_at(c, (uint32_t)space, object) = (tsri_ir_array){.name = name_text(c, decl->symbol),
                                                               .storage = (uint8_t)storage,
                                                               .access = TSRI_ACCESS_INOUT,
                                                               .count = count,
                                                               .dim_count = sized.dim_count,
                                                               .pos = decl->pos};
  for (int i = 0; i < TSRI_MAX_DIMS; i++) tsri_array_at(c, (uint32_t)space, object)->dims[i] = sized.dims[i];
  tsri_name_binding *binding = tsri_name_binding_at(c, id);
  binding->space = (uint8_t)space;
  binding->access = TSRI_ACCESS_INOUT;
  binding->object = object;
  binding->dim_count = sized.dim_count;
  for (int i = 0; i < TSRI_MAX_DIMS; i++) binding->dims[i] = sized.dims[i];
  if (!is_shared) add_local_array(c, decl, id, count, storage);
}

static void check_variable(tsri_checker *c, const tsri_ast *decl, tsr_dtype storage, uint8_t lanes) {
  char what[64];
  bool is_const = decl->flags & TSRI_AST_IS_CONST;
  tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype(storage), lanes};
  tsri_check_operand value;
  snprintf(what, sizeof what, "variable '%.*s'", TSRI_NAME(c, decl->symbol));
  if (decl->flags & TSRI_AST_IS_SHARED) {
    tsri_diag_error(c->diag, decl->pos, "only arrays can be 'shared'");
    tsri_diag_hint(c->diag, "declare it with one element: %.*s[1]", TSRI_NAME(c, decl->symbol));
    value = tsri_error_operand(decl->pos);
  } else if (!decl->b && is_const) {
    tsri_diag_error(c->diag, decl->pos, "a constant needs a value");
    value = tsri_error_operand(decl->pos);
  } else if (!decl->b) {
    value = zero_of(c, type, decl->pos);
  } else if (tsri_ast_of(c, decl->b)->kind == TSRI_AST_LIST) {
    tsri_diag_error(c->diag, tsri_ast_of(c, decl->b)->pos, "a list in braces may only initialise an array");
    value = tsri_error_operand(decl->pos);
  } else {
    value = tsri_assignable(c, tsri_check_expr(c, decl->b, (tsr_dtype)type.dtype), storage, lanes, what);
  }
  // The name is bound after its value is checked: in `u32 i = i;` the second i is the outer one.
  if (value.kind != TSRI_OPERAND_VALUE) {
    tsri_bind(c, TSRI_BIND_BROKEN, decl->symbol, decl->pos);
    return;
  }
  if (is_const && tsri_is_const(c, &value)) {
    tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_CONST, decl->symbol, decl->pos))->value = value;
    return;
  }
  uint32_t id = tsri_bind(c, TSRI_BIND_VAR, decl->symbol, decl->pos);
  uint32_t var = tsri_new_var(c, name_text(c, decl->symbol), type);
  tsri_name_binding *binding = tsri_name_binding_at(c, id);
  binding->object = var;
  binding->type = type;
  binding->storage = (uint8_t)storage;
  binding->is_const = is_const;
  tsri_assign(c, var, value, decl->pos);
}

static void check_decl(tsri_checker *c, uint32_t node) {
  const tsri_ast *decl = tsri_ast_of(c, node);
  tsr_dtype storage;
  uint8_t lanes;
  if (tsri_sym_in(tsri_ast_of(c, decl->a)->symbol, TSRI_SYM_FIRST_ROLE, TSRI_SYM_LAST_ROLE)) {
    tsri_check_fragment(c, decl);
  } else if (!tsri_check_type(c, decl->a, &storage, &lanes)) {
    tsri_bind(c, TSRI_BIND_BROKEN, decl->symbol, decl->pos);
  } else if (decl->c) {
    check_array(c, decl, storage, lanes);
  } else {
    check_variable(c, decl, storage, lanes);
  }
}

// --- Assignment -----------------------------------------------------------------------------------------------------

// Returns a op b for a compound assignment, and b for a plain one.
static tsri_check_operand combine(tsri_checker *c, const tsri_ast *ast, tsri_check_operand old,
                                  tsri_check_operand value) {
  if (!ast->op) return value;
  tsri_check_operand args[2] = {old, value};
  return tsri_check_op(c, ast->pos, (tsri_ir_op)(ast->op - 1), args);
}

static void assign_element(tsri_checker *c, const tsri_ast *ast) {
  tsri_ir_pos pos = tsri_ast_of(c, ast->a)->pos;
  tsri_element element = tsri_check_element(c, ast->a);
  tsr_dtype want = TSR_DTYPE_COUNT;
  if (element.binding) {
    const tsri_name_binding *binding = tsri_name_binding_at(c, element.binding);
    want = tsri_ir_compute_dtype((tsr_dtype)tsri_array_at(c, binding->space, binding->object)->storage);
    if (ast->op) element.index = tsri_spill(c, element.index);  // it is used twice
  }
  uint32_t mark = c->block->last;
  tsri_check_operand value = tsri_check_expr(c, ast->b, want);
  if (!element.binding || value.kind == TSRI_OPERAND_ERROR) return;
  tsri_keep_order(c, &element.index, &mark);
  if (ast->op) value = combine(c, ast, tsri_load(c, &element, 1, pos), value);
  if (value.kind != TSRI_OPERAND_ERROR) tsri_store(c, &element, value, 1, pos);
}

// The variable that a name refers to; 0, with an error, if it cannot be assigned to.
static uint32_t target_of(tsri_checker *c, const tsri_ast *name) {
  uint32_t id = tsri_lookup(c, name->symbol);
  if (!id || tsri_name_binding_at(c, id)->kind != TSRI_BIND_VAR) {
    tsri_check_operand other = tsri_check_expr(c, (uint32_t)(name - tsri_ast_of(c, 0)), TSR_DTYPE_COUNT);
    if (other.kind == TSRI_OPERAND_ERROR) return 0;
    if (other.kind == TSRI_OPERAND_ARRAY) {
      tsri_need_value(c, other);
      return 0;
    }
    tsri_diag_error(c->diag, name->pos, "'%.*s' cannot be assigned to", TSRI_NAME(c, name->symbol));
    if (id) tsri_diag_note(c->diag, tsri_name_binding_at(c, id)->pos, "declared here");
    if (id && tsri_name_binding_at(c, id)->kind == TSRI_BIND_SCALAR) {
      tsri_diag_hint(c->diag, "copy the parameter into a variable first");
    }
    return 0;
  }
  const tsri_name_binding *binding = tsri_name_binding_at(c, id);
  if (!binding->is_const) return id;
  tsri_diag_error(c->diag, name->pos, "'%.*s' is const and cannot be changed", TSRI_NAME(c, name->symbol));
  tsri_diag_note(c->diag, binding->pos, "declared here");
  return 0;
}

static void assign_variable(tsri_checker *c, const tsri_ast *ast) {
  const tsri_ast *name = tsri_ast_of(c, ast->a);
  uint32_t id = target_of(c, name);
  tsri_name_binding binding = id ? *tsri_name_binding_at(c, id) : (tsri_name_binding){.type = {TSR_DTYPE_COUNT, 1}};
  tsri_check_operand value = tsri_check_expr(c, ast->b, (tsr_dtype)binding.type.dtype);
  if (!id || value.kind == TSRI_OPERAND_ERROR) return;
  char what[64];
  snprintf(what, sizeof what, "variable '%.*s'", TSRI_NAME(c, binding.symbol));
  if (ast->op) value = combine(c, ast, tsri_var_value(c, binding.object, name->pos), value);
  if (value.kind == TSRI_OPERAND_ERROR) return;
  value = tsri_assignable(c, value, (tsr_dtype)binding.storage, binding.type.lanes, what);
  tsri_assign(c, binding.object, value, ast->pos);
}

// Checks an assignment to one lane: v.x = …
static void assign_lane(tsri_checker *c, const tsri_ast *ast) {
  const tsri_ast *member = tsri_ast_of(c, ast->a), *name = tsri_ast_of(c, member->a);
  if (name->kind != TSRI_AST_NAME || tsri_sym_in(name->symbol, TSRI_SYM_FIRST_ID, TSRI_SYM_LAST_ID)) {
    tsri_diag_error(c->diag, member->pos, "this cannot be assigned to");
    return;
  }
  uint32_t id = target_of(c, name);
  if (!id) return;
  tsri_check_operand old = tsri_check_expr(c, ast->a, TSR_DTYPE_COUNT);  // checks the lane
  tsri_name_binding binding = *tsri_name_binding_at(c, id);
  tsri_check_operand value = tsri_check_expr(c, ast->b, (tsr_dtype)binding.type.dtype);
  if (old.kind != TSRI_OPERAND_VALUE || value.kind == TSRI_OPERAND_ERROR) return;
  value = combine(c, ast, old, value);
  if (value.kind == TSRI_OPERAND_ERROR) return;
  value = tsri_assignable(c, value, (tsr_dtype)binding.storage, 1, "a lane");
  if (value.kind != TSRI_OPERAND_VALUE) return;
  tsri_ir_expr insert = {.kind = TSRI_EXPR_INSERT,
                         .type = binding.type,
                         .pos = ast->pos,
                         .lane = (uint8_t)(member->symbol - TSRI_SYM_LANE_X)};
  insert.a = tsri_var_value(c, binding.object, name->pos).expr;
  insert.b = value.expr;
  tsri_assign(c, binding.object, tsri_checked_value(c, tsri_emit(c, insert)), ast->pos);
}

static void check_assign(tsri_checker *c, const tsri_ast *ast) {
  const tsri_ast *target = tsri_ast_of(c, ast->a);
  switch (target->kind) {
    case TSRI_AST_INDEX:
      assign_element(c, ast);
      return;
    case TSRI_AST_NAME:
      assign_variable(c, ast);
      return;
    case TSRI_AST_MEMBER:
      assign_lane(c, ast);
      return;
    case TSRI_AST_NONE:
      return;
    default:
      tsri_diag_error(c->diag, target->pos, "this cannot be assigned to");
  }
}

// --- Control flow ---------------------------------------------------------------------------------------------------

// Checks a statement into its own block and scope.
static int check_into(tsri_checker *c, uint32_t node, tsri_stmt_list *block) {
  tsri_stmt_list *outer = c->block;
  uint32_t scope = tsri_scope_open(c);
  c->block = block;
  int flow = node ? check_statement(c, node) : 0;
  c->block = outer;
  tsri_scope_close(c, scope);
  return flow;
}

// After an `if` that may return: where the statements that follow it go.
typedef struct rest_of_if {
  uint32_t stmt;  // the IF statement; 0: they follow it as usual
  bool into_else;
} rest_of_if;

static int check_if(tsri_checker *c, const tsri_ast *ast, rest_of_if *out_rest) {
  tsri_check_operand condition = tsri_need_bool(c, tsri_check_expr(c, ast->a, TSR_BOOL), "the condition of if");
  tsri_stmt_list yes = {0, 0}, no = {0, 0};
  if (condition.kind == TSRI_OPERAND_VALUE && tsri_is_const(c, &condition)) {
    uint32_t taken = tsri_const_bits(c, &condition) ? ast->b : ast->c;
    uint32_t scope = tsri_scope_open(c);
    int flow = taken ? check_statement(c, taken) : 0;
    tsri_scope_close(c, scope);
    return flow;
  }
  int yes_flow = check_into(c, ast->b, &yes), no_flow = check_into(c, ast->c, &no);
  if (condition.kind != TSRI_OPERAND_VALUE) return 0;
  uint32_t stmt = tsri_append(
      c,
      (tsri_ir_stmt){
          .kind = TSRI_STMT_IF, .pos = condition.pos, .value = condition.expr, .body = yes.first, .other = no.first});
  if ((yes_flow & TSRI_FLOW_STOPS) && !(no_flow & TSRI_FLOW_MAY_RETURN)) {
    *out_rest = (rest_of_if){stmt, true};
  } else if ((no_flow & TSRI_FLOW_STOPS) && !(yes_flow & TSRI_FLOW_MAY_RETURN)) {
    *out_rest = (rest_of_if){stmt, false};
  }
  return ((yes_flow | no_flow) & TSRI_FLOW_MAY_RETURN) | (yes_flow & no_flow & TSRI_FLOW_STOPS);
}

static void append_break_if(tsri_checker *c, tsri_check_operand condition, bool when) {
  tsri_stmt_list apart = {0, 0}, *outer = c->block;
  c->block = &apart;
  tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_BREAK, .pos = condition.pos});
  c->block = outer;
  tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_IF,
                                .pos = condition.pos,
                                .value = condition.expr,
                                .body = when ? apart.first : 0,
                                .other = when ? 0 : apart.first});
}

// Checks the condition. A plain expression becomes the loop's condition; one that needs statements is tested at the
// top of the body. False: the loop never runs, or there was an error.
static bool check_loop_condition(tsri_checker *c, uint32_t node, tsri_stmt_list *body, uint32_t *out_value) {
  *out_value = 0;
  if (!node) return true;
  tsri_stmt_list *outer = c->block;
  c->block = body;
  tsri_check_operand condition = tsri_need_bool(c, tsri_check_expr(c, node, TSR_BOOL), "the condition of a loop");
  bool ok = condition.kind == TSRI_OPERAND_VALUE;
  if (ok && tsri_is_const(c, &condition)) {
    ok = tsri_const_bits(c, &condition) != 0;
  } else if (ok && body->first) {
    append_break_if(c, condition, false);
  } else if (ok) {
    *out_value = condition.expr;
  }
  c->block = outer;
  return ok;
}

static int check_loop(tsri_checker *c, const tsri_ast *ast) {
  tsri_stmt_list body = {0, 0}, step = {0, 0};
  uint32_t scope = tsri_scope_open(c), value = 0;
  int flow = 0;
  if (ast->a) check_statement(c, ast->a);
  uint32_t errors = c->diag->error_count;
  bool runs = check_loop_condition(c, ast->b, &body, &value);
  if (runs || c->diag->error_count != errors) {  // after an error, check the body for more errors
    c->frame->loop_depth++;
    flow = check_into(c, ast->d, &body);
    tsri_stmt_list *outer = c->block;
    c->block = &step;
    for (uint32_t node = ast->c; node; node = tsri_ast_of(c, node)->next) check_statement(c, node);
    c->block = outer;
    c->frame->loop_depth--;
  }
  if (runs) {
    tsri_append(c,
                (tsri_ir_stmt){
                    .kind = TSRI_STMT_LOOP, .pos = ast->pos, .value = value, .body = body.first, .other = step.first});
    if ((flow & TSRI_FLOW_MAY_RETURN) && c->frame->loop_depth > 0) {
      append_break_if(c, tsri_var_value(c, c->frame->flag, ast->pos), true);
    }
  }
  tsri_scope_close(c, scope);
  return flow & TSRI_FLOW_MAY_RETURN;
}

static int check_jump(tsri_checker *c, const tsri_ast *ast) {
  bool is_break = ast->kind == TSRI_AST_BREAK;
  if (!c->frame->loop_depth && tsri_check_is_broken(c))
    return TSRI_FLOW_STOPS;  // the loop may be in text that was
                             // skipped
  if (!c->frame->loop_depth) {
    tsri_diag_error(c->diag, ast->pos, "'%s' stands outside any loop", is_break ? "break" : "continue");
    if (c->unrolled) tsri_diag_hint(c->diag, "an 'unroll for' runs all its rounds; write 'for' if it is to end early");
  } else {
    tsri_append(c, (tsri_ir_stmt){.kind = is_break ? TSRI_STMT_BREAK : TSRI_STMT_CONTINUE, .pos = ast->pos});
  }
  return TSRI_FLOW_STOPS;
}

static int check_return(tsri_checker *c, const tsri_ast *ast) {
  tsri_frame *frame = c->frame;
  int flow = TSRI_FLOW_STOPS | TSRI_FLOW_MAY_RETURN;
  if (frame->result && !ast->a) {
    tsri_diag_error(c->diag, ast->pos, "'return' needs a value here");
    return flow;
  }
  if (!frame->result && ast->a) {
    tsri_diag_error(c->diag, ast->pos, "%s returns nothing", frame->parent ? "this function" : "a kernel");
    tsri_diag_hint(c->diag, frame->parent ? "write the type of the result before the function's name"
                                          : "store the value in an 'out' buffer");
    return flow;
  }
  if (ast->a) {
    tsr_dtype storage = (tsr_dtype)frame->storage;
    tsri_check_operand value = tsri_check_expr(c, ast->a, tsri_ir_compute_dtype(storage));
    value = tsri_assignable(c, value, storage, frame->lanes, "the function's result");
    tsri_assign(c, frame->result, value, ast->pos);
  }
  if (frame->flag) tsri_assign(c, frame->flag, tsri_const_value(c, TSR_BOOL, 1, ast->pos), ast->pos);
  if (frame->loop_depth) tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_BREAK, .pos = ast->pos});
  return flow;
}

static void check_call_statement(tsri_checker *c, const tsri_ast *ast) {
  c->discards = true;
  tsri_check_operand result = tsri_check_expr(c, ast->a, TSR_DTYPE_COUNT);
  c->discards = false;
  bool has_value = result.kind != TSRI_OPERAND_VOID && result.kind != TSRI_OPERAND_ERROR;
  uint32_t symbol = tsri_ast_of(c, ast->a)->symbol;
  uint32_t binding = tsri_lookup(c, symbol);
  bool is_function = binding && tsri_name_binding_at(c, binding)->kind == TSRI_BIND_FUNCTION;
  if (has_value && !is_function) tsri_diag_warning(c->diag, ast->pos, "the result is not used");
}

static int check_plain(tsri_checker *c, uint32_t node) {
  const tsri_ast *ast = tsri_ast_of(c, node);
  int flow = 0;
  switch (ast->kind) {
    case TSRI_AST_BLOCK: {
      uint32_t scope = tsri_scope_open(c);
      flow = tsri_check_list(c, ast->a);
      tsri_scope_close(c, scope);
      break;
    }
    case TSRI_AST_DECLS:
      for (uint32_t decl = ast->a; decl; decl = tsri_ast_of(c, decl)->next) check_decl(c, decl);
      break;
    case TSRI_AST_ASSIGN:
      check_assign(c, ast);
      break;
    case TSRI_AST_LOOP:
      if (ast->op) tsri_check_unrolled(c, ast);
      else flow = check_loop(c, ast);
      break;
    case TSRI_AST_BREAK:
    case TSRI_AST_CONTINUE:
      flow = check_jump(c, ast);
      break;
    case TSRI_AST_RETURN:
      flow = check_return(c, ast);
      break;
    case TSRI_AST_CALL_STMT:
      check_call_statement(c, ast);
      break;
    case TSRI_AST_STATIC_ASSERT:
      tsri_check_assert(c, node);
      break;
    default:
      break;
  }
  return flow;
}

static int check_with_rest(tsri_checker *c, uint32_t node, rest_of_if *out_rest) {
  const tsri_ast *ast = tsri_ast_of(c, node);
  *out_rest = (rest_of_if){0, false};
  if (!tsri_check_enter(c, ast->pos)) return TSRI_FLOW_STOPS;
  int flow = ast->kind == TSRI_AST_IF ? check_if(c, ast, out_rest) : check_plain(c, node);
  tsri_check_leave(c);
  return flow;
}

static int check_statement(tsri_checker *c, uint32_t node) {
  rest_of_if ignored;
  return check_with_rest(c, node, &ignored);
}

// Checks the statements after an `if` that may have returned: they become part of its other branch, or run under a
// test of the flag.
static int check_rest(tsri_checker *c, uint32_t first, rest_of_if rest, tsri_ir_pos pos) {
  tsri_stmt_list apart = {0, 0}, *outer = c->block;
  if (rest.stmt) {
    const tsri_ir_stmt *stmt = tsri_stmt_at(c, rest.stmt);
    apart.first = rest.into_else ? stmt->other : stmt->body;
    for (apart.last = apart.first; apart.last && tsri_stmt_at(c, apart.last)->next;) {
      apart.last = tsri_stmt_at(c, apart.last)->next;
    }
  }
  if (!tsri_check_enter(c, tsri_ast_of(c, first)->pos)) return 0;
  c->block = &apart;
  int flow = tsri_check_list(c, first);
  c->block = outer;
  tsri_check_leave(c);
  if (rest.stmt) {
    tsri_ir_stmt *stmt = tsri_stmt_at(c, rest.stmt);
    *(rest.into_else ? &stmt->other : &stmt->body) = apart.first;
    stmt->op = 1;  // tells uniform.c that an early return caused this IF
  } else {
    tsri_check_operand flag = tsri_var_value(c, c->frame->flag, pos);
    tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_IF, .op = 1, .pos = pos, .value = flag.expr, .other = apart.first});
  }
  return flow;
}

int tsri_check_list(tsri_checker *c, uint32_t first) {
  int flow = 0;
  for (uint32_t node = first; node; node = tsri_ast_of(c, node)->next) {
    rest_of_if rest;
    const tsri_ast *ast = tsri_ast_of(c, node);
    int now = check_with_rest(c, node, &rest);
    flow |= now & TSRI_FLOW_MAY_RETURN;
    if (now & TSRI_FLOW_STOPS) {
      bool is_plain = (ast->flags & TSRI_AST_ENDS) || ast->kind == TSRI_AST_BREAK || ast->kind == TSRI_AST_CONTINUE;
      if (ast->next && is_plain && !tsri_check_is_over(c)) {
        tsri_diag_warning(c->diag, tsri_ast_of(c, ast->next)->pos, "this is never reached");
      }
      return flow | TSRI_FLOW_STOPS;
    }
    if ((now & TSRI_FLOW_MAY_RETURN) && ast->next && !c->frame->loop_depth && (rest.stmt || c->frame->flag)) {
      return flow | check_rest(c, ast->next, rest, ast->pos);
    }
  }
  return flow;
}

int tsri_check_body(tsri_checker *c, uint32_t block) {
  const tsri_ast *function = tsri_ast_of(c, c->frame->function);
  tsri_ir_pos pos = function->pos;
  if (function->flags & TSRI_AST_NEEDS_FLAG) {
    c->frame->flag = tsri_new_var(c, tsri_flag_name, (tsri_ir_type){TSR_BOOL, 1});
    tsri_assign(c, c->frame->flag, tsri_const_value(c, TSR_BOOL, 0, pos), pos);
    if (c->frame->result)
      tsri_assign(c, c->frame->result, zero_of(c, tsri_var_at(c, c->frame->result)->type, pos), pos);
  }
  uint32_t scope = tsri_scope_open(c);
  int flow = tsri_check_list(c, tsri_ast_of(c, block)->a);
  tsri_scope_close(c, scope);
  return flow;
}
