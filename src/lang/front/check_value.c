// SPDX-License-Identifier: MIT
// Operands: the results of checked expressions, their conversions, and how they are added to the checked form.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lang/front/check.h"

const char tsri_temp_name[] = "t", tsri_flag_name[] = "done";

tsri_check_operand tsri_error_operand(tsri_ir_pos pos) {
  return (tsri_check_operand){.kind = TSRI_OPERAND_ERROR, .pos = pos};
}

// --- Building -------------------------------------------------------------------------------------------------------

uint32_t tsri_emit(tsri_checker *c, tsri_ir_expr expr) {
  uint32_t id = tsri_item_array_add(&c->exprs);
  if (!id)
    expr = (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .type = {TSR_U32, 1}};  // memory is out: item 0 must stay a
                                                                           // leaf
  *tsri_expr_at(c, id) = expr;
  return id;
}

tsri_check_operand tsri_checked_value(const tsri_checker *c, uint32_t expr) {
  const tsri_ir_expr *made = tsri_expr_at(c, expr);
  if (!expr) return tsri_error_operand(made->pos);
  return (tsri_check_operand){
      .kind = TSRI_OPERAND_VALUE, .held = made->type.dtype, .type = made->type, .pos = made->pos, .expr = expr};
}

tsri_check_operand tsri_const_value(tsri_checker *c, tsr_dtype dtype, uint64_t bits, tsri_ir_pos pos) {
  tsri_ir_expr expr = {.kind = TSRI_EXPR_CONST, .type = {(uint8_t)dtype, 1}, .pos = pos};
  expr.bits = bits;
  return tsri_checked_value(c, tsri_emit(c, expr));
}

bool tsri_is_const(const tsri_checker *c, const tsri_check_operand *operand) {
  return operand->kind == TSRI_OPERAND_VALUE && tsri_expr_at(c, operand->expr)->kind == TSRI_EXPR_CONST;
}

uint64_t tsri_const_bits(const tsri_checker *c, const tsri_check_operand *operand) {
  return tsri_expr_at(c, operand->expr)->bits;
}

bool tsri_is_leaf(const tsri_checker *c, uint32_t expr) {
  uint8_t kind = tsri_expr_at(c, expr)->kind;
  return kind == TSRI_EXPR_CONST || kind == TSRI_EXPR_VAR || kind == TSRI_EXPR_SCALAR || kind == TSRI_EXPR_ID;
}

tsri_check_operand tsri_splat(tsri_checker *c, tsri_check_operand value, uint8_t lanes) {
  if (value.kind != TSRI_OPERAND_VALUE || value.type.lanes == lanes) return value;
  tsri_ir_expr expr = {.kind = TSRI_EXPR_SPLAT, .type = {value.type.dtype, lanes}, .pos = value.pos};
  expr.a = value.expr;
  tsri_check_operand result = tsri_checked_value(c, tsri_emit(c, expr));
  result.held = value.held;
  return result;
}

uint32_t tsri_new_var(tsri_checker *c, const char *name, tsri_ir_type type) {
  uint32_t id = tsri_item_array_add(&c->vars);
  *tsri_var_at(c, id) = (tsri_ir_var){.name = name, .type = type};
  return id;
}

tsri_check_operand tsri_var_value(tsri_checker *c, uint32_t var, tsri_ir_pos pos) {
  tsri_ir_expr expr = {.kind = TSRI_EXPR_VAR, .type = tsri_var_at(c, var)->type, .pos = pos, .object = var};
  return tsri_checked_value(c, tsri_emit(c, expr));
}

uint32_t tsri_append(tsri_checker *c, tsri_ir_stmt stmt) {
  if (c->is_const_only) {
    tsri_diag_error(c->diag, stmt.pos, "this is not known at compile time");
    return 0;
  }
  uint32_t id = tsri_item_array_add(&c->stmts);
  if (!id) return 0;
  *tsri_stmt_at(c, id) = stmt;
  if (c->block->last) tsri_stmt_at(c, c->block->last)->next = id;
  if (!c->block->first) c->block->first = id;
  c->block->last = id;
  return id;
}

void tsri_assign(tsri_checker *c, uint32_t var, tsri_check_operand value, tsri_ir_pos pos) {
  if (value.kind != TSRI_OPERAND_VALUE) return;
  tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_ASSIGN, .pos = pos, .var = var, .value = value.expr});
}

tsri_check_operand tsri_spill(tsri_checker *c, tsri_check_operand value) {
  if (value.kind != TSRI_OPERAND_VALUE || tsri_is_leaf(c, value.expr)) return value;
  uint32_t var = tsri_new_var(c, tsri_temp_name, value.type);
  tsri_assign(c, var, value, value.pos);
  tsri_check_operand result = tsri_var_value(c, var, value.pos);
  result.held = value.held;
  return result;
}

