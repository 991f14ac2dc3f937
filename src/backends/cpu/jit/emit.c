// SPDX-License-Identifier: MIT
// Machine code for a loop over vectors of lanes; registers are given out while it is written.
//
// Operations are taken in order. A value gets a register where it is made, and keeps it until its last use or until the register
// is needed for another value: then the value that is used again last of all is stored on the stack. Whatever is not in a
// register is read as an operand in memory where the instruction allows it. Constants are in a pool behind the code.
#include "backends/cpu/jit/emit.h"

#include <string.h>

#include "backends/cpu/jit/convention.h"
#include "core/alloc.h"

enum { MOST_REGS = 32, NO_PLACE = -1 };

// What is known of a value.
typedef struct place {
  int16_t reg;       // NO_PLACE: none
  int16_t slot;      // on the stack, or in the pool for a constant; NO_PLACE: none
  uint8_t mask_reg;  // AVX-512: the mask register that holds it; 0: none
  bool is_plain;     // used by something other than a selection
  uint16_t use_count;
  uint32_t last_use;  // number of an operation; 0: never used
} place;

// Constants and scalars that keep a register have no last use.
#define FOR_EVER UINT32_MAX

typedef struct emitter {
  jit_ir *ir;
  x86_code *code;
  place *places;  // by value
  uint32_t at;    // the operation at hand
  jit_value owner[MOST_REGS];
  uint32_t reg_count, owned, pinned;  // bits by register; pinned: operands of the operation at hand
  uint32_t fixed;                     // bits by register: hold a constant or scalar throughout
  uint32_t mask_regs;                 // bits by mask register: in use
  uint32_t slot_count;
  uint32_t *pool;  // one word for each constant
  uint32_t pool_count;
  bool past_caches, failed;
} emitter;

static x86_width width_of(const emitter *e) { return e->ir->has_evex ? X86_512 : X86_256; }
static uint32_t vector_bytes(const emitter *e) { return e->ir->has_evex ? 64 : 32; }

static bool lies_in_memory(const emitter *e, jit_value v) {
  return e->ir->ops[v].kind == JIT_CONST || e->ir->ops[v].kind == JIT_SCALAR;
}

// --- Places -----------------------------------------------------------------------------------------------------------

// Backwards: an operation counts if it is a store or one that counts uses its value.
static void find_last_uses(emitter *e) {
  for (uint32_t i = e->ir->count; i-- > 0;) {
    const jit_op *op = &e->ir->ops[i];
    if (op->kind != JIT_STORE && e->places[i].last_use == 0) continue;
    jit_value operands[3] = {0};
    uint32_t count = tsri_jit_operands(op, operands);
    for (uint32_t k = 0; k < count; k++) {
      place *to = &e->places[operands[k]];
      if (to->last_use == 0) to->last_use = i;
      to->use_count++;
      if (op->kind != JIT_SELECT || k != 0) to->is_plain = true;
    }
  }
}

// The most values that are needed at once, those in memory aside.
static uint32_t find_pressure(const emitter *e) {
  uint32_t live = 0, most = 0;
  for (uint32_t i = 0; i < e->ir->count; i++) {
    jit_value operands[3] = {0};
    bool is_made = e->places[i].last_use != 0 && !lies_in_memory(e, (jit_value)i);
    if (!is_made && e->ir->ops[i].kind != JIT_STORE) continue;
    live += is_made;
    if (live > most) most = live;
    uint32_t count = tsri_jit_operands(&e->ir->ops[i], operands);
    for (uint32_t k = 0; k < count; k++) {
      bool is_repeated = (k > 0 && operands[k] == operands[0]) || (k > 1 && operands[k] == operands[1]);
      if (!is_repeated && e->places[operands[k]].last_use == i && !lies_in_memory(e, operands[k])) live--;
    }
  }
  return most;
}

// Gives the registers that no other value will need to the constants and scalars that are used most.
static void fix_registers(emitter *e) {
  enum { SPARE = 3 };  // for operands that an instruction needs in a register
  uint32_t pressure = find_pressure(e) + SPARE;
  for (uint32_t reg = e->reg_count; reg > pressure; reg--) {
    uint32_t best = e->ir->count;
    for (uint32_t i = 0; i < e->ir->count; i++) {
      const place *at = &e->places[i];
      if (!lies_in_memory(e, (jit_value)i) || at->last_use == 0 || at->last_use == FOR_EVER) continue;
      if (best == e->ir->count || at->use_count > e->places[best].use_count) best = i;
    }
    if (best == e->ir->count) return;
    e->places[best].last_use = FOR_EVER;
    e->places[best].reg = (int16_t)(reg - 1);
    e->owner[reg - 1] = (jit_value)best;
    e->owned |= 1u << (reg - 1);
    e->fixed |= 1u << (reg - 1);
  }
}

