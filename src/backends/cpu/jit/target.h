// SPDX-License-Identifier: MIT
// What the compiler needs to know of a processor, and the functions that write its instructions.
//
// Everything else is independent of it: the operations (ir.h), the loop around them (emit.c), which value is in which register
// (registers.c). Vector registers are numbers from 0; which of the processor's they are, the target says.
#ifndef TSRI_CPU_JIT_TARGET_H
#define TSRI_CPU_JIT_TARGET_H

#include "backends/cpu/jit/emitter.h"

typedef struct jit_target {
  const char *simd;     // level (TESSERA_SIMD) at which this code runs
  const char *title;    // as people call it
  const char *dialect;  // of the listing (print.h)
  uint32_t vector_lanes, vector_regs;
  bool orders_whole_numbers;                // has JIT_LT_I, JIT_LE_I, JIT_LT_U and JIT_LE_U
  bool saturates_stores;                    // of elements narrower than 32 bits; else they keep the low bits
  bool stores_past_caches;                  // emitter.past_caches means something
  bool reads_repeated;                      // an instruction's operand may be one element in memory, repeated
  bool scales_by_powers;                    // has JIT_SCALE_F
  bool stores_masks;                        // has JIT_TRUTH
  bool has_64_bits;                         // has the operations on lanes of 64 bits
  bool converts_to_i64;                     // has JIT_WHOLE_OF_D
  bool has_fixed_streams;                   // jit_op.is_fixed
  bool has_evex;                            // x86-64: AVX-512
  const struct x86_convention *convention;  // x86-64

  // Reads a value that is in memory into a register, copies registers, stores one in a slot of the stack.
  void (*fill)(jit_emitter *e, int reg, jit_value v);
  void (*copy)(jit_emitter *e, int to, int from);
  void (*spill)(jit_emitter *e, int reg, int32_t slot);
  // Before the loops: the scalar register `number`, repeated, into a slot. Not called if reads_repeated.
  void (*repeat_scalar)(jit_emitter *e, uint32_t number, int32_t slot, bool is_64);
  void (*operation)(jit_emitter *e, const jit_op *op);

  // The function: begin, then for each round begin_round, then for each vector the operations and end_vector, which jumps to `loop`
  // while there are lanes left; end_round moves streams on and jumps to `round` while there are rounds left; end; the pool.
  void (*begin)(jit_emitter *e);
  void (*begin_round)(jit_emitter *e);
  void (*end_vector)(jit_emitter *e, size_t loop);
  void (*end_round)(jit_emitter *e, size_t round);
  void (*end)(jit_emitter *e);
  void (*append_pool)(machine_code *code, const void *pool, size_t bytes);
} jit_target;

// Every target, in the order of a program's slots; `simd` of the entries differs.
enum { JIT_TARGET_COUNT = 3 };
extern const jit_target *const tsri_jit_targets[JIT_TARGET_COUNT];

extern const jit_target tsri_jit_avx2, tsri_jit_avx512, tsri_jit_neon;

// Lanes that one turn of the loop does: the lanes of a call are a multiple of them.
static inline uint32_t jit_lanes_at_a_time(const jit_ir *ir) {
  return ir->target->vector_lanes * (ir->parts > 1 ? ir->parts : 1u);
}

// Whether this process can call code for the target, provided that the processor has its instructions. If it cannot call code for any target, the compiler is not
// linked.
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
