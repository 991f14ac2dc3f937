// SPDX-License-Identifier: MIT
// What a run of lane instructions is turned into before it becomes machine code: operations on vectors, in order.
//
// Each operation makes at most one value, which is called by the operation's number, and reads values made before it. All values
// are vectors of 32-bit lanes. A mask is a value whose lanes are all ones or all zeros. Constants and scalars are values that
// lie in memory: the machine code reads them from there as operands.
#ifndef TSRI_CPU_JIT_IR_H
#define TSRI_CPU_JIT_IR_H

#include <string.h>

#include "backends/cpu/jit/x86.h"

typedef enum jit_kind {
  JIT_LOAD,       // from stream `number`, elements of `element`
  JIT_STORE,      // a to stream `number`
  JIT_CONST,      // `number` in every lane
  JIT_SCALAR,     // the scalar register `number` in every lane
  JIT_UNARY,      // insn, imm
  JIT_SHIFT,      // by imm bits; `number` is the digit of X86_VPSHIFTD
  JIT_BINARY,     // insn
  JIT_FMA,        // a * b + c, rounded once
  JIT_COMPARE,    // insn, imm: a mask
  JIT_SELECT,     // a is a mask: b where it is set, else c
  JIT_ROUND_F16,  // a to the nearest f16, as f32
} jit_kind;

// How an element lies in memory. Narrow ones are widened by loads; stores keep their low bits, and round F16.
typedef enum jit_element { JIT_E32, JIT_U16, JIT_I16, JIT_U8, JIT_I8, JIT_F16 } jit_element;

typedef uint16_t jit_value;
enum { JIT_MOST_OPS = 4096, JIT_MOST_STREAMS = 32, JIT_NO_IMM = 0xff };

typedef struct jit_op {
  uint8_t kind, insn, imm, element;
  uint8_t part;  // which of the vectors that are done at a time
  jit_value a, b, c;
  uint32_t number;
} jit_op;

typedef struct jit_ir {
  bool has_evex;  // AVX-512
  bool failed;    // out of memory, or too large
  bool is_too_large;
  uint8_t parts;  // vectors that are done at a time, if more than 1
  jit_op *ops;
  uint32_t count, room;
} jit_ir;

jit_value tsri_jit_add(jit_ir *ir, jit_op op);

// The same operations for `parts` vectors, in turns: neighbouring ones do not wait for each other.
void tsri_jit_interleave(const jit_ir *ir, uint32_t parts, jit_ir *out);

// The values that operation `op` reads; returns how many.
uint32_t tsri_jit_operands(const jit_op *op, jit_value out[3]);
void tsri_jit_ir_deinit(jit_ir *ir);

// The same constant or scalar again is the same value.
jit_value tsri_jit_in_memory(jit_ir *ir, jit_kind kind, uint32_t number);

// f32 functions of f32_*.h as operations: same constants, same order, so the same bits. False: not this function.
bool tsri_jit_math(jit_ir *ir, uint32_t function, jit_value x, jit_value *out);

// --- Shorthands -----------------------------------------------------------------------------------------------------------

static inline jit_value jit_bits(jit_ir *ir, uint32_t bits) { return tsri_jit_in_memory(ir, JIT_CONST, bits); }

static inline jit_value jit_number(jit_ir *ir, float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return jit_bits(ir, bits);
}

static inline jit_value jit_unary(jit_ir *ir, x86_insn insn, jit_value a, int imm) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_UNARY, .insn = (uint8_t)insn, .imm = (uint8_t)imm, .a = a});
}

static inline jit_value jit_binary(jit_ir *ir, x86_insn insn, jit_value a, jit_value b) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_BINARY, .insn = (uint8_t)insn, .imm = JIT_NO_IMM, .a = a, .b = b});
}

static inline jit_value jit_shift(jit_ir *ir, int digit, jit_value a, int bits) {
  return tsri_jit_add(
      ir, (jit_op){.kind = JIT_SHIFT, .insn = X86_VPSHIFTD, .imm = (uint8_t)bits, .a = a, .number = (uint32_t)digit});
}

static inline jit_value jit_fma(jit_ir *ir, jit_value a, jit_value b, jit_value c) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_FMA, .a = a, .b = b, .c = c});
}

static inline jit_value jit_select(jit_ir *ir, jit_value mask, jit_value yes, jit_value no) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_SELECT, .a = mask, .b = yes, .c = no});
}

// Comparisons of floats; the numbers are those of vcmpps. All but NE and UNORDERED are false if either is NaN.
enum { JIT_EQ_F = 0, JIT_UNORDERED = 3, JIT_NE_F = 4, JIT_LT_F = 17, JIT_LE_F = 18, JIT_GT_F = 30 };

static inline jit_value jit_compare_f(jit_ir *ir, int predicate, jit_value a, jit_value b) {
  x86_insn insn = ir->has_evex ? X86_VCMPPS_K : X86_VCMPPS;
  return tsri_jit_add(ir,
                      (jit_op){.kind = JIT_COMPARE, .insn = (uint8_t)insn, .imm = (uint8_t)predicate, .a = a, .b = b});
}

#endif
