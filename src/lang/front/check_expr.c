// SPDX-License-Identifier: MIT
// Checks expressions: names, literals, array elements, operators that evaluate their operands only if needed.
#include "lang/front/check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// --- Names ----------------------------------------------------------------------------------------------------------

static tsri_check_operand int_literal(int64_t value, tsri_ir_pos pos) {
  return (tsri_check_operand){.kind = TSRI_OPERAND_INT, .pos = pos, .integer = value};
}

static tsri_check_operand float_literal(double value, tsri_ir_pos pos) {
  return (tsri_check_operand){.kind = TSRI_OPERAND_FLOAT, .pos = pos, .real = value};
}

static tsri_check_operand check_id(tsri_checker *c, uint32_t symbol, uint32_t axis, tsri_ir_pos pos) {
  if (c->is_const_only) {
    tsri_diag_error(c->diag, pos, "this is not known at compile time");
    return tsri_error_operand(pos);
  }
  tsri_ir_expr expr = {.kind = TSRI_EXPR_ID,
                       .op = (uint8_t)(symbol - TSRI_SYM_FIRST_ID),
                       .lane = (uint8_t)axis,
                       .type = {TSR_U32, 1},
                       .pos = pos};
  return tsri_checked_value(c, tsri_emit(c, expr));
}

static tsri_check_operand unknown_name(tsri_checker *c, uint32_t symbol, tsri_ir_pos pos) {
  if (tsri_check_may_be_lost(c, symbol)) return tsri_error_operand(pos);
  tsri_diag_error(c->diag, pos, "'%.*s' is not declared", TSRI_NAME(c, symbol));
  tsri_suggest(c, symbol, TSRI_SUGGEST_VALUES);
  // Report it only once: bind the name, so that later uses report nothing.
  if (c->bindings.count > c->file_bindings && c->file_bindings) tsri_bind(c, TSRI_BIND_BROKEN, symbol, pos);
  return tsri_error_operand(pos);
}

static tsri_check_operand builtin_name(tsri_checker *c, uint32_t symbol, tsri_ir_pos pos) {
  switch (symbol) {
    case TSRI_SYM_WG:
      return int_literal(c->group_size[0], pos);
    case TSRI_SYM_WG_Y:
      return int_literal(c->group_size[1], pos);
    case TSRI_SYM_WG_Z:
      return int_literal(c->group_size[2], pos);
    case TSRI_SYM_INFINITY:
      return float_literal((double)INFINITY, pos);
    case TSRI_SYM_NAN:
      return float_literal((double)NAN, pos);
    case TSRI_SYM_PI:
      return float_literal(3.14159265358979323846, pos);
    case TSRI_SYM_F32_MAX:
      return float_literal((double)FLT_MAX, pos);
    case TSRI_SYM_F32_MIN:
      return float_literal((double)FLT_MIN, pos);
    case TSRI_SYM_F32_EPSILON:
      return float_literal((double)FLT_EPSILON, pos);
    case TSRI_SYM_I32_MIN:
      return int_literal(INT32_MIN, pos);
    case TSRI_SYM_I32_MAX:
      return int_literal(INT32_MAX, pos);
    case TSRI_SYM_U32_MAX:
      return int_literal(UINT32_MAX, pos);
    default:
      break;
  }
  if (tsri_sym_in(symbol, TSRI_SYM_FIRST_ID, TSRI_SYM_LAST_ID)) {
    if (!tsri_ir_id_infos[symbol - TSRI_SYM_FIRST_ID].has_axis) return check_id(c, symbol, 0, pos);
    tsri_diag_error(c->diag, pos, "'%.*s' has three parts", TSRI_NAME(c, symbol));
    tsri_diag_hint(c->diag, "write %.*s.x, .y or .z", TSRI_NAME(c, symbol));
    return tsri_error_operand(pos);
  }
  tsr_dtype dtype;
  uint8_t lanes;
  if (tsri_symbol_type(c, symbol, &dtype, &lanes)) {
    return (tsri_check_operand){.kind = TSRI_OPERAND_TYPE, .type = {(uint8_t)dtype, lanes}, .pos = pos};
  }
  if (symbol >= TSRI_SYM_BARRIER && symbol < TSRI_SYM_BUILTIN_COUNT &&
      !tsri_sym_in(symbol, TSRI_SYM_FIRST_PLAIN, TSRI_SYM_LAST_PLAIN)) {
    tsri_diag_error(c->diag, pos, "'%.*s' is a function: its arguments are missing", TSRI_NAME(c, symbol));
    return tsri_error_operand(pos);
  }
  return unknown_name(c, symbol, pos);
}

