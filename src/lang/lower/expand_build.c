// SPDX-License-Identifier: MIT
#include "lang/lower/expand_build.h"

node tsri_expand_put(tsri_expander *e, tsri_ir_expr expr) {
  tsri_expansion *out = e->out;
  if (out->count >= TSRI_EXPAND_MAX) {
    out->has_overflowed = true;
    return 1;
  }
  out->nodes[out->count] = expr;
  return out->count++;
}

node tsri_expand_constant(tsri_expander *e, tsri_ir_type type, uint64_t bits) {
  for (node i = 1; i < e->out->count; i++) {
    const tsri_ir_expr *n = &e->out->nodes[i];
    if (n->kind == TSRI_EXPR_CONST && n->type.dtype == type.dtype && n->bits == bits) return i;
  }
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .type = type, .bits = bits});
}

node tsri_expand_number(tsri_expander *e, double value) {
  uint64_t bits = 0;
  if (e->type.dtype == TSR_F32) {
    float narrow = (float)value;
    memcpy(&bits, &narrow, sizeof narrow);
  } else {
    memcpy(&bits, &value, sizeof bits);
  }
  return constant(e, e->type, bits);
}

node tsri_expand_whole(tsri_expander *e, int64_t value) {
  return constant(e, e->ints, e->ints.dtype == TSR_I64 ? (uint64_t)value : (uint32_t)value);
}

node tsri_expand_op(tsri_expander *e, tsri_ir_op code, tsri_ir_type type, node a, node b, node c) {
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_OP, .op = (uint8_t)code, .type = type, .a = a, .b = b, .c = c});
}

node tsri_expand_float_op(tsri_expander *e, tsri_ir_op code, node a, node b) { return op(e, code, e->type, a, b, 0); }

node tsri_expand_test(tsri_expander *e, tsri_ir_op code, node a, node b) { return op(e, code, e->bools, a, b, 0); }

node tsri_expand_int_op(tsri_expander *e, tsri_ir_op code, node a, node b) { return op(e, code, e->ints, a, b, 0); }

node tsri_expand_shift(tsri_expander *e, tsri_ir_op code, node a, int count) {
  node places = constant(e, (tsri_ir_type){TSR_U32, e->type.lanes}, (uint64_t)count);
  return freely(e, op(e, code, e->ints, a, places, 0));
}

node tsri_expand_mad(tsri_expander *e, node a, node b, node c) {
  return e->fma ? op(e, TSRI_OP_FMA, e->type, a, b, c) : add(e, mul(e, a, b), c);
}

node tsri_expand_less(tsri_expander *e, node a, node b) {
  node id = tsri_expand_test(e, TSRI_OP_LT, a, b);
  return e->is_nan_last ? freely(e, id) : id;
}

node tsri_expand_pick(tsri_expander *e, node condition, node yes, node no) {
  return op(e, TSRI_OP_SELECT, e->out->nodes[yes].type, condition, yes, no);
}

node tsri_expand_bits_of(tsri_expander *e, node a) {
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_BITCAST, .type = e->ints, .a = a});
}

node tsri_expand_float_of(tsri_expander *e, node a) {
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_BITCAST, .type = e->type, .a = a});
}
