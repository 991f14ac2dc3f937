// SPDX-License-Identifier: MIT
// Register allocation: which value is in which register. Registers are allocated while the code is emitted.
#include <assert.h>

#include "backends/cpu/jit/convention.h"
#include "backends/cpu/jit/target.h"
#include "core/alloc.h"

// The last use of constants and scalars that keep a register throughout.
#define FOR_EVER UINT32_MAX

// --- Before the first instruction -------------------------------------------------------------------------------------

// Goes backwards: an operation is needed if it is a store, or if a needed operation uses its value.
static void find_last_uses(jit_emitter *e) {
  for (uint32_t i = e->ir->count; i-- > 0;) {
    const jit_op *op = &e->ir->ops[i];
    if (op->kind != JIT_STORE && e->places[i].last_use == 0) continue;
    jit_value operands[3] = {0};
    uint32_t count = tsri_jit_operands(op, operands);
    for (uint32_t k = 0; k < count; k++) {
      jit_place *to = &e->places[operands[k]];
      if (to->last_use == 0) to->last_use = i;
      to->use_count++;
      bool takes_mask = (op->kind == JIT_SELECT && k == 0) || (op->kind == JIT_STORE && op->element == JIT_TRUTH);
      if (!takes_mask) to->is_plain = true;
    }
  }
}

bool tsri_jit_emitter_init(jit_emitter *e, jit_ir *ir) {
  const jit_target *target = ir->target;
  *e = (jit_emitter){.ir = ir, .reg_count = target->vector_regs - (ir->needs_scratch ? 1 : 0)};
  uint32_t constants = 0;
  for (uint32_t i = 0; i < ir->count; i++) constants += jit_is_in_memory(&ir->ops[i]);
  e->places = tsri_calloc(ir->count + 1, sizeof *e->places);
  e->pool = tsri_calloc(constants * (target->reads_repeated ? 2 : target->vector_lanes) + 1, sizeof *e->pool);
  if (ir->failed || !e->places || !e->pool) return false;
  for (uint32_t i = 0; i < ir->count; i++) e->places[i] = (jit_place){.reg = JIT_NO_PLACE, .slot = JIT_NO_PLACE};
  find_last_uses(e);
  return true;
}

void tsri_jit_emitter_deinit(jit_emitter *e) {
  tsri_free(e->places);
  tsri_free(e->pool);
}

uint32_t tsri_jit_pressure(const jit_emitter *e) {
  uint32_t live = 0, most = 0;
  for (uint32_t i = 0; i < e->ir->count; i++) {
    jit_value operands[3] = {0};
    bool is_made = e->places[i].last_use != 0 && !jit_lies_in_memory(e, (jit_value)i);
    if (!is_made && e->ir->ops[i].kind != JIT_STORE) continue;
    live += is_made;
    if (live > most) most = live;
    uint32_t count = tsri_jit_operands(&e->ir->ops[i], operands);
    for (uint32_t k = 0; k < count; k++) {
      bool is_repeated = (k > 0 && operands[k] == operands[0]) || (k > 1 && operands[k] == operands[1]);
      if (!is_repeated && e->places[operands[k]].last_use == i && !jit_lies_in_memory(e, operands[k])) live--;
    }
  }
  return most;
}

