// SPDX-License-Identifier: MIT
// Calls: conversions, built-in functions, group operations, atomics, wide loads and stores.
#include "lang/front/check.h"

#include <stdio.h>

uint32_t tsri_check_args(tsri_checker *c, uint32_t first, tsri_check_operand *out, uint32_t most, tsr_dtype want) {
  uint32_t count = 0;
  for (uint32_t node = first; node; node = tsri_ast_of(c, node)->next, count++) {
    if (count >= most) continue;
    uint32_t mark = c->block ? c->block->last : 0;
    out[count] = tsri_check_expr(c, node, want);
    if (want == TSR_DTYPE_COUNT && out[count].kind == TSRI_OPERAND_VALUE) want = (tsr_dtype)out[count].type.dtype;
    for (uint32_t i = 0; i < count; i++) tsri_keep_order(c, &out[i], &mark);
  }
  return count;
}

static bool check_count(tsri_checker *c, const tsri_ast *call, uint32_t is, uint32_t wanted, const char *form) {
  if (is == wanted) return true;
  tsri_diag_error(c->diag, call->pos, "%.*s() takes %u argument%s, not %u", TSRI_NAME(c, call->symbol), wanted,
                  wanted == 1 ? "" : "s", is);
  if (form) tsri_diag_hint(c->diag, "%s", form);
  return false;
}

static bool refuse_constant(tsri_checker *c, tsri_ir_pos pos) {
  if (!c->is_const_only) return false;
  tsri_diag_error(c->diag, pos, "this is not known at compile time");
  return true;
}

// --- Conversions ----------------------------------------------------------------------------------------------------

static tsri_check_operand make_vector(tsri_checker *c, tsri_ir_pos pos, tsri_check_operand *args, tsr_dtype dtype,
                                      uint8_t lanes) {
  tsri_ir_expr expr = {.kind = TSRI_EXPR_VECTOR, .type = {(uint8_t)tsri_ir_compute_dtype(dtype), lanes}, .pos = pos};
  for (uint32_t i = 0; i < lanes; i++) {
    args[i] = tsri_convert_to(c, args[i], dtype);
    if (args[i].kind != TSRI_OPERAND_VALUE) return tsri_error_operand(pos);
    if (args[i].type.lanes != 1) {
      tsri_diag_error(c->diag, args[i].pos, "a lane is a single value, this is %s", tsri_ir_type_name(args[i].type));
      return tsri_error_operand(pos);
    }
    expr.args[i] = args[i].expr;
  }
  tsri_check_operand result = tsri_checked_value(c, tsri_emit(c, expr));
  if (result.kind == TSRI_OPERAND_VALUE) result.held = (uint8_t)dtype;
  return result;
}

static tsri_check_operand check_cast(tsri_checker *c, const tsri_ast *call, tsr_dtype dtype, uint8_t lanes) {
  tsri_check_operand args[4];
  tsri_ir_pos pos = call->pos;
  // Lanes are converted one by one, so the arguments need not share a type.
  uint32_t count = tsri_check_args(c, call->a, args, 4, tsri_ir_compute_dtype(dtype));
  for (uint32_t i = 0; i < count && i < 4; i++) {
    if (args[i].kind == TSRI_OPERAND_ERROR) return args[i];
  }
  if (lanes > 1 && count == lanes) return make_vector(c, pos, args, dtype, lanes);
  if (count != 1) {
    tsri_diag_error(c->diag, pos, "%.*s(…) takes 1 value%s, not %u", TSRI_NAME(c, call->symbol),
                    lanes == 4   ? " or 4"
                    : lanes == 2 ? " or 2"
                                 : "",
                    count);
    return tsri_error_operand(pos);
  }
  tsri_check_operand value = tsri_convert_to(c, args[0], dtype);
  if (value.kind != TSRI_OPERAND_VALUE) return value;
  if (value.type.lanes != lanes && value.type.lanes != 1) {
    tsri_diag_error(c->diag, pos, "%s cannot become %.*s", tsri_ir_type_name(value.type), TSRI_NAME(c, call->symbol));
    return tsri_error_operand(pos);
  }
  value.pos = pos;
  return tsri_splat(c, value, lanes);
}

// --- Arithmetic functions -------------------------------------------------------------------------------------------

