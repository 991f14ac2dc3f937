// SPDX-License-Identifier: MIT
// Operations on values as SPIR-V instructions, or as their expansions if SPIR-V lacks them (lower/lacks.h). All work on scalars and vectors.
#include <string.h>

#include "lang/emit/spirv/spirv.h"

// --- Instructions that mean what the language means -----------------------------------------------------------------

typedef struct op_codes {
  uint16_t f, i, u, b;  // instruction for floats, signed, unsigned, bool; 0: none, or not a single instruction
  uint16_t glsl;        // for floats, a function of GLSL.std.450
} op_codes;

#define SAME(op) 0, op, op, 0, 0

static const op_codes codes[TSRI_OP_COUNT] = {
    [TSRI_OP_NEG] = {SPV_OP_F_NEGATE, SPV_OP_S_NEGATE, 0, 0, 0},
    [TSRI_OP_BIT_NOT] = {SAME(SPV_OP_NOT)},
    [TSRI_OP_NOT] = {.b = SPV_OP_LOGICAL_NOT},
    [TSRI_OP_ADD] = {SPV_OP_F_ADD, SPV_OP_I_ADD, SPV_OP_I_ADD, 0, 0},
    [TSRI_OP_SUB] = {SPV_OP_F_SUB, SPV_OP_I_SUB, SPV_OP_I_SUB, 0, 0},
    [TSRI_OP_MUL] = {SPV_OP_F_MUL, SPV_OP_I_MUL, SPV_OP_I_MUL, 0, 0},
    [TSRI_OP_DIV] = {SPV_OP_F_DIV, SPV_OP_S_DIV, SPV_OP_U_DIV, 0, 0},
    [TSRI_OP_REM] = {0, 0, SPV_OP_U_MOD, 0, 0},
    [TSRI_OP_AND] = {0, SPV_OP_BITWISE_AND, SPV_OP_BITWISE_AND, SPV_OP_LOGICAL_AND, 0},
    [TSRI_OP_OR] = {0, SPV_OP_BITWISE_OR, SPV_OP_BITWISE_OR, SPV_OP_LOGICAL_OR, 0},
    [TSRI_OP_XOR] = {0, SPV_OP_BITWISE_XOR, SPV_OP_BITWISE_XOR, SPV_OP_LOGICAL_NOT_EQUAL, 0},
    [TSRI_OP_SHL] = {SAME(SPV_OP_SHIFT_LEFT_LOGICAL)},
    [TSRI_OP_SHR] = {0, SPV_OP_SHIFT_RIGHT_ARITHMETIC, SPV_OP_SHIFT_RIGHT_LOGICAL, 0, 0},
    [TSRI_OP_EQ] = {SPV_OP_F_ORD_EQUAL, SPV_OP_I_EQUAL, SPV_OP_I_EQUAL, SPV_OP_LOGICAL_EQUAL, 0},
    [TSRI_OP_NE] = {SPV_OP_F_UNORD_NOT_EQUAL, SPV_OP_I_NOT_EQUAL, SPV_OP_I_NOT_EQUAL, SPV_OP_LOGICAL_NOT_EQUAL, 0},
    [TSRI_OP_LT] = {SPV_OP_F_ORD_LESS_THAN, SPV_OP_S_LESS_THAN, SPV_OP_U_LESS_THAN, 0, 0},
    [TSRI_OP_LE] = {SPV_OP_F_ORD_LESS_THAN_EQUAL, SPV_OP_S_LESS_THAN_EQUAL, SPV_OP_U_LESS_THAN_EQUAL, 0, 0},
    [TSRI_OP_GT] = {SPV_OP_F_ORD_GREATER_THAN, SPV_OP_S_GREATER_THAN, SPV_OP_U_GREATER_THAN, 0, 0},
    [TSRI_OP_GE] = {SPV_OP_F_ORD_GREATER_THAN_EQUAL, SPV_OP_S_GREATER_THAN_EQUAL, SPV_OP_U_GREATER_THAN_EQUAL, 0, 0},
    [TSRI_OP_LOOSE_LESS] = {.f = SPV_OP_F_ORD_LESS_THAN},
    [TSRI_OP_POPCOUNT] = {SAME(SPV_OP_BIT_COUNT)},
    [TSRI_OP_ANY] = {.b = SPV_OP_ANY},
    [TSRI_OP_ALL] = {.b = SPV_OP_ALL},
    [TSRI_OP_ABS] = {.glsl = SPV_GLSL_F_ABS},
    [TSRI_OP_FLOOR] = {.glsl = SPV_GLSL_FLOOR},
    [TSRI_OP_CEIL] = {.glsl = SPV_GLSL_CEIL},
    [TSRI_OP_ROUND] = {.glsl = SPV_GLSL_ROUND_EVEN},
    [TSRI_OP_TRUNC] = {.glsl = SPV_GLSL_TRUNC},
    [TSRI_OP_MIN] = {.glsl = SPV_GLSL_F_MIN},  // relaxed ones
    [TSRI_OP_MAX] = {.glsl = SPV_GLSL_F_MAX},
    [TSRI_OP_LOOSE_MAX] = {.glsl = SPV_GLSL_F_MAX},
    [TSRI_OP_EXP2] = {.glsl = SPV_GLSL_EXP2},
    [TSRI_OP_SQRT] = {.glsl = SPV_GLSL_SQRT},
    [TSRI_OP_RSQRT] = {.glsl = SPV_GLSL_INVERSE_SQRT},
    [TSRI_OP_FMA] = {.glsl = SPV_GLSL_FMA},
};

