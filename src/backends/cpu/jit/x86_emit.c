// SPDX-License-Identifier: MIT
// Code generation for x86-64 with AVX2 and FMA, or AVX-512: instructions for the operations, and the loops around them.
//
// A value that is not in a register is read as a memory operand if the instruction allows that.
#include "backends/cpu/jit/target.h"
#include "backends/cpu/jit/x86_convention.h"

static x86_width width_of(const jit_emitter *e) { return e->ir->target->has_evex ? X86_512 : X86_256; }
static uint32_t vector_bytes(const jit_emitter *e) { return e->ir->target->vector_lanes * 4; }
static const x86_convention *convention_of(const jit_emitter *e) { return e->ir->target->convention; }

static x86_operand slot_operand(const jit_emitter *e, int32_t slot) {
  return x86_memory(X86_RSP, slot * (int32_t)vector_bytes(e));
}

// The memory operand for a value: in the pool, on the stack, or in the table of scalars.
static x86_operand memory_of(const jit_emitter *e, jit_value v) {
  const jit_place *at = &e->places[v];
  const jit_op *op = &e->ir->ops[v];
  bool is_evex = e->ir->target->has_evex;
  if (op->kind == JIT_CONST || op->kind == JIT_CONST_64) {
    return (x86_operand){.is_memory = true,
                         .is_pool = true,
                         .is_repeated = is_evex,
                         .index = X86_NONE,
                         .disp = at->slot * (is_evex ? 4 : (int32_t)vector_bytes(e))};
  }
  if ((op->kind == JIT_SCALAR || op->kind == JIT_SCALAR_64) && is_evex) {
    x86_operand scalar = x86_memory(convention_of(e)->scalars_reg, (int32_t)(8 * op->number));
    scalar.is_repeated = true;
    return scalar;
  }
  return slot_operand(e, at->slot);
}

static x86_operand operand(const jit_emitter *e, jit_value v) {
  return jit_has_register(e, v) ? x86_reg(e->places[v].reg) : memory_of(e, v);
}

// A mask register that holds no value between operations.
enum { X86_FREE_MASK = 1 };

static void vector(jit_emitter *e, x86_insn insn, int reg, int second, x86_operand rm, int imm) {
  tsri_x86_vector(e->code, insn, width_of(e), reg, second, rm, imm);
}

// --- Memory -----------------------------------------------------------------------------------------------------------

static x86_operand stream_operand(jit_emitter *e, const jit_op *op) {
  static const uint8_t scales[] = {[JIT_E32] = 2, [JIT_U16] = 1, [JIT_I16] = 1, [JIT_U8] = 0,
                                   [JIT_I8] = 0,  [JIT_F16] = 1, [JIT_E64] = 3, [JIT_TRUTH] = 0};
  int base = x86_stream_reg(convention_of(e), op->number);
  if (base == X86_NONE) {
    base = convention_of(e)->address_reg;
    tsri_x86_load(e->code, base, convention_of(e)->streams_reg, (int32_t)(8 * op->number));
  }
  if (op->is_fixed) return x86_memory(base, (int32_t)(op->part * vector_bytes(e)));
  uint32_t part_bytes = e->ir->target->vector_lanes << scales[op->element];
  return (x86_operand){.is_memory = true,
                       .base = (int8_t)base,
                       .index = (int8_t)convention_of(e)->index_reg,
                       .scale = scales[op->element],
                       .disp = (int32_t)(op->part * part_bytes + op->half * vector_bytes(e))};
}

static void emit_load(jit_emitter *e, const jit_op *op) {
  static const uint8_t loads[] = {
      [JIT_E32] = X86_VMOVUPS,  [JIT_U16] = X86_VPMOVZXWD, [JIT_I16] = X86_VPMOVSXWD, [JIT_U8] = X86_VPMOVZXBD,
      [JIT_I8] = X86_VPMOVSXBD, [JIT_F16] = X86_VCVTPH2PS, [JIT_E64] = X86_VMOVUPS};
  x86_operand from = stream_operand(e, op);
  tsri_x86_vector(e->code, (x86_insn)loads[op->element], width_of(e), tsri_jit_result(e), X86_NONE, from, X86_NONE);
}

