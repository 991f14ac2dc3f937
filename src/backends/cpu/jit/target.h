// SPDX-License-Identifier: MIT
// Properties of a target processor, and the functions that emit its instructions.
//
// Everything else is independent of the target: the operations (ir.h), the loop around them (emit.c), register allocation (registers.c). Vector registers are
// numbered from 0; the target maps them to the processor's registers.
#ifndef TSRI_CPU_JIT_TARGET_H
#define TSRI_CPU_JIT_TARGET_H

#include "backends/cpu/jit/emitter.h"

typedef struct jit_target {
  const char *simd;     // level (TESSERA_SIMD) at which this code runs
  const char *title;    // as people write it
  const char *dialect;  // of the listing (print.h)
  uint32_t vector_lanes, vector_regs;
  bool orders_whole_numbers;  // has JIT_LT_I, JIT_LE_I, JIT_LT_U and JIT_LE_U
  bool saturates_stores;      // stores of elements narrower than 32 bits saturate; else they keep the low bits
  bool stores_past_caches;    // has non-temporal stores (emitter.past_caches)
  bool reads_repeated;        // an operand may be one element in memory, repeated for all lanes
  bool scales_by_powers;      // has JIT_SCALE_F
  bool stores_masks;          // has JIT_TRUTH
  bool has_64_bits;           // has the operations on lanes of 64 bits
  bool converts_to_i64;       // has JIT_WHOLE_OF_D
  bool has_fixed_streams;     // jit_op.is_fixed
  bool has_evex;              // x86-64: AVX-512
  const struct x86_convention *convention;  // x86-64

  // fill: loads a value that is in memory into a register. Others: copy a register; store a register in a stack slot.
  void (*fill)(jit_emitter *e, int reg, jit_value v);
  void (*copy)(jit_emitter *e, int to, int from);
  void (*spill)(jit_emitter *e, int reg, int32_t slot);
  // Before the loops: stores the scalar register `number`, repeated for all lanes, in a slot. Not called if reads_repeated.
  void (*repeat_scalar)(jit_emitter *e, uint32_t number, int32_t slot, bool is_64);
  void (*operation)(jit_emitter *e, const jit_op *op);

  // Parts of the function, in this order: begin; for each round begin_round; for each vector the operations and end_vector, which jumps to `loop` while lanes
  // are left; end_round, which advances the streams and jumps to `round` while rounds are left; end; the pool.
  void (*begin)(jit_emitter *e);
  void (*begin_round)(jit_emitter *e);
  void (*end_vector)(jit_emitter *e, size_t loop);
  void (*end_round)(jit_emitter *e, size_t round);
  void (*end)(jit_emitter *e);
  void (*append_pool)(machine_code *code, const void *pool, size_t bytes);
} jit_target;

// All targets, in the order of a program's slots; each has a different `simd`.
enum { JIT_TARGET_COUNT = 3 };
extern const jit_target *const tsri_jit_targets[JIT_TARGET_COUNT];

extern const jit_target tsri_jit_avx2, tsri_jit_avx512, tsri_jit_neon;

// Lanes that one turn of the loop processes. The number of lanes in a call must be a multiple of it.
static inline uint32_t jit_lanes_at_a_time(const jit_ir *ir) {
  return ir->target->vector_lanes * (ir->parts > 1 ? ir->parts : 1u);
}

// Whether this process can call code for the target, if the processor has its instructions. If it can call code for no target, the compiler is not linked.
static inline bool jit_can_call(const jit_target *target) {
#if defined(__x86_64__) && !defined(_WIN32)
  return target->convention != NULL;
#elif defined(__aarch64__) && !defined(_WIN32)
  return target->convention == NULL;
#else
  (void)target;
  return false;
#endif
}

#endif
