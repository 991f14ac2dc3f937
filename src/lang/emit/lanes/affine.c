// SPDX-License-Identifier: MIT
// Affine values: integers that depend on the lane only as a sum of multiples of local ids. They are kept as scalars as long as possible.
//
// Arithmetic wraps, so every identity used here holds for all values.
#include "lang/emit/lanes/build.h"

static lane_value scalar(uint32_t word, uint8_t dtype) {
  return (lane_value){.kind = LANE_VALUE_SCALAR, .dtype = dtype, .word = word};
}

static uint64_t trim(uint64_t bits, uint8_t dtype) { return dtype == TSR_I64 ? bits : (uint32_t)bits; }

static lane_value constant(lane_builder *b, uint64_t bits, uint8_t dtype) {
  return scalar(lane_const(b, trim(bits, dtype)), dtype);
}

// Computes the result at compile time if the operands are constants, or makes an instruction unnecessary.
static bool fold(lane_builder *b, tsri_ir_op op, lane_value x, lane_value y, lane_value *out) {
  uint64_t p = 0, q = 0;
  bool x_known = lane_is_const(b, x.word, &p), y_known = lane_is_const(b, y.word, &q);
  if (x_known && y_known) {
    uint64_t bits = op == TSRI_OP_ADD ? p + q : op == TSRI_OP_SUB ? p - q : p * q;
    *out = constant(b, bits, x.dtype);
    return true;
  }
  if (op == TSRI_OP_MUL && ((x_known && p == 0) || (y_known && q == 0))) {
    *out = constant(b, 0, x.dtype);
  } else if ((op == TSRI_OP_ADD && x_known && p == 0) || (op == TSRI_OP_MUL && x_known && p == 1)) {
    *out = scalar(y.word, x.dtype);
    lane_retain(b, y.word);
  } else if ((op != TSRI_OP_MUL && y_known && q == 0) || (op == TSRI_OP_MUL && y_known && q == 1)) {
    *out = scalar(x.word, x.dtype);
    lane_retain(b, x.word);
  } else {
    return false;
  }
  return true;
}

// Emits a scalar operation. Does not release its operands.
static uint32_t combine(lane_builder *b, tsri_ir_op op, uint8_t dtype, uint32_t x, uint32_t y) {
  lane_value left = scalar(x, dtype), right = scalar(y, dtype), out;
  if (fold(b, op, left, right, &out)) return out.word;
  static const uint16_t ops[2][3] = {{TSRI_LANE_ADD_U32, TSRI_LANE_SUB_U32, TSRI_LANE_MUL_U32},
                                     {TSRI_LANE_ADD_I64, TSRI_LANE_SUB_I64, TSRI_LANE_MUL_I64}};
  int which = op == TSRI_OP_ADD ? 0 : op == TSRI_OP_SUB ? 1 : 2;
  uint32_t dst = lane_take(b, (tsr_dtype)dtype, true, false);
  lane_emit(b, ops[dtype == TSR_I64][which], 0, 0, (lane_words){.dst = dst, .a = x, .b = y});
  return dst;
}

lane_value lane_scalar_op(lane_builder *b, tsri_ir_op op, lane_value x, lane_value y) {
  lane_value out = scalar(combine(b, op, x.dtype, x.word, y.word), x.dtype);
  lane_value_release(b, &x);
  lane_value_release(b, &y);
  return out;
}

static bool is_integer(uint8_t dtype) { return dtype == TSR_I32 || dtype == TSR_U32 || dtype == TSR_I64; }

static uint32_t step_of(const lane_value *x, int axis, uint32_t zero) {
  return x->kind == LANE_VALUE_AFFINE ? x->step[axis] : zero;
}

static lane_value add_or_sub(lane_builder *b, tsri_ir_op op, const lane_value *x, const lane_value *y) {
  uint32_t zero = lane_const(b, 0);
  lane_value out = {.kind = LANE_VALUE_AFFINE, .dtype = x->dtype};
  out.word = combine(b, op, x->dtype, x->word, y->word);
  for (int i = 0; i < 3; i++) out.step[i] = combine(b, op, x->dtype, step_of(x, i, zero), step_of(y, i, zero));
  return out;
}