void tsri_keep_order(tsri_checker *c, tsri_check_operand *operand, uint32_t *mark) {
  if (c->block == NULL || c->block->last == *mark) return;
  if (operand->kind != TSRI_OPERAND_VALUE || tsri_is_leaf(c, operand->expr)) return;
  // Spill into a separate list of statements, then insert that list after the mark.
  tsri_stmt_list apart = {0, 0}, *block = c->block;
  c->block = &apart;
  *operand = tsri_spill(c, *operand);
  c->block = block;
  if (!apart.first) return;
  if (*mark) {
    tsri_stmt_at(c, apart.last)->next = tsri_stmt_at(c, *mark)->next;
    tsri_stmt_at(c, *mark)->next = apart.first;
  } else {
    tsri_stmt_at(c, apart.last)->next = block->first;
    block->first = apart.first;
  }
  *mark = apart.last;
}

// --- Literals -------------------------------------------------------------------------------------------------------

const char *tsri_check_operand_type_name(const tsri_check_operand *operand) {
  switch (operand->kind) {
    case TSRI_OPERAND_INT:
      return "a whole number";
    case TSRI_OPERAND_FLOAT:
      return "a number with a fraction";
    case TSRI_OPERAND_VALUE:
      return tsri_ir_type_name(operand->type);
    case TSRI_OPERAND_TYPE:
      return "a type";
    case TSRI_OPERAND_ARRAY:
      return "an array";
    default:
      return "nothing";
  }
}

typedef struct whole_range {
  int64_t least, most;
} whole_range;

static whole_range range_of(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_U8:
      return (whole_range){0, UINT8_MAX};
    case TSR_I8:
      return (whole_range){INT8_MIN, INT8_MAX};
    case TSR_I16:
      return (whole_range){INT16_MIN, INT16_MAX};
    case TSR_I32:
      return (whole_range){INT32_MIN, INT32_MAX};
    case TSR_U16:
      return (whole_range){0, UINT16_MAX};
    case TSR_U32:
      return (whole_range){0, UINT32_MAX};
    case TSR_U64:
      return (whole_range){0, INT64_MAX};  // literals go no further
    default:
      return (whole_range){INT64_MIN, INT64_MAX};
  }
}

static uint64_t float_bits(double value, tsr_dtype dtype) {
  uint64_t bits = 0;
  if (dtype == TSR_F64) {
    memcpy(&bits, &value, sizeof value);
    return bits;
  }
  float narrow = (float)value;
  uint32_t word;
  memcpy(&word, &narrow, sizeof word);
  return word;
}

// The literal as a constant of dtype's compute type. `dtype` may be a storage type; the literal must then be in its
// range.
static tsri_check_operand literal_as(tsri_checker *c, tsri_check_operand operand, tsr_dtype dtype) {
  tsr_dtype compute = tsri_ir_compute_dtype(dtype);
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  if (kind == TSR_KIND_FLOAT) {
    double value = operand.kind == TSRI_OPERAND_INT ? (double)operand.integer : operand.real;
    if (compute == TSR_F32 && isfinite(value) && fabs(value) > (double)FLT_MAX) {
      tsri_diag_error(c->diag, operand.pos, "%g is too large for f32", value);
      return tsri_error_operand(operand.pos);
    }
    uint64_t bits = operand.kind == TSRI_OPERAND_INT ? tsri_fold_convert(TSR_I64, (uint64_t)operand.integer, dtype)
                                                     : tsri_fold_convert(TSR_F64, float_bits(value, TSR_F64), dtype);
    return tsri_const_value(c, compute, bits, operand.pos);
  }
  if (kind == TSR_KIND_BOOL) {
    tsri_diag_error(c->diag, operand.pos, "a number is no bool");
    tsri_diag_hint(c->diag, "write true or false, or compare with != 0");
    return tsri_error_operand(operand.pos);
  }
  if (operand.kind == TSRI_OPERAND_FLOAT) {
    tsri_diag_error(c->diag, operand.pos, "a number with a fraction cannot become %s by itself",
                    tsr_dtype_name(compute));
    tsri_diag_hint(c->diag, "write %s(…) to drop the fraction", tsr_dtype_name(compute));
    return tsri_error_operand(operand.pos);
  }
  whole_range range = range_of(dtype);
  if (operand.integer < range.least || operand.integer > range.most) {
    tsri_diag_error(c->diag, operand.pos, "%lld does not fit %s", (long long)operand.integer, tsr_dtype_name(dtype));
    tsri_diag_hint(c->diag, "%s holds %lld to %lld", tsr_dtype_name(dtype), (long long)range.least,
                   (long long)range.most);
    return tsri_error_operand(operand.pos);
  }
  uint64_t bits = (uint64_t)operand.integer;
  return tsri_const_value(c, compute, tsr_dtype_bytes(compute) == 8 ? bits : bits & UINT32_MAX, operand.pos);
}

