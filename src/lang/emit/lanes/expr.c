// SPDX-License-Identifier: MIT
// Translates expressions to lane bytecode.
//
// Values that are the same in all lanes are computed once, as scalars. Integers stay affine (emit/lanes/affine.c) until one value per lane is needed. A product
// that is immediately added to becomes one instruction, with the two roundings of the two operations.
#include "lang/emit/lanes/build.h"

static const lane_value no_value = {0};

// --- Which instruction ------------------------------------------------------------------------------------------------

#define OP(name) TSRI_LANE_##name
#define ON_INT(op) \
  { [TSR_I32] = OP(op##_U32), [TSR_U32] = OP(op##_U32), [TSR_I64] = OP(op##_I64) }
#define ON_BITS(op) \
  { [TSR_BOOL] = OP(op##_U32), [TSR_I32] = OP(op##_U32), [TSR_U32] = OP(op##_U32), [TSR_I64] = OP(op##_I64) }
#define ON_FLOAT(op) \
  { [TSR_F32] = OP(op##_F32), [TSR_F64] = OP(op##_F64) }
#define ON_SIGNED(op) \
  { [TSR_I32] = OP(op##_I32), [TSR_I64] = OP(op##_I64), [TSR_F32] = OP(op##_F32), [TSR_F64] = OP(op##_F64) }
#define ON_ORDERED(op)                                                                                      \
  {                                                                                                         \
    [TSR_I32] = OP(op##_I32), [TSR_U32] = OP(op##_U32), [TSR_I64] = OP(op##_I64), [TSR_F32] = OP(op##_F32), \
    [TSR_F64] = OP(op##_F64)                                                                                \
  }
#define ON_ALL(op)                                                                                           \
  {                                                                                                          \
    [TSR_BOOL] = OP(op##_U32), [TSR_I32] = OP(op##_U32), [TSR_U32] = OP(op##_U32), [TSR_I64] = OP(op##_I64), \
    [TSR_F32] = OP(op##_F32), [TSR_F64] = OP(op##_F64)                                                       \
  }

// The instruction, by operation and dtype of the first operand; 0: none, or more than one instruction.
static const uint16_t instructions[TSRI_OP_COUNT][TSR_DTYPE_COUNT] = {
    [TSRI_OP_NEG] = ON_SIGNED(NEG),
    [TSRI_OP_BIT_NOT] = {[TSR_I32] = OP(BIT_NOT_I32), [TSR_U32] = OP(BIT_NOT_I32), [TSR_I64] = OP(BIT_NOT_I64)},
    [TSRI_OP_NOT] = {[TSR_BOOL] = OP(NOT_BOOL)},
    [TSRI_OP_ADD] = ON_ALL(ADD),
    [TSRI_OP_SUB] = ON_ALL(SUB),
    [TSRI_OP_MUL] = ON_ALL(MUL),
    [TSRI_OP_DIV] = ON_ORDERED(DIV),
    [TSRI_OP_REM] = {[TSR_I32] = OP(REM_I32), [TSR_U32] = OP(REM_U32), [TSR_I64] = OP(REM_I64)},
    [TSRI_OP_AND] = ON_BITS(AND),
    [TSRI_OP_OR] = ON_BITS(OR),
    [TSRI_OP_XOR] = ON_BITS(XOR),
    [TSRI_OP_SHL] = ON_INT(SHL),
    [TSRI_OP_SHR] = {[TSR_I32] = OP(SHR_I32), [TSR_U32] = OP(SHR_U32), [TSR_I64] = OP(SHR_I64)},
    [TSRI_OP_EQ] = ON_ALL(EQ),
    [TSRI_OP_NE] = ON_ALL(NE),
    [TSRI_OP_LT] = ON_ORDERED(LT),
    [TSRI_OP_LE] = ON_ORDERED(LE),
    [TSRI_OP_MIN] = ON_ORDERED(MIN),
    [TSRI_OP_MAX] = ON_ORDERED(MAX),
    [TSRI_OP_LOOSE_MAX] = ON_FLOAT(MAX),
    [TSRI_OP_ABS] = ON_SIGNED(ABS),
    [TSRI_OP_SIGN] = ON_SIGNED(SIGN),
    [TSRI_OP_FLOOR] = ON_FLOAT(FLOOR),
    [TSRI_OP_CEIL] = ON_FLOAT(CEIL),
    [TSRI_OP_ROUND] = ON_FLOAT(ROUND),
    [TSRI_OP_TRUNC] = ON_FLOAT(TRUNC),
    [TSRI_OP_FMA] = ON_FLOAT(FMA),
    [TSRI_OP_LOOSE_LESS] = ON_FLOAT(LT),
    [TSRI_OP_ISNAN] = ON_FLOAT(ISNAN),
    [TSRI_OP_ISINF] = ON_FLOAT(ISINF),
    [TSRI_OP_ISFINITE] = ON_FLOAT(ISFINITE),
    [TSRI_OP_POPCOUNT] = ON_INT(POPCOUNT),
    [TSRI_OP_CLZ] = ON_INT(CLZ),
    [TSRI_OP_CTZ] = ON_INT(CTZ),
    [TSRI_OP_MULHI] = {[TSR_U32] = OP(MULHI_U32)},
};

// The instruction for a conversion, by source and target; 0: the bits stay the same.
static const uint16_t conversions[TSR_DTYPE_COUNT][TSR_DTYPE_COUNT] = {
    [TSR_BOOL] = {[TSR_I64] = OP(U32_I64), [TSR_F32] = OP(I32_F32), [TSR_F64] = OP(I32_F64), [TSR_BF16] = OP(I32_BF16)},
    [TSR_I32] = {[TSR_BOOL] = OP(U32_BOOL),
                 [TSR_U8] = OP(U32_U8),
                 [TSR_I8] = OP(U32_I8),
                 [TSR_I16] = OP(U32_I16),
                 [TSR_I64] = OP(I32_I64),
                 [TSR_F32] = OP(I32_F32),
                 [TSR_F64] = OP(I32_F64),
                 [TSR_BF16] = OP(I32_BF16)},
    [TSR_U32] = {[TSR_BOOL] = OP(U32_BOOL),
                 [TSR_U8] = OP(U32_U8),
                 [TSR_I8] = OP(U32_I8),
                 [TSR_I16] = OP(U32_I16),
                 [TSR_I64] = OP(U32_I64),
                 [TSR_F32] = OP(U32_F32),
                 [TSR_F64] = OP(U32_F64),
                 [TSR_BF16] = OP(U32_BF16)},
    [TSR_I64] = {[TSR_BOOL] = OP(I64_BOOL),
                 [TSR_I32] = OP(I64_U32),
                 [TSR_U32] = OP(I64_U32),
                 [TSR_F32] = OP(I64_F32),
                 [TSR_F64] = OP(I64_F64),
                 [TSR_BF16] = OP(I64_BF16)},
    [TSR_F32] = {[TSR_BOOL] = OP(F32_BOOL),
                 [TSR_U8] = OP(F32_U8),
                 [TSR_I8] = OP(F32_I8),
                 [TSR_I16] = OP(F32_I16),
                 [TSR_I32] = OP(F32_I32),
                 [TSR_U32] = OP(F32_U32),
                 [TSR_I64] = OP(F32_I64),
                 [TSR_F64] = OP(F32_F64),
                 [TSR_F16] = OP(F32_F16),
                 [TSR_BF16] = OP(F32_BF16)},
    [TSR_F64] = {[TSR_BOOL] = OP(F64_BOOL),
                 [TSR_U8] = OP(F64_U8),
                 [TSR_I8] = OP(F64_I8),
                 [TSR_I16] = OP(F64_I16),
                 [TSR_I32] = OP(F64_I32),
                 [TSR_U32] = OP(F64_U32),
                 [TSR_I64] = OP(F64_I64),
                 [TSR_F32] = OP(F64_F32),
                 [TSR_F16] = OP(F64_F16),
                 [TSR_BF16] = OP(F64_BF16)},
};

// --- Values of one lane -----------------------------------------------------------------------------------------------

static uint32_t result_register(lane_builder *b, tsr_dtype dtype, bool is_scalar, const lane_dest *dest,
                                uint32_t *out_flags) {
  *out_flags = 0;
  uint32_t wanted = is_scalar ? TSRI_LANE_SCALAR : lane_bytes(dtype) == 4 ? TSRI_LANE_REG_4 : TSRI_LANE_REG_8;
  if (!dest || TSRI_LANE_KIND(dest->word) != wanted) return lane_take(b, dtype, is_scalar, false);
  if (dest->is_merge && !is_scalar) *out_flags = TSRI_LANE_MERGE;
  lane_retain(b, dest->word);
  return dest->word;
}

static lane_value made(uint32_t word, tsr_dtype dtype, bool is_scalar) {
  return (lane_value){.kind = is_scalar ? LANE_VALUE_SCALAR : LANE_VALUE_LANES, .dtype = (uint8_t)dtype, .word = word};
}

lane_value lane_no_affine(lane_builder *b, lane_value x) {
  if (x.kind != LANE_VALUE_AFFINE) return x;
  uint32_t dst = lane_take(b, (tsr_dtype)x.dtype, false, false);
  lane_emit(b, lane_bytes((tsr_dtype)x.dtype) == 4 ? TSRI_LANE_IOTA_32 : TSRI_LANE_IOTA_64, 0, 0,
            (lane_words){.dst = dst, .a = x.word, .b = x.step[0], .c = x.step[1], .d = x.step[2]});
  lane_value_release(b, &x);
  return made(dst, (tsr_dtype)x.dtype, false);
}

static uint32_t move_op(uint8_t dtype) {
  return lane_bytes((tsr_dtype)dtype) == 4 ? TSRI_LANE_MOVE_32 : TSRI_LANE_MOVE_64;
}

lane_value lane_to_lanes(lane_builder *b, lane_value x) {
  if (x.kind != LANE_VALUE_SCALAR) return lane_no_affine(b, x);
  uint32_t dst = lane_take(b, (tsr_dtype)x.dtype, false, false);
  lane_emit(b, move_op(x.dtype), 0, 0, (lane_words){.dst = dst, .a = x.word});
  lane_value_release(b, &x);
  return made(dst, (tsr_dtype)x.dtype, false);
}

lane_value lane_to_scalar(lane_builder *b, lane_value x) {
  if (x.kind == LANE_VALUE_SCALAR) return x;
  x = lane_no_affine(b, x);
  uint32_t dst = lane_take(b, (tsr_dtype)x.dtype, true, false);
  lane_emit(b, lane_bytes((tsr_dtype)x.dtype) == 4 ? TSRI_LANE_FIRST_32 : TSRI_LANE_FIRST_64, 0, 0,
            (lane_words){.dst = dst, .a = x.word});
  lane_value_release(b, &x);
  return made(dst, (tsr_dtype)x.dtype, true);
}

void lane_move(lane_builder *b, const lane_dest *dest, lane_value x) {
  bool to_scalar = TSRI_LANE_KIND(dest->word) == TSRI_LANE_SCALAR;
  if (to_scalar) x = lane_to_scalar(b, x);
  uint32_t flags = dest->is_merge && !to_scalar ? TSRI_LANE_MERGE : 0;
  if (x.kind == LANE_VALUE_AFFINE) {
    lane_emit(b, lane_bytes((tsr_dtype)x.dtype) == 4 ? TSRI_LANE_IOTA_32 : TSRI_LANE_IOTA_64, 0, flags,
              (lane_words){.dst = dest->word, .a = x.word, .b = x.step[0], .c = x.step[1], .d = x.step[2]});
  } else if (x.word != dest->word) {
    lane_emit(b, move_op(x.dtype), 0, flags, (lane_words){.dst = dest->word, .a = x.word});
  }
  lane_value_release(b, &x);
}

static bool may_take_rows(uint32_t op) { return op == TSRI_LANE_MULADD_F32 || op == TSRI_LANE_FMA_F32; }

lane_value lane_apply(lane_builder *b, uint32_t op, tsr_dtype result, const lane_dest *dest, lane_value x, lane_value y,
                      lane_value z) {
  x = lane_no_affine(b, x);
  y = lane_no_affine(b, y);
  z = lane_no_affine(b, z);
  bool is_scalar = x.kind == LANE_VALUE_SCALAR && y.kind != LANE_VALUE_LANES && z.kind != LANE_VALUE_LANES;
  if (!is_scalar && z.kind != LANE_VALUE_NONE)
    x = lane_to_lanes(b, x);  // of three operands, the first cannot be a scalar
  bool has_rows = may_take_rows(op) && z.kind == LANE_VALUE_LANES && lane_mark_rows(b, &x, &y);
  lane_value_release(b, &x);
  lane_value_release(b, &y);
  lane_value_release(b, &z);
  uint32_t flags;
  uint32_t dst = result_register(b, result, is_scalar, dest, &flags);
  if (has_rows) flags |= TSRI_LANE_ROWS;
  lane_emit(b, op, 0, flags, (lane_words){.dst = dst, .a = x.word, .b = y.word, .c = z.word});
  return made(dst, result, is_scalar);
}

lane_value lane_convert(lane_builder *b, lane_value x, tsr_dtype to, const lane_dest *dest) {
  tsr_dtype result = tsri_ir_compute_dtype(to);
  if (x.dtype == TSR_I64 && (to == TSR_I8 || to == TSR_U8 || to == TSR_I16)) {
    x = lane_apply(b, TSRI_LANE_I64_U32, TSR_U32, NULL, x, no_value, no_value);
  }
  uint32_t op = conversions[x.dtype][to];
  if (op == 0) {
    x.dtype = (uint8_t)result;
    return x;
  }
  return lane_apply(b, op, result, dest, x, no_value, no_value);
}

// --- Operations -------------------------------------------------------------------------------------------------------

static lane_value function(lane_builder *b, tsri_ir_op op, tsr_dtype dtype, const lane_dest *dest, lane_value x,
                           lane_value y) {
  bool is_scalar = x.kind == LANE_VALUE_SCALAR && y.kind != LANE_VALUE_LANES;
  if (!is_scalar) x = lane_to_lanes(b, x);
  if (!is_scalar && y.kind != LANE_VALUE_NONE) y = lane_to_lanes(b, y);
  lane_value_release(b, &x);
  lane_value_release(b, &y);
  uint32_t flags;
  uint32_t dst = result_register(b, dtype, is_scalar, dest, &flags);
  lane_emit(b, dtype == TSR_F32 ? TSRI_LANE_MATH_F32 : TSRI_LANE_MATH_F64, 0, flags,
            (lane_words){.dst = dst, .a = x.word, .b = y.word, .e = (uint32_t)op});
  b->cost += b->cost < UINT32_MAX / 2 ? b->weight * 8 : 0;  // as much as several plain instructions
  return made(dst, dtype, is_scalar);
}

lane_value lane_compare(lane_builder *b, tsri_ir_op op, lane_value x, lane_value y) {
  bool is_turned = op == TSRI_OP_GT || op == TSRI_OP_GE;
  tsri_ir_op straight = op == TSRI_OP_GT ? TSRI_OP_LT : op == TSRI_OP_GE ? TSRI_OP_LE : op;
  uint32_t instruction = instructions[straight][x.dtype];
  return lane_apply(b, instruction, TSR_BOOL, NULL, is_turned ? y : x, is_turned ? x : y, no_value);
}

static bool is_comparison(tsri_ir_op op) { return op >= TSRI_OP_EQ && op <= TSRI_OP_GE; }

static bool is_integer_sum(tsri_ir_op op) { return op == TSRI_OP_ADD || op == TSRI_OP_SUB || op == TSRI_OP_MUL; }

// Applies an operation to one lane, and releases x, y and z.
static lane_value operate(lane_builder *b, const tsri_ir_expr *e, const lane_dest *dest, lane_value x, lane_value y,
                          lane_value z) {
  tsri_ir_op op = (tsri_ir_op)e->op;
  tsr_dtype type = (tsr_dtype)e->type.dtype;
  lane_value out;
  if (y.kind != LANE_VALUE_NONE && lane_affine_op(b, op, x, y, &out)) return out;
  if (op == TSRI_OP_SELECT) {
    return lane_apply(b, lane_bytes(type) == 4 ? TSRI_LANE_SELECT_32 : TSRI_LANE_SELECT_64, type, dest, x, y, z);
  }
  if (is_comparison(op)) {
    bool is_turned = op == TSRI_OP_GT || op == TSRI_OP_GE;
    tsri_ir_op straight = op == TSRI_OP_GT ? TSRI_OP_LT : op == TSRI_OP_GE ? TSRI_OP_LE : op;
    return lane_apply(b, instructions[straight][x.dtype], TSR_BOOL, dest, is_turned ? y : x, is_turned ? x : y,
                      no_value);
  }
  if (op == TSRI_OP_FMA && x.kind == LANE_VALUE_SCALAR) {  // the first operand must be lanes
    lane_value factor = x;
    x = y;
    y = factor;
  }
  uint32_t instruction = instructions[op][x.dtype];
  if (instruction == 0) return function(b, op, type, dest, x, y);
  bool is_plain = x.kind == LANE_VALUE_SCALAR && y.kind == LANE_VALUE_SCALAR && !dest;
  if (is_plain && is_integer_sum(op) && type != TSR_F32 && type != TSR_F64) return lane_scalar_op(b, op, x, y);
  return lane_apply(b, instruction, type, dest, x, y, z);
}

// For a * b + c as one instruction: the index of the operand that is a product, or 0.
static uint32_t product_in(const lane_builder *b, const tsri_ir_expr *e) {
  if (e->op != TSRI_OP_ADD || (e->type.dtype != TSR_F32 && e->type.dtype != TSR_F64)) return 0;
  for (int i = 0; i < 2; i++) {
    const tsri_ir_expr *x = &b->kernel->exprs[e->args[i]];
    if (x->kind != TSRI_EXPR_OP || x->op != TSRI_OP_MUL || x->is_uniform) continue;
    if (b->hoisted_at[e->args[i]] == 0) return e->args[i];
  }
  return 0;
}

static void eval_muladd(lane_builder *b, const tsri_ir_expr *e, uint32_t product, const lane_dest *dest,
                        lane_values *out) {
  const tsri_ir_expr *mul = &b->kernel->exprs[product];
  uint32_t other = e->a == product ? e->b : e->a;
  lane_values x, y, z;
  lane_eval(b, mul->a, NULL, &x);
  lane_eval(b, mul->b, NULL, &y);
  lane_eval(b, other, NULL, &z);
  uint32_t op = e->type.dtype == TSR_F32 ? TSRI_LANE_MULADD_F32 : TSRI_LANE_MULADD_F64;
  out->count = e->type.lanes;
  for (uint32_t i = 0; i < out->count; i++) {
    bool turn = x.part[i].kind == LANE_VALUE_SCALAR;  // the first operand must be lanes
    out->part[i] = lane_apply(b, op, (tsr_dtype)e->type.dtype, dest, turn ? y.part[i] : x.part[i],
                              turn ? x.part[i] : y.part[i], z.part[i]);
  }
}

// any and all: combines the lanes of a vector.
static void eval_lanes_fold(lane_builder *b, const tsri_ir_expr *e, lane_values *out) {
  lane_values x;
  lane_eval(b, e->a, NULL, &x);
  lane_value folded = x.part[0];
  uint32_t op = e->op == TSRI_OP_ANY ? TSRI_LANE_OR_U32 : TSRI_LANE_AND_U32;
  for (uint32_t i = 1; i < x.count; i++) folded = lane_apply(b, op, TSR_BOOL, NULL, folded, x.part[i], no_value);
  *out = (lane_values){.count = 1, .part = {folded}};
}

static void eval_op(lane_builder *b, uint32_t expr, const lane_dest *dest, lane_values *out) {
  const tsri_ir_expr *e = &b->kernel->exprs[expr];
  uint32_t product = product_in(b, e);
  if (b->plan.is_merged && lane_is_global_x(b->kernel, expr)) {
    *out = (lane_values){.count = 1, .part = {lane_id(b, TSRI_ID_GLOBAL, 0)}};
    return;
  }
  if (product != 0) {
    eval_muladd(b, e, product, dest, out);
    return;
  }
  if (e->op == TSRI_OP_ANY || e->op == TSRI_OP_ALL) {
    eval_lanes_fold(b, e, out);
    return;
  }
  uint8_t arity = tsri_ir_op_infos[e->op].arity;
  lane_values args[3] = {{0}, {0}, {0}};
  for (uint8_t i = 0; i < arity; i++) lane_eval(b, e->args[i], NULL, &args[i]);
  out->count = e->type.lanes;
  for (uint32_t i = 0; i < out->count; i++) {
    out->part[i] = operate(b, e, dest, args[0].part[i], args[1].part[i], args[2].part[i]);
  }
}

// --- Choices ----------------------------------------------------------------------------------------------------------

bool lane_has_load(const tsri_kernel *kernel, uint32_t expr) {
  if (expr == 0) return false;
  const tsri_ir_expr *e = &kernel->exprs[expr];
  if (e->kind == TSRI_EXPR_LOAD) return true;
  if (e->kind < TSRI_EXPR_OP) return false;
  for (int i = 0; i < 4; i++) {
    if (lane_has_load(kernel, e->args[i])) return true;
  }
  return false;
}

static void move_parts(lane_builder *b, const lane_values *to, uint32_t expr, bool is_merge) {
  lane_values values;
  lane_dest first = {.word = to->part[0].word, .is_merge = is_merge};
  lane_eval(b, expr, to->count == 1 ? &first : NULL, &values);
  for (uint32_t i = 0; i < to->count; i++) {
    lane_move(b, &(lane_dest){.word = to->part[i].word, .is_merge = is_merge}, values.part[i]);
  }
}

// Allocates registers for a value that is selected per lane.
static void take_parts(lane_builder *b, const tsri_ir_expr *e, lane_values *out) {
  out->count = e->type.lanes;
  for (uint32_t i = 0; i < out->count; i++) {
    tsr_dtype dtype = (tsr_dtype)e->type.dtype;
    out->part[i] = made(lane_take(b, dtype, e->is_uniform, false), dtype, e->is_uniform);
  }
}

// If the condition is the same for all lanes, jumps over the value that is not needed.
static void branch_scalar(lane_builder *b, const tsri_ir_expr *e, lane_value condition, lane_values *out) {
  uint32_t to_no = LANE_NO_PATCH, to_end = LANE_NO_PATCH;
  lane_emit_jump(b, TSRI_LANE_JUMP_UNLESS, condition.word, &to_no);
  lane_value_release(b, &condition);
  take_parts(b, e, out);
  move_parts(b, out, e->b, false);
  lane_emit_jump(b, TSRI_LANE_JUMP, 0, &to_end);
  lane_patch(b, to_no);
  move_parts(b, out, e->c, false);
  lane_patch(b, to_end);
}

// If one of the two values has no loads, it is computed for all lanes, and then the other one for the lanes that need it. `flip`: the other one is c.
static void branch_over(lane_builder *b, const tsri_ir_expr *e, bool flip, lane_values *out) {
  uint32_t to_end = LANE_NO_PATCH;
  take_parts(b, e, out);
  move_parts(b, out, flip ? e->b : e->c, true);
  uint32_t mask = lane_take_mask(b), slot = lane_save(b);
  lane_narrow(b, e->a, flip, mask, &to_end);
  move_parts(b, out, flip ? e->c : e->b, true);
  lane_patch(b, to_end);
  lane_restore(b, slot);
  lane_unsave(b);
  lane_release(b, mask);
}

static void branch_both(lane_builder *b, const tsri_ir_expr *e, lane_values *out) {
  lane_value condition = lane_to_lanes(b, lane_eval_one(b, e->a, NULL));
  uint32_t mask = lane_take_mask(b), slot = lane_save(b);
  uint32_t to_no = LANE_NO_PATCH, to_end = LANE_NO_PATCH;
  take_parts(b, e, out);
  uint32_t narrow = lane_emit(b, TSRI_LANE_NARROW, 0, 0, (lane_words){.dst = mask, .a = condition.word});
  lane_chain(b, narrow, &to_no);
  move_parts(b, out, e->b, true);
  lane_patch(b, to_no);
  lane_restore(b, slot);
  narrow = lane_emit(b, TSRI_LANE_NARROW, 0, TSRI_LANE_INVERT, (lane_words){.dst = mask, .a = condition.word});
  lane_chain(b, narrow, &to_end);
  move_parts(b, out, e->c, true);
  lane_patch(b, to_end);
  lane_restore(b, slot);
  lane_unsave(b);
  lane_release(b, mask);
  lane_value_release(b, &condition);
}

// Values without loads are computed for all lanes and then selected: arithmetic has no side effects.
static void select_parts(lane_builder *b, const tsri_ir_expr *e, const lane_dest *dest, lane_values *out) {
  lane_values x, y;
  lane_value condition = lane_eval_one(b, e->a, NULL);
  lane_eval(b, e->b, NULL, &x);
  lane_eval(b, e->c, NULL, &y);
  uint32_t op = lane_bytes((tsr_dtype)e->type.dtype) == 4 ? TSRI_LANE_SELECT_32 : TSRI_LANE_SELECT_64;
  out->count = e->type.lanes;
  for (uint32_t i = 0; i < out->count; i++) {
    if (i + 1 < out->count) lane_value_retain(b, &condition);
    out->part[i] = lane_apply(b, op, (tsr_dtype)e->type.dtype, dest, condition, x.part[i], y.part[i]);
  }
}

static void eval_cond(lane_builder *b, const tsri_ir_expr *e, const lane_dest *dest, lane_values *out) {
  bool yes_loads = lane_has_load(b->kernel, e->b), no_loads = lane_has_load(b->kernel, e->c);
  if (b->kernel->exprs[e->a].is_uniform) {
    branch_scalar(b, e, lane_to_scalar(b, lane_eval_one(b, e->a, NULL)), out);
  } else if (yes_loads && no_loads) {
    branch_both(b, e, out);
  } else if (yes_loads || no_loads) {
    branch_over(b, e, no_loads, out);
  } else {
    select_parts(b, e, dest, out);
  }
}

// a && b, a || b: in lanes that a does not decide, the result is b.
static void eval_short(lane_builder *b, const tsri_ir_expr *e, const lane_dest *dest, lane_values *out) {
  bool is_and = e->kind == TSRI_EXPR_AND_THEN;
  lane_value x = lane_eval_one(b, e->a, NULL);
  out->count = 1;
  if (x.kind != LANE_VALUE_SCALAR && !lane_has_load(b->kernel, e->b)) {
    lane_value y = lane_eval_one(b, e->b, NULL);
    out->part[0] = lane_apply(b, is_and ? TSRI_LANE_AND_U32 : TSRI_LANE_OR_U32, TSR_BOOL, dest, x, y, no_value);
    return;
  }
  uint32_t to_end = LANE_NO_PATCH;
  take_parts(b, e, out);
  lane_dest result = {.word = out->part[0].word};
  lane_value_retain(b, &x);
  lane_move(b, &result, x);
  if (x.kind == LANE_VALUE_SCALAR) {
    lane_emit_jump(b, is_and ? TSRI_LANE_JUMP_UNLESS : TSRI_LANE_JUMP_IF, x.word, &to_end);
    lane_move(b, &result, lane_eval_one(b, e->b, NULL));
    lane_patch(b, to_end);
  } else {
    uint32_t mask = lane_take_mask(b), slot = lane_save(b);
    uint32_t narrow =
        lane_emit(b, TSRI_LANE_NARROW, 0, is_and ? 0 : TSRI_LANE_INVERT, (lane_words){.dst = mask, .a = x.word});
    lane_chain(b, narrow, &to_end);
    result.is_merge = true;
    lane_move(b, &result, lane_eval_one(b, e->b, NULL));
    lane_patch(b, to_end);
    lane_restore(b, slot);
    lane_unsave(b);
    lane_release(b, mask);
  }
  lane_value_release(b, &x);
}

// --- All kinds --------------------------------------------------------------------------------------------------------

static void eval_var(lane_builder *b, uint32_t var, lane_values *out) {
  lane_reserve_var(b, var);  // does nothing if the variable was assigned
  *out = b->vars[var].values;
  for (uint32_t i = 0; i < out->count; i++) lane_value_retain(b, &out->part[i]);
}

static void eval_each(lane_builder *b, const tsri_ir_expr *e, const lane_dest *dest, lane_values *out) {
  lane_eval(b, e->a, NULL, out);
  for (uint32_t i = 0; i < out->count; i++) {
    if (e->kind == TSRI_EXPR_CONVERT) {
      out->part[i] = lane_convert(b, out->part[i], (tsr_dtype)e->dtype, dest);
    } else {  // BITCAST; an affine value is an integer
      bool is_float = e->type.dtype == TSR_F32 || e->type.dtype == TSR_F64;
      if (is_float) out->part[i] = lane_no_affine(b, out->part[i]);
      out->part[i].dtype = e->type.dtype;
    }
  }
}

static void eval_vector(lane_builder *b, const tsri_ir_expr *e, lane_values *out) {
  lane_values x;
  switch ((tsri_ir_expr_kind)e->kind) {
    case TSRI_EXPR_SPLAT:
      out->count = e->type.lanes;
      out->part[0] = lane_eval_one(b, e->a, NULL);
      for (uint32_t i = 1; i < out->count; i++) {
        out->part[i] = out->part[0];
        lane_value_retain(b, &out->part[i]);
      }
      break;
    case TSRI_EXPR_VECTOR:
      out->count = e->type.lanes;
      for (uint32_t i = 0; i < out->count; i++) out->part[i] = lane_eval_one(b, e->args[i], NULL);
      break;
    case TSRI_EXPR_EXTRACT:
      lane_eval(b, e->a, NULL, &x);
      *out = (lane_values){.count = 1, .part = {x.part[e->lane]}};
      lane_value_retain(b, &out->part[0]);
      lane_values_release(b, &x);
      break;
    default:  // INSERT
      lane_eval(b, e->a, NULL, out);
      lane_value_release(b, &out->part[e->lane]);
      out->part[e->lane] = lane_eval_one(b, e->b, NULL);
      break;
  }
}

static void eval_kind(lane_builder *b, uint32_t expr, const lane_dest *dest, lane_values *out) {
  const tsri_ir_expr *e = &b->kernel->exprs[expr];
  switch ((tsri_ir_expr_kind)e->kind) {
    case TSRI_EXPR_CONST:
      *out = (lane_values){.count = 1, .part = {made(lane_const(b, e->bits), (tsr_dtype)e->type.dtype, true)}};
      break;
    case TSRI_EXPR_VAR:
      eval_var(b, e->object, out);
      break;
    case TSRI_EXPR_SCALAR: {
      uint32_t word = TSRI_LANE_OPERAND(TSRI_LANE_PARAM, e->object);
      *out = (lane_values){.count = 1, .part = {made(word, (tsr_dtype)e->type.dtype, true)}};
      break;
    }
    case TSRI_EXPR_ID:
      *out = (lane_values){.count = 1, .part = {lane_id(b, (tsri_ir_id)e->op, e->lane)}};
      break;
    case TSRI_EXPR_OP:
      eval_op(b, expr, dest, out);
      break;
    case TSRI_EXPR_AND_THEN:
    case TSRI_EXPR_OR_ELSE:
      eval_short(b, e, dest, out);
      break;
    case TSRI_EXPR_COND:
      eval_cond(b, e, dest, out);
      break;
    case TSRI_EXPR_CONVERT:
    case TSRI_EXPR_BITCAST:
      eval_each(b, e, dest, out);
      break;
    case TSRI_EXPR_LOAD:
      lane_load(b, e, dest, TSRI_LANE_ABSENT, out);
      break;
    case TSRI_EXPR_SPLAT:
    case TSRI_EXPR_VECTOR:
    case TSRI_EXPR_EXTRACT:
    case TSRI_EXPR_INSERT:
      eval_vector(b, e, out);
      break;
    case TSRI_EXPR_NONE:
      *out = (lane_values){.count = 1, .part = {made(lane_const(b, 0), TSR_U32, true)}};
      break;
  }
}

void lane_eval(lane_builder *b, uint32_t expr, const lane_dest *dest, lane_values *out) {
  const tsri_ir_expr *e = &b->kernel->exprs[expr];
  *out = (lane_values){0};
  if (lane_is_hoisted(b, expr, &out->part[0])) {
    out->count = 1;
    lane_value_retain(b, &out->part[0]);
    return;
  }
  if (e->type.lanes > 1) dest = NULL;
  eval_kind(b, expr, dest, out);
  if (!e->is_uniform || dest) return;
  for (uint32_t i = 0; i < out->count; i++) {
    if (out->part[i].kind == LANE_VALUE_LANES) out->part[i] = lane_to_scalar(b, out->part[i]);
  }
}

lane_value lane_eval_one(lane_builder *b, uint32_t expr, const lane_dest *dest) {
  lane_values values;
  lane_eval(b, expr, dest, &values);
  return values.part[0];
}
