// SPDX-License-Identifier: MIT
// pow as in math/f32_pow.h, computed in f64, with the same constants and order of operations.
#include <math.h>

#include "backends/cpu/jit/functions_build.h"
#include "backends/cpu/jit/pair.h"

// ((... c[0] x + c[1]) x + ...) x + c[count - 1]
static jit_pair poly_64(jit_ir *ir, jit_pair x, const double *c, int count) {
  jit_pair p = jit_double(ir, c[0]);
  for (int i = 1; i < count; i++) p = jit_fma_64(ir, x, p, jit_double(ir, c[i]));
  return p;
}
#define POLY_64(ir, x, ...) \
  poly_64(ir, x, (const double[]){__VA_ARGS__}, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static jit_pair pow_log2(jit_ir *ir, v a) {
  jit_log_parts l = tsri_jit_log_split(ir, a);
  jit_pair f = jit_widen(ir, JIT_D_OF_F, l.f);
  jit_pair s = jit_binary_64(ir, JIT_DIV_D, f, jit_binary_64(ir, JIT_ADD_D, jit_double(ir, 2.0), f));
  jit_pair z = jit_binary_64(ir, JIT_MUL_D, s, s);
  jit_pair p = POLY_64(ir, z, 0x1.5cea8c05606bdp-2, 0x1.a58d667b4e9a3p-2, 0x1.2777803b5dcfcp-1, 0x1.ec709d124fa6ep-1,
                       0x1.71547652bee6dp+1);
  jit_pair y = jit_fma_64(ir, s, p, jit_widen(ir, JIT_D_OF_F, l.e));
  jit_pair wide = jit_widen(ir, JIT_D_OF_F, a), zero = jit_double(ir, 0.0), infinity = jit_double(ir, INFINITY);
  jit_pair edge = jit_select_64(ir, jit_compare_64(ir, JIT_EQ_D, wide, zero), jit_double(ir, -INFINITY), wide);
  jit_pair is_usual = jit_binary_64(ir, JIT_AND_L, jit_compare_64(ir, JIT_LT_D, zero, wide),
                                    jit_compare_64(ir, JIT_LT_D, wide, infinity));
  return jit_select_64(ir, is_usual, y, edge);
}

static v pow_exp2(jit_ir *ir, jit_pair x) {
  // min(x, 200) and so on; the instruction returns its second operand, x, if either is NaN.
  jit_pair bounded = jit_binary_64(ir, JIT_MIN_D, jit_double(ir, 200.0), x);
  bounded = jit_binary_64(ir, JIT_MAX_D, jit_double(ir, -200.0), bounded);
  jit_pair rounder = jit_double(ir, 0x1.8p52);
  jit_pair t = jit_binary_64(ir, JIT_ADD_D, bounded, rounder);
  jit_pair r = jit_binary_64(ir, JIT_SUB_D, bounded, jit_binary_64(ir, JIT_SUB_D, t, rounder));
  jit_pair p = POLY_64(ir, r, 0x1.41d335bf79a2p-13, 0x1.5f456cc25a2a3p-10, 0x1.3b2dbbc408beap-7, 0x1.c6aed4b50891bp-5,
                       0x1.ebfbdadca2fe7p-3, 0x1.62e430c7ec483p-1, 0x1.00000002615a1p+0);
  jit_pair exponent =
      jit_binary_64(ir, JIT_SHIFT_LEFT_L, jit_binary_64(ir, JIT_ADD_L, t, jit_long(ir, 1023)), jit_long(ir, 52));
  return jit_narrow(ir, JIT_F_OF_D, jit_binary_64(ir, JIT_MUL_D, p, exponent));
}

static v pow_special(jit_ir *ir, v x, v y, v power) {
  v a = magnitude(ir, x), one = num(ir, 1.0f), zero = num(ir, 0.0f);
  power = jit_select(ir, jit_compare(ir, JIT_EQ_F, a, one), one, power);
  v small = jit_select(ir, less(ir, magnitude(ir, y), num(ir, 0x1p24f)), y, zero);
  v whole = jit_unary(ir, JIT_WHOLE_OF_F, small);
  v has_fraction = jit_compare(ir, JIT_NE_F, jit_unary(ir, JIT_FLOAT_OF_I, whole), small);
  v odd = jit_binary(ir, JIT_AND, jit_binary(ir, JIT_AND, x, jit_bits(ir, 0x80000000u)), shift_left(ir, whole, 31));
  v flip = jit_select(ir, has_fraction, jit_bits(ir, 0), odd);
  v signed_power = jit_binary(ir, JIT_XOR, power, flip);
  // NaN for a negative finite base with an exponent that has a fraction.
  v below = jit_select(ir, less(ir, a, num(ir, INFINITY)), num(ir, NAN), signed_power);
  below = jit_select(ir, less(ir, x, zero), below, signed_power);
  below = jit_select(ir, has_fraction, below, signed_power);
  v result = jit_select(ir, jit_compare(ir, JIT_UNORDERED, x, y), num(ir, NAN), below);
  result = jit_select(ir, jit_compare(ir, JIT_EQ_F, x, one), one, result);
  return jit_select(ir, jit_compare(ir, JIT_EQ_F, y, zero), one, result);
}

v tsri_jit_pow(jit_ir *ir, v x, v y) {
  jit_pair exponent = jit_binary_64(ir, JIT_MUL_D, jit_widen(ir, JIT_D_OF_F, y), pow_log2(ir, magnitude(ir, x)));
  return pow_special(ir, x, y, pow_exp2(ir, exponent));
}
