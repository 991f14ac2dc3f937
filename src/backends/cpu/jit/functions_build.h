// SPDX-License-Identifier: MIT
// Short names for building the inlined functions, as in math/f32_base.h, on vectors of lanes.
#ifndef TSRI_CPU_JIT_FUNCTIONS_H
#define TSRI_CPU_JIT_FUNCTIONS_H

#include "backends/cpu/jit/ir.h"

typedef jit_value v;

static inline v num(jit_ir *ir, float x) { return jit_number(ir, x); }
static inline v add(jit_ir *ir, v a, v b) { return jit_binary(ir, JIT_ADD_F, a, b); }
static inline v sub(jit_ir *ir, v a, v b) { return jit_binary(ir, JIT_SUB_F, a, b); }
static inline v mul(jit_ir *ir, v a, v b) { return jit_binary(ir, JIT_MUL_F, a, b); }
static inline v divide(jit_ir *ir, v a, v b) { return jit_binary(ir, JIT_DIV_F, a, b); }
static inline v mad(jit_ir *ir, v a, v b, v c) { return jit_fma(ir, a, b, c); }
static inline v add_bits(jit_ir *ir, v a, v b) { return jit_binary(ir, JIT_ADD_I, a, b); }
static inline v sub_bits(jit_ir *ir, v a, v b) { return jit_binary(ir, JIT_SUB_I, a, b); }
static inline v shift_left(jit_ir *ir, v a, int bits) { return jit_shift(ir, JIT_SHIFT_LEFT, a, bits); }
static inline v less(jit_ir *ir, v a, v b) { return jit_compare(ir, JIT_LT_F, a, b); }

static inline v magnitude(jit_ir *ir, v x) { return jit_binary(ir, JIT_AND, x, jit_bits(ir, 0x7fffffffu)); }

static inline v with_sign(jit_ir *ir, v size, v x) {
  return jit_binary(ir, JIT_OR, size, jit_binary(ir, JIT_AND, x, jit_bits(ir, 0x80000000u)));
}

// min(x, bound), or x if it is NaN: the instruction returns its second operand then.
static inline v at_most(jit_ir *ir, float bound, v x) { return jit_binary(ir, JIT_MIN_F, num(ir, bound), x); }

// ((... c[0] x + c[1]) x + ...) x + c[count - 1]
static inline v poly(jit_ir *ir, v x, const float *c, int count) {
  v p = num(ir, c[0]);
  for (int i = 1; i < count; i++) p = mad(ir, x, p, num(ir, c[i]));
  return p;
}
#define POLY(ir, x, ...) \
  poly(ir, x, (const float[]){__VA_ARGS__}, (int)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

// x = 2^e (1 + f), as log_split of math/f32_log.h.
typedef struct jit_log_parts {
  v e, f;
} jit_log_parts;
jit_log_parts tsri_jit_log_split(jit_ir *ir, v x);

v tsri_jit_sin(jit_ir *ir, v x);
v tsri_jit_cos(jit_ir *ir, v x);
v tsri_jit_tan(jit_ir *ir, v x);
v tsri_jit_asin(jit_ir *ir, v x);
v tsri_jit_acos(jit_ir *ir, v x);
v tsri_jit_atan(jit_ir *ir, v x);
v tsri_jit_atan2(jit_ir *ir, v y, v x);
v tsri_jit_pow(jit_ir *ir, v x, v y);

#endif