static tsri_check_operand check_name(tsri_checker *c, uint32_t symbol, tsri_ir_pos pos) {
  uint32_t id = tsri_lookup(c, symbol);
  if (!id) return builtin_name(c, symbol, pos);
  const tsri_name_binding *binding = tsri_name_binding_at(c, id);
  tsri_check_operand value;
  switch (binding->kind) {
    case TSRI_BIND_LATER:
    case TSRI_BIND_BUSY:
      if (tsri_check_is_over(c)) return tsri_error_operand(pos);
      value = tsri_file_constant(c, id);
      break;
    case TSRI_BIND_CONST:
      value = id < c->file_bindings ? tsri_file_value(c, id) : binding->value;
      break;
    case TSRI_BIND_VAR:
      tsri_name_binding_at(c, id)->is_read = true;
      value = tsri_var_value(c, binding->object, pos);
      value.held = binding->storage;
      return value;
    case TSRI_BIND_SCALAR: {
      tsri_ir_expr expr = {.kind = TSRI_EXPR_SCALAR, .type = binding->type, .pos = pos, .object = binding->object};
      return tsri_checked_value(c, tsri_emit(c, expr));
    }
    case TSRI_BIND_ARRAY:
      return (tsri_check_operand){.kind = TSRI_OPERAND_ARRAY, .pos = pos, .binding = id};
    case TSRI_BIND_FRAGMENT:
      tsri_diag_error(c->diag, pos, "'%.*s' is a fragment, which only fragment_load() and its like take",
                      TSRI_NAME(c, symbol));
      tsri_diag_hint(c->diag, "fragment_store() puts a sum into memory, where its elements can be read");
      return tsri_error_operand(pos);
    case TSRI_BIND_TYPE:
      return (tsri_check_operand){.kind = TSRI_OPERAND_TYPE, .type = {binding->storage, 1}, .pos = pos};
    case TSRI_BIND_FUNCTION:
    case TSRI_BIND_KERNEL:
      tsri_diag_error(c->diag, pos, "'%.*s' is a %s, not a value", TSRI_NAME(c, symbol),
                      binding->kind == TSRI_BIND_KERNEL ? "kernel" : "function");
      return tsri_error_operand(pos);
    default:
      return tsri_error_operand(pos);
  }
  if (value.kind == TSRI_OPERAND_VALUE && tsri_is_leaf(c, value.expr)) {
    // A new leaf expression with this position, so that diagnostics point here.
    tsri_ir_expr leaf = *tsri_expr_at(c, value.expr);
    leaf.pos = pos;
    value.expr = tsri_emit(c, leaf);
  }
  value.pos = pos;
  return value;
}

// --- Elements -------------------------------------------------------------------------------------------------------

tsri_check_operand tsri_check_index(tsri_checker *c, tsri_check_operand index) {
  if (index.kind == TSRI_OPERAND_INT && index.integer < 0) {
    tsri_diag_error(c->diag, index.pos, "index %lld is negative", (long long)index.integer);
    return tsri_error_operand(index.pos);
  }
  if (index.kind == TSRI_OPERAND_INT) return tsri_adapt(c, index, TSR_U32, 1);
  index = tsri_need_value(c, index);
  if (index.kind != TSRI_OPERAND_VALUE) return index;
  bool is_whole = index.type.dtype == TSR_I32 || index.type.dtype == TSR_U32 || index.type.dtype == TSR_I64;
  if (is_whole && index.type.lanes == 1) return index;
  tsri_diag_error(c->diag, index.pos, "an index is u32, i32 or i64, this is %s", tsri_ir_type_name(index.type));
  if (index.type.lanes == 1) tsri_diag_hint(c->diag, "convert it: u32(…)");
  return tsri_error_operand(index.pos);
}