static uint32_t code_for(tsri_ir_op op, tsr_dtype dtype) {
  const op_codes *c = &codes[op];
  if (dtype == TSR_BOOL) return c->b;
  if (dtype == TSR_F32 || dtype == TSR_F64) return c->f;
  return dtype == TSR_U32 ? c->u : c->i;
}

// --- Integers -------------------------------------------------------------------------------------------------------

static tsri_spv_id shift(tsri_spv *s, uint32_t code, tsri_spv_type type, tsri_spv_id a, tsri_spv_id count) {
  tsri_spv_type counts = tsri_spv_make_type(SPV_U32, type.lanes);
  tsri_spv_id mask = tsri_spv_const(s, counts, tsri_spv_is_64(type) ? 63 : 31);
  return SPV_OP(s, code, type, a, SPV_OP(s, SPV_OP_BITWISE_AND, counts, count, mask));
}

static tsri_spv_id count_zeros(tsri_spv *s, tsri_ir_op op, tsri_spv_type type, tsri_spv_id a) {
  if (op == TSRI_OP_CLZ) {  // 31 minus the position of the highest 1, which is -1 for 0
    tsri_spv_id place = SPV_GLSL(s, SPV_GLSL_FIND_U_MSB, type, a);
    return SPV_OP(s, SPV_OP_I_SUB, type, tsri_spv_const(s, type, 31), place);
  }
  tsri_spv_id is_zero = SPV_OP(s, SPV_OP_I_EQUAL, tsri_spv_bool_type(type), a, tsri_spv_const(s, type, 0));
  tsri_spv_id place = SPV_GLSL(s, SPV_GLSL_FIND_I_LSB, type, a);
  return SPV_OP(s, SPV_OP_SELECT, type, is_zero, tsri_spv_const(s, type, 32), place);
}

static tsri_spv_id multiply_high(tsri_spv *s, tsri_spv_type type, tsri_spv_id a, tsri_spv_id b) {
  tsri_spv_id part = tsri_spv_type_id(s, type), record = SPV_GLOBAL(s, SPV_OP_TYPE_STRUCT, part, part);
  tsri_spv_id product = tsri_spv_new_id(s);
  SPV_PUT(&s->code, SPV_OP_U_MUL_EXTENDED, record, product, a, b);
  return SPV_OP(s, SPV_OP_COMPOSITE_EXTRACT, type, product, 1);
}