// Stores the low bits of each lane. AVX2 has no instruction for that: both halves of the vector are packed, which saturates, so the upper bits of these values
// must be 0.
static void pack_and_store(jit_emitter *e, int reg, x86_operand to, bool is_byte) {
  int packed = tsri_jit_take(e, (jit_value)e->at);
  tsri_x86_vector(e->code, X86_VEXTRACTI128, X86_256, reg, X86_NONE, x86_reg(packed), 1);
  tsri_x86_vector(e->code, X86_VPACKUSDW, X86_128, packed, reg, x86_reg(packed), X86_NONE);
  if (is_byte) {
    tsri_x86_vector(e->code, X86_VPACKUSWB, X86_128, packed, packed, x86_reg(packed), X86_NONE);
    tsri_x86_vector(e->code, X86_VMOVQ_STORE, X86_128, packed, X86_NONE, to, X86_NONE);
  } else {
    tsri_x86_vector(e->code, X86_VMOVUPS_STORE, X86_128, packed, X86_NONE, to, X86_NONE);
  }
  tsri_jit_give_up(e, (jit_value)e->at);
}

// Stores a mask as bytes of 0 and 1, for which AVX-512 has no instruction: converts it to -1 where it is set, and takes the absolute value.
static void emit_store_truth(jit_emitter *e, const jit_op *op) {
  jit_place *from = &e->places[op->a];
  int mask = from->mask_reg;
  if (mask == 0) {
    mask = X86_FREE_MASK;
    tsri_x86_vector(e->code, X86_VPMOVD2M, X86_512, mask, X86_NONE, x86_reg(tsri_jit_in_register(e, op->a)), X86_NONE);
  } else if (jit_is_last_use(e, op->a)) {
    e->mask_regs &= ~(1u << mask);
  }
  tsri_jit_release_operands(e);
  int bytes = tsri_jit_take(e, (jit_value)e->at);
  tsri_x86_vector(e->code, X86_VPMOVM2B, X86_128, bytes, X86_NONE, x86_reg(mask), X86_NONE);
  tsri_x86_vector(e->code, X86_VPABSB, X86_128, bytes, X86_NONE, x86_reg(bytes), X86_NONE);
  tsri_x86_vector(e->code, X86_VMOVUPS_STORE, X86_128, bytes, X86_NONE, stream_operand(e, op), X86_NONE);
  tsri_jit_give_up(e, (jit_value)e->at);
}

static void emit_store(jit_emitter *e, const jit_op *op) {
  if (op->element == JIT_TRUTH) {
    emit_store_truth(e, op);
    return;
  }
  jit_element element = (jit_element)op->element;
  int reg = tsri_jit_in_register(e, op->a);
  x86_operand to = stream_operand(e, op);
  bool is_byte = element == JIT_U8 || element == JIT_I8;
  if (element == JIT_E32 || element == JIT_E64) {
    bool is_past = e->past_caches && op->imm != 0;
    tsri_x86_vector(e->code, is_past ? X86_VMOVNTPS : X86_VMOVUPS_STORE, width_of(e), reg, X86_NONE, to, X86_NONE);
  } else if (element == JIT_F16) {
    tsri_x86_vector(e->code, X86_VCVTPS2PH, width_of(e), reg, X86_NONE, to, 0);
  } else if (e->ir->target->has_evex) {
    tsri_x86_vector(e->code, is_byte ? X86_VPMOVDB : X86_VPMOVDW, X86_512, reg, X86_NONE, to, X86_NONE);
  } else {
    pack_and_store(e, reg, to, is_byte);
  }
  tsri_jit_release_operands(e);
}

// --- Arithmetic -------------------------------------------------------------------------------------------------------

static bool commutes(uint8_t insn) {
  switch (insn) {
    case JIT_ADD_F:
    case JIT_MUL_F:
    case JIT_AND:
    case JIT_OR:
    case JIT_XOR:
    case JIT_ADD_I:
    case JIT_MUL_I:
    case JIT_MIN_I:
    case JIT_MIN_U:
    case JIT_MAX_I:
    case JIT_MAX_U:
    case JIT_EQ_I:
    case JIT_ADD_D:
    case JIT_MUL_D:
    case JIT_AND_L:
    case JIT_OR_L:
    case JIT_XOR_L:
    case JIT_ADD_L:
    case JIT_MUL_LOW_L:
    case JIT_EQ_L:
      return true;
    default:
      return false;
  }
}