static bool check_range(tsri_checker *c, const tsri_check_operand *index, uint32_t size, uint32_t symbol) {
  if (!tsri_is_const(c, index) || size == 0) return true;
  uint64_t bits = tsri_const_bits(c, index);
  int64_t value = index->type.dtype == TSR_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
  if (value >= 0 && value < (int64_t)size) return true;
  tsri_diag_error(c->diag, index->pos, "index %lld is outside '%.*s', which has %u elements", (long long)value,
                  TSRI_NAME(c, symbol), size);
  return false;
}

// The row-major index for one index per dimension: ((i * d1) + j) * d2 + k.
static tsri_check_operand flatten(tsri_checker *c, tsri_check_operand *indices, uint32_t count, const uint32_t *dims) {
  bool is_wide = false, all_signed = true;
  for (uint32_t i = 0; i < count; i++) {
    is_wide = is_wide || indices[i].type.dtype == TSR_I64;
    all_signed = all_signed && indices[i].type.dtype == TSR_I32;
  }
  tsr_dtype dtype = is_wide ? TSR_I64 : all_signed ? TSR_I32 : TSR_U32;
  tsri_check_operand flat = tsri_convert_to(c, indices[0], dtype);
  for (uint32_t i = 1; i < count; i++) {
    tsri_check_operand product[2] = {flat, tsri_const_value(c, dtype, dims[i], flat.pos)};
    tsri_check_operand sum[2] = {tsri_check_op(c, flat.pos, TSRI_OP_MUL, product),
                                 tsri_convert_to(c, indices[i], dtype)};
    flat = tsri_check_op(c, indices[i].pos, TSRI_OP_ADD, sum);
  }
  return flat;
}

// Builds TSRI_IR_BAD_INDEX(dimension, index); an index that does not fit is clamped.
static tsri_check_operand bad_index(tsri_checker *c, tsri_check_operand index, uint32_t dimension) {
  tsr_dtype dtype = (tsr_dtype)index.type.dtype;
  tsri_ir_pos pos = index.pos;
  tsri_check_operand most[2] = {index, tsri_const_value(c, dtype, TSRI_IR_BAD_INDEX_MOST, pos)};
  index = tsri_check_op(c, pos, TSRI_OP_MIN, most);
  if (dtype != TSR_U32) {
    uint64_t least = (uint64_t)(int64_t)-TSRI_IR_BAD_INDEX_MOST;
    tsri_check_operand args[2] = {index, tsri_const_value(c, dtype, dtype == TSR_I32 ? (uint32_t)least : least, pos)};
    index = tsri_check_op(c, pos, TSRI_OP_MAX, args);
  }
  tsri_check_operand low[2] = {tsri_convert_to(c, index, TSR_U32),
                               tsri_const_value(c, TSR_U32, (1u << TSRI_IR_BAD_INDEX_BITS) - 1, pos)};
  tsri_check_operand word[2] = {tsri_check_op(c, pos, TSRI_OP_AND, low),
                                tsri_const_value(c, TSR_U32, TSRI_IR_BAD_INDEX(dimension, 0), pos)};
  return tsri_check_op(c, pos, TSRI_OP_OR, word);
}

// index < 0 || index >= size. For 32 bits this is a single unsigned comparison.
static tsri_check_operand is_outside(tsri_checker *c, tsri_check_operand index, uint32_t size) {
  tsri_ir_pos pos = index.pos;
  if (index.type.dtype != TSR_I64) {
    tsri_check_operand args[2] = {tsri_convert_to(c, index, TSR_U32), tsri_const_value(c, TSR_U32, size, pos)};
    return tsri_check_op(c, pos, TSRI_OP_GE, args);
  }
  tsri_check_operand low[2] = {index, tsri_const_value(c, TSR_I64, 0, pos)};
  tsri_check_operand high[2] = {index, tsri_const_value(c, TSR_I64, size, pos)};
  tsri_check_operand either[2] = {tsri_check_op(c, pos, TSRI_OP_LT, low), tsri_check_op(c, pos, TSRI_OP_GE, high)};
  return tsri_check_op(c, pos, TSRI_OP_OR, either);
}

