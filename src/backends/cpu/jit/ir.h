// SPDX-License-Identifier: MIT
// What a run of lane instructions is turned into before it becomes machine code: operations on vectors, in order.
//
// Each operation makes at most one value, which is called by the operation's number, and reads values made before it. All values
// are vectors of 32-bit lanes. A mask is a value whose lanes are all ones or all zeros. Constants and scalars are values that
// lie in memory: the machine code reads them from there as operands.
#ifndef TSRI_CPU_JIT_IR_H
#define TSRI_CPU_JIT_IR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum jit_kind {
  JIT_LOAD,       // from stream `number`, elements of `element`
  JIT_STORE,      // a to stream `number`
  JIT_CONST,      // `number` in every lane
  JIT_SCALAR,     // the scalar register `number` in every lane
  JIT_UNARY,      // insn
  JIT_SHIFT,      // insn: JIT_SHIFT_LEFT, _RIGHT or _ARITHMETIC, by imm bits, 1 to 31
  JIT_BINARY,     // insn
  JIT_FMA,        // a * b + c, rounded once
  JIT_COMPARE,    // insn: a mask
  JIT_SELECT,     // a is a mask: b where it is set, else c
  JIT_ROUND_F16,  // a to the nearest f16, as f32
} jit_kind;

// What is done to each lane: a comes first, then b. F: f32; I: i32; U: u32.
typedef enum jit_insn {
  JIT_ADD_F,
  JIT_SUB_F,
  JIT_MUL_F,
  JIT_DIV_F,
  JIT_MIN_F,  // a < b ? a : b, so b if either is NaN
  JIT_MAX_F,  // a > b ? a : b
  JIT_AND,
  JIT_OR,
  JIT_XOR,
  JIT_ADD_I,
  JIT_SUB_I,
  JIT_MUL_I,
  JIT_MIN_I,
  JIT_MAX_I,
  JIT_MIN_U,
  JIT_MAX_U,
  JIT_SHIFT_LEFT,  // a by b bits, 0 to 31
  JIT_SHIFT_RIGHT,
  JIT_SHIFT_ARITHMETIC,
  JIT_ABS_I,
  JIT_SQRT_F,
  JIT_NEAREST_F,  // ties to even
  JIT_FLOOR_F,
  JIT_CEIL_F,
  JIT_TRUNC_F,
  JIT_FLOAT_OF_I,
  JIT_WHOLE_OF_F,  // towards zero; only of what fits i32, else anything
  // Comparisons. Of floats, all but NE_F and UNORDERED are false if either is NaN.
  JIT_EQ_F,
  JIT_NE_F,
  JIT_LT_F,
  JIT_LE_F,
  JIT_GT_F,
  JIT_UNORDERED,
  JIT_EQ_I,
  JIT_LT_I,  // these four only where the target has them (target.h)
  JIT_LE_I,
  JIT_LT_U,
  JIT_LE_U,
  JIT_INSN_COUNT
} jit_insn;

// How an element lies in memory. Narrow ones are widened by loads; stores keep their low bits, and round F16.
typedef enum jit_element { JIT_E32, JIT_U16, JIT_I16, JIT_U8, JIT_I8, JIT_F16 } jit_element;

typedef uint16_t jit_value;
enum { JIT_MOST_OPS = 4096, JIT_MOST_STREAMS = 32 };

typedef struct jit_op {
  uint8_t kind, insn, imm, element;
  uint8_t part;  // which of the vectors that are done at a time
  jit_value a, b, c;
  uint32_t number;
} jit_op;

typedef struct jit_ir {
  const struct jit_target *target;
  bool failed;  // out of memory, or too large
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

static inline jit_value jit_unary(jit_ir *ir, jit_insn insn, jit_value a) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_UNARY, .insn = (uint8_t)insn, .a = a});
}

static inline jit_value jit_binary(jit_ir *ir, jit_insn insn, jit_value a, jit_value b) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_BINARY, .insn = (uint8_t)insn, .a = a, .b = b});
}

static inline jit_value jit_compare(jit_ir *ir, jit_insn insn, jit_value a, jit_value b) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_COMPARE, .insn = (uint8_t)insn, .a = a, .b = b});
}

static inline jit_value jit_shift(jit_ir *ir, jit_insn insn, jit_value a, int bits) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_SHIFT, .insn = (uint8_t)insn, .imm = (uint8_t)bits, .a = a});
}

static inline jit_value jit_fma(jit_ir *ir, jit_value a, jit_value b, jit_value c) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_FMA, .a = a, .b = b, .c = c});
}

static inline jit_value jit_select(jit_ir *ir, jit_value mask, jit_value yes, jit_value no) {
  return tsri_jit_add(ir, (jit_op){.kind = JIT_SELECT, .a = mask, .b = yes, .c = no});
}

#endif
