// SPDX-License-Identifier: MIT
// Collectives of subgroups in hardware. All others have been lowered to statements (lower/collectives.h).
//
// Values are exchanged as bits: one word, or two for i64 and f64. Sums of words use the device's own reduction; minimum and maximum use shuffles and our own
// min and max, which keep NaN.
#include "lang/emit/spirv/spirv.h"
#include "lang/lower/collective.h"

static tsri_spv_type word_type(void) { return (tsri_spv_type){SPV_U32, 1}; }

// The type in which a value is exchanged: u32, or two of them.
static tsri_spv_type carrier(tsri_spv_type type) { return tsri_spv_make_type(SPV_U32, tsri_spv_is_64(type) ? 2 : 1); }

static tsri_spv_id to_carrier(tsri_spv *s, tsri_spv_type type, tsri_spv_id value) {
  if (type.kind == SPV_BOOL) return tsri_spv_encode(s, TSR_BOOL, 1, value);
  return tsri_spv_bitcast(s, carrier(type), type, value);
}

static tsri_spv_id from_carrier(tsri_spv *s, tsri_spv_type type, tsri_spv_id bits) {
  if (type.kind == SPV_BOOL) return tsri_spv_decode(s, TSR_BOOL, 1, bits);
  return tsri_spv_bitcast(s, type, carrier(type), bits);
}

static tsri_spv_id combine(tsri_spv *s, tsri_ir_op op, tsri_ir_type type, tsri_spv_id a, tsri_spv_id b) {
  return tsri_spv_operation(s, op, type, type, (const tsri_spv_id[]){a, b}, false);
}

static tsri_spv_id shuffle(tsri_spv *s, uint32_t code, tsri_spv_type type, tsri_spv_id value, tsri_spv_id lane) {
  tsri_spv_need(s, SPV_CAPABILITY_GROUP_NON_UNIFORM_SHUFFLE);
  tsri_spv_id bits = to_carrier(s, type, value), scope = tsri_spv_u32(s, SPV_SCOPE_SUBGROUP);
  return from_carrier(s, type, SPV_OP(s, code, carrier(type), scope, bits, lane));
}

static tsri_spv_id native_sum(tsri_spv *s, tsri_spv_type type, tsri_spv_id value) {
  tsri_spv_need(s, SPV_CAPABILITY_GROUP_NON_UNIFORM_ARITHMETIC);
  uint32_t code = tsri_spv_is_float(type) ? SPV_OP_GROUP_NON_UNIFORM_F_ADD : SPV_OP_GROUP_NON_UNIFORM_I_ADD;
  return SPV_OP(s, code, type, tsri_spv_u32(s, SPV_SCOPE_SUBGROUP), SPV_GROUP_REDUCE, value);
}

static tsri_spv_id native_vote(tsri_spv *s, tsri_ir_op op, tsri_spv_id value) {
  tsri_spv_need(s, SPV_CAPABILITY_GROUP_NON_UNIFORM_VOTE);
  uint32_t code = op == TSRI_OP_OR ? SPV_OP_GROUP_NON_UNIFORM_ANY : SPV_OP_GROUP_NON_UNIFORM_ALL;
  return SPV_OP(s, code, tsri_spv_make_type(SPV_BOOL, 1), tsri_spv_u32(s, SPV_SCOPE_SUBGROUP), value);
}

// The first of the four words of a ballot. `value` is 0 or 1.
static tsri_spv_id native_ballot(tsri_spv *s, tsri_spv_id value) {
  tsri_spv_need(s, SPV_CAPABILITY_GROUP_NON_UNIFORM_BALLOT);
  tsri_spv_id is_set = SPV_OP(s, SPV_OP_I_NOT_EQUAL, tsri_spv_make_type(SPV_BOOL, 1), value, tsri_spv_u32(s, 0));
  tsri_spv_id words = SPV_OP(s, SPV_OP_GROUP_NON_UNIFORM_BALLOT, tsri_spv_make_type(SPV_U32, 4),
                             tsri_spv_u32(s, SPV_SCOPE_SUBGROUP), is_set);
  return SPV_OP(s, SPV_OP_COMPOSITE_EXTRACT, word_type(), words, 0);
}

// Reduces a value over the subgroup; each item gets the result.
static tsri_spv_id subgroup_reduce(tsri_spv *s, tsri_ir_op op, tsri_ir_type ir_type, tsri_spv_id value) {
  tsri_spv_type type = tsri_spv_value_type(ir_type);
  if (type.kind == SPV_BOOL) return native_vote(s, op, value);
  if (op == TSRI_OP_ADD && !tsri_spv_is_64(type)) return native_sum(s, type, value);
  for (uint32_t step = s->options->subgroup_size / 2; step > 0; step /= 2) {
    tsri_spv_id other = shuffle(s, SPV_OP_GROUP_NON_UNIFORM_SHUFFLE_XOR, type, value, tsri_spv_u32(s, step));
    value = combine(s, op, ir_type, value, other);
  }
  if (op == TSRI_OP_ADD || !tsri_spv_is_float(type)) return value;
  // If one lane has kept -0 and another 0, all take the value of the first lane.
  return shuffle(s, SPV_OP_GROUP_NON_UNIFORM_SHUFFLE, type, value, tsri_spv_u32(s, 0));
}

static tsri_spv_id any_shuffle(tsri_spv *s, tsri_ir_collective op, tsri_spv_type type, tsri_spv_id value,
                               tsri_spv_id lane) {
  if (op == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR) {
    lane = SPV_OP(s, SPV_OP_BITWISE_XOR, word_type(), lane, tsri_spv_ir_id(s, TSRI_ID_SUBGROUP_LANE, 0));
  }
  lane = SPV_OP(s, SPV_OP_BITWISE_AND, word_type(), lane, tsri_spv_u32(s, s->options->subgroup_size - 1));
  return shuffle(s, SPV_OP_GROUP_NON_UNIFORM_SHUFFLE, type, value, lane);
}

tsri_spv_id tsri_spv_collective(tsri_spv *s, tsri_ir_collective op, tsri_ir_type type, tsri_spv_id value,
                                tsri_spv_id lane) {
  tsri_collective_way way = tsri_collective_way_of(op);
  if (way.is_shuffle) return any_shuffle(s, op, tsri_spv_value_type(type), value, lane);
  return way.is_ballot ? native_ballot(s, value) : subgroup_reduce(s, way.op, type, value);
}