static int32_t new_slot(emitter *e) {
  if ((e->slot_count + 1) * vector_bytes(e) > JIT_FRAME_BYTES) {
    e->failed = e->ir->is_too_large = true;
    return 0;
  }
  return (int32_t)e->slot_count++;
}

static x86_operand slot_operand(const emitter *e, int32_t slot) {
  return x86_memory(X86_RSP, slot * (int32_t)vector_bytes(e));
}

// Where the value is in memory.
static x86_operand memory_of(const emitter *e, jit_value v) {
  const place *at = &e->places[v];
  const jit_op *op = &e->ir->ops[v];
  bool is_evex = e->ir->has_evex;
  if (op->kind == JIT_CONST) {
    return (x86_operand){.is_memory = true,
                         .is_pool = true,
                         .is_repeated = is_evex,
                         .index = X86_NONE,
                         .disp = at->slot * (is_evex ? 4 : (int32_t)vector_bytes(e))};
  }
  if (op->kind == JIT_SCALAR && is_evex) {
    x86_operand scalar = x86_memory(tsri_jit_scalars_reg, (int32_t)(8 * op->number));
    scalar.is_repeated = true;
    return scalar;
  }
  return slot_operand(e, at->slot);
}

static x86_operand operand(const emitter *e, jit_value v) {
  return e->places[v].reg != NO_PLACE ? x86_reg(e->places[v].reg) : memory_of(e, v);
}

// --- Registers --------------------------------------------------------------------------------------------------------

static void release(emitter *e, jit_value v) {
  place *at = &e->places[v];
  if (at->reg == NO_PLACE) return;
  e->owned &= ~(1u << at->reg);
  at->reg = NO_PLACE;
}

static uint32_t next_use(const emitter *e, jit_value v) {
  for (uint32_t i = e->at; i < e->ir->count; i++) {
    jit_value operands[3] = {0};
    uint32_t count = tsri_jit_operands(&e->ir->ops[i], operands);
    for (uint32_t k = 0; k < count; k++) {
      if (operands[k] == v) return i;
    }
  }
  return UINT32_MAX;
}

// Stores the value that is not needed for longest, and returns the register it had.
static int evict(emitter *e) {
  int chosen = NO_PLACE;
  uint32_t latest = 0;
  for (uint32_t i = 0; i < e->reg_count; i++) {
    if ((e->pinned | e->fixed) >> i & 1) continue;
    uint32_t use = next_use(e, e->owner[i]);
    if (chosen != NO_PLACE && use <= latest) continue;
    chosen = (int)i;
    latest = use;
  }
  jit_value v = e->owner[chosen];
  place *at = &e->places[v];
  if (!lies_in_memory(e, v) && at->slot == NO_PLACE) {
    at->slot = (int16_t)new_slot(e);
    tsri_x86_vector(e->code, X86_VMOVUPS_STORE, width_of(e), chosen, X86_NONE, slot_operand(e, at->slot), X86_NONE);
  }
  release(e, v);
  return chosen;
}

// A register for `v`, which has none.
static int take(emitter *e, jit_value v) {
  int reg = NO_PLACE;
  for (uint32_t i = 0; i < e->reg_count && reg == NO_PLACE; i++) {
    if (!((e->owned | e->pinned) >> i & 1)) reg = (int)i;
  }
  if (reg == NO_PLACE) reg = evict(e);
  e->owned |= 1u << reg;
  e->pinned |= 1u << reg;
  e->owner[reg] = v;
  e->places[v].reg = (int16_t)reg;
  return reg;
}

static void copy(emitter *e, int reg, x86_operand from) {
  x86_insn insn = from.is_repeated ? X86_VBROADCASTSS : X86_VMOVUPS;
  from.is_repeated = false;
  tsri_x86_vector(e->code, insn, width_of(e), reg, X86_NONE, from, X86_NONE);
}