// Checked mode: builds the flat index, or the value that says which index is out of range. False: all indices are
// constants and in range.
static bool test_indices(tsri_checker *c, tsri_check_operand *indices, uint32_t count, const uint32_t *dims,
                         tsri_check_operand *out) {
  tsri_check_operand words[TSRI_MAX_DIMS];
  bool is_known = true;
  for (uint32_t i = 0; i < count; i++) {
    is_known = is_known && tsri_is_const(c, &indices[i]);
    indices[i] = tsri_spill(c, indices[i]);  // it is used several times
    words[i] = tsri_convert_to(c, indices[i], TSR_U32);
  }
  if (is_known) return false;
  *out = flatten(c, words, count, dims);
  for (uint32_t i = count; i-- > 0;) {
    if (tsri_is_const(c, &indices[i])) continue;  // check_range has checked constants
    tsri_check_operand choice[3] = {is_outside(c, indices[i], dims[i]), bad_index(c, indices[i], i), *out};
    *out = tsri_check_op(c, indices[i].pos, TSRI_OP_SELECT, choice);
  }
  return true;
}

tsri_element tsri_check_element(tsri_checker *c, uint32_t node) {
  uint32_t nodes[TSRI_MAX_DIMS] = {0}, count = 0, base = node;
  tsri_element none = {0, tsri_error_operand(tsri_ast_of(c, node)->pos)};
  for (; tsri_ast_of(c, base)->kind == TSRI_AST_INDEX; base = tsri_ast_of(c, base)->a) {
    if (count < TSRI_MAX_DIMS) nodes[count] = tsri_ast_of(c, base)->b;
    count++;
  }
  tsri_check_operand array = tsri_check_expr(c, base, TSR_DTYPE_COUNT);
  if (array.kind == TSRI_OPERAND_ERROR) return none;
  if (array.kind != TSRI_OPERAND_ARRAY) {
    tsri_diag_error(c->diag, array.pos, "only arrays have elements, this is %s", tsri_check_operand_type_name(&array));
    if (array.kind == TSRI_OPERAND_VALUE && array.type.lanes > 1)
      tsri_diag_hint(c->diag, "lanes are called .x .y .z .w");
    return none;
  }
  tsri_name_binding binding = *tsri_name_binding_at(c, array.binding);
  if (count != binding.dim_count) {
    tsri_diag_error(c->diag, array.pos, "'%.*s' takes %u %s, not %u", TSRI_NAME(c, binding.symbol), binding.dim_count,
                    binding.dim_count == 1 ? "index" : "indices", count);
    return none;
  }
  tsri_check_operand indices[TSRI_MAX_DIMS];
  for (uint32_t i = 0; i < count; i++) {
    uint32_t mark = c->block ? c->block->last : 0;
    indices[i] = tsri_check_index(c, tsri_check_expr(c, nodes[count - 1 - i], TSR_U32));
    if (indices[i].kind != TSRI_OPERAND_VALUE) return none;
    if (!check_range(c, &indices[i], binding.dims[i], binding.symbol)) return none;
    for (uint32_t j = 0; j < i; j++) tsri_keep_order(c, &indices[j], &mark);
  }
  tsri_check_operand flat = indices[0];
  if (count > 1) {
    bool is_tested = c->is_checked && test_indices(c, indices, count, binding.dims, &flat);
    if (!is_tested) flat = flatten(c, indices, count, binding.dims);
  }
  if (flat.kind != TSRI_OPERAND_VALUE) return none;
  return (tsri_element){array.binding, flat};
}

tsri_check_operand tsri_load(tsri_checker *c, const tsri_element *element, uint8_t lanes, tsri_ir_pos pos) {
  if (!element->binding) return tsri_error_operand(pos);
  const tsri_name_binding *binding = tsri_name_binding_at(c, element->binding);
  if (binding->access == TSRI_ACCESS_OUT) {
    tsri_diag_error(c->diag, pos, "'%.*s' is an 'out' buffer and cannot be read", TSRI_NAME(c, binding->symbol));
    tsri_diag_hint(c->diag, "declare it 'inout'");
    return tsri_error_operand(pos);
  }
  tsri_ir_array *array = tsri_array_at(c, binding->space, binding->object);
  array->is_loaded = true;
  array->is_wide = array->is_wide || lanes > 1;
  tsri_ir_expr expr = {.kind = TSRI_EXPR_LOAD,
                       .space = binding->space,
                       .dtype = array->storage,
                       .pos = pos,
                       .object = binding->object,
                       .type = {(uint8_t)tsri_ir_compute_dtype((tsr_dtype)array->storage), lanes}};
  expr.a = element->index.expr;
  tsri_check_operand value = tsri_checked_value(c, tsri_emit(c, expr));
  if (value.kind == TSRI_OPERAND_VALUE) value.held = array->storage;
  return value;
}