tsri_check_operand tsri_adapt(tsri_checker *c, tsri_check_operand operand, tsr_dtype dtype, uint8_t lanes) {
  if (operand.kind != TSRI_OPERAND_INT && operand.kind != TSRI_OPERAND_FLOAT) return operand;
  return tsri_splat(c, literal_as(c, operand, dtype), lanes);
}

tsri_check_operand tsri_default_type(tsri_checker *c, tsri_check_operand operand) {
  return tsri_adapt(c, operand, operand.kind == TSRI_OPERAND_FLOAT ? TSR_F32 : TSR_I32, 1);
}

tsri_check_operand tsri_need_value(tsri_checker *c, tsri_check_operand operand) {
  switch (operand.kind) {
    case TSRI_OPERAND_INT:
    case TSRI_OPERAND_FLOAT:
      return tsri_default_type(c, operand);
    case TSRI_OPERAND_VOID:
      tsri_diag_error(c->diag, operand.pos, "this call has no value");
      break;
    case TSRI_OPERAND_TYPE:
      tsri_diag_error(c->diag, operand.pos, "a type is no value");
      tsri_diag_hint(c->diag, "to convert, write %s(…)", tsr_dtype_name((tsr_dtype)operand.type.dtype));
      break;
    case TSRI_OPERAND_ARRAY:
      tsri_diag_error(c->diag, operand.pos, "an array is no value: an index is missing");
      tsri_diag_hint(c->diag, "write %.*s[…]", TSRI_NAME(c, tsri_name_binding_at(c, operand.binding)->symbol));
      break;
    default:
      return operand;
  }
  return tsri_error_operand(operand.pos);
}

// --- Conversion -----------------------------------------------------------------------------------------------------

static tsri_check_operand emit_convert(tsri_checker *c, tsri_check_operand value, tsr_dtype dtype) {
  tsr_dtype compute = tsri_ir_compute_dtype(dtype);
  tsri_check_operand result;
  if (tsri_is_const(c, &value)) {
    uint64_t bits = tsri_fold_convert((tsr_dtype)value.type.dtype, tsri_const_bits(c, &value), dtype);
    result = tsri_const_value(c, compute, bits, value.pos);
  } else {
    tsri_ir_expr expr = {.kind = TSRI_EXPR_CONVERT, .type = {(uint8_t)compute, value.type.lanes}, .pos = value.pos};
    expr.dtype = (uint8_t)dtype;
    expr.a = value.expr;
    result = tsri_checked_value(c, tsri_emit(c, expr));
  }
  if (result.kind == TSRI_OPERAND_VALUE) result.held = (uint8_t)dtype;
  return result;
}

tsri_check_operand tsri_convert_to(tsri_checker *c, tsri_check_operand operand, tsr_dtype dtype) {
  if (operand.kind == TSRI_OPERAND_INT) {
    // The literal keeps all its bits until the conversion: u8(300), u32(-1), f64(0.1).
    bool is_float = dtype == TSR_F32 || dtype == TSR_F64;
    operand =
        is_float ? literal_as(c, operand, dtype) : tsri_const_value(c, TSR_I64, (uint64_t)operand.integer, operand.pos);
  } else if (operand.kind == TSRI_OPERAND_FLOAT) {
    operand = tsri_const_value(c, TSR_F64, float_bits(operand.real, TSR_F64), operand.pos);
  }
  operand = tsri_need_value(c, operand);
  if (operand.kind != TSRI_OPERAND_VALUE || operand.held == dtype) return operand;
  if (operand.type.dtype == dtype) return operand;
  // bool is converted to f16, bf16 and f8 by way of f32, and so are integers to f16 and f8: integers that f32 would round
  // are beyond their largest number anyway. A constant is always rounded once.
  bool is_exact_in_f32 = dtype == TSR_F16 || dtype == TSR_F8_E4M3 || dtype == TSR_F8_E5M2 ||
                         (dtype == TSR_BF16 && operand.type.dtype == TSR_BOOL);
  bool is_float = tsr_dtype_kind_of((tsr_dtype)operand.type.dtype) == TSR_KIND_FLOAT;
  if (is_exact_in_f32 && !is_float && !tsri_is_const(c, &operand)) {
    operand = emit_convert(c, operand, TSR_F32);
    if (operand.kind != TSRI_OPERAND_VALUE) return operand;
  }
  return emit_convert(c, operand, dtype);
}