void tsri_jit_fix_registers(jit_emitter *e) {
  enum { SPARE = 3 };  // kept for operands that an instruction needs in a register
  uint32_t pressure = tsri_jit_pressure(e) + SPARE;
  for (uint32_t reg = e->reg_count; reg > pressure; reg--) {
    uint32_t best = e->ir->count;
    for (uint32_t i = 0; i < e->ir->count; i++) {
      const jit_place *at = &e->places[i];
      if (!jit_lies_in_memory(e, (jit_value)i) || at->last_use == 0 || at->last_use == FOR_EVER) continue;
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

// --- Registers --------------------------------------------------------------------------------------------------------

int32_t tsri_jit_new_slot(jit_emitter *e) {
  uint32_t vector_bytes = e->ir->target->vector_lanes * 4;
  if ((e->slot_count + 1) * vector_bytes > JIT_FRAME_BYTES) {
    e->failed = e->ir->is_too_large = true;
    return 0;
  }
  return (int32_t)e->slot_count++;
}

void tsri_jit_give_up(jit_emitter *e, jit_value v) {
  jit_place *at = &e->places[v];
  if (at->reg == JIT_NO_PLACE) return;
  e->owned &= ~(1u << at->reg);
  at->reg = JIT_NO_PLACE;
}

static uint32_t next_use(const jit_emitter *e, jit_value v) {
  for (uint32_t i = e->at; i < e->ir->count; i++) {
    jit_value operands[3] = {0};
    uint32_t count = tsri_jit_operands(&e->ir->ops[i], operands);
    for (uint32_t k = 0; k < count; k++) {
      if (operands[k] == v) return i;
    }
  }
  return UINT32_MAX;
}

// Spills the value whose next use is farthest away, and returns its register.
static int evict(jit_emitter *e) {
  int chosen = JIT_NO_PLACE;
  uint32_t latest = 0;
  for (uint32_t i = 0; i < e->reg_count; i++) {
    if ((e->pinned | e->fixed) >> i & 1) continue;
    uint32_t use = next_use(e, e->owner[i]);
    if (chosen != JIT_NO_PLACE && use <= latest) continue;
    chosen = (int)i;
    latest = use;
  }
  assert(chosen != JIT_NO_PLACE);  // an operation pins fewer registers than exist
  jit_value v = e->owner[chosen];
  jit_place *at = &e->places[v];
  if (!jit_lies_in_memory(e, v) && at->slot == JIT_NO_PLACE) {
    at->slot = (int16_t)tsri_jit_new_slot(e);
    e->ir->target->spill(e, chosen, at->slot);
  }
  tsri_jit_give_up(e, v);
  return chosen;
}

int tsri_jit_take(jit_emitter *e, jit_value v) {
  int reg = JIT_NO_PLACE;
  for (uint32_t i = 0; i < e->reg_count && reg == JIT_NO_PLACE; i++) {
    if (!((e->owned | e->pinned) >> i & 1)) reg = (int)i;
  }
  if (reg == JIT_NO_PLACE) reg = evict(e);
  e->owned |= 1u << reg;
  e->pinned |= 1u << reg;
  e->owner[reg] = v;
  e->places[v].reg = (int16_t)reg;
  return reg;
}

int tsri_jit_in_register(jit_emitter *e, jit_value v) {
  if (!jit_has_register(e, v)) {
    int reg = tsri_jit_take(e, v);
    e->ir->target->fill(e, reg, v);
  }
  e->pinned |= 1u << e->places[v].reg;
  return e->places[v].reg;
}

void tsri_jit_release_operands(jit_emitter *e) {
  jit_value operands[3] = {0};
  uint32_t count = tsri_jit_operands(&e->ir->ops[e->at], operands);
  for (uint32_t k = 0; k < count; k++) {
    if (!jit_is_last_use(e, operands[k]) || !jit_has_register(e, operands[k])) continue;
    e->pinned &= ~(1u << e->places[operands[k]].reg);
    tsri_jit_give_up(e, operands[k]);
  }
}

int tsri_jit_result(jit_emitter *e) {
  tsri_jit_release_operands(e);
  return tsri_jit_take(e, (jit_value)e->at);
}

int tsri_jit_result_from(jit_emitter *e, jit_value v) {
  int had = e->places[v].reg;
  if (had != JIT_NO_PLACE && jit_is_last_use(e, v)) {
    tsri_jit_give_up(e, v);
    e->owned |= 1u << had;
    e->owner[had] = (jit_value)e->at;
    e->places[e->at].reg = (int16_t)had;
    tsri_jit_release_operands(e);
    return had;
  }
  int reg = tsri_jit_take(e, (jit_value)e->at);
  if (jit_has_register(e, v)) e->ir->target->copy(e, reg, e->places[v].reg);
  else e->ir->target->fill(e, reg, v);
  tsri_jit_release_operands(e);
  return reg;
}
