// SPDX-License-Identifier: MIT
// Collectives: in hardware within a subgroup, through shared words beyond it. Where there are no subgroups, the kernel has
// none any more (lower/collectives.h).
//
// Values travel as bits: one word, or two for i64 and f64. Sums of words use the device's own reduction; smallest and
// largest go by shuffles and our own min and max, which keep NaN.
#include "lang/emit/spirv/spirv.h"
#include "lang/lower/collective.h"

static tsri_spv_type word_type(void) { return (tsri_spv_type){SPV_U32, 1}; }

// How a value travels: u32, or two of them.
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

// --- Within a subgroup, in hardware ---------------------------------------------------------------------------------

static tsri_spv_id shuffle(tsri_spv *s, uint32_t code, tsri_spv_type type, tsri_spv_id value, tsri_spv_id lane) {
  tsri_spv_need(s, SPV_CAPABILITY_GROUP_NON_UNIFORM_SHUFFLE);
  tsri_spv_id bits = to_carrier(s, type, value), scope = tsri_spv_u32(s, SPV_SCOPE_SUBGROUP);
  return from_carrier(s, type, tsri_spv_op3(s, code, carrier(type), scope, bits, lane));
}

static tsri_spv_id native_sum(tsri_spv *s, tsri_spv_type type, tsri_spv_id value) {
  tsri_spv_need(s, SPV_CAPABILITY_GROUP_NON_UNIFORM_ARITHMETIC);
  uint32_t code = tsri_spv_is_float(type) ? SPV_OP_GROUP_NON_UNIFORM_F_ADD : SPV_OP_GROUP_NON_UNIFORM_I_ADD;
  return tsri_spv_op3(s, code, type, tsri_spv_u32(s, SPV_SCOPE_SUBGROUP), SPV_GROUP_REDUCE, value);
}

static tsri_spv_id native_vote(tsri_spv *s, tsri_ir_op op, tsri_spv_id value) {
  tsri_spv_need(s, SPV_CAPABILITY_GROUP_NON_UNIFORM_VOTE);
  uint32_t code = op == TSRI_OP_OR ? SPV_OP_GROUP_NON_UNIFORM_ANY : SPV_OP_GROUP_NON_UNIFORM_ALL;
  return tsri_spv_op2(s, code, tsri_spv_make_type(SPV_BOOL, 1), tsri_spv_u32(s, SPV_SCOPE_SUBGROUP), value);
}

// The result over the subgroup, in each of its items.
static tsri_spv_id subgroup_reduce(tsri_spv *s, tsri_ir_op op, tsri_ir_type ir_type, tsri_spv_id value) {
  tsri_spv_type type = tsri_spv_value_type(ir_type);
  if (type.kind == SPV_BOOL) return native_vote(s, op, value);
  if (op == TSRI_OP_ADD && !tsri_spv_is_64(type)) return native_sum(s, type, value);
  for (uint32_t step = s->options->subgroup_size / 2; step > 0; step /= 2) {
    tsri_spv_id other = shuffle(s, SPV_OP_GROUP_NON_UNIFORM_SHUFFLE_XOR, type, value, tsri_spv_u32(s, step));
    value = combine(s, op, ir_type, value, other);
  }
  if (op == TSRI_OP_ADD || !tsri_spv_is_float(type)) return value;
  // Of -0 and 0 two lanes may have kept one each: all take the first's.
  return shuffle(s, SPV_OP_GROUP_NON_UNIFORM_SHUFFLE, type, value, tsri_spv_u32(s, 0));
}

// --- Through shared words -------------------------------------------------------------------------------------------

static tsri_spv_id pool_pointer(tsri_spv *s, tsri_spv_id index) {
  tsri_spv_id type = tsri_spv_pointer_type(s, SPV_CLASS_WORKGROUP, tsri_spv_type_id(s, word_type()));
  tsri_spv_id id = tsri_spv_new_id(s);
  SPV_PUT(&s->code, SPV_OP_ACCESS_CHAIN, type, id, s->pool, index);
  return id;
}

// The second words stand after all first ones.
static tsri_spv_id second_word(tsri_spv *s, tsri_spv_id index) {
  return tsri_spv_op2(s, SPV_OP_I_ADD, word_type(), index, tsri_spv_u32(s, s->pool_values));
}

static void pool_put(tsri_spv *s, tsri_spv_type type, tsri_spv_id index, tsri_spv_id value) {
  tsri_spv_type words = carrier(type);
  tsri_spv_id bits = to_carrier(s, type, value);
  tsri_spv_store_common(s, pool_pointer(s, index), tsri_spv_extract(s, words, bits, 0));
  if (words.lanes == 2)
    tsri_spv_store_common(s, pool_pointer(s, second_word(s, index)), tsri_spv_extract(s, words, bits, 1));
}

static tsri_spv_id pool_get(tsri_spv *s, tsri_spv_type type, tsri_spv_id index) {
  tsri_spv_id words[2] = {tsri_spv_load_common(s, word_type(), pool_pointer(s, index)), 0};
  if (carrier(type).lanes == 2) words[1] = tsri_spv_load_common(s, word_type(), pool_pointer(s, second_word(s, index)));
  return from_carrier(s, type, tsri_spv_compose(s, carrier(type), words));
}