bool tsri_check_writable(tsri_checker *c, uint32_t id, tsri_ir_pos pos) {
  const tsri_name_binding *binding = tsri_name_binding_at(c, id);
  if (binding->access != TSRI_ACCESS_IN && !binding->is_const) return true;
  if (binding->is_const) {
    tsri_diag_error(c->diag, pos, "'%.*s' is const and cannot be changed", TSRI_NAME(c, binding->symbol));
  } else {
    tsri_diag_error(c->diag, pos, "'%.*s' is an 'in' buffer and cannot be written", TSRI_NAME(c, binding->symbol));
  }
  tsri_diag_note(c->diag, binding->pos, "declared here");
  if (!binding->is_const) tsri_diag_hint(c->diag, "declare it 'out' or 'inout'");
  return false;
}

void tsri_store(tsri_checker *c, const tsri_element *element, tsri_check_operand value, uint8_t lanes,
                tsri_ir_pos pos) {
  if (!element->binding || !tsri_check_writable(c, element->binding, pos)) return;
  const tsri_name_binding *binding = tsri_name_binding_at(c, element->binding);
  tsri_ir_array *array = tsri_array_at(c, binding->space, binding->object);
  char what[64];
  snprintf(what, sizeof what, "an element of '%.*s'", TSRI_NAME(c, binding->symbol));
  tsr_dtype storage = (tsr_dtype)array->storage;
  bool is_literal = value.kind == TSRI_OPERAND_INT || value.kind == TSRI_OPERAND_FLOAT;
  if (is_literal) value = tsri_adapt(c, value, storage, lanes);
  // The store itself converts to the storage type.
  value = tsri_assignable(c, value, tsri_ir_compute_dtype(storage), lanes, what);
  if (value.kind != TSRI_OPERAND_VALUE) return;
  // In y[i] = f16(x) the store performs the same conversion, so the explicit one is dropped.
  const tsri_ir_expr *made = tsri_expr_at(c, value.expr);
  bool is_same = made->kind == TSRI_EXPR_CONVERT && made->dtype == storage;
  if (is_same && tsri_expr_at(c, made->a)->type.dtype == made->type.dtype) value.expr = made->a;
  array = tsri_array_at(c, binding->space, binding->object);
  array->is_stored = true;
  array->is_wide = array->is_wide || lanes > 1;
  tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_STORE,
                                .space = binding->space,
                                .object = binding->object,
                                .pos = pos,
                                .index = element->index.expr,
                                .value = value.expr});
}

// --- Lazy operators -------------------------------------------------------------------------------------------------

// Checks an expression; statements that it needs go into the separate list `apart`.
static tsri_check_operand check_apart(tsri_checker *c, uint32_t node, tsr_dtype want, tsri_stmt_list *apart) {
  tsri_stmt_list *outer = c->block;
  *apart = (tsri_stmt_list){0, 0};
  if (!c->is_const_only) c->block = apart;
  tsri_check_operand value = tsri_check_expr(c, node, want);
  c->block = outer;
  return value;
}

static void append_if(tsri_checker *c, tsri_check_operand condition, tsri_stmt_list yes, tsri_stmt_list no) {
  tsri_append(
      c,
      (tsri_ir_stmt){
          .kind = TSRI_STMT_IF, .pos = condition.pos, .value = condition.expr, .body = yes.first, .other = no.first});
}

static void assign_in(tsri_checker *c, tsri_stmt_list *block, uint32_t var, tsri_check_operand value) {
  tsri_stmt_list *outer = c->block;
  c->block = block;
  tsri_assign(c, var, value, value.pos);
  c->block = outer;
}

