// SPDX-License-Identifier: MIT
// Code generation for aarch64 with NEON: instructions for the operations, and the loops around them.
//
// Arithmetic takes its operands from registers. Constants are read from the pool, repeated in all lanes. Some operations need more than one instruction; their
// intermediate values are in a vector register that is never allocated to a value.
#include "backends/cpu/jit/arm64_convention.h"
#include "backends/cpu/jit/target.h"

static const arm64_convention *const convention = &tsri_arm64_aapcs64;

enum { VECTOR_BYTES = 16 };

// The processor's register for register number `reg` of registers.c.
static int vector(int reg) { return convention->vector_regs[reg]; }
static int in_vector(jit_emitter *e, jit_value v) { return vector(tsri_jit_in_register(e, v)); }
static int result(jit_emitter *e) { return vector(tsri_jit_result(e)); }
static int spare(void) { return convention->spare_vector_reg; }

static void put(jit_emitter *e, arm64_insn insn, int to, int first, int second) {
  tsri_arm64_vector(e->code, insn, to, first, second);
}
static void put_2(jit_emitter *e, arm64_insn insn, int to, int from) { tsri_arm64_vector(e->code, insn, to, from, 0); }

// --- Memory -----------------------------------------------------------------------------------------------------------

static int log2_bytes(const jit_op *op) {
  static const uint8_t log2s[] = {
      [JIT_E32] = 2, [JIT_U16] = 1, [JIT_I16] = 1, [JIT_U8] = 0, [JIT_I8] = 0, [JIT_F16] = 1};
  return log2s[op->element];
}

// Makes the address register point to the stream's elements for the current lanes, if it does not already. Returns the displacement of the elements of the
// operation's part.
static int find_elements(jit_emitter *e, const jit_op *op) {
  int log2 = log2_bytes(op), address = convention->address_reg;
  if (e->addressed_stream != (int32_t)op->number) {
    int base = arm64_stream_reg(convention, op->number);
    if (base < 0) {
      base = address;
      tsri_arm64_load(e->code, base, convention->streams_reg, (int)(8 * op->number));
    }
    tsri_arm64_add(e->code, address, base, convention->index_reg, log2);
    e->addressed_stream = (int32_t)op->number;
  }
  return (int)(op->part * e->ir->target->vector_lanes) << log2;
}

// The access size for four elements of the operation.
static arm64_size size_of(const jit_op *op) { return (arm64_size)log2_bytes(op); }

static void emit_load(jit_emitter *e, const jit_op *op) {
  int disp = find_elements(e, op), to = result(e);
  tsri_arm64_vector_load(e->code, size_of(op), to, convention->address_reg, disp);
  switch ((jit_element)op->element) {
    case JIT_E32:
    case JIT_E64:    // unreachable: there are no 64-bit values here
    case JIT_TRUTH:  // unreachable: only stores have it
      break;
    case JIT_U16:
      put_2(e, ARM64_USHLL, to, to);
      break;
    case JIT_I16:
      put_2(e, ARM64_SSHLL, to, to);
      break;
    case JIT_U8:
      put_2(e, ARM64_USHLL_B, to, to);
      put_2(e, ARM64_USHLL, to, to);
      break;
    case JIT_I8:
      put_2(e, ARM64_SSHLL_B, to, to);
      put_2(e, ARM64_SSHLL, to, to);
      break;
    case JIT_F16:
      put_2(e, ARM64_FCVTL, to, to);
      break;
  }
}

static void emit_store(jit_emitter *e, const jit_op *op) {
  int from = in_vector(e, op->a), disp = find_elements(e, op);
  if (op->element == JIT_F16) put_2(e, ARM64_FCVTN, spare(), from);
  else if (op->element != JIT_E32) put_2(e, ARM64_XTN, spare(), from);
  if (op->element == JIT_U8 || op->element == JIT_I8) put_2(e, ARM64_XTN_B, spare(), spare());
  if (op->element != JIT_E32) from = spare();
  tsri_arm64_vector_store(e->code, size_of(op), from, convention->address_reg, disp);
  tsri_jit_release_operands(e);
}