static int in_register(emitter *e, jit_value v) {
  if (e->places[v].reg == NO_PLACE) {
    x86_operand from = operand(e, v);
    copy(e, take(e, v), from);
  }
  e->pinned |= 1u << e->places[v].reg;
  return e->places[v].reg;
}

static bool is_last_use(const emitter *e, jit_value v) { return e->places[v].last_use == e->at; }

// Operands that are not used again give up their registers, which stay as they are until the result is written. They may become
// the result's: an instruction reads before it writes.
static void release_operands(emitter *e) {
  jit_value operands[3] = {0};
  uint32_t count = tsri_jit_operands(&e->ir->ops[e->at], operands);
  for (uint32_t k = 0; k < count; k++) {
    if (!is_last_use(e, operands[k]) || e->places[operands[k]].reg == NO_PLACE) continue;
    e->pinned &= ~(1u << e->places[operands[k]].reg);
    release(e, operands[k]);
  }
}

static int result(emitter *e) {
  release_operands(e);
  return take(e, (jit_value)e->at);
}

// The register of the result, which holds `v` now: instructions that write one of their operands need it. All other operands are
// in registers and pinned, or in memory.
static int result_from(emitter *e, jit_value v) {
  int had = e->places[v].reg;
  if (had != NO_PLACE && is_last_use(e, v)) {
    release(e, v);
    e->owned |= 1u << had;
    e->owner[had] = (jit_value)e->at;
    e->places[e->at].reg = (int16_t)had;
    release_operands(e);
    return had;
  }
  x86_operand from = operand(e, v);
  int reg = take(e, (jit_value)e->at);
  copy(e, reg, from);
  release_operands(e);
  return reg;
}

// --- Memory -----------------------------------------------------------------------------------------------------------

static x86_operand stream_operand(emitter *e, const jit_op *op) {
  static const uint8_t scales[] = {
      [JIT_E32] = 2, [JIT_U16] = 1, [JIT_I16] = 1, [JIT_U8] = 0, [JIT_I8] = 0, [JIT_F16] = 1};
  int base = tsri_jit_stream_reg(op->number);
  if (base == X86_NONE) {
    base = tsri_jit_address_reg;
    tsri_x86_load(e->code, base, tsri_jit_streams_reg, (int32_t)(8 * op->number));
  }
  uint32_t part_bytes = jit_vector_lanes(e->ir->has_evex) << scales[op->element];
  return (x86_operand){.is_memory = true,
                       .base = (int8_t)base,
                       .index = (int8_t)tsri_jit_index_reg,
                       .scale = scales[op->element],
                       .disp = (int32_t)(op->part * part_bytes)};
}

static void emit_load(emitter *e, const jit_op *op) {
  static const uint8_t loads[] = {[JIT_E32] = X86_VMOVUPS,  [JIT_U16] = X86_VPMOVZXWD, [JIT_I16] = X86_VPMOVSXWD,
                                  [JIT_U8] = X86_VPMOVZXBD, [JIT_I8] = X86_VPMOVSXBD,  [JIT_F16] = X86_VCVTPH2PS};
  x86_operand from = stream_operand(e, op);
  tsri_x86_vector(e->code, (x86_insn)loads[op->element], width_of(e), result(e), X86_NONE, from, X86_NONE);
}

// AVX2 has no instruction that keeps the low bits of each lane: both halves are packed side by side, which saturates, so these
// values have no other bits.
static void pack_and_store(emitter *e, int reg, x86_operand to, bool is_byte) {
  int packed = take(e, (jit_value)e->at);
  tsri_x86_vector(e->code, X86_VEXTRACTI128, X86_256, reg, X86_NONE, x86_reg(packed), 1);
  tsri_x86_vector(e->code, X86_VPACKUSDW, X86_128, packed, reg, x86_reg(packed), X86_NONE);
  if (is_byte) {
    tsri_x86_vector(e->code, X86_VPACKUSWB, X86_128, packed, packed, x86_reg(packed), X86_NONE);
    tsri_x86_vector(e->code, X86_VMOVQ_STORE, X86_128, packed, X86_NONE, to, X86_NONE);
  } else {
    tsri_x86_vector(e->code, X86_VMOVUPS_STORE, X86_128, packed, X86_NONE, to, X86_NONE);
  }
  release(e, (jit_value)e->at);
}