static tsri_check_operand check_function(tsri_checker *c, const tsri_ast *call, tsr_dtype want) {
  tsri_ir_op op = (tsri_ir_op)(call->symbol - TSRI_SYM_FIRST_OP);
  const tsri_ir_op_info *info = &tsri_ir_op_infos[op];
  tsri_check_operand args[3] = {0};
  tsri_ir_pos pos = call->pos;
  if (info->rule != TSRI_RULE_NUMBER && info->rule != TSRI_RULE_FLOAT) want = TSR_DTYPE_COUNT;
  uint32_t count = tsri_check_args(c, call->a, args, 3, op == TSRI_OP_SELECT ? TSR_BOOL : want);
  const char *form = op == TSRI_OP_SELECT  ? "select(condition, if_true, if_false)"
                     : op == TSRI_OP_FMA   ? "fma(a, b, c) is a * b + c"
                     : op == TSRI_OP_ATAN2 ? "atan2(y, x)"
                                           : NULL;
  if (!check_count(c, call, count, info->arity, form)) return tsri_error_operand(pos);
  if (op == TSRI_OP_SELECT && want != TSR_DTYPE_COUNT && args[1].kind == args[2].kind) {
    bool is_float = want == TSR_F32 || want == TSR_F64;
    if (args[1].kind == TSRI_OPERAND_INT && (is_float || want != TSR_BOOL)) {
      args[1] = tsri_adapt(c, args[1], want, 1);
      args[2] = tsri_adapt(c, args[2], want, 1);
    }
  }
  return tsri_check_op(c, pos, op, args);
}

static tsri_check_operand check_clamp(tsri_checker *c, const tsri_ast *call, tsr_dtype want) {
  tsri_check_operand args[3] = {0};
  tsri_ir_pos pos = call->pos;
  uint32_t count = tsri_check_args(c, call->a, args, 3, want);
  if (!check_count(c, call, count, 3, "clamp(x, least, most)")) return tsri_error_operand(pos);
  args[0] = tsri_check_op(c, pos, TSRI_OP_MAX, args);
  args[1] = args[2];
  return tsri_check_op(c, pos, TSRI_OP_MIN, args);
}

// --- Group operations -----------------------------------------------------------------------------------------------

static tsri_check_operand check_barrier(tsri_checker *c, const tsri_ast *call) {
  tsri_check_operand none = {.kind = TSRI_OPERAND_VOID, .pos = call->pos};
  if (!check_count(c, call, call->a ? 1 : 0, 0, NULL)) return tsri_error_operand(call->pos);
  tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_BARRIER, .pos = call->pos});
  return none;
}

static tsri_check_operand check_collective(tsri_checker *c, const tsri_ast *call, tsr_dtype want) {
  uint32_t op = call->symbol - TSRI_SYM_FIRST_COLLECTIVE;
  const tsri_ir_collective_info *info = &tsri_ir_collective_infos[op];
  tsri_check_operand args[2] = {0};
  tsri_ir_pos pos = call->pos;
  uint32_t count = tsri_check_args(c, call->a, args, 2, info->rule == TSRI_RULE_BOOL ? TSR_BOOL : want);
  if (!check_count(c, call, count, info->arity, NULL)) return tsri_error_operand(pos);
  args[0] = info->rule == TSRI_RULE_BOOL ? tsri_need_bool(c, args[0], "the argument") : tsri_need_value(c, args[0]);
  if (args[0].kind != TSRI_OPERAND_VALUE) return args[0];
  if (info->rule == TSRI_RULE_NUMBER && (args[0].type.dtype == TSR_BOOL || args[0].type.lanes > 1)) {
    tsri_diag_error(c->diag, args[0].pos, "%s() takes a single number, not %s", info->spelling,
                    tsri_ir_type_name(args[0].type));
    if (args[0].type.dtype == TSR_BOOL) tsri_diag_hint(c->diag, "use group_any or group_all, or count with i32(…)");
    return tsri_error_operand(pos);
  }
  uint32_t second = 0;
  if (info->arity == 2) {
    args[1] = tsri_assignable(c, args[1], TSR_U32, 1, "the second argument");
    if (args[1].kind != TSRI_OPERAND_VALUE) return args[1];
    second = args[1].expr;
  }
  if (refuse_constant(c, pos)) return tsri_error_operand(pos);
  // A ballot takes 0 or 1 and gives a word: so the value of every collective has the type of its result.
  if (op == TSRI_COLLECTIVE_SUBGROUP_BALLOT) args[0] = tsri_convert_to(c, args[0], TSR_U32);
  uint32_t var = tsri_new_var(c, tsri_temp_name, args[0].type);
  tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_COLLECTIVE,
                                .op = (uint8_t)op,
                                .pos = pos,
                                .var = var,
                                .value = args[0].expr,
                                .compare = second});
  return tsri_var_value(c, var, pos);
}

// --- Memory ---------------------------------------------------------------------------------------------------------

