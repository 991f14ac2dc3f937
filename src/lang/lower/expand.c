// SPDX-License-Identifier: MIT
// Which operations have an expansion, and writing one. The formulas are in expand_exp.c, expand_log.c,
// expand_trig.c, expand_reduce.c, expand_fma.c, expand_convert.c.
#include "lang/lower/expand.h"

#include "lang/lower/expand_build.h"

#define TRIG_LIMIT 0x1p15

typedef struct entry {
  node (*one)(tsri_expander *e, node x);
  node (*two)(tsri_expander *e, node x, node y);
  bool is_nan_last;  // nothing that is compared is NaN unless the operand is
  bool has_far;      // there are two expansions: one up to TRIG_LIMIT, one beyond
} entry;

static const entry entries[TSRI_OP_COUNT] = {
    [TSRI_OP_EXP] = {.one = tsri_expand_exp, .is_nan_last = true},
    [TSRI_OP_EXP2] = {.one = tsri_expand_exp2, .is_nan_last = true},
    [TSRI_OP_EXPM1] = {.one = tsri_expand_expm1, .is_nan_last = true},
    [TSRI_OP_SINH] = {.one = tsri_expand_sinh, .is_nan_last = true},
    [TSRI_OP_COSH] = {.one = tsri_expand_cosh, .is_nan_last = true},
    [TSRI_OP_TANH] = {.one = tsri_expand_tanh, .is_nan_last = true},
    [TSRI_OP_ERF] = {.one = tsri_expand_erf, .is_nan_last = true},
    [TSRI_OP_LOG] = {.one = tsri_expand_log},
    [TSRI_OP_LOG2] = {.one = tsri_expand_log2},
    [TSRI_OP_LOG10] = {.one = tsri_expand_log10},
    [TSRI_OP_LOG1P] = {.one = tsri_expand_log1p},
    [TSRI_OP_SIN] = {.one = tsri_expand_sin, .has_far = true},
    [TSRI_OP_COS] = {.one = tsri_expand_cos, .has_far = true},
    [TSRI_OP_TAN] = {.one = tsri_expand_tan, .has_far = true},
    [TSRI_OP_ASIN] = {.one = tsri_expand_asin},
    [TSRI_OP_ACOS] = {.one = tsri_expand_acos},
    [TSRI_OP_ATAN] = {.one = tsri_expand_atan},
    [TSRI_OP_ATAN2] = {.two = tsri_expand_atan2},
    [TSRI_OP_POW] = {.two = tsri_expand_pow},
};

double tsri_expand_limit(tsri_ir_op code) { return entries[code].has_far ? TRIG_LIMIT : 0; }

bool tsri_expand_has(tsri_ir_op code, tsri_ir_type type) {
  bool is_float = type.dtype == TSR_F32 || type.dtype == TSR_F64;
  return is_float && (entries[code].one || entries[code].two);
}

bool tsri_expand_has_convert(tsr_dtype to, tsr_dtype from) {
  return to == TSR_BF16 && (from == TSR_I32 || from == TSR_U32 || from == TSR_I64);
}

void tsri_expand_convert(tsr_dtype to, tsri_ir_type from, tsri_expansion *out) {
  (void)to;
  tsri_expander e = {
      .out = out, .type = {TSR_F32, from.lanes}, .ints = from, .bools = {TSR_BOOL, from.lanes}, .k = &tsri_expand_f32};
  out->count = 1;
  out->has_overflowed = false;
  node x = put(&e, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = from});
  out->result = tsri_expand_integer_to_bf16(&e, x);
}

void tsri_expand(tsri_ir_op code, tsri_ir_type type, tsri_expand_options options, tsri_expansion *out) {
  bool is_wide = type.dtype == TSR_F64;
  tsri_expander e = {
      .out = out,
      .type = type,
      .ints = {is_wide ? TSR_I64 : TSR_U32, type.lanes},
      .bools = {TSR_BOOL, type.lanes},
      .k = is_wide ? &tsri_expand_f64 : &tsri_expand_f32,
      .fma = options.fma,
      .is_nan_last = options.nan_by_bits && entries[code].is_nan_last,
      .is_far = options.far,
  };
  out->count = 1;
  out->has_overflowed = false;
  node args[3] = {0};
  for (uint32_t i = 0; i < tsri_ir_op_infos[code].arity; i++) {
    args[i] = put(&e, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = type, .object = i});
  }
  if (entries[code].one) {
    out->result = entries[code].one(&e, args[0]);
    if (e.is_far) {
      node is_number = ne(&e, iand(&e, bits_of(&e, args[0]), e.k->infinity), whole(&e, e.k->infinity));
      out->result = pick(&e, is_number, out->result, not_a_number(&e));
    }
    if (e.is_nan_last) out->result = pick(&e, is_nan(&e, args[0]), args[0], out->result);
  } else if (entries[code].two) {
    out->result = entries[code].two(&e, args[0], args[1]);
  } else {
    out->result = tsri_expand_fma(&e, args[0], args[1], args[2]);
  }
}
