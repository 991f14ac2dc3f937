// SPDX-License-Identifier: MIT
// Operators and arithmetic functions: the type rules of ir_ops.h.
#include <stdio.h>

#include "lang/front/check.h"

static bool is_literal(const tsri_check_operand *operand) {
  return operand->kind == TSRI_OPERAND_INT || operand->kind == TSRI_OPERAND_FLOAT;
}

static bool gives_bool(tsri_ir_rule rule) {
  return rule == TSRI_RULE_TEST || rule == TSRI_RULE_EQUAL || rule == TSRI_RULE_ORDER || rule == TSRI_RULE_LANES;
}

// --- Literals among themselves --------------------------------------------------------------------------------------

static uint64_t real_bits(const tsri_check_operand *operand) {
  union {
    double real;
    uint64_t bits;
  } u = {.real = operand->kind == TSRI_OPERAND_INT ? (double)operand->integer : operand->real};
  return u.bits;
}

static tsri_check_operand whole_error(tsri_checker *c, tsri_ir_pos pos, const char *what) {
  tsri_diag_error(c->diag, pos, "%s", what);
  return tsri_error_operand(pos);
}

static tsri_check_operand fold_whole_literals(tsri_checker *c, tsri_ir_pos pos, tsri_ir_op op,
                                              tsri_check_operand *args) {
  int64_t a = args[0].integer, b = tsri_ir_op_infos[op].arity > 1 ? args[1].integer : 0, result = 0;
  bool is_shift = op == TSRI_OP_SHL || op == TSRI_OP_SHR;
  if ((op == TSRI_OP_DIV || op == TSRI_OP_REM) && b == 0) return whole_error(c, pos, "division by 0 in a constant");
  if (is_shift && (b < 0 || b > 63)) return whole_error(c, pos, "a constant is shifted by more than its width");
  if (op == TSRI_OP_NEG || op == TSRI_OP_ADD || op == TSRI_OP_SUB || op == TSRI_OP_MUL || op == TSRI_OP_SHL) {
    bool fits = op == TSRI_OP_NEG   ? tsri_fold_whole(TSRI_OP_SUB, 0, a, &result)
                : op == TSRI_OP_SHL ? b < 63 && tsri_fold_whole(TSRI_OP_MUL, a, (int64_t)1 << b, &result)
                                    : tsri_fold_whole(op, a, b, &result);
    if (!fits) return whole_error(c, pos, "this constant does not fit 64 bits");
  } else {
    uint64_t bits = 0;
    if (!tsri_fold(op, TSR_I64, (uint64_t[]){(uint64_t)a, (uint64_t)b}, &bits)) {
      return whole_error(c, pos, "this cannot be computed from constants");
    }
    if (gives_bool((tsri_ir_rule)tsri_ir_op_infos[op].rule)) return tsri_const_value(c, TSR_BOOL, bits, pos);
    result = (int64_t)bits;
  }
  tsri_ir_pos at = tsri_ir_op_infos[op].arity == 1 ? pos : args[0].pos;
  return (tsri_check_operand){.kind = TSRI_OPERAND_INT, .pos = at, .integer = result};
}

// Evaluates an operation on literals. Returns true if the result is a literal (whose type is still open) or a bool.
static bool fold_literals(tsri_checker *c, tsri_ir_pos pos, tsri_ir_op op, tsri_check_operand *args,
                          tsri_check_operand *out) {
  const tsri_ir_op_info *info = &tsri_ir_op_infos[op];
  bool has_float = false;
  for (uint32_t i = 0; i < info->arity; i++) {
    if (!is_literal(&args[i])) return false;
    has_float = has_float || args[i].kind == TSRI_OPERAND_FLOAT;
  }
  bool is_float_rule = info->rule == TSRI_RULE_FLOAT || info->rule == TSRI_RULE_TEST;
  bool depends_on_width = op == TSRI_OP_POPCOUNT || op == TSRI_OP_CLZ || op == TSRI_OP_CTZ || op == TSRI_OP_MULHI;
  if (depends_on_width || op == TSRI_OP_BIT_NOT || op == TSRI_OP_NOT) return false;
  if (!has_float && !is_float_rule) {
    *out = fold_whole_literals(c, pos, op, args);
    return true;
  }
  if (info->rule == TSRI_RULE_INT || info->rule == TSRI_RULE_BITS || info->rule == TSRI_RULE_SHIFT) return false;
  uint64_t bits[3] = {0}, result = 0;
  for (uint32_t i = 0; i < info->arity; i++) bits[i] = real_bits(&args[i]);
  if (!tsri_fold(op, TSR_F64, bits, &result)) return false;
  if (gives_bool((tsri_ir_rule)info->rule)) {
    *out = tsri_const_value(c, TSR_BOOL, result, pos);
    return true;
  }
  union {
    uint64_t bits;
    double real;
  } u = {.bits = result};
  *out = (tsri_check_operand){.kind = TSRI_OPERAND_FLOAT, .pos = info->arity == 1 ? pos : args[0].pos, .real = u.real};
  return true;
}