static lane_value multiply(lane_builder *b, const lane_value *x, uint32_t factor) {
  lane_value out = {.kind = LANE_VALUE_AFFINE, .dtype = x->dtype};
  out.word = combine(b, TSRI_OP_MUL, x->dtype, x->word, factor);
  for (int i = 0; i < 3; i++) out.step[i] = combine(b, TSRI_OP_MUL, x->dtype, x->step[i], factor);
  return out;
}

// Turns an affine value whose steps are all 0 into a scalar.
static lane_value settle(lane_builder *b, lane_value x) {
  for (int i = 0; i < 3; i++) {
    uint64_t bits;
    if (!lane_is_const(b, x.step[i], &bits) || bits != 0) return x;
  }
  return scalar(x.word, x.dtype);
}

bool lane_affine_op(lane_builder *b, tsri_ir_op op, lane_value x, lane_value y, lane_value *out) {
  bool is_x = x.kind == LANE_VALUE_AFFINE, is_y = y.kind == LANE_VALUE_AFFINE;
  if (!is_integer(x.dtype) || (!is_x && !is_y)) return false;
  if (x.kind == LANE_VALUE_LANES || y.kind == LANE_VALUE_LANES) return false;
  uint64_t count;
  if (op == TSRI_OP_ADD || op == TSRI_OP_SUB) {
    *out = add_or_sub(b, op, &x, &y);
  } else if (op == TSRI_OP_MUL && is_x != is_y) {
    *out = is_x ? multiply(b, &x, y.word) : multiply(b, &y, x.word);
  } else if (op == TSRI_OP_SHL && is_x && !is_y && lane_is_const(b, y.word, &count)) {
    uint64_t factor = UINT64_C(1) << (count & (x.dtype == TSR_I64 ? 63u : 31u));
    *out = multiply(b, &x, lane_const(b, trim(factor, x.dtype)));
  } else {
    return false;
  }
  lane_value_release(b, &x);
  lane_value_release(b, &y);
  *out = settle(b, *out);
  return true;
}

static uint32_t place(uint32_t number) { return TSRI_LANE_OPERAND(TSRI_LANE_PLACE, number); }

// An id along an axis with only one item per group is the same for the whole group.
lane_value lane_id(lane_builder *b, tsri_ir_id id, uint32_t axis) {
  const uint32_t *size = b->kernel->group_size;
  bool is_line = size[axis] == 1 && !(axis == 0 && b->plan.is_merged);
  lane_value out = {.kind = LANE_VALUE_AFFINE, .dtype = TSR_U32};
  for (uint32_t i = 0; i < 3; i++) out.step[i] = lane_const(b, i == axis ? 1 : 0);
  switch (id) {
    case TSRI_ID_GROUP:
      return scalar(place(TSRI_LANE_PLACE_GROUP + axis), TSR_U32);
    case TSRI_ID_GROUPS:
      return scalar(place(TSRI_LANE_PLACE_GROUPS + axis), TSR_U32);
    case TSRI_ID_LOCAL:
      if (is_line) return scalar(lane_const(b, 0), TSR_U32);
      out.word = lane_const(b, 0);
      return out;
    case TSRI_ID_GLOBAL:
      if (is_line) return scalar(place(TSRI_LANE_PLACE_FIRST + axis), TSR_U32);
      out.word = place(TSRI_LANE_PLACE_FIRST + axis);
      return out;
    case TSRI_ID_SUBGROUP_SIZE:
      return scalar(lane_const(b, TSRI_LANE_SUBGROUP), TSR_U32);
    case TSRI_ID_SUBGROUP_LANE:
    case TSRI_ID_COUNT:
      break;
  }
  // The item's number in the group (x fastest), modulo the subgroup's size.
  out.word = lane_const(b, 0);
  out.step[0] = lane_const(b, 1);
  out.step[1] = lane_const(b, size[0]);
  out.step[2] = lane_const(b, (uint64_t)size[0] * size[1]);
  lane_value mask = scalar(lane_const(b, TSRI_LANE_SUBGROUP - 1), TSR_U32);
  return lane_apply(b, TSRI_LANE_AND_U32, TSR_U32, NULL, out, mask, (lane_value){0});
}