typedef struct x86_form {
  uint8_t insn;
  int8_t imm;  // X86_NONE: none
} x86_form;

// The last byte of an instruction: for vroundps and vrndscaleps the rounding mode, without exceptions; for comparisons the predicate.
static const x86_form forms[JIT_INSN_COUNT] = {
    [JIT_ADD_F] = {X86_VADDPS, X86_NONE},
    [JIT_SUB_F] = {X86_VSUBPS, X86_NONE},
    [JIT_MUL_F] = {X86_VMULPS, X86_NONE},
    [JIT_DIV_F] = {X86_VDIVPS, X86_NONE},
    [JIT_MIN_F] = {X86_VMINPS, X86_NONE},
    [JIT_MAX_F] = {X86_VMAXPS, X86_NONE},
    [JIT_SCALE_F] = {X86_VSCALEFPS, X86_NONE},
    [JIT_AND] = {X86_VPAND, X86_NONE},
    [JIT_OR] = {X86_VPOR, X86_NONE},
    [JIT_XOR] = {X86_VPXOR, X86_NONE},
    [JIT_ADD_I] = {X86_VPADDD, X86_NONE},
    [JIT_SUB_I] = {X86_VPSUBD, X86_NONE},
    [JIT_MUL_I] = {X86_VPMULLD, X86_NONE},
    [JIT_MIN_I] = {X86_VPMINSD, X86_NONE},
    [JIT_MAX_I] = {X86_VPMAXSD, X86_NONE},
    [JIT_MIN_U] = {X86_VPMINUD, X86_NONE},
    [JIT_MAX_U] = {X86_VPMAXUD, X86_NONE},
    [JIT_SHIFT_LEFT] = {X86_VPSLLVD, X86_NONE},
    [JIT_SHIFT_RIGHT] = {X86_VPSRLVD, X86_NONE},
    [JIT_SHIFT_ARITHMETIC] = {X86_VPSRAVD, X86_NONE},
    [JIT_ABS_I] = {X86_VPABSD, X86_NONE},
    [JIT_SQRT_F] = {X86_VSQRTPS, X86_NONE},
    [JIT_NEAREST_F] = {X86_VROUNDPS, 8},
    [JIT_FLOOR_F] = {X86_VROUNDPS, 9},
    [JIT_CEIL_F] = {X86_VROUNDPS, 10},
    [JIT_TRUNC_F] = {X86_VROUNDPS, 11},
    [JIT_FLOAT_OF_I] = {X86_VCVTDQ2PS, X86_NONE},
    [JIT_WHOLE_OF_F] = {X86_VCVTTPS2DQ, X86_NONE},
    [JIT_EQ_F] = {X86_VCMPPS, 0},
    [JIT_NE_F] = {X86_VCMPPS, 4},
    [JIT_LT_F] = {X86_VCMPPS, 17},
    [JIT_LE_F] = {X86_VCMPPS, 18},
    [JIT_GT_F] = {X86_VCMPPS, 30},
    [JIT_UNORDERED] = {X86_VCMPPS, 3},
    [JIT_EQ_I] = {X86_VPCMPEQD, X86_NONE},
    [JIT_LT_I] = {X86_VPCMPD_K, 1},
    [JIT_LE_I] = {X86_VPCMPD_K, 2},
    [JIT_LT_U] = {X86_VPCMPUD_K, 1},
    [JIT_LE_U] = {X86_VPCMPUD_K, 2},
    [JIT_ADD_D] = {X86_VADDPD, X86_NONE},
    [JIT_SUB_D] = {X86_VSUBPD, X86_NONE},
    [JIT_MUL_D] = {X86_VMULPD, X86_NONE},
    [JIT_DIV_D] = {X86_VDIVPD, X86_NONE},
    [JIT_MIN_D] = {X86_VMINPD, X86_NONE},
    [JIT_MAX_D] = {X86_VMAXPD, X86_NONE},
    [JIT_SQRT_D] = {X86_VSQRTPD, X86_NONE},
    [JIT_NEAREST_D] = {X86_VROUNDPD, 8},
    [JIT_FLOOR_D] = {X86_VROUNDPD, 9},
    [JIT_CEIL_D] = {X86_VROUNDPD, 10},
    [JIT_TRUNC_D] = {X86_VROUNDPD, 11},
    [JIT_AND_L] = {X86_VPANDQ, X86_NONE},
    [JIT_OR_L] = {X86_VPORQ, X86_NONE},
    [JIT_XOR_L] = {X86_VPXORQ, X86_NONE},
    [JIT_ADD_L] = {X86_VPADDQ, X86_NONE},
    [JIT_SUB_L] = {X86_VPSUBQ, X86_NONE},
    [JIT_MUL_LOW_L] = {X86_VPMULUDQ, X86_NONE},
    [JIT_SHIFT_LEFT_L] = {X86_VPSLLVQ, X86_NONE},
    [JIT_SHIFT_RIGHT_L] = {X86_VPSRLVQ, X86_NONE},
    [JIT_WHOLE_OF_D] = {X86_VCVTTPD2QQ, X86_NONE},
    [JIT_EQ_D] = {X86_VCMPPD, 0},
    [JIT_NE_D] = {X86_VCMPPD, 4},
    [JIT_LT_D] = {X86_VCMPPD, 17},
    [JIT_LE_D] = {X86_VCMPPD, 18},
    [JIT_UNORDERED_D] = {X86_VCMPPD, 3},
    [JIT_EQ_L] = {X86_VPCMPEQQ, X86_NONE},
    [JIT_GT_L] = {X86_VPCMPGTQ, X86_NONE},
    [JIT_D_OF_F] = {X86_VCVTPS2PD, X86_NONE},
    [JIT_D_OF_I] = {X86_VCVTDQ2PD, X86_NONE},
    [JIT_L_OF_I] = {X86_VPMOVSXDQ, X86_NONE},
    [JIT_L_OF_U] = {X86_VPMOVZXDQ, X86_NONE},
    [JIT_F_OF_D] = {X86_VCVTPD2PS, X86_NONE},
    [JIT_I_OF_D] = {X86_VCVTTPD2DQ, X86_NONE},
};

