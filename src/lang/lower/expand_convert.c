// SPDX-License-Identifier: MIT
// Integers to bf16, rounded once.
//
// f32 on the way must not round: the integer's low bits are first dropped, and one that stands for all of them set above
// them (rounding to odd). What is left fits f32's 24 bits, and bf16's rounding cannot tell it from the integer, since the
// bit set is at least two below the last bit that bf16 keeps.
#include "lang/lower/expand_build.h"

// The multiple of 2^bits below x, with its last bit set if x is no multiple.
static node dropped_to_odd(tsri_expander *e, node x, int bits) {
  int64_t unit = INT64_C(1) << bits;
  node is_whole = eq(e, iand(e, x, unit - 1), whole(e, 0));
  return iop(e, TSRI_OP_OR, iand(e, x, -unit), pick(e, is_whole, whole(e, 0), whole(e, unit)));
}

// From `from` bits on, a size has too many for f32 unless `dropped` are; f32 then holds it up to from + 15 bits.
typedef struct step {
  int from, dropped;
} step;

node tsri_expand_integer_to_bf16(tsri_expander *e, node x) {
  static const step of_32[] = {{24, 8}}, of_64[] = {{24, 15}, {39, 30}, {54, 40}};
  bool is_wide = e->ints.dtype == TSR_I64;
  const step *steps = is_wide ? of_64 : of_32;
  // |x|, or one less where x is negative: -2^24 needs no step, either.
  node size = e->ints.dtype == TSR_U32 ? x : iop(e, TSRI_OP_XOR, x, shr(e, x, is_wide ? 63 : 31));
  node y = x;
  for (int i = 0; i < (is_wide ? 3 : 1); i++) {
    node is_long = lt(e, whole(e, (INT64_C(1) << steps[i].from) - 1), size);
    y = pick(e, is_long, dropped_to_odd(e, x, steps[i].dropped), y);
  }
  node wide = put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = TSR_F32, .type = e->type, .a = y});
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = TSR_BF16, .type = e->type, .a = wide});
}