// --- Arithmetic -------------------------------------------------------------------------------------------------------

// to = mask ? yes : no, lane by lane. `to` may be the same register as one of the others. There are three instructions for this, each of which overwrites a
// different operand.
static void choose(jit_emitter *e, int to, int mask, int yes, int no) {
  if (to == mask) put(e, ARM64_BSL, to, yes, no);
  else if (to == no) put(e, ARM64_BIT, to, yes, mask);
  else if (to == yes) put(e, ARM64_BIF, to, no, mask);
  else {
    tsri_arm64_vector_copy(e->code, to, mask);
    put(e, ARM64_BSL, to, yes, no);
  }
}

static void emit_select(jit_emitter *e, const jit_op *op) {
  int mask = in_vector(e, op->a), yes = in_vector(e, op->b), no = in_vector(e, op->c);
  choose(e, result(e), mask, yes, no);
}

static void emit_fma(jit_emitter *e, const jit_op *op) {
  int first = in_vector(e, op->a), second = in_vector(e, op->b);
  if (jit_has_register(e, op->c)) tsri_jit_in_register(e, op->c);  // pinned
  put(e, ARM64_FMLA, vector(tsri_jit_result_from(e, op->c)), first, second);
}

static void emit_unary(jit_emitter *e, const jit_op *op) {
  static const uint8_t insns[JIT_INSN_COUNT] = {
      [JIT_ABS_I] = ARM64_ABS,        [JIT_SQRT_F] = ARM64_FSQRT,      [JIT_NEAREST_F] = ARM64_FRINTN,
      [JIT_FLOOR_F] = ARM64_FRINTM,   [JIT_CEIL_F] = ARM64_FRINTP,     [JIT_TRUNC_F] = ARM64_FRINTZ,
      [JIT_FLOAT_OF_I] = ARM64_SCVTF, [JIT_WHOLE_OF_F] = ARM64_FCVTZS,
  };
  int from = in_vector(e, op->a);
  put_2(e, (arm64_insn)insns[op->insn], result(e), from);
}

// NEON's instructions for minimum and maximum return NaN if either operand is NaN, so they cannot be used.
static void emit_min_or_max(jit_emitter *e, const jit_op *op) {
  int a = in_vector(e, op->a), b = in_vector(e, op->b);
  bool is_min = op->insn == JIT_MIN_F;
  int to = result(e), mask = to == a || to == b ? spare() : to;
  put(e, ARM64_FCMGT, mask, is_min ? b : a, is_min ? a : b);
  choose(e, to, mask, a, b);
}

// NEON shifts to the right by a shift to the left with a negative count.
static void emit_shift_by_lanes(jit_emitter *e, const jit_op *op) {
  int from = in_vector(e, op->a), bits = in_vector(e, op->b);
  if (op->insn != JIT_SHIFT_LEFT) {
    put_2(e, ARM64_NEG, spare(), bits);
    bits = spare();
  }
  put(e, op->insn == JIT_SHIFT_ARITHMETIC ? ARM64_SSHL : ARM64_USHL, result(e), from, bits);
}

