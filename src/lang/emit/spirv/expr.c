// SPDX-License-Identifier: MIT
// Expression trees.
#include "lang/emit/spirv/spirv.h"

// --- Leaves ---------------------------------------------------------------------------------------------------------

tsri_spv_id tsri_spv_builtin_value(tsri_spv *s, tsri_spv_builtin builtin, uint32_t axis) {
  static const struct {
    uint32_t number;
    bool is_vector;
  } infos[SPV_BUILTIN_COUNT] = {
#define TSRI_X(name, number, is_vector) {number, is_vector},
      TSRI_SPV_BUILTINS(TSRI_X)
#undef TSRI_X
  };
  tsri_spv_type word = tsri_spv_make_type(SPV_U32, 1);
  tsri_spv_id type = tsri_spv_type_id(s, word), *variable = &s->builtins[builtin];
  if (!*variable) {
    tsri_spv_id whole = infos[builtin].is_vector ? SPV_GLOBAL(s, SPV_OP_TYPE_VECTOR, type, 3) : type;
    *variable = tsri_spv_variable(s, SPV_CLASS_INPUT, whole);
    SPV_DECORATE(s, *variable, SPV_DECORATION_BUILT_IN, infos[builtin].number);
    if (builtin == SPV_BUILTIN_SUBGROUP_LANE) tsri_spv_need(s, SPV_CAPABILITY_GROUP_NON_UNIFORM);
  }
  if (!infos[builtin].is_vector) return tsri_spv_load(s, word, *variable);
  tsri_spv_id pointer = tsri_spv_new_id(s), pointer_type = tsri_spv_pointer_type(s, SPV_CLASS_INPUT, type);
  SPV_PUT(&s->code, SPV_OP_ACCESS_CHAIN, pointer_type, pointer, *variable, tsri_spv_u32(s, axis));
  return tsri_spv_load(s, word, pointer);
}

tsri_spv_id tsri_spv_local_index(tsri_spv *s) { return tsri_spv_builtin_value(s, SPV_BUILTIN_LOCAL_INDEX, 0); }

tsri_spv_id tsri_spv_ir_id(tsri_spv *s, tsri_ir_id id, uint32_t axis) {
  tsri_spv_type word = tsri_spv_make_type(SPV_U32, 1);
  static const tsri_spv_builtin builtins[] = {[TSRI_ID_GROUP] = SPV_BUILTIN_GROUP,
                                              [TSRI_ID_GROUPS] = SPV_BUILTIN_GROUP_COUNT,
                                              [TSRI_ID_LOCAL] = SPV_BUILTIN_LOCAL};
  if (id < TSRI_ID_GLOBAL) return tsri_spv_builtin_value(s, builtins[id], axis);
  if (id == TSRI_ID_SUBGROUP_SIZE) return tsri_spv_u32(s, s->options->subgroup_size);
  if (id == TSRI_ID_GLOBAL) {
    tsri_spv_id group = tsri_spv_builtin_value(s, SPV_BUILTIN_GROUP, axis);
    tsri_spv_id first = SPV_OP(s, SPV_OP_I_MUL, word, group, tsri_spv_u32(s, s->kernel->group_size[axis]));
    return SPV_OP(s, SPV_OP_I_ADD, word, first, tsri_spv_builtin_value(s, SPV_BUILTIN_LOCAL, axis));
  }
  if (s->native_subgroups) return tsri_spv_builtin_value(s, SPV_BUILTIN_SUBGROUP_LANE, 0);
  tsri_spv_id mask = tsri_spv_u32(s, s->options->subgroup_size - 1);
  return SPV_OP(s, SPV_OP_BITWISE_AND, word, tsri_spv_local_index(s), mask);
}

tsri_spv_id tsri_spv_var(tsri_spv *s, uint32_t var) {
  if (!s->vars[var]) {
    tsri_spv_id type = tsri_spv_type_id(s, tsri_spv_value_type(s->kernel->vars[var].type));
    s->vars[var] = tsri_spv_variable(s, SPV_CLASS_FUNCTION, type);
  }
  return s->vars[var];
}

// --- Nodes whose operands are there ---------------------------------------------------------------------------------

static tsri_spv_id operation(tsri_spv *s, const tsri_ir_expr *x) {
  const tsri_ir_expr *exprs = s->kernel->exprs;
  tsri_spv_id operands[3] = {0};
  uint32_t arity = tsri_ir_op_infos[x->op].arity;
  for (uint32_t i = 0; i < arity; i++) operands[i] = s->ids[x->args[i]];
  tsri_ir_type operand = x->op == TSRI_OP_SELECT ? x->type : exprs[x->a].type;
  s->is_narrow = s->narrow && s->narrow[x - exprs];
  tsri_spv_id result = tsri_spv_operation(s, (tsri_ir_op)x->op, operand, x->type, operands, false);
  s->is_narrow = false;
  return result;
}