// --- Rules ----------------------------------------------------------------------------------------------------------

static bool rule_takes(tsri_ir_rule rule, tsri_ir_type type) {
  bool is_bool = type.dtype == TSR_BOOL, is_float = type.dtype == TSR_F32 || type.dtype == TSR_F64;
  switch (rule) {
    case TSRI_RULE_NUMBER:
    case TSRI_RULE_ORDER:
      return !is_bool;
    case TSRI_RULE_SIGNED:
      return !is_bool && type.dtype != TSR_U32 && type.dtype != TSR_U64;
    case TSRI_RULE_FLOAT:
    case TSRI_RULE_TEST:
      return is_float;
    case TSRI_RULE_INT:
    case TSRI_RULE_SHIFT:
      return !is_float && !is_bool;
    case TSRI_RULE_BITS:
      return !is_float;
    case TSRI_RULE_BOOL:
      return is_bool;
    case TSRI_RULE_WORD:
      return type.dtype == TSR_U32;
    case TSRI_RULE_LANES:
      return is_bool && type.lanes > 1;
    default:
      return true;
  }
}

static void say_rule(tsri_checker *c, tsri_ir_pos pos, tsri_ir_op op, tsri_ir_type type) {
  static const char *const wants[TSRI_RULE_COUNT] = {
      [TSRI_RULE_NUMBER] = "numbers",
      [TSRI_RULE_ORDER] = "numbers",
      [TSRI_RULE_SIGNED] = "signed numbers",
      [TSRI_RULE_FLOAT] = "f32 or f64",
      [TSRI_RULE_TEST] = "f32 or f64",
      [TSRI_RULE_INT] = "whole numbers",
      [TSRI_RULE_SHIFT] = "whole numbers",
      [TSRI_RULE_BITS] = "whole numbers or bool",
      [TSRI_RULE_BOOL] = "bool",
      [TSRI_RULE_WORD] = "u32",
      [TSRI_RULE_LANES] = "a vector of bool",
      [TSRI_RULE_EQUAL] = "values",
      [TSRI_RULE_SELECT] = "values",
  };
  const tsri_ir_op_info *info = &tsri_ir_op_infos[op];
  tsri_diag_error(c->diag, pos, "%s%s takes %s, not %s", info->spelling, info->is_operator ? "" : "()",
                  wants[info->rule], tsri_ir_type_name(type));
  bool is_float = type.dtype == TSR_F32 || type.dtype == TSR_F64;
  if (op == TSRI_OP_REM && is_float) {
    tsri_diag_hint(c->diag, "the remainder of floats is a - b * trunc(a / b)");
  } else if (op == TSRI_OP_NEG && tsr_dtype_kind_of((tsr_dtype)type.dtype) == TSR_KIND_UINT) {
    tsri_diag_hint(c->diag, "write 0 - x, which wraps");
  } else if (info->rule == TSRI_RULE_FLOAT && !is_float) {
    tsri_diag_hint(c->diag, "convert it: %s(f32(…))", info->spelling);
  } else if (op == TSRI_OP_NOT) {
    tsri_diag_hint(c->diag, "compare it: … == 0");
  }
}