// --- Expansions -----------------------------------------------------------------------------------------------------

static tsri_spv_id expansion_node(tsri_spv *s, const tsri_expansion *x, const tsri_ir_expr *n, const tsri_spv_id *ids,
                                  const tsri_spv_id *args) {
  tsri_spv_type type = tsri_spv_value_type(n->type);
  tsri_spv_id operands[3];
  switch (n->kind) {
    case TSRI_EXPR_VAR:
      return args[n->object];
    case TSRI_EXPR_CONST:
      return tsri_spv_const(s, type, n->bits);
    case TSRI_EXPR_BITCAST:
      return tsri_spv_bitcast(s, type, tsri_spv_value_type(x->nodes[n->a].type), ids[n->a]);
    case TSRI_EXPR_CONVERT:
      return tsri_spv_convert(s, (tsr_dtype)n->dtype, x->nodes[n->a].type, ids[n->a], n->lane == 1);
    default:
      break;
  }
  for (int i = 0; i < 3; i++) operands[i] = ids[n->args[i]];
  tsri_ir_type operand = n->op == TSRI_OP_SELECT ? n->type : x->nodes[n->a].type;
  return tsri_spv_operation(s, (tsri_ir_op)n->op, operand, n->type, operands, n->lane == 1);
}

tsri_spv_id tsri_spv_put_expansion(tsri_spv *s, const tsri_expansion *x, const tsri_spv_id *args) {
  tsri_spv_id ids[TSRI_EXPAND_MAX] = {0};
  for (uint32_t i = 1; i < x->count; i++) {
    if (x->nodes[i].type.dtype == TSR_I64 && !s->options->i64) s->missing = "i64 (for operations on f64)";
    ids[i] = expansion_node(s, x, &x->nodes[i], ids, args);
  }
  return ids[x->result];
}

static tsri_spv_id put_function(tsri_spv *s, tsri_ir_op op, tsri_ir_type type, const tsri_spv_id *args, bool is_far) {
  tsri_expansion x;
  tsri_expand_options options = {.fma = s->options->exact_fma,
                                 .near_quotient = s->options->near_quotient,
                                 .near_exp2 = s->options->near_exp2,
                                 .near_root = s->options->near_root,
                                 .f64 = s->options->f64 && s->options->i64,
                                 .narrow = s->is_narrow && !is_far,
                                 .far = is_far};
  s->is_narrow = false;  // does not apply to the operations of which the expansion consists
  tsri_expand(op, type, options, &x);
  return tsri_spv_put_expansion(s, &x, args);
}

static tsri_spv_id put_is_far(tsri_spv *s, tsri_ir_op op, tsri_ir_type type, const tsri_spv_id *args) {
  tsri_expansion x;
  tsri_expand_is_far(op, type, &x);
  return tsri_spv_put_expansion(s, &x, args);
}

// Returns the function with the expansion for far operands, which is long: some 200 instructions for a quotient. A kernel that divides in many places contains
// it only once, so that its code fits in the instruction cache.
static tsri_spv_id far_function(tsri_spv *s, tsri_ir_op op, tsri_ir_type type) {
  tsri_spv_id *known = &s->far_functions[op][type.dtype == TSR_F64][type.lanes / 2];
  if (*known) return *known;
  enum { DONT_INLINE = 2, MOST_OPERANDS = 3 };
  tsri_spv_id floats = tsri_spv_type_id(s, tsri_spv_value_type(type)), args[MOST_OPERANDS];
  uint32_t arity = tsri_ir_op_infos[op].arity, signature[1 + MOST_OPERANDS] = {floats, floats, floats, floats};
  tsri_spv_id function_type = tsri_spv_global(s, SPV_OP_TYPE_FUNCTION, signature, 1 + arity);
  tsri_builder caller = s->code;
  tsri_spv_id block = s->block;
  *known = tsri_spv_new_id(s);
  s->code = (tsri_builder){.most_bytes = caller.most_bytes};
  SPV_PUT(&s->code, SPV_OP_FUNCTION, floats, *known, DONT_INLINE, function_type);
  for (uint32_t i = 0; i < arity; i++) {
    args[i] = tsri_spv_new_id(s);
    SPV_PUT(&s->code, SPV_OP_FUNCTION_PARAMETER, floats, args[i]);
  }
  tsri_spv_begin_block(s, tsri_spv_new_id(s));
  SPV_PUT(&s->code, SPV_OP_RETURN_VALUE, put_function(s, op, type, args, true));
  tsri_spv_put_op(&s->code, SPV_OP_FUNCTION_END, NULL, 0);
  tsri_builder_append(&s->functions, &s->code);
  tsri_builder_deinit(&s->code);
  s->code = caller;
  s->block = block;
  return *known;
}

