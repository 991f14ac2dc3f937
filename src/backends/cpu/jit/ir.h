// SPDX-License-Identifier: MIT
// The form of a run of lane instructions from which machine code is generated: a list of operations on vectors.
//
// Each operation produces at most one value, which is identified by the operation's index, and reads values produced before it. Values are vectors of 32-bit
// lanes. 64-bit values are two values: the first half of the lanes and the second half. A mask is a value whose lanes are all ones or all zeros. Constants and
// scalars are values in memory, which machine code reads as operands.
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
  // Only where the target has values of 64 bits (target.h):
  JIT_CONST_64,   // `number`, and `high` above it, in every lane
  JIT_SCALAR_64,  // the scalar register `number` in every lane
  JIT_WIDEN,      // insn: a's lanes of `half` as lanes of 64 bits
  JIT_NARROW,     // insn: a's lanes of 64 bits, and then those of b, as lanes of 32 bits
} jit_kind;

// Operations on each lane, with operands a and b. Suffixes: F f32; I i32; U u32; D f64; L i64.
typedef enum jit_insn {
  JIT_ADD_F,
  JIT_SUB_F,
  JIT_MUL_F,
  JIT_DIV_F,
  JIT_MIN_F,    // a < b ? a : b, so b if either is NaN
  JIT_MAX_F,    // a > b ? a : b
  JIT_SCALE_F,  // a * 2^b for whole b, rounded once; only where the target scales_by_powers
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
  JIT_WHOLE_OF_F,  // towards zero; the result is undefined unless it fits i32
  // Comparisons. Of floats, all but NE_F and UNORDERED are false if either is NaN.
  JIT_EQ_F,
  JIT_NE_F,
  JIT_LT_F,
  JIT_LE_F,
  JIT_GT_F,
  JIT_UNORDERED,
  JIT_EQ_I,
  JIT_LT_I,  // these four only if the target has them (target.h)
  JIT_LE_I,
  JIT_LT_U,
  JIT_LE_U,
  // Lanes of 64 bits from here on.
  JIT_FIRST_64,
  JIT_ADD_D = JIT_FIRST_64,
  JIT_SUB_D,
  JIT_MUL_D,
  JIT_DIV_D,
  JIT_MIN_D,
  JIT_MAX_D,
  JIT_FMA_D,  // JIT_FMA
  JIT_SQRT_D,
  JIT_NEAREST_D,
  JIT_FLOOR_D,
  JIT_CEIL_D,
  JIT_TRUNC_D,
  JIT_AND_L,
  JIT_OR_L,
  JIT_XOR_L,
  JIT_ADD_L,
  JIT_SUB_L,
  JIT_MUL_LOW_L,  // product of the low 32 bits, without sign
  JIT_SHIFT_LEFT_L,
  JIT_SHIFT_RIGHT_L,
  JIT_WHOLE_OF_D,  // f64 to i64, towards zero; only if the target converts_to_i64; the result is undefined unless it fits
  JIT_EQ_D,
  JIT_NE_D,
  JIT_LT_D,
  JIT_LE_D,
  JIT_UNORDERED_D,
  JIT_EQ_L,
  JIT_GT_L,
  JIT_D_OF_F,  // JIT_WIDEN
  JIT_D_OF_I,
  JIT_L_OF_I,
  JIT_L_OF_U,
  JIT_F_OF_D,  // JIT_NARROW
  JIT_I_OF_D,  // towards zero; only of what fits i32
  JIT_LOW_OF_L,
  JIT_INSN_COUNT
} jit_insn;

// The type of an element in memory. Loads widen narrow elements. Stores keep their low bits, and round F16. JIT_TRUTH (only for stores, and only if the target
// stores_masks): a byte that is 1 where a mask is set, else 0.
typedef enum jit_element { JIT_E32, JIT_U16, JIT_I16, JIT_U8, JIT_I8, JIT_F16, JIT_E64, JIT_TRUTH } jit_element;

typedef uint16_t jit_value;
enum { JIT_MOST_OPS = 4096, JIT_MOST_STREAMS = 32, JIT_BEYOND = 0x377fffff };

typedef struct jit_op {
  uint8_t kind, insn, imm, element;
  uint8_t part;   // which of the vectors that are processed at a time
  bool is_fixed;  // loads and stores of JIT_E32: the same address for all lanes of the loop
  uint8_t half;   // JIT_WIDEN, and loads and stores of JIT_E64: 0, 1
  jit_value a, b, c;
  uint32_t number, high;
} jit_op;

typedef struct jit_ir {
  const struct jit_target *target;
  bool failed;  // out of memory, or too large
  bool is_too_large;
  uint8_t parts;       // vectors processed at a time, if more than 1
  bool needs_scratch;  // has JIT_NARROW, which needs a register as scratch
  bool
      has_beyond;  // `beyond` is below JIT_BEYOND in lanes for which some function is not inlined: the run is then interpreted
  jit_value beyond;
  jit_op *ops;
  uint32_t count, room;
} jit_ir;

// Whether the operation is a constant or scalar, whose value is in memory.
static inline bool jit_is_in_memory(const jit_op *op) {
  return op->kind == JIT_CONST || op->kind == JIT_SCALAR || op->kind == JIT_CONST_64 || op->kind == JIT_SCALAR_64;
}
static inline bool jit_is_64_in_memory(const jit_op *op) {
  return op->kind == JIT_CONST_64 || op->kind == JIT_SCALAR_64;
}

jit_value tsri_jit_add(jit_ir *ir, jit_op op);

// Writes the same operations for `parts` vectors at a time to `out`, interleaved so that neighbouring instructions do not depend on each other.
void tsri_jit_interleave(const jit_ir *ir, uint32_t parts, jit_ir *out);

// Lists the values that operation `op` reads; returns their number.
uint32_t tsri_jit_operands(const jit_op *op, jit_value out[3]);
void tsri_jit_ir_deinit(jit_ir *ir);

// The value of a constant or scalar. Repeated calls for the same one return the same value.
jit_value tsri_jit_in_memory(jit_ir *ir, jit_kind kind, uint32_t number);
jit_value tsri_jit_const_64(jit_ir *ir, uint64_t bits);

// The f32 functions of f32_*.h as operations: same constants, same order, so the same bits. `y` is the second argument, if the function has one.
bool tsri_jit_has_math(const struct jit_target *target, uint32_t function);
// Whether the function is valid only for arguments up to a limit; if a lane is beyond it, the run is interpreted.
bool tsri_jit_has_limit(uint32_t function);
jit_value tsri_jit_math(jit_ir *ir, uint32_t function, jit_value x, jit_value y);

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