// Returns the binding of the array that the first argument names, or 0 after an error.
static uint32_t array_argument(tsri_checker *c, const tsri_ast *call, const tsri_check_operand *arg) {
  if (arg->kind == TSRI_OPERAND_ARRAY) return arg->binding;
  if (arg->kind == TSRI_OPERAND_ERROR) return 0;
  tsri_diag_error(c->diag, arg->pos, "the first argument of %.*s() is the name of an array",
                  TSRI_NAME(c, call->symbol));
  if (arg->kind == TSRI_OPERAND_VALUE && tsri_expr_at(c, arg->expr)->kind == TSRI_EXPR_LOAD) {
    tsri_diag_hint(c->diag, "give array and index separately: %.*s(a, i, …)", TSRI_NAME(c, call->symbol));
  }
  return 0;
}

static tsri_check_operand check_atomic(tsri_checker *c, const tsri_ast *call, bool is_discarded) {
  uint32_t op = call->symbol - TSRI_SYM_FIRST_ATOMIC;
  const tsri_ir_atomic_info *info = &tsri_ir_atomic_infos[op];
  tsri_check_operand args[4];
  tsri_ir_pos pos = call->pos;
  uint32_t count = tsri_check_args(c, call->a, args, 4, TSR_DTYPE_COUNT);
  const char *form = info->operands == 2 ? "atomic_compare_exchange(array, index, compare, value)"
                                         : "the form is (array, index, value)";
  if (!check_count(c, call, count, info->operands + 2u, form)) return tsri_error_operand(pos);
  uint32_t id = array_argument(c, call, &args[0]);
  tsri_check_operand index = tsri_check_index(c, args[1]);
  if (!id || index.kind != TSRI_OPERAND_VALUE || refuse_constant(c, pos)) return tsri_error_operand(pos);
  tsri_name_binding binding = *tsri_name_binding_at(c, id);
  tsr_dtype storage = (tsr_dtype)tsri_array_at(c, binding.space, binding.object)->storage;
  bool is_wrong_place =
      binding.space == TSRI_SPACE_LOCAL || (binding.space == TSRI_SPACE_BUFFER && binding.access != TSRI_ACCESS_INOUT);
  if (is_wrong_place || (storage != TSR_I32 && storage != TSR_U32)) {
    tsri_diag_error(c->diag, args[0].pos,
                    "atomics work on i32 and u32 'inout' buffers and shared arrays, not on '%.*s'",
                    TSRI_NAME(c, binding.symbol));
    tsri_diag_note(c->diag, binding.pos, "declared here, with elements of type %s", tsr_dtype_name(storage));
    return tsri_error_operand(pos);
  }
  tsri_check_operand value = tsri_assignable(c, args[info->operands + 1], storage, 1, "the value");
  tsri_check_operand compare =
      info->operands == 2 ? tsri_assignable(c, args[2], storage, 1, "the value to compare") : value;
  if (value.kind != TSRI_OPERAND_VALUE || compare.kind != TSRI_OPERAND_VALUE) return tsri_error_operand(pos);
  tsri_ir_array *array = tsri_array_at(c, binding.space, binding.object);
  array->is_loaded = array->is_stored = array->is_atomic = true;
  uint32_t var = is_discarded ? 0 : tsri_new_var(c, tsri_temp_name, (tsri_ir_type){(uint8_t)storage, 1});
  tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_ATOMIC,
                                .op = (uint8_t)op,
                                .space = binding.space,
                                .pos = pos,
                                .var = var,
                                .object = binding.object,
                                .index = index.expr,
                                .value = value.expr,
                                .compare = info->operands == 2 ? compare.expr : 0});
  if (is_discarded) return (tsri_check_operand){.kind = TSRI_OPERAND_VOID, .pos = pos};
  return tsri_var_value(c, var, pos);
}

static tsri_check_operand check_wide(tsri_checker *c, const tsri_ast *call) {
  bool is_once = call->symbol == TSRI_SYM_LOAD4_ONCE;
  bool is_load = call->symbol == TSRI_SYM_LOAD2 || call->symbol == TSRI_SYM_LOAD4 || is_once;
  uint8_t lanes = call->symbol == TSRI_SYM_LOAD2 || call->symbol == TSRI_SYM_STORE2 ? 2 : 4;
  tsri_check_operand args[3] = {0};
  tsri_ir_pos pos = call->pos;
  uint32_t count = tsri_check_args(c, call->a, args, 3, TSR_DTYPE_COUNT);
  const char *form = is_load ? "load4(array, index)" : "store4(array, index, value)";
  if (!check_count(c, call, count, is_load ? 2 : 3, form)) return tsri_error_operand(pos);
  tsri_element element = {array_argument(c, call, &args[0]), tsri_check_index(c, args[1])};
  if (!element.binding || element.index.kind != TSRI_OPERAND_VALUE) return tsri_error_operand(pos);
  const tsri_name_binding *binding = tsri_name_binding_at(c, element.binding);
  if (binding->space == TSRI_SPACE_LOCAL) {
    tsri_diag_error(c->diag, args[0].pos, "wide loads and stores work on buffers and shared arrays");
    return tsri_error_operand(pos);
  }
  if (tsri_is_const(c, &element.index) && tsri_const_bits(c, &element.index) % lanes != 0) {
    tsri_diag_error(c->diag, args[1].pos, "the index of %.*s() must be a multiple of %u", TSRI_NAME(c, call->symbol),
                    lanes);
    return tsri_error_operand(pos);
  }
  if (is_load) {
    tsri_check_operand value = tsri_load(c, &element, lanes, pos);
    if (is_once && value.kind == TSRI_OPERAND_VALUE) tsri_expr_at(c, value.expr)->op = TSRI_LOAD_ONCE;
    return value;
  }
  tsri_store(c, &element, args[2], lanes, pos);
  return (tsri_check_operand){.kind = TSRI_OPERAND_VOID, .pos = pos};
}