static x86_form form_of(const jit_emitter *e, const jit_op *op) {
  x86_form form = forms[op->insn];
  if (op->kind != JIT_COMPARE || !e->ir->target->has_evex) return form;
  if (form.insn == X86_VCMPPS) form.insn = X86_VCMPPS_K;
  if (form.insn == X86_VPCMPEQD) form = (x86_form){X86_VPCMPD_K, 0};
  if (form.insn == X86_VCMPPD) form.insn = X86_VCMPPD_K;
  if (form.insn == X86_VPCMPEQQ) form = (x86_form){X86_VPCMPQ_K, 0};
  if (form.insn == X86_VPCMPGTQ) form = (x86_form){X86_VPCMPQ_K, 6};
  return form;
}

// AVX-512 comparisons write a mask register. The result stays there if only selections and stores of booleans use it, and lanes have 32 bits.
static void emit_mask(jit_emitter *e, x86_form form, int reg, x86_operand rm) {
  enum { FIRST_KEPT = X86_FREE_MASK + 1, MASK_REGS = 8 };
  int mask = X86_FREE_MASK;
  bool is_64 = e->ir->ops[e->at].insn >= JIT_FIRST_64;
  for (int i = FIRST_KEPT; i < MASK_REGS && mask == X86_FREE_MASK && !e->places[e->at].is_plain && !is_64; i++) {
    if (!(e->mask_regs >> i & 1)) mask = i;
  }
  tsri_x86_vector(e->code, (x86_insn)form.insn, X86_512, mask, reg, rm, form.imm);
  if (mask != X86_FREE_MASK) {
    e->mask_regs |= 1u << mask;
    e->places[e->at].mask_reg = (uint8_t)mask;
    tsri_jit_release_operands(e);
  } else {
    x86_insn insn = is_64 ? X86_VPMOVM2Q : X86_VPMOVM2D;
    tsri_x86_vector(e->code, insn, X86_512, tsri_jit_result(e), X86_NONE, x86_reg(mask), X86_NONE);
  }
}

