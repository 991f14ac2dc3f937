// SPDX-License-Identifier: MIT
// Operations on values of 64 bits: pairs of vectors, each with half of the lanes (ir.h).
#ifndef TSRI_CPU_JIT_PAIR_H
#define TSRI_CPU_JIT_PAIR_H

#include "backends/cpu/jit/ir.h"

typedef struct jit_pair {
  jit_value low, high;  // first and second half of the lanes
} jit_pair;

static inline jit_pair jit_pair_of(jit_value both) { return (jit_pair){both, both}; }

static inline jit_pair jit_long(jit_ir *ir, uint64_t bits) { return jit_pair_of(tsri_jit_const_64(ir, bits)); }

static inline jit_pair jit_double(jit_ir *ir, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return jit_long(ir, bits);
}

static inline jit_pair jit_unary_64(jit_ir *ir, jit_insn insn, jit_pair a) {
  return (jit_pair){jit_unary(ir, insn, a.low), jit_unary(ir, insn, a.high)};
}

static inline jit_pair jit_binary_64(jit_ir *ir, jit_insn insn, jit_pair a, jit_pair b) {
  return (jit_pair){jit_binary(ir, insn, a.low, b.low), jit_binary(ir, insn, a.high, b.high)};
}

// A mask of 64-bit lanes: all ones or all zeros.
static inline jit_pair jit_compare_64(jit_ir *ir, jit_insn insn, jit_pair a, jit_pair b) {
  return (jit_pair){jit_compare(ir, insn, a.low, b.low), jit_compare(ir, insn, a.high, b.high)};
}

static inline jit_pair jit_select_64(jit_ir *ir, jit_pair mask, jit_pair yes, jit_pair no) {
  return (jit_pair){jit_select(ir, mask.low, yes.low, no.low), jit_select(ir, mask.high, yes.high, no.high)};
}

static inline jit_value jit_fma_half(jit_ir *ir, jit_value a, jit_value b, jit_value c) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_FMA, .insn = JIT_FMA_D, .a = a, .b = b, .c = c});
}

static inline jit_pair jit_fma_64(jit_ir *ir, jit_pair a, jit_pair b, jit_pair c) {
  return (jit_pair){jit_fma_half(ir, a.low, b.low, c.low), jit_fma_half(ir, a.high, b.high, c.high)};
}

static inline jit_value jit_widen_half(jit_ir *ir, jit_insn insn, jit_value a, int half) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_WIDEN, .insn = (uint8_t)insn, .half = (uint8_t)half, .a = a});
}

static inline jit_pair jit_widen(jit_ir *ir, jit_insn insn, jit_value a) {
  return (jit_pair){jit_widen_half(ir, insn, a, 0), jit_widen_half(ir, insn, a, 1)};
}

static inline jit_value jit_narrow(jit_ir *ir, jit_insn insn, jit_pair a) {
  ir->needs_scratch = true;
  return tsri_jit_add(ir, (jit_op){.kind = JIT_NARROW, .insn = (uint8_t)insn, .a = a.low, .b = a.high});
}

#endif