static tsri_spv_id compose(tsri_spv *s, const tsri_ir_expr *x, bool is_splat) {
  tsri_spv_id lanes[4];
  for (uint32_t i = 0; i < x->type.lanes; i++) lanes[i] = s->ids[x->args[is_splat ? 0 : i]];
  return tsri_spv_compose(s, tsri_spv_value_type(x->type), lanes);
}

// Bit 31 of an item's number is always 0, which the driver's compiler does not know.
tsri_spv_id tsri_spv_hidden_zero(tsri_spv *s) {
  tsri_spv_type word = tsri_spv_make_type(SPV_U32, 1);
  tsri_spv_id count = tsri_spv_u32(s, 31);
  return SPV_OP(s, SPV_OP_SHIFT_RIGHT_LOGICAL, word, tsri_spv_local_index(s), count);
}

static tsri_spv_id hidden_float_zero(tsri_spv *s, tsri_spv_type type, bool is_negative) {
  tsri_spv_type word = tsri_spv_make_type(SPV_U32, 1), two = tsri_spv_make_type(SPV_U32, 2);
  tsri_spv_id bits = tsri_spv_hidden_zero(s);
  if (is_negative) bits = SPV_OP(s, SPV_OP_BITWISE_OR, word, bits, tsri_spv_u32(s, 0x80000000));
  if (type.kind == SPV_F32) return tsri_spv_bitcast(s, type, word, bits);
  tsri_spv_id words[2] = {tsri_spv_u32(s, 0), bits};
  return tsri_spv_bitcast(s, type, two, tsri_spv_compose(s, two, words));
}

static tsri_spv_id constant(tsri_spv *s, tsri_spv_type type, uint64_t bits) {
  uint64_t sign = type.kind == SPV_F64 ? UINT64_C(1) << 63 : 0x80000000;
  bool is_hidden = tsri_spv_is_float(type) && s->options->quirks && (bits & ~sign) == 0;
  return is_hidden ? hidden_float_zero(s, type, bits == sign) : tsri_spv_const(s, type, bits);
}

// Converts between f32 and the bits of f16 or bf16, or reinterprets the bits of a value as another type.
static tsri_spv_id bitcast(tsri_spv *s, const tsri_ir_expr *x) {
  tsri_spv_type type = tsri_spv_value_type(x->type), from = tsri_spv_value_type(s->kernel->exprs[x->a].type);
  tsr_dtype storage = (tsr_dtype)x->dtype;
  if (storage != TSR_F16 && storage != TSR_BF16) return tsri_spv_bitcast(s, type, from, s->ids[x->a]);
  return (type.kind == SPV_F32 ? tsri_spv_decode : tsri_spv_encode)(s, storage, type.lanes, s->ids[x->a]);
}

static tsri_spv_id node(tsri_spv *s, const tsri_ir_expr *x) {
  tsri_spv_type type = tsri_spv_value_type(x->type);
  uint8_t kind = x->kind;
  if (kind == TSRI_EXPR_CONST) return constant(s, type, x->bits);
  if (kind == TSRI_EXPR_VAR) return tsri_spv_load(s, type, tsri_spv_var(s, x->object));
  if (kind == TSRI_EXPR_SCALAR) return tsri_spv_param(s, x->type, s->kernel->params[x->object].offset);
  if (kind == TSRI_EXPR_ID) return tsri_spv_ir_id(s, (tsri_ir_id)x->op, x->lane);
  // The remaining kinds have operands.
  tsri_ir_type operand = s->kernel->exprs[x->a].type;
  tsri_spv_id a = s->ids[x->a];
  if (kind == TSRI_EXPR_OP) return operation(s, x);
  if (kind == TSRI_EXPR_CONVERT) return tsri_spv_convert(s, (tsr_dtype)x->dtype, operand, a, false);
  if (kind == TSRI_EXPR_BITCAST) return bitcast(s, x);
  if (kind == TSRI_EXPR_EXTRACT) return tsri_spv_extract(s, tsri_spv_value_type(operand), a, x->lane);
  if (kind == TSRI_EXPR_INSERT) return SPV_OP(s, SPV_OP_COMPOSITE_INSERT, type, s->ids[x->b], a, x->lane);
  if (kind != TSRI_EXPR_LOAD) return compose(s, x, kind == TSRI_EXPR_SPLAT);
  return tsri_spv_load_place(s, tsri_spv_place_of(s, x->space, x->object, x->a, x->type.lanes));
}

static void visit(void *emitter, uint32_t expr) {
  tsri_spv *s = emitter;
  s->ids[expr] = node(s, &s->kernel->exprs[expr]);
}

tsri_spv_id tsri_spv_expr(tsri_spv *s, uint32_t expr) {
  tsri_tree_visit(&s->tree, expr, visit, s);
  return s->ids[expr];
}