static void emit_store(emitter *e, const jit_op *op) {
  jit_element element = (jit_element)op->element;
  int reg = in_register(e, op->a);
  x86_operand to = stream_operand(e, op);
  bool is_byte = element == JIT_U8 || element == JIT_I8;
  if (element == JIT_E32) {
    bool is_past = e->past_caches && op->imm != 0;
    tsri_x86_vector(e->code, is_past ? X86_VMOVNTPS : X86_VMOVUPS_STORE, width_of(e), reg, X86_NONE, to, X86_NONE);
  } else if (element == JIT_F16) {
    tsri_x86_vector(e->code, X86_VCVTPS2PH, width_of(e), reg, X86_NONE, to, 0);
  } else if (e->ir->has_evex) {
    tsri_x86_vector(e->code, is_byte ? X86_VPMOVDB : X86_VPMOVDW, X86_512, reg, X86_NONE, to, X86_NONE);
  } else {
    pack_and_store(e, reg, to, is_byte);
  }
  release_operands(e);
}

// --- Arithmetic -------------------------------------------------------------------------------------------------------

static bool commutes(uint8_t insn) {
  switch (insn) {
    case X86_VADDPS:
    case X86_VMULPS:
    case X86_VPAND:
    case X86_VPOR:
    case X86_VPXOR:
    case X86_VPADDD:
    case X86_VPMULLD:
    case X86_VPMINSD:
    case X86_VPMINUD:
    case X86_VPMAXSD:
    case X86_VPMAXUD:
    case X86_VPCMPEQD:
      return true;
    default:
      return false;
  }
}

// A comparison of AVX-512 leaves its result in a mask register. It stays there if only selections use it.
static void emit_mask(emitter *e, const jit_op *op, int reg, x86_operand rm, int imm) {
  enum { FREE_FOR_ANY = 1, FIRST_KEPT = 2, MASK_REGS = 8 };
  int mask = FREE_FOR_ANY;
  for (int i = FIRST_KEPT; i < MASK_REGS && mask == FREE_FOR_ANY && !e->places[e->at].is_plain; i++) {
    if (!(e->mask_regs >> i & 1)) mask = i;
  }
  tsri_x86_vector(e->code, (x86_insn)op->insn, X86_512, mask, reg, rm, imm);
  if (mask != FREE_FOR_ANY) {
    e->mask_regs |= 1u << mask;
    e->places[e->at].mask_reg = (uint8_t)mask;
    release_operands(e);
  } else {
    tsri_x86_vector(e->code, X86_VPMOVM2D, X86_512, result(e), X86_NONE, x86_reg(mask), X86_NONE);
  }
}

static void emit_binary(emitter *e, const jit_op *op) {
  bool is_swapped = commutes(op->insn) && e->places[op->a].reg == NO_PLACE && e->places[op->b].reg != NO_PLACE;
  jit_value first = is_swapped ? op->b : op->a, second = is_swapped ? op->a : op->b;
  int imm = op->imm == JIT_NO_IMM ? X86_NONE : op->imm;
  if (e->places[second].reg != NO_PLACE) in_register(e, second);  // pinned
  int reg = in_register(e, first);
  x86_operand rm = operand(e, second);
  if (op->kind == JIT_COMPARE && e->ir->has_evex) emit_mask(e, op, reg, rm, imm);
  else tsri_x86_vector(e->code, (x86_insn)op->insn, width_of(e), result(e), reg, rm, imm);
}

static void emit_unary(emitter *e, const jit_op *op) {
  if (e->places[op->a].reg != NO_PLACE) in_register(e, op->a);
  x86_operand rm = operand(e, op->a);
  int imm = op->imm == JIT_NO_IMM ? X86_NONE : op->imm;
  tsri_x86_vector(e->code, (x86_insn)op->insn, width_of(e), result(e), X86_NONE, rm, imm);
}

static void emit_shift(emitter *e, const jit_op *op) {
  int from = in_register(e, op->a);
  tsri_x86_vector(e->code, X86_VPSHIFTD, width_of(e), (int)op->number, result(e), x86_reg(from), op->imm);
}

static void pin_if_in_register(emitter *e, jit_value v) {
  if (e->places[v].reg != NO_PLACE) in_register(e, v);
}