static void emit_binary(jit_emitter *e, const jit_op *op) {
  static const uint8_t insns[JIT_INSN_COUNT] = {
      [JIT_ADD_F] = ARM64_FADD, [JIT_SUB_F] = ARM64_FSUB, [JIT_MUL_F] = ARM64_FMUL, [JIT_DIV_F] = ARM64_FDIV,
      [JIT_AND] = ARM64_AND,    [JIT_OR] = ARM64_ORR,     [JIT_XOR] = ARM64_EOR,    [JIT_ADD_I] = ARM64_ADD,
      [JIT_SUB_I] = ARM64_SUB,  [JIT_MUL_I] = ARM64_MUL,  [JIT_MIN_I] = ARM64_SMIN, [JIT_MAX_I] = ARM64_SMAX,
      [JIT_MIN_U] = ARM64_UMIN, [JIT_MAX_U] = ARM64_UMAX,
  };
  switch ((jit_insn)op->insn) {
    case JIT_MIN_F:
    case JIT_MAX_F:
      emit_min_or_max(e, op);
      break;
    case JIT_SHIFT_LEFT:
    case JIT_SHIFT_RIGHT:
    case JIT_SHIFT_ARITHMETIC:
      emit_shift_by_lanes(e, op);
      break;
    default: {
      int a = in_vector(e, op->a), b = in_vector(e, op->b);
      put(e, (arm64_insn)insns[op->insn], result(e), a, b);
    }
  }
}

static void emit_shift(jit_emitter *e, const jit_op *op) {
  arm64_shift shift = op->insn == JIT_SHIFT_LEFT ? ARM64_SHL : op->insn == JIT_SHIFT_RIGHT ? ARM64_USHR : ARM64_SSHR;
  int from = in_vector(e, op->a);
  tsri_arm64_vector_shift(e->code, shift, result(e), from, op->imm);
}

// x == x is false only for NaN.
static void emit_unordered(jit_emitter *e, const jit_op *op) {
  int a = in_vector(e, op->a), b = in_vector(e, op->b);
  if (a != b) put(e, ARM64_FCMEQ, spare(), b, b);
  int to = result(e);
  put(e, ARM64_FCMEQ, to, a, a);
  if (a != b) put(e, ARM64_AND, to, to, spare());
  put_2(e, ARM64_MVN, to, to);
}

// NEON compares for "equal", "greater" and "greater or equal"; the reverse comparisons exchange their operands.
static void emit_compare(jit_emitter *e, const jit_op *op) {
  static const struct {
    uint8_t insn;
    bool is_swapped, is_inverse;
  } forms[JIT_INSN_COUNT] = {
      [JIT_EQ_F] = {ARM64_FCMEQ, false, false}, [JIT_NE_F] = {ARM64_FCMEQ, false, true},
      [JIT_LT_F] = {ARM64_FCMGT, true, false},  [JIT_LE_F] = {ARM64_FCMGE, true, false},
      [JIT_GT_F] = {ARM64_FCMGT, false, false}, [JIT_EQ_I] = {ARM64_CMEQ, false, false},
      [JIT_LT_I] = {ARM64_CMGT, true, false},   [JIT_LE_I] = {ARM64_CMGE, true, false},
      [JIT_LT_U] = {ARM64_CMHI, true, false},   [JIT_LE_U] = {ARM64_CMHS, true, false},
  };
  if (op->insn == JIT_UNORDERED) {
    emit_unordered(e, op);
    return;
  }
  int a = in_vector(e, op->a), b = in_vector(e, op->b), to = result(e);
  bool is_swapped = forms[op->insn].is_swapped;
  put(e, (arm64_insn)forms[op->insn].insn, to, is_swapped ? b : a, is_swapped ? a : b);
  if (forms[op->insn].is_inverse) put_2(e, ARM64_MVN, to, to);
}

static void emit_round_f16(jit_emitter *e, const jit_op *op) {
  put_2(e, ARM64_FCVTN, spare(), in_vector(e, op->a));
  put_2(e, ARM64_FCVTL, result(e), spare());
}

static void emit_op(jit_emitter *e, const jit_op *op) {
  static void (*const emit[])(jit_emitter * e, const jit_op *op) = {
      [JIT_LOAD] = emit_load,       [JIT_STORE] = emit_store,   [JIT_UNARY] = emit_unary,
      [JIT_SHIFT] = emit_shift,     [JIT_BINARY] = emit_binary, [JIT_FMA] = emit_fma,
      [JIT_COMPARE] = emit_compare, [JIT_SELECT] = emit_select, [JIT_ROUND_F16] = emit_round_f16,
  };
  if (op->kind != JIT_CONST && op->kind != JIT_SCALAR) emit[op->kind](e, op);
}