// Converts the right side of a shift to u32 with as many lanes as the left side.
static bool prepare_shift(tsri_checker *c, tsri_check_operand *args) {
  bool is_typed = args[1].kind == TSRI_OPERAND_VALUE && rule_takes(TSRI_RULE_INT, args[1].type);
  if (is_literal(&args[0])) {
    args[0] = is_typed ? tsri_adapt(c, args[0], (tsr_dtype)args[1].type.dtype, 1) : tsri_default_type(c, args[0]);
  }
  args[0] = tsri_need_value(c, args[0]);
  if (args[1].kind == TSRI_OPERAND_INT) {
    args[1] = tsri_const_value(c, TSR_U32, (uint64_t)args[1].integer & UINT32_MAX, args[1].pos);
  }
  args[1] = tsri_need_value(c, args[1]);
  if (args[0].kind != TSRI_OPERAND_VALUE || args[1].kind != TSRI_OPERAND_VALUE) return false;
  if (!rule_takes(TSRI_RULE_INT, args[1].type)) {
    say_rule(c, args[1].pos, TSRI_OP_SHL, args[1].type);
    return false;
  }
  args[1] = tsri_convert_to(c, args[1], TSR_U32);
  if (args[0].type.lanes == 1) args[0] = tsri_splat(c, args[0], args[1].type.lanes);
  if (args[1].type.lanes == 1) args[1] = tsri_splat(c, args[1], args[0].type.lanes);
  if (args[0].type.lanes == args[1].type.lanes) return args[0].kind == TSRI_OPERAND_VALUE;
  tsri_diag_error(c->diag, args[1].pos, "the vectors of a shift have different sizes");
  return false;
}

static bool prepare_select(tsri_checker *c, tsri_ir_pos pos, tsri_check_operand *args) {
  args[0] =
      is_literal(&args[0]) ? tsri_need_bool(c, args[0], "the first argument of select") : tsri_need_value(c, args[0]);
  if (!tsri_unify(c, pos, "select", &args[1], &args[2]) || args[0].kind != TSRI_OPERAND_VALUE) return false;
  if (args[0].type.dtype != TSR_BOOL) {
    tsri_need_bool(c, args[0], "the first argument of select");
    return false;
  }
  uint8_t lanes = args[0].type.lanes > args[1].type.lanes ? args[0].type.lanes : args[1].type.lanes;
  for (int i = 0; i < 3; i++) {
    if (args[i].type.lanes == 1) args[i] = tsri_splat(c, args[i], lanes);
    if (args[i].kind != TSRI_OPERAND_VALUE) return false;
    if (args[i].type.lanes != lanes) {
      tsri_diag_error(c->diag, pos, "the vectors of select have different sizes");
      return false;
    }
  }
  return true;
}

// Converts all arguments to one type that the operation's type rule accepts.
static bool prepare(tsri_checker *c, tsri_ir_pos pos, tsri_ir_op op, tsri_check_operand *args) {
  const tsri_ir_op_info *info = &tsri_ir_op_infos[op];
  if (info->rule == TSRI_RULE_SELECT) return prepare_select(c, pos, args);
  if (info->rule == TSRI_RULE_SHIFT) {
    if (!prepare_shift(c, args)) return false;
  } else if (info->arity == 1) {
    if (info->rule == TSRI_RULE_FLOAT && args[0].kind == TSRI_OPERAND_INT) args[0] = tsri_adapt(c, args[0], TSR_F32, 1);
    args[0] = tsri_need_value(c, args[0]);
  } else {
    if (info->rule == TSRI_RULE_WORD && is_literal(&args[0])) args[0] = tsri_adapt(c, args[0], TSR_U32, 1);
    char what[48];
    snprintf(what, sizeof what, info->is_operator ? "'%s'" : "%s()", info->spelling);
    // The third argument is unified first, so that a literal before it gets its type.
    if (info->arity == 3 && !tsri_unify(c, pos, what, &args[is_literal(&args[0]) ? 1 : 0], &args[2])) return false;
    if (!tsri_unify(c, pos, what, &args[0], &args[1])) return false;
    if (info->arity == 3 && !tsri_unify(c, pos, what, &args[0], &args[2])) return false;
    if (info->arity == 3 && !tsri_unify(c, pos, what, &args[0], &args[1])) return false;
  }
  if (args[0].kind != TSRI_OPERAND_VALUE) return false;
  if (rule_takes((tsri_ir_rule)info->rule, args[0].type)) return true;
  say_rule(c, info->is_operator ? pos : args[0].pos, op, args[0].type);
  return false;
}

