// SPDX-License-Identifier: MIT
// Generates a function that performs a run's operations for one vector of lanes after the other, for any target.
#include "backends/cpu/jit/emit.h"

// Words of the pool that each constant takes.
static uint32_t pool_unit(const jit_target *target) { return target->reads_repeated ? 1 : target->vector_lanes; }

// Puts constants into the pool. Scalars are stored on the stack once, repeated for all lanes, unless the target's instructions repeat them.
static void place_constants(jit_emitter *e) {
  const jit_target *target = e->ir->target;
  for (uint32_t i = 0; i < e->ir->count; i++) {
    const jit_op *op = &e->ir->ops[i];
    jit_place *at = &e->places[i];
    bool is_64 = jit_is_64_in_memory(op), is_scalar = op->kind == JIT_SCALAR || op->kind == JIT_SCALAR_64;
    if (at->last_use == 0) continue;
    if (op->kind == JIT_CONST || op->kind == JIT_CONST_64) {
      at->slot = (int16_t)(e->pool_count / pool_unit(target));
      uint32_t words = is_64 && pool_unit(target) == 1 ? 2 : pool_unit(target);
      for (uint32_t k = 0; k < words; k++) e->pool[e->pool_count++] = is_64 && k % 2 == 1 ? op->high : op->number;
    } else if (is_scalar && !target->reads_repeated) {
      at->slot = (int16_t)tsri_jit_new_slot(e);
      target->repeat_scalar(e, op->number, at->slot, is_64);
    }
  }
}

// Before the loop, loads the constants and scalars that have registers.
static void load_fixed(jit_emitter *e) {
  for (uint32_t reg = 0; reg < e->reg_count; reg++) {
    if (e->fixed >> reg & 1) e->ir->target->fill(e, (int)reg, e->owner[reg]);
  }
}

static void emit_body(jit_emitter *e) {
  for (e->at = 0; e->at < e->ir->count && !e->failed; e->at++) {
    const jit_op *op = &e->ir->ops[e->at];
    if (op->kind != JIT_STORE && e->places[e->at].last_use == 0) continue;
    e->pinned = 0;
    e->ir->target->operation(e, op);
  }
}

static void emit_function(jit_emitter *e) {
  const jit_target *target = e->ir->target;
  target->begin(e);
  place_constants(e);
  load_fixed(e);
  CODE_LIST(e->code, "round:\n");
  size_t round = e->code->count;
  target->begin_round(e);
  CODE_LIST(e->code, "loop:\n");
  size_t loop = e->code->count;
  emit_body(e);
  target->end_vector(e, loop);
  target->end_round(e, round);
  target->end(e);
  target->append_pool(e->code, e->pool, e->pool_count * sizeof *e->pool);
}

uint32_t tsri_jit_best_parts(jit_ir *ir) {
  enum { MOST_OPS = 512, SPARE = 6 };
  jit_emitter e;
  uint32_t parts = 1;
  if (tsri_jit_emitter_init(&e, ir)) {
    uint32_t pressure = tsri_jit_pressure(&e);
    while (parts < JIT_MOST_PARTS && 2 * parts * pressure + SPARE <= e.reg_count && 2 * parts * ir->count <= MOST_OPS) {
      parts *= 2;
    }
  }
  tsri_jit_emitter_deinit(&e);
  return parts;
}

bool tsri_jit_emit(jit_ir *ir, uint32_t stream_count, bool past_caches, machine_code *code) {
  jit_emitter e;
  code->has_evex = ir->target->has_evex;
  bool is_ready = tsri_jit_emitter_init(&e, ir);
  if (is_ready) {
    e.code = code;
    e.stream_count = stream_count;
    e.past_caches = past_caches;
    tsri_jit_fix_registers(&e);
    emit_function(&e);
  }
  tsri_jit_emitter_deinit(&e);
  return is_ready && !e.failed && !code->failed;
}