// --- The function -----------------------------------------------------------------------------------------------------

static void fill(jit_emitter *e, int reg, jit_value v) {
  int base = e->ir->ops[v].kind == JIT_CONST ? convention->pool_reg : ARM64_SP;
  tsri_arm64_vector_load(e->code, ARM64_16, vector(reg), base, e->places[v].slot * VECTOR_BYTES);
}

static void copy(jit_emitter *e, int to, int from) { tsri_arm64_vector_copy(e->code, vector(to), vector(from)); }

static void spill(jit_emitter *e, int reg, int32_t slot) {
  tsri_arm64_vector_store(e->code, ARM64_16, vector(reg), ARM64_SP, slot * VECTOR_BYTES);
}

static void repeat_scalar(jit_emitter *e, uint32_t number, int32_t slot, bool is_64) {
  (void)is_64;  // there are no 64-bit values here
  int base = convention->scalars_reg, disp = (int)(8 * number), page = disp / 4096 * 4096;
  if (page > 0) {
    tsri_arm64_add_number(e->code, convention->address_reg, base, page);
    base = convention->address_reg;
  }
  tsri_arm64_vector_load(e->code, ARM64_4, spare(), base, disp - page);
  put_2(e, ARM64_DUP, spare(), spare());
  tsri_arm64_vector_store(e->code, ARM64_16, spare(), ARM64_SP, slot * VECTOR_BYTES);
}

static void begin(jit_emitter *e) { convention->enter(e->code, e->stream_count); }
static void end(jit_emitter *e) { convention->leave(e->code); }

static void begin_round(jit_emitter *e) {
  tsri_arm64_clear(e->code, convention->index_reg);
  e->addressed_stream = JIT_NO_PLACE;
}

static void end_vector(jit_emitter *e, size_t loop) {
  tsri_arm64_add_number(e->code, convention->index_reg, convention->index_reg, (int)jit_lanes_at_a_time(e->ir));
  tsri_arm64_compare(e->code, convention->index_reg, convention->lanes_reg);
  tsri_arm64_jump_if_below(e->code, loop);
}

// The next round sets the index again, so its register is free here.
static void end_round(jit_emitter *e, size_t round) {
  int step = convention->address_reg;
  for (uint32_t i = 0; i < e->stream_count; i++) {
    int reg = arm64_stream_reg(convention, i), at = (int)(8 * i);
    tsri_arm64_load(e->code, step, convention->steps_reg, at);
    if (reg >= 0) {
      tsri_arm64_add(e->code, reg, reg, step, 0);
    } else {
      tsri_arm64_load(e->code, convention->index_reg, convention->streams_reg, at);
      tsri_arm64_add(e->code, convention->index_reg, convention->index_reg, step, 0);
      tsri_arm64_store(e->code, convention->index_reg, convention->streams_reg, at);
    }
  }
  tsri_arm64_count_down(e->code, convention->rounds_reg);
  tsri_arm64_jump_if_not_zero(e->code, round);
}

const jit_target tsri_jit_neon = {.simd = "neon",
                                  .title = "NEON",
                                  .dialect = "arm64",
                                  .vector_lanes = 4,
                                  .vector_regs = ARM64_VECTOR_REGS,
                                  .orders_whole_numbers = true,
                                  .fill = fill,
                                  .copy = copy,
                                  .spill = spill,
                                  .repeat_scalar = repeat_scalar,
                                  .operation = emit_op,
                                  .begin = begin,
                                  .begin_round = begin_round,
                                  .end_vector = end_vector,
                                  .end_round = end_round,
                                  .end = end,
                                  .append_pool = tsri_arm64_append_pool};