// --- All ------------------------------------------------------------------------------------------------------------

static tsri_check_operand unknown_call(tsri_checker *c, const tsri_ast *call, uint32_t binding) {
  if (binding && tsri_name_binding_at(c, binding)->kind == TSRI_BIND_BROKEN) return tsri_error_operand(call->pos);
  if (binding) {
    bool is_kernel = tsri_name_binding_at(c, binding)->kind == TSRI_BIND_KERNEL;
    tsri_diag_error(c->diag, call->pos, "'%.*s' %s", TSRI_NAME(c, call->symbol),
                    is_kernel ? "is a kernel and cannot be called from here" : "is not a function");
    tsri_diag_note(c->diag, tsri_name_binding_at(c, binding)->pos, "declared here");
    if (is_kernel) tsri_diag_hint(c->diag, "move what both need into a function");
  } else if (!tsri_check_may_be_lost(c, call->symbol)) {
    tsri_diag_error(c->diag, call->pos, "there is no function '%.*s'", TSRI_NAME(c, call->symbol));
    tsri_suggest(c, call->symbol, TSRI_SUGGEST_CALLS | TSRI_SUGGEST_TYPES);
  }
  return tsri_error_operand(call->pos);
}

static tsri_check_operand check_builtin(tsri_checker *c, const tsri_ast *call, tsr_dtype want, bool is_discarded) {
  uint32_t symbol = call->symbol;
  if (tsri_sym_in(symbol, TSRI_SYM_FIRST_OP, TSRI_SYM_LAST_OP)) return check_function(c, call, want);
  if (tsri_sym_in(symbol, TSRI_SYM_FIRST_COLLECTIVE, TSRI_SYM_LAST_COLLECTIVE)) return check_collective(c, call, want);
  if (tsri_sym_in(symbol, TSRI_SYM_FIRST_ATOMIC, TSRI_SYM_LAST_ATOMIC)) return check_atomic(c, call, is_discarded);
  if (tsri_sym_in(symbol, TSRI_SYM_FIRST_FRAGMENT_OP, TSRI_SYM_LAST_FRAGMENT_OP)) {
    return tsri_check_fragment_call(c, call);
  }
  switch (symbol) {
    case TSRI_SYM_BARRIER:
      return check_barrier(c, call);
    case TSRI_SYM_CLAMP:
      return check_clamp(c, call, want);
    case TSRI_SYM_LOAD2:
    case TSRI_SYM_LOAD4:
    case TSRI_SYM_LOAD4_ONCE:
    case TSRI_SYM_STORE2:
    case TSRI_SYM_STORE4:
      return check_wide(c, call);
    default:
      return unknown_call(c, call, 0);
  }
}

tsri_check_operand tsri_check_call(tsri_checker *c, uint32_t node, tsr_dtype want) {
  bool is_discarded = c->discards;
  c->discards = false;
  const tsri_ast *call = tsri_ast_of(c, node);
  tsr_dtype dtype;
  uint8_t lanes;
  if (!call->symbol) return tsri_error_operand(call->pos);
  if (tsri_symbol_type(c, call->symbol, &dtype, &lanes)) return check_cast(c, call, dtype, lanes);
  uint32_t binding = tsri_lookup(c, call->symbol);
  if (binding && tsri_name_binding_at(c, binding)->kind == TSRI_BIND_FUNCTION) {
    return tsri_inline(c, node, tsri_name_binding_at(c, binding)->node);
  }
  // A variable may have the name of a built-in function; a call then means the function.
  if (binding && call->symbol >= TSRI_SYM_BUILTIN_COUNT) return unknown_call(c, call, binding);
  return check_builtin(c, call, want, is_discarded);
}