static void warn_division(tsri_checker *c, tsri_ir_pos pos, tsri_ir_op op, const tsri_check_operand *args) {
  if (op != TSRI_OP_DIV && op != TSRI_OP_REM) return;
  if (!rule_takes(TSRI_RULE_INT, args[1].type) || !tsri_is_const(c, &args[1]) || tsri_const_bits(c, &args[1])) return;
  tsri_diag_warning(c->diag, pos, "division by 0: x / 0 is x, x %% 0 is 0");
}

// Compares two types, as T == f32, at compile time.
static bool compare_types(tsri_checker *c, tsri_ir_pos pos, tsri_ir_op op, const tsri_check_operand *args,
                          tsri_check_operand *out) {
  if ((op != TSRI_OP_EQ && op != TSRI_OP_NE) || args[0].kind != TSRI_OPERAND_TYPE ||
      args[1].kind != TSRI_OPERAND_TYPE) {
    return false;
  }
  bool is_equal = args[0].type.dtype == args[1].type.dtype && args[0].type.lanes == args[1].type.lanes;
  *out = tsri_const_value(c, TSR_BOOL, is_equal == (op == TSRI_OP_EQ), pos);
  return true;
}

// Whether the expression is a constant with these bits, as a scalar or in every lane of a vector.
static bool is_constant(const tsri_checker *c, uint32_t expr, uint32_t bits) {
  const tsri_ir_expr *x = tsri_expr_at(c, expr);
  if (x->kind == TSRI_EXPR_SPLAT) x = tsri_expr_at(c, x->a);
  return x->kind == TSRI_EXPR_CONST && x->bits == bits;
}

// Writes x * -1, -1 * x and 0 - x of i32 as -x, which is the same for every x. Compilers do this, too; emitters hide
// negations from compilers that get them wrong, and need to see all of them.
static void write_as_negation(const tsri_checker *c, tsri_ir_expr *expr) {
  bool is_product = expr->op == TSRI_OP_MUL;
  if (expr->type.dtype != TSR_I32 || (!is_product && expr->op != TSRI_OP_SUB)) return;
  uint32_t negated = 0;
  if (is_constant(c, expr->a, is_product ? UINT32_MAX : 0)) {
    negated = expr->b;
  } else if (is_product && is_constant(c, expr->b, UINT32_MAX)) {
    negated = expr->a;
  }
  if (!negated) return;
  expr->op = TSRI_OP_NEG;
  expr->a = negated;
  expr->b = 0;
}

tsri_check_operand tsri_check_op(tsri_checker *c, tsri_ir_pos pos, tsri_ir_op op, tsri_check_operand *args) {
  const tsri_ir_op_info *info = &tsri_ir_op_infos[op];
  tsri_check_operand result;
  for (uint32_t i = 0; i < info->arity; i++) {
    if (args[i].kind == TSRI_OPERAND_ERROR) return tsri_error_operand(pos);
  }
  if (info->arity == 2 && compare_types(c, pos, op, args, &result)) return result;
  if (fold_literals(c, pos, op, args, &result)) return result;
  if (!prepare(c, pos, op, args)) return tsri_error_operand(pos);
  if (info->arity == 2) warn_division(c, pos, op, args);

  bool all_const = true;
  uint64_t bits[3] = {0}, folded = 0;
  for (uint32_t i = 0; i < info->arity; i++) {
    all_const = all_const && tsri_is_const(c, &args[i]);
    if (all_const) bits[i] = tsri_const_bits(c, &args[i]);
  }
  tsri_ir_type type = args[info->rule == TSRI_RULE_SELECT ? 1 : 0].type;
  tsr_dtype operand_dtype = (tsr_dtype)type.dtype;
  if (gives_bool((tsri_ir_rule)info->rule)) type.dtype = TSR_BOOL;
  if (info->rule == TSRI_RULE_LANES) type.lanes = 1;
  if (all_const && tsri_fold(op, operand_dtype, bits, &folded)) {
    return tsri_const_value(c, (tsr_dtype)type.dtype, folded, pos);
  }
  tsri_ir_expr expr = {.kind = TSRI_EXPR_OP, .op = (uint8_t)op, .type = type, .pos = pos};
  for (uint32_t i = 0; i < info->arity; i++) expr.args[i] = args[i].expr;
  write_as_negation(c, &expr);
  return tsri_checked_value(c, tsri_emit(c, expr));
}