static tsri_check_operand check_logic(tsri_checker *c, const tsri_ast *ast) {
  bool is_and = ast->kind == TSRI_AST_AND_THEN;
  const char *what = is_and ? "a side of &&" : "a side of ||";
  uint32_t right_node = ast->b;
  tsri_ir_pos pos = ast->pos;
  tsri_check_operand left = tsri_need_bool(c, tsri_check_expr(c, ast->a, TSR_BOOL), what);
  if (left.kind != TSRI_OPERAND_VALUE) {
    tsri_stmt_list ignored;
    tsri_need_bool(c, check_apart(c, right_node, TSR_BOOL, &ignored), what);
    return left;
  }
  if (tsri_is_const(c, &left)) {
    if ((tsri_const_bits(c, &left) != 0) != is_and) return left;
    return tsri_need_bool(c, tsri_check_expr(c, right_node, TSR_BOOL), what);
  }
  tsri_stmt_list apart;
  tsri_check_operand right = tsri_need_bool(c, check_apart(c, right_node, TSR_BOOL, &apart), what);
  if (right.kind != TSRI_OPERAND_VALUE) return right;
  if (!apart.first) {
    tsri_ir_expr expr = {.kind = is_and ? TSRI_EXPR_AND_THEN : TSRI_EXPR_OR_ELSE, .type = {TSR_BOOL, 1}, .pos = pos};
    expr.a = left.expr;
    expr.b = right.expr;
    return tsri_checked_value(c, tsri_emit(c, expr));
  }
  // The right side needs statements: t = left; if (left) { …; t = right; }
  left = tsri_spill(c, left);
  if (left.kind != TSRI_OPERAND_VALUE) return left;
  uint32_t var = tsri_new_var(c, tsri_temp_name, (tsri_ir_type){TSR_BOOL, 1});
  tsri_assign(c, var, left, pos);
  assign_in(c, &apart, var, right);
  tsri_stmt_list empty = {0, 0};
  append_if(c, left, is_and ? apart : empty, is_and ? empty : apart);
  return tsri_var_value(c, var, pos);
}

// If both branches are literals, they get the wanted type; otherwise as for an operator.
static bool unify_choices(tsri_checker *c, tsri_ir_pos pos, tsr_dtype want, tsri_check_operand *yes,
                          tsri_check_operand *no) {
  bool yes_is_float = yes->kind == TSRI_OPERAND_FLOAT, no_is_float = no->kind == TSRI_OPERAND_FLOAT;
  bool are_literals = (yes_is_float || yes->kind == TSRI_OPERAND_INT) && (no_is_float || no->kind == TSRI_OPERAND_INT);
  bool want_is_float = want == TSR_F32 || want == TSR_F64;
  bool is_wanted = want != TSR_DTYPE_COUNT && want != TSR_BOOL && (want_is_float || (!yes_is_float && !no_is_float));
  if (are_literals && is_wanted) {
    *yes = tsri_adapt(c, *yes, want, 1);
    *no = tsri_adapt(c, *no, want, 1);
  }
  return tsri_unify(c, pos, "the two values of '?'", yes, no);
}

static tsri_check_operand check_choice(tsri_checker *c, const tsri_ast *ast, tsr_dtype want) {
  tsri_ir_pos pos = ast->pos;
  uint32_t yes_node = ast->b, no_node = ast->c;
  tsri_check_operand condition = tsri_need_bool(c, tsri_check_expr(c, ast->a, TSR_BOOL), "the condition of '?'");
  if (condition.kind == TSRI_OPERAND_VALUE && tsri_is_const(c, &condition)) {
    return tsri_check_expr(c, tsri_const_bits(c, &condition) ? yes_node : no_node, want);
  }
  tsri_stmt_list yes_block, no_block;
  tsri_check_operand yes = check_apart(c, yes_node, want, &yes_block);
  tsr_dtype no_want = yes.kind == TSRI_OPERAND_VALUE ? (tsr_dtype)yes.type.dtype : want;
  tsri_check_operand no = check_apart(c, no_node, no_want, &no_block);
  if (yes.kind == TSRI_OPERAND_ERROR || no.kind == TSRI_OPERAND_ERROR) return tsri_error_operand(pos);
  if (!unify_choices(c, pos, want, &yes, &no) || condition.kind != TSRI_OPERAND_VALUE) return tsri_error_operand(pos);
  uint8_t held = yes.held == no.held ? yes.held : yes.type.dtype;
  tsri_check_operand result;
  if (!yes_block.first && !no_block.first) {
    tsri_ir_expr expr = {.kind = TSRI_EXPR_COND, .type = yes.type, .pos = pos};
    expr.a = condition.expr;
    expr.b = yes.expr;
    expr.c = no.expr;
    result = tsri_checked_value(c, tsri_emit(c, expr));
  } else {
    uint32_t var = tsri_new_var(c, tsri_temp_name, yes.type);
    assign_in(c, &yes_block, var, yes);
    assign_in(c, &no_block, var, no);
    append_if(c, condition, yes_block, no_block);
    result = tsri_var_value(c, var, pos);
  }
  result.held = held;
  return result;
}