static void emit_binary(jit_emitter *e, const jit_op *op) {
  bool is_swapped = commutes(op->insn) && !jit_has_register(e, op->a) && jit_has_register(e, op->b);
  jit_value first = is_swapped ? op->b : op->a, second = is_swapped ? op->a : op->b;
  x86_form form = form_of(e, op);
  if (jit_has_register(e, second)) tsri_jit_in_register(e, second);  // pinned
  int reg = tsri_jit_in_register(e, first);
  x86_operand rm = operand(e, second);
  if (op->kind == JIT_COMPARE && e->ir->target->has_evex) emit_mask(e, form, reg, rm);
  else tsri_x86_vector(e->code, (x86_insn)form.insn, width_of(e), tsri_jit_result(e), reg, rm, form.imm);
}

static void emit_unary(jit_emitter *e, const jit_op *op) {
  if (jit_has_register(e, op->a)) tsri_jit_in_register(e, op->a);
  x86_operand rm = operand(e, op->a);
  x86_form form = form_of(e, op);
  tsri_x86_vector(e->code, (x86_insn)form.insn, width_of(e), tsri_jit_result(e), X86_NONE, rm, form.imm);
}

static void emit_shift(jit_emitter *e, const jit_op *op) {
  int digit = op->insn == JIT_SHIFT_LEFT    ? X86_SHIFT_LEFT
              : op->insn == JIT_SHIFT_RIGHT ? X86_SHIFT_RIGHT
                                            : X86_SHIFT_ARITHMETIC;
  int from = tsri_jit_in_register(e, op->a);
  tsri_x86_vector(e->code, X86_VPSHIFTD, width_of(e), digit, tsri_jit_result(e), x86_reg(from), op->imm);
}

static void pin_if_in_register(jit_emitter *e, jit_value v) {
  if (jit_has_register(e, v)) tsri_jit_in_register(e, v);
}

// FMA overwrites one of its three operands. Form 231 overwrites the summand, forms 213 and 132 a factor; these have the summand or the other factor as the last
// operand.
static void emit_fma(jit_emitter *e, const jit_op *op) {
  jit_value a = op->a, b = op->b, c = op->c;
  pin_if_in_register(e, a);
  pin_if_in_register(e, b);
  pin_if_in_register(e, c);
  bool a_is_in = jit_has_register(e, a), b_is_in = jit_has_register(e, b);
  if (!a_is_in && b_is_in) {
    jit_value swap = a;
    a = b;
    b = swap;
    b_is_in = false;
  }
  int first = tsri_jit_in_register(e, a);
  bool is_64 = op->insn == JIT_FMA_D;
  if (jit_has_register(e, c) && (jit_is_last_use(e, c) || !b_is_in)) {
    x86_operand last = operand(e, b);
    vector(e, is_64 ? X86_VFMADD231PD : X86_VFMADD231PS, tsri_jit_result_from(e, c), first, last, X86_NONE);
    return;
  }
  int second = tsri_jit_in_register(e, b);
  x86_operand last = operand(e, c);
  x86_insn insn = is_64 ? X86_VFMADD213PD : X86_VFMADD213PS;
  if (!jit_is_last_use(e, a) && jit_is_last_use(e, b)) {
    vector(e, insn, tsri_jit_result_from(e, b), first, last, X86_NONE);
  } else {
    vector(e, insn, tsri_jit_result_from(e, a), second, last, X86_NONE);
  }
}

static void emit_select_by_register(jit_emitter *e, const jit_op *op) {
  jit_place *mask = &e->places[op->a];
  int no = tsri_jit_in_register(e, op->c);
  x86_operand yes = operand(e, op->b);
  yes.mask = mask->mask_reg;
  if (jit_is_last_use(e, op->a)) e->mask_regs &= ~(1u << mask->mask_reg);
  tsri_x86_vector(e->code, X86_VBLENDMPS, X86_512, tsri_jit_result(e), no, yes, X86_NONE);
}

static void emit_select(jit_emitter *e, const jit_op *op) {
  enum { A_THEN_B_ELSE_C = 0xca };  // truth table for vpternlogd
  pin_if_in_register(e, op->b);
  pin_if_in_register(e, op->c);
  if (e->places[op->a].mask_reg != 0) {
    emit_select_by_register(e, op);
    return;
  }
  int mask = tsri_jit_in_register(e, op->a);
  if (e->ir->target->has_evex) {
    if (jit_is_64_in_memory(&e->ir->ops[op->c]))
      tsri_jit_in_register(e, op->c);  // because vpternlogd would repeat the first half
    int yes = tsri_jit_in_register(e, op->b);
    x86_operand no = operand(e, op->c);
    tsri_x86_vector(e->code, X86_VPTERNLOGD, X86_512, tsri_jit_result_from(e, op->a), yes, no, A_THEN_B_ELSE_C);
  } else {
    int no = tsri_jit_in_register(e, op->c);
    x86_operand yes = operand(e, op->b);
    tsri_x86_vector(e->code, X86_VBLENDVPS, X86_256, tsri_jit_result(e), no, yes, mask << 4);
  }
}