// One of the three is written. 231: the sum's operand; 213 and 132: a factor, with the sum's operand or the other factor last.
static void emit_fma(emitter *e, const jit_op *op) {
  jit_value a = op->a, b = op->b, c = op->c;
  pin_if_in_register(e, a);
  pin_if_in_register(e, b);
  pin_if_in_register(e, c);
  bool a_is_in = e->places[a].reg != NO_PLACE, b_is_in = e->places[b].reg != NO_PLACE;
  if (!a_is_in && b_is_in) {
    jit_value swap = a;
    a = b;
    b = swap;
    b_is_in = false;
  }
  int first = in_register(e, a);
  if (e->places[c].reg != NO_PLACE && (is_last_use(e, c) || !b_is_in)) {
    x86_operand last = operand(e, b);
    tsri_x86_vector(e->code, X86_VFMADD231PS, width_of(e), result_from(e, c), first, last, X86_NONE);
    return;
  }
  int second = in_register(e, b);
  x86_operand last = operand(e, c);
  if (!is_last_use(e, a) && is_last_use(e, b)) {
    tsri_x86_vector(e->code, X86_VFMADD213PS, width_of(e), result_from(e, b), first, last, X86_NONE);
  } else {
    tsri_x86_vector(e->code, X86_VFMADD213PS, width_of(e), result_from(e, a), second, last, X86_NONE);
  }
}

static void emit_select_by_register(emitter *e, const jit_op *op) {
  place *mask = &e->places[op->a];
  int no = in_register(e, op->c);
  x86_operand yes = operand(e, op->b);
  yes.mask = mask->mask_reg;
  if (is_last_use(e, op->a)) e->mask_regs &= ~(1u << mask->mask_reg);
  tsri_x86_vector(e->code, X86_VBLENDMPS, X86_512, result(e), no, yes, X86_NONE);
}

static void emit_select(emitter *e, const jit_op *op) {
  enum { A_THEN_B_ELSE_C = 0xca };  // the table of vpternlogd
  pin_if_in_register(e, op->b);
  pin_if_in_register(e, op->c);
  if (e->places[op->a].mask_reg != 0) {
    emit_select_by_register(e, op);
    return;
  }
  int mask = in_register(e, op->a);
  if (e->ir->has_evex) {
    int yes = in_register(e, op->b);
    x86_operand no = operand(e, op->c);
    tsri_x86_vector(e->code, X86_VPTERNLOGD, X86_512, result_from(e, op->a), yes, no, A_THEN_B_ELSE_C);
  } else {
    int no = in_register(e, op->c);
    x86_operand yes = operand(e, op->b);
    tsri_x86_vector(e->code, X86_VBLENDVPS, X86_256, result(e), no, yes, mask << 4);
  }
}

static void emit_round_f16(emitter *e, const jit_op *op) {
  int from = in_register(e, op->a), to = result(e);
  tsri_x86_vector(e->code, X86_VCVTPS2PH, width_of(e), from, X86_NONE, x86_reg(to), 0);
  tsri_x86_vector(e->code, X86_VCVTPH2PS, width_of(e), to, X86_NONE, x86_reg(to), X86_NONE);
}