// Begins a block that runs where a < b (without a sign), and ends it.
static tsri_spv_id begin_if_less(tsri_spv *s, tsri_spv_id a, tsri_spv_id b) {
  tsri_spv_id yes = tsri_spv_new_id(s), merge = tsri_spv_new_id(s);
  tsri_spv_id condition = tsri_spv_op2(s, SPV_OP_U_LESS_THAN, tsri_spv_make_type(SPV_BOOL, 1), a, b);
  tsri_spv_branch_if(s, condition, yes, merge, merge);
  tsri_spv_begin_block(s, yes);
  return merge;
}

static void end_if(tsri_spv *s, tsri_spv_id merge) {
  tsri_spv_branch(s, merge);
  tsri_spv_begin_block(s, merge);
}

// The values at `first`, `first` + 1, … up to `last` joined, by a loop.
static tsri_spv_id join_run(tsri_spv *s, tsri_ir_op op, tsri_ir_type ir_type, tsri_spv_id first, tsri_spv_id last) {
  tsri_spv_type type = tsri_spv_value_type(ir_type), bools = tsri_spv_make_type(SPV_BOOL, 1);
  tsri_spv_id header = tsri_spv_new_id(s), body = tsri_spv_new_id(s), step = tsri_spv_new_id(s);
  tsri_spv_id merge = tsri_spv_new_id(s), next_index = tsri_spv_new_id(s), next_value = tsri_spv_new_id(s);
  tsri_spv_id start = pool_get(s, type, first), before = s->block;
  tsri_spv_id second = tsri_spv_op2(s, SPV_OP_I_ADD, word_type(), first, tsri_spv_u32(s, 1));
  tsri_spv_branch(s, header);
  tsri_spv_begin_block(s, header);
  tsri_spv_id value = tsri_spv_phi(s, type, start, before, next_value, step);
  tsri_spv_id index = tsri_spv_phi(s, word_type(), second, before, next_index, step);
  tsri_spv_id goes_on = tsri_spv_op2(s, SPV_OP_U_LESS_THAN, bools, index, last);
  SPV_PUT(&s->code, SPV_OP_LOOP_MERGE, merge, step, 0);
  SPV_PUT(&s->code, SPV_OP_BRANCH_CONDITIONAL, goes_on, body, merge);
  tsri_spv_begin_block(s, body);
  tsri_spv_id joined = combine(s, op, ir_type, value, pool_get(s, type, index));
  tsri_spv_branch(s, step);
  tsri_spv_begin_block(s, step);
  // Under the ids that the header named already.
  SPV_PUT(&s->code, SPV_OP_COPY_OBJECT, tsri_spv_type_id(s, type), next_value, joined);
  SPV_PUT(&s->code, SPV_OP_I_ADD, tsri_spv_type_id(s, word_type()), next_index, index, tsri_spv_u32(s, 1));
  tsri_spv_branch(s, header);
  tsri_spv_begin_block(s, merge);
  return value;
}

// The subgroups' results, one each, joined.
static tsri_spv_id group_of_subgroups(tsri_spv *s, tsri_ir_op op, tsri_ir_type ir_type, tsri_spv_id value) {
  tsri_spv_type type = tsri_spv_value_type(ir_type);
  uint32_t size = s->options->subgroup_size, count = s->items / size;
  value = subgroup_reduce(s, op, ir_type, value);
  if (count == 1) return value;
  tsri_spv_id lane = tsri_spv_builtin_value(s, SPV_BUILTIN_SUBGROUP_LANE, 0);
  tsri_spv_id merge = begin_if_less(s, lane, tsri_spv_u32(s, 1));
  pool_put(s, type, tsri_spv_builtin_value(s, SPV_BUILTIN_SUBGROUP, 0), value);
  end_if(s, merge);
  tsri_spv_barrier(s);
  return join_run(s, op, ir_type, tsri_spv_u32(s, 0), tsri_spv_u32(s, count));
}

static tsri_spv_id reduce_group(tsri_spv *s, tsri_ir_op op, tsri_ir_type type, tsri_spv_id value) {
  tsri_spv_id result = group_of_subgroups(s, op, type, value);
  if (s->items != s->options->subgroup_size) tsri_spv_barrier(s);  // the words are free for the next
  return result;
}

static tsri_spv_id any_shuffle(tsri_spv *s, tsri_ir_collective op, tsri_spv_type type, tsri_spv_id value,
                               tsri_spv_id lane) {
  if (op == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR) {
    lane = tsri_spv_op2(s, SPV_OP_BITWISE_XOR, word_type(), lane, tsri_spv_ir_id(s, TSRI_ID_SUBGROUP_LANE, 0));
  }
  lane = tsri_spv_op2(s, SPV_OP_BITWISE_AND, word_type(), lane, tsri_spv_u32(s, s->options->subgroup_size - 1));
  return shuffle(s, SPV_OP_GROUP_NON_UNIFORM_SHUFFLE, type, value, lane);
}

tsri_spv_id tsri_spv_collective(tsri_spv *s, tsri_ir_collective op, tsri_ir_type type, tsri_spv_id value,
                                tsri_spv_id lane) {
  tsri_collective_way way = tsri_collective_way_of(op);
  if (way.is_shuffle) return any_shuffle(s, op, tsri_spv_value_type(type), value, lane);
  if (way.is_group) return reduce_group(s, way.op, type, value);
  return subgroup_reduce(s, way.op, type, value);
}