static void emit_round_f16(jit_emitter *e, const jit_op *op) {
  int from = tsri_jit_in_register(e, op->a), to = tsri_jit_result(e);
  tsri_x86_vector(e->code, X86_VCVTPS2PH, width_of(e), from, X86_NONE, x86_reg(to), 0);
  tsri_x86_vector(e->code, X86_VCVTPH2PS, width_of(e), to, X86_NONE, x86_reg(to), X86_NONE);
}

// --- Lanes of 64 bits -------------------------------------------------------------------------------------------------

// The second half of a's lanes is first moved to the result's register.
static void emit_widen(jit_emitter *e, const jit_op *op) {
  bool is_evex = e->ir->target->has_evex;
  int from = tsri_jit_in_register(e, op->a), to = tsri_jit_result(e);
  if (op->half == 1) {
    vector(e, is_evex ? X86_VEXTRACTI64X4 : X86_VEXTRACTI128, from, X86_NONE, x86_reg(to), 1);
    from = to;
  }
  vector(e, (x86_insn)forms[op->insn].insn, to, X86_NONE, x86_reg(from), X86_NONE);
}

// Puts the low halves of all 64-bit lanes next to each other. AVX2: the instruction leaves pairs in the order 0, 2, 1, 3, which is corrected at the end.
static void emit_low_halves(jit_emitter *e, int a, int b, int to, int scratch) {
  if (!e->ir->target->has_evex) {
    vector(e, X86_VSHUFPS, to, a, x86_reg(b), 0x88);
    vector(e, X86_VPERMQ, to, X86_NONE, x86_reg(to), 0xd8);
    return;
  }
  vector(e, X86_VPMOVQD, b, X86_NONE, x86_reg(scratch), X86_NONE);
  vector(e, X86_VPMOVQD, a, X86_NONE, x86_reg(to), X86_NONE);
  vector(e, X86_VINSERTI64X4, to, to, x86_reg(scratch), 1);
}

static void emit_narrow(jit_emitter *e, const jit_op *op) {
  int scratch = (int)e->ir->target->vector_regs - 1;
  int a = tsri_jit_in_register(e, op->a), b = tsri_jit_in_register(e, op->b), to = tsri_jit_result(e);
  if (op->insn == JIT_LOW_OF_L) {
    emit_low_halves(e, a, b, to, scratch);
    return;
  }
  x86_insn insn = (x86_insn)forms[op->insn].insn;
  vector(e, insn, scratch, X86_NONE, x86_reg(b), X86_NONE);
  vector(e, insn, to, X86_NONE, x86_reg(a), X86_NONE);
  vector(e, e->ir->target->has_evex ? X86_VINSERTI64X4 : X86_VINSERTI128, to, to, x86_reg(scratch), 1);
}

static void emit_op(jit_emitter *e, const jit_op *op) {
  switch ((jit_kind)op->kind) {
    case JIT_LOAD:
      emit_load(e, op);
      break;
    case JIT_STORE:
      emit_store(e, op);
      break;
    case JIT_CONST:
    case JIT_SCALAR:
    case JIT_CONST_64:
    case JIT_SCALAR_64:
      break;
    case JIT_WIDEN:
      emit_widen(e, op);
      break;
    case JIT_NARROW:
      emit_narrow(e, op);
      break;
    case JIT_UNARY:
      emit_unary(e, op);
      break;
    case JIT_SHIFT:
      emit_shift(e, op);
      break;
    case JIT_BINARY:
    case JIT_COMPARE:
      emit_binary(e, op);
      break;
    case JIT_FMA:
      emit_fma(e, op);
      break;
    case JIT_SELECT:
      emit_select(e, op);
      break;
    case JIT_ROUND_F16:
      emit_round_f16(e, op);
      break;
  }
}

// --- The function -----------------------------------------------------------------------------------------------------