tsri_check_operand tsri_assignable(tsri_checker *c, tsri_check_operand operand, tsr_dtype storage, uint8_t lanes,
                                   const char *what) {
  if (operand.kind == TSRI_OPERAND_INT || operand.kind == TSRI_OPERAND_FLOAT) {
    operand = tsri_adapt(c, operand, storage, lanes);
  }
  operand = tsri_need_value(c, operand);
  if (operand.kind != TSRI_OPERAND_VALUE) return operand;
  tsri_ir_type wanted = {(uint8_t)tsri_ir_compute_dtype(storage), lanes};
  if (operand.type.dtype != wanted.dtype || operand.type.lanes != lanes) {
    char is[16];
    snprintf(is, sizeof is, "%s", tsri_ir_type_name(operand.type));
    tsri_diag_error(c->diag, operand.pos, "%s is %s%s%s%s, this is %s", what,
                    wanted.dtype == storage ? "" : tsr_dtype_name(storage),
                    wanted.dtype == storage ? "" : " (computed as ", tsri_ir_type_name(wanted),
                    wanted.dtype == storage ? "" : ")", is);
    tsri_diag_hint(c->diag, "convert it: %s%s(…)", tsr_dtype_name(storage), lanes == 4 ? "x4" : lanes == 2 ? "x2" : "");
    return tsri_error_operand(operand.pos);
  }
  if (storage == wanted.dtype || operand.held == storage) return operand;
  return emit_convert(c, operand, storage);
}

tsri_check_operand tsri_need_bool(tsri_checker *c, tsri_check_operand operand, const char *what) {
  bool is_number = operand.kind == TSRI_OPERAND_INT || operand.kind == TSRI_OPERAND_FLOAT;
  if (!is_number) operand = tsri_need_value(c, operand);
  if (operand.kind == TSRI_OPERAND_ERROR) return operand;
  if (!is_number && operand.type.dtype == TSR_BOOL && operand.type.lanes == 1) return operand;
  tsri_diag_error(c->diag, operand.pos, "%s must be bool, this is %s", what, tsri_check_operand_type_name(&operand));
  if (!is_number && operand.type.lanes > 1) {
    tsri_diag_hint(c->diag, "reduce the lanes with any(…) or all(…)");
  } else {
    tsri_diag_hint(c->diag, "compare it: … != 0");
  }
  return tsri_error_operand(operand.pos);
}

bool tsri_unify(tsri_checker *c, tsri_ir_pos pos, const char *what, tsri_check_operand *a, tsri_check_operand *b) {
  bool a_is_literal = a->kind == TSRI_OPERAND_INT || a->kind == TSRI_OPERAND_FLOAT;
  bool b_is_literal = b->kind == TSRI_OPERAND_INT || b->kind == TSRI_OPERAND_FLOAT;
  if (a_is_literal && b_is_literal) {
    bool is_float = a->kind == TSRI_OPERAND_FLOAT || b->kind == TSRI_OPERAND_FLOAT;
    *a = tsri_adapt(c, *a, is_float ? TSR_F32 : TSR_I32, 1);
    *b = tsri_adapt(c, *b, is_float ? TSR_F32 : TSR_I32, 1);
  } else {
    if (!a_is_literal) *a = tsri_need_value(c, *a);
    if (!b_is_literal) *b = tsri_need_value(c, *b);
    if (a_is_literal && b->kind == TSRI_OPERAND_VALUE) *a = tsri_adapt(c, *a, (tsr_dtype)b->type.dtype, b->type.lanes);
    if (b_is_literal && a->kind == TSRI_OPERAND_VALUE) *b = tsri_adapt(c, *b, (tsr_dtype)a->type.dtype, a->type.lanes);
  }
  if (a->kind != TSRI_OPERAND_VALUE || b->kind != TSRI_OPERAND_VALUE) return false;
  bool lanes_fit = a->type.lanes == b->type.lanes || a->type.lanes == 1 || b->type.lanes == 1;
  if (a->type.dtype != b->type.dtype || !lanes_fit) {
    char left[16];
    snprintf(left, sizeof left, "%s", tsri_ir_type_name(a->type));
    tsri_diag_error(c->diag, pos, "%s: %s and %s do not mix", what, left, tsri_ir_type_name(b->type));
    tsri_ir_type to = {a->type.dtype, b->type.lanes};
    if (lanes_fit) tsri_diag_hint(c->diag, "convert one of them, as in %s(…)", tsri_ir_type_name(to));
    return false;
  }
  uint8_t lanes = a->type.lanes > b->type.lanes ? a->type.lanes : b->type.lanes;
  *a = tsri_splat(c, *a, lanes);
  *b = tsri_splat(c, *b, lanes);
  return a->kind == TSRI_OPERAND_VALUE && b->kind == TSRI_OPERAND_VALUE;
}