// --- All ------------------------------------------------------------------------------------------------------------

static tsri_check_operand check_member(tsri_checker *c, const tsri_ast *ast) {
  uint32_t symbol = ast->symbol;
  tsri_ir_pos pos = ast->pos;
  const tsri_ast *base = tsri_ast_of(c, ast->a);
  uint32_t lane = symbol - TSRI_SYM_LANE_X;
  bool is_lane = tsri_sym_in(symbol, TSRI_SYM_LANE_X, TSRI_SYM_LANE_W);
  if (!symbol) return tsri_error_operand(pos);
  if (base->kind == TSRI_AST_NAME && tsri_sym_in(base->symbol, TSRI_SYM_FIRST_ID, TSRI_SYM_LAST_ID) &&
      tsri_ir_id_infos[base->symbol - TSRI_SYM_FIRST_ID].has_axis) {
    if (is_lane && lane < 3) return check_id(c, base->symbol, lane, pos);
    tsri_diag_error(c->diag, pos, "'%.*s' has x, y and z, not '%.*s'", TSRI_NAME(c, base->symbol),
                    TSRI_NAME(c, symbol));
    return tsri_error_operand(pos);
  }
  tsri_check_operand value = tsri_need_value(c, tsri_check_expr(c, ast->a, TSR_DTYPE_COUNT));
  if (value.kind != TSRI_OPERAND_VALUE) return value;
  if (value.type.lanes == 1) {
    tsri_diag_error(c->diag, pos, "%s has no lanes", tsri_ir_type_name(value.type));
    return tsri_error_operand(pos);
  }
  if (!is_lane || lane >= value.type.lanes) {
    tsri_diag_error(c->diag, pos, "%s has no lane '%.*s'", tsri_ir_type_name(value.type), TSRI_NAME(c, symbol));
    tsri_diag_hint(c->diag,
                   value.type.lanes == 2 ? "its lanes are .x and .y" : "its lanes are .x .y .z .w, one at a time");
    return tsri_error_operand(pos);
  }
  tsri_ir_expr expr = {.kind = TSRI_EXPR_EXTRACT, .lane = (uint8_t)lane, .type = {value.type.dtype, 1}, .pos = pos};
  expr.a = value.expr;
  tsri_check_operand result = tsri_checked_value(c, tsri_emit(c, expr));
  result.held = value.held;
  return result;
}

static tsri_check_operand check_bitcast(tsri_checker *c, const tsri_ast *ast) {
  tsr_dtype dtype;
  uint8_t lanes;
  tsri_ir_pos pos = ast->pos;
  if (!ast->b || !tsri_check_type(c, ast->a, &dtype, &lanes)) return tsri_error_operand(pos);
  tsri_check_operand value =
      tsri_need_value(c, tsri_check_expr(c, ast->b, dtype == TSR_F32 ? TSR_U32 : TSR_DTYPE_COUNT));
  if (value.kind != TSRI_OPERAND_VALUE) return value;
  bool is_value_type = tsri_ir_compute_dtype(dtype) == dtype && dtype != TSR_BOOL && value.type.dtype != TSR_BOOL;
  if (!is_value_type || lanes != value.type.lanes ||
      tsr_dtype_bytes(dtype) != tsr_dtype_bytes((tsr_dtype)value.type.dtype)) {
    tsri_ir_type to = {(uint8_t)dtype, lanes};
    tsri_diag_error(c->diag, pos,
                    "bitcast goes between i32, u32 and f32, or i64, u64 and f64, of as many lanes; not to %s here",
                    tsri_ir_type_name(to));
    return tsri_error_operand(pos);
  }
  if (tsri_is_const(c, &value)) return tsri_const_value(c, dtype, tsri_const_bits(c, &value), pos);
  tsri_ir_expr expr = {.kind = TSRI_EXPR_BITCAST, .type = {(uint8_t)dtype, lanes}, .pos = pos};
  expr.a = value.expr;
  return tsri_checked_value(c, tsri_emit(c, expr));
}