static void emit_op(emitter *e, const jit_op *op) {
  switch ((jit_kind)op->kind) {
    case JIT_LOAD:
      emit_load(e, op);
      break;
    case JIT_STORE:
      emit_store(e, op);
      break;
    case JIT_CONST:
    case JIT_SCALAR:
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

// Constants go to the pool. Scalars are repeated on the stack, once, unless instructions repeat them.
static void place_constants(emitter *e) {
  for (uint32_t i = 0; i < e->ir->count; i++) {
    const jit_op *op = &e->ir->ops[i];
    place *at = &e->places[i];
    if (op->kind == JIT_CONST) {
      at->slot = (int16_t)e->pool_count;
      e->pool[e->pool_count++] = op->number;
    } else if (op->kind == JIT_SCALAR && !e->ir->has_evex && at->last_use != 0) {
      at->slot = (int16_t)new_slot(e);
      x86_operand scalar = x86_memory(tsri_jit_scalars_reg, (int32_t)(8 * op->number));
      tsri_x86_vector(e->code, X86_VBROADCASTSS, X86_256, 0, X86_NONE, scalar, X86_NONE);
      tsri_x86_vector(e->code, X86_VMOVUPS_STORE, X86_256, 0, X86_NONE, slot_operand(e, at->slot), X86_NONE);
    }
  }
}

// Before the loop: the constants and scalars that have registers are read.
static void load_fixed(emitter *e) {
  for (uint32_t reg = 0; reg < e->reg_count; reg++) {
    if (e->fixed >> reg & 1) copy(e, (int)reg, memory_of(e, e->owner[reg]));
  }
}

static void emit_body(emitter *e) {
  for (e->at = 0; e->at < e->ir->count && !e->failed; e->at++) {
    const jit_op *op = &e->ir->ops[e->at];
    if (op->kind != JIT_STORE && e->places[e->at].last_use == 0) continue;
    e->pinned = 0;
    emit_op(e, op);
  }
}

static void append_pool(emitter *e) {
  uint32_t repeats = e->ir->has_evex ? 1 : vector_bytes(e) / 4;
  size_t bytes = (size_t)e->pool_count * repeats * sizeof(uint32_t);
  uint32_t *pool = tsri_malloc(bytes + 1);
  if (!pool) {
    e->failed = true;
    return;
  }
  for (uint32_t i = 0; i < e->pool_count * repeats; i++) pool[i] = e->pool[i / repeats];
  tsri_x86_append_pool(e->code, pool, bytes);
  tsri_free(pool);
}

static void move_streams(x86_code *code, uint32_t stream_count) {
  for (uint32_t i = 0; i < stream_count; i++) {
    int reg = tsri_jit_stream_reg(i);
    int32_t at = (int32_t)(8 * i);
    if (reg != X86_NONE) {
      tsri_x86_add_memory(code, reg, tsri_jit_steps_reg, at);
    } else {
      tsri_x86_load(code, tsri_jit_address_reg, tsri_jit_steps_reg, at);
      tsri_x86_add_to_memory(code, tsri_jit_streams_reg, at, tsri_jit_address_reg);
    }
  }
}

static void emit_function(emitter *e, uint32_t stream_count) {
  x86_code *code = e->code;
  tsri_jit_enter(code, stream_count);
  place_constants(e);
  load_fixed(e);
  if (code->listing) tsri_builder_add(code->listing, "round:\n");
  size_t round = code->count;
  tsri_x86_clear(code, tsri_jit_index_reg);
  if (code->listing) tsri_builder_add(code->listing, "loop:\n");
  size_t loop = code->count;
  emit_body(e);
  tsri_x86_add(code, tsri_jit_index_reg, (int32_t)jit_lanes_at_a_time(e->ir));
  tsri_x86_compare(code, tsri_jit_index_reg, tsri_jit_lanes_reg);
  tsri_x86_jump_if_below(code, loop);
  move_streams(code, stream_count);
  tsri_x86_add(code, tsri_jit_rounds_reg, -1);
  tsri_x86_jump_if_not_zero(code, round);
  tsri_jit_leave(code, stream_count);
  append_pool(e);
}

static bool emitter_init(emitter *e, jit_ir *ir) {
  *e = (emitter){.ir = ir, .reg_count = ir->has_evex ? 32 : 16};
  e->places = tsri_calloc(ir->count + 1, sizeof *e->places);
  e->pool = tsri_calloc(ir->count + 1, sizeof *e->pool);
  if (ir->failed || !e->places || !e->pool) return false;
  for (uint32_t i = 0; i < ir->count; i++) e->places[i] = (place){.reg = NO_PLACE, .slot = NO_PLACE};
  find_last_uses(e);
  return true;
}

static void emitter_deinit(emitter *e) {
  tsri_free(e->places);
  tsri_free(e->pool);
}

uint32_t tsri_jit_best_parts(jit_ir *ir) {
  enum { FEWEST = 8, MOST_OPS = 512, SPARE = 6 };
  emitter e;
  uint32_t parts = 1;
  if (emitter_init(&e, ir) && ir->count >= FEWEST) {
    uint32_t pressure = find_pressure(&e);
    while (parts < JIT_MOST_PARTS && 2 * parts * pressure + SPARE <= e.reg_count && 2 * parts * ir->count <= MOST_OPS) {
      parts *= 2;
    }
  }
  emitter_deinit(&e);
  return parts;
}

bool tsri_jit_emit(jit_ir *ir, uint32_t stream_count, bool past_caches, x86_code *code) {
  emitter e;
  code->has_evex = ir->has_evex;
  bool is_ready = emitter_init(&e, ir);
  if (is_ready) {
    e.code = code;
    e.past_caches = past_caches;
    fix_registers(&e);
    emit_function(&e, stream_count);
  }
  emitter_deinit(&e);
  return is_ready && !e.failed && !code->failed;
}