static void fill(jit_emitter *e, int reg, jit_value v) {
  x86_operand from = memory_of(e, v);
  bool is_64 = jit_is_64_in_memory(&e->ir->ops[v]);
  x86_insn insn = !from.is_repeated ? X86_VMOVUPS : is_64 ? X86_VBROADCASTSD : X86_VBROADCASTSS;
  from.is_repeated = false;
  vector(e, insn, reg, X86_NONE, from, X86_NONE);
}

static void copy(jit_emitter *e, int to, int from) { vector(e, X86_VMOVUPS, to, X86_NONE, x86_reg(from), X86_NONE); }

static void spill(jit_emitter *e, int reg, int32_t slot) {
  tsri_x86_vector(e->code, X86_VMOVUPS_STORE, width_of(e), reg, X86_NONE, slot_operand(e, slot), X86_NONE);
}

static void repeat_scalar(jit_emitter *e, uint32_t number, int32_t slot, bool is_64) {
  x86_operand scalar = x86_memory(convention_of(e)->scalars_reg, (int32_t)(8 * number));
  vector(e, is_64 ? X86_VBROADCASTSD : X86_VBROADCASTSS, 0, X86_NONE, scalar, X86_NONE);
  spill(e, 0, slot);
}

static void begin(jit_emitter *e) { convention_of(e)->enter(e->code, e->stream_count); }
static void end(jit_emitter *e) { convention_of(e)->leave(e->code, e->stream_count); }

static void begin_round(jit_emitter *e) { tsri_x86_clear(e->code, convention_of(e)->index_reg); }

static void end_vector(jit_emitter *e, size_t loop) {
  const x86_convention *convention = convention_of(e);
  tsri_x86_add(e->code, convention->index_reg, (int32_t)jit_lanes_at_a_time(e->ir));
  tsri_x86_compare(e->code, convention->index_reg, convention->lanes_reg);
  tsri_x86_jump_if_below(e->code, loop);
}

static void end_round(jit_emitter *e, size_t round) {
  const x86_convention *convention = convention_of(e);
  for (uint32_t i = 0; i < e->stream_count; i++) {
    int reg = x86_stream_reg(convention, i);
    int32_t at = (int32_t)(8 * i);
    if (reg != X86_NONE) {
      tsri_x86_add_memory(e->code, reg, convention->steps_reg, at);
    } else {
      tsri_x86_load(e->code, convention->address_reg, convention->steps_reg, at);
      tsri_x86_add_to_memory(e->code, convention->streams_reg, at, convention->address_reg);
    }
  }
  tsri_x86_add(e->code, convention->rounds_reg, -1);
  tsri_x86_jump_if_not_zero(e->code, round);
}

#if defined(_WIN32)
#define X86_CONVENTION &tsri_x86_windows
#else
#define X86_CONVENTION &tsri_x86_system_v
#endif

#define X86_FUNCTIONS                                                                                               \
  .fill = fill, .copy = copy, .spill = spill, .repeat_scalar = repeat_scalar, .operation = emit_op, .begin = begin, \
  .begin_round = begin_round, .end_vector = end_vector, .end_round = end_round, .end = end,                         \
  .append_pool = tsri_x86_append_pool

const jit_target tsri_jit_avx2 = {.simd = "avx2",
                                  .title = "AVX2",
                                  .dialect = "x86",
                                  .vector_lanes = 8,
                                  .vector_regs = 16,
                                  .saturates_stores = true,
                                  .stores_past_caches = true,
                                  .has_64_bits = true,
                                  .has_fixed_streams = true,
                                  .convention = X86_CONVENTION,
                                  X86_FUNCTIONS};

const jit_target tsri_jit_avx512 = {.simd = "avx512",
                                    .title = "AVX-512",
                                    .dialect = "x86",
                                    .vector_lanes = 16,
                                    .vector_regs = 32,
                                    .orders_whole_numbers = true,
                                    .stores_past_caches = true,
                                    .reads_repeated = true,
                                    .scales_by_powers = true,
                                    .stores_masks = true,
                                    .has_64_bits = true,
                                    .converts_to_i64 = true,
                                    .has_fixed_streams = true,
                                    .has_evex = true,
                                    .convention = X86_CONVENTION,
                                    X86_FUNCTIONS};