static tsri_check_operand check_binary(tsri_checker *c, const tsri_ast *ast, tsr_dtype want) {
  tsri_ir_op op = (tsri_ir_op)ast->op;
  uint32_t right = ast->b;
  tsri_ir_pos pos = ast->pos;
  bool is_comparison = tsri_ir_op_infos[op].rule == TSRI_RULE_EQUAL || tsri_ir_op_infos[op].rule == TSRI_RULE_ORDER;
  if (is_comparison) want = TSR_DTYPE_COUNT;
  tsri_check_operand args[2];
  args[0] = tsri_check_expr(c, ast->a, want);
  uint32_t mark = c->block ? c->block->last : 0;
  if (args[0].kind == TSRI_OPERAND_VALUE) want = (tsr_dtype)args[0].type.dtype;
  args[1] = tsri_check_expr(c, right, want);
  tsri_keep_order(c, &args[0], &mark);
  return tsri_check_op(c, pos, op, args);
}

static tsri_check_operand check_literal(tsri_checker *c, const tsri_ast *ast) {
  if (ast->kind == TSRI_AST_BOOL) return tsri_const_value(c, TSR_BOOL, ast->bits, ast->pos);
  tsri_check_operand literal = int_literal((int64_t)ast->bits, ast->pos);
  if (ast->kind == TSRI_AST_FLOAT) {
    double value;
    memcpy(&value, &ast->bits, sizeof value);
    literal = float_literal(value, ast->pos);
  }
  if (ast->op == TSRI_SUFFIX_U) return tsri_adapt(c, literal, TSR_U32, 1);
  if (ast->op == TSRI_SUFFIX_F) return tsri_adapt(c, literal, TSR_F32, 1);
  return literal;
}

static tsri_check_operand check_kind(tsri_checker *c, uint32_t node, tsr_dtype want) {
  const tsri_ast *ast = tsri_ast_of(c, node);
  switch (ast->kind) {
    case TSRI_AST_NAME:
      return check_name(c, ast->symbol, ast->pos);
    case TSRI_AST_INT:
    case TSRI_AST_FLOAT:
    case TSRI_AST_BOOL:
      return check_literal(c, ast);
    case TSRI_AST_UNARY: {
      tsri_check_operand arg = tsri_check_expr(c, ast->a, want);
      return tsri_check_op(c, ast->pos, (tsri_ir_op)ast->op, &arg);
    }
    case TSRI_AST_BINARY:
      return check_binary(c, ast, want);
    case TSRI_AST_AND_THEN:
    case TSRI_AST_OR_ELSE:
      return check_logic(c, ast);
    case TSRI_AST_COND:
      return check_choice(c, ast, want);
    case TSRI_AST_CALL:
      return tsri_check_call(c, node, want);
    case TSRI_AST_BITCAST:
      return check_bitcast(c, ast);
    case TSRI_AST_INDEX: {
      tsri_element element = tsri_check_element(c, node);
      return tsri_load(c, &element, 1, ast->pos);
    }
    case TSRI_AST_MEMBER:
      return check_member(c, ast);
    default:
      return tsri_error_operand(ast->pos);
  }
}

tsri_check_operand tsri_check_expr(tsri_checker *c, uint32_t node, tsr_dtype want) {
  const tsri_ast *ast = tsri_ast_of(c, node);
  if (!node || !tsri_check_enter(c, ast->pos)) return tsri_error_operand(ast->pos);
  tsri_check_operand result = check_kind(c, node, want);
  tsri_check_leave(c);
  return result;
}