static tsri_spv_id call_far(tsri_spv *s, tsri_ir_op op, tsri_ir_type type, const tsri_spv_id *args) {
  uint32_t words[4] = {far_function(s, op, type)}, arity = tsri_ir_op_infos[op].arity;
  memcpy(words + 1, args, arity * sizeof *args);
  return tsri_spv_op(s, SPV_OP_FUNCTION_CALL, tsri_spv_value_type(type), words, 1 + arity);
}

// Calls the expansion for far operands in a branch, which is taken if any lane needs it.
static tsri_spv_id expanded(tsri_spv *s, tsri_ir_op op, tsri_ir_type type, const tsri_spv_id *args) {
  tsri_spv_type floats = tsri_spv_value_type(type);
  tsri_spv_id near = put_function(s, op, type, args, false);
  if (!tsri_expand_has_far(op, (tsr_dtype)type.dtype)) return near;
  tsri_spv_id is_far = put_is_far(s, op, type, args), any_is_far = is_far;
  if (type.lanes > 1) any_is_far = SPV_OP(s, SPV_OP_ANY, tsri_spv_make_type(SPV_BOOL, 1), is_far);
  tsri_spv_id from = s->block, far_block = tsri_spv_new_id(s), merge = tsri_spv_new_id(s);
  tsri_spv_branch_if(s, any_is_far, far_block, merge, merge);
  tsri_spv_begin_block(s, far_block);
  tsri_spv_id chosen = SPV_OP(s, SPV_OP_SELECT, floats, is_far, call_far(s, op, type, args), near);
  tsri_spv_branch(s, merge);
  tsri_spv_begin_block(s, merge);
  return tsri_spv_phi(s, floats, near, from, chosen, far_block);
}

// --- All of them ----------------------------------------------------------------------------------------------------

tsri_spv_id tsri_spv_operation(tsri_spv *s, tsri_ir_op op, tsri_ir_type operand, tsri_ir_type result,
                               const tsri_spv_id *args, bool is_loose) {
  tsri_spv_type type = tsri_spv_value_type(operand), out = tsri_spv_value_type(result);
  tsr_dtype dtype = (tsr_dtype)operand.dtype;
  uint32_t code = code_for(op, dtype), arity = tsri_ir_op_infos[op].arity;
  if (op == TSRI_OP_SELECT) return tsri_spv_op(s, SPV_OP_SELECT, out, args, 3);
  if (!is_loose && tsri_lacks_op(&s->lacks, op, dtype)) return expanded(s, op, operand, args);
  if (tsri_spv_is_float(type) && codes[op].glsl) {
    uint32_t words[5] = {s->glsl, codes[op].glsl};
    memcpy(words + 2, args, arity * sizeof *args);
    return tsri_spv_op(s, SPV_OP_EXT_INST, type, words, 2 + arity);
  }
  if ((op == TSRI_OP_SHL || op == TSRI_OP_SHR) && !is_loose) return shift(s, code, type, args[0], args[1]);
  if (op == TSRI_OP_CLZ || op == TSRI_OP_CTZ) return count_zeros(s, op, type, args[0]);
  if (op == TSRI_OP_MULHI) return multiply_high(s, type, args[0], args[1]);
  return tsri_spv_op(s, code, out, args, arity);
}
