// SPDX-License-Identifier: MIT
// A function that is being written: where each value is at the operation at hand.
//
// Operations are emitted in order. A value gets a register where it is computed, and keeps it until its last use, or until no register is free for another value: then the
// value whose next use is farthest away is stored on the stack. Constants are in a pool behind the code. Constants and scalars keep a register throughout if some are
// left over.
#ifndef TSRI_CPU_JIT_EMITTER_H
#define TSRI_CPU_JIT_EMITTER_H

#include "backends/cpu/jit/code.h"
#include "backends/cpu/jit/ir.h"

enum { JIT_MOST_REGS = 32, JIT_NO_PLACE = -1 };

// What is known of a value.
typedef struct jit_place {
  int16_t reg;       // JIT_NO_PLACE: none
  int16_t slot;      // on the stack, or in the pool for a constant; JIT_NO_PLACE: none
  uint8_t mask_reg;  // AVX-512: the mask register that holds it; 0: none
  bool is_plain;     // used by something that cannot take it from a mask register
  uint16_t use_count;
  uint32_t last_use;  // number of an operation; 0: never used; UINT32_MAX: keeps its register
} jit_place;

typedef struct jit_emitter {
  jit_ir *ir;
  machine_code *code;
  uint32_t stream_count;
  jit_place *places;  // by value
  uint32_t at;        // the operation at hand
  jit_value owner[JIT_MOST_REGS];
  uint32_t reg_count, owned, pinned;  // bits by register; pinned: operands of the operation at hand
  uint32_t fixed;                     // bits by register: hold a constant or scalar throughout
  uint32_t mask_regs;                 // AVX-512: bits by mask register: in use
  uint32_t slot_count;
  uint32_t *
      pool;  // one word for each constant, or the lanes of a vector: as many words as pool_unit; of 64 bits two words at least
  uint32_t pool_count;
  int32_t addressed_stream;  // aarch64: the stream that the address register points to; JIT_NO_PLACE: none
  bool past_caches, failed;
} jit_emitter;

// Finds the last use of each value; the emitter is zero but for ir. False: out of memory. tsri_jit_emitter_deinit is called either way.
bool tsri_jit_emitter_init(jit_emitter *e, jit_ir *ir);
void tsri_jit_emitter_deinit(jit_emitter *e);

// The most values that are needed at once, those in memory aside.
uint32_t tsri_jit_pressure(const jit_emitter *e);
// Gives the registers that no other value will need to the constants and scalars that are used most.
void tsri_jit_fix_registers(jit_emitter *e);

// A constant or scalar: it is in memory, whether it has a register or not.
static inline bool jit_lies_in_memory(const jit_emitter *e, jit_value v) { return jit_is_in_memory(&e->ir->ops[v]); }
static inline bool jit_has_register(const jit_emitter *e, jit_value v) { return e->places[v].reg != JIT_NO_PLACE; }
static inline bool jit_is_last_use(const jit_emitter *e, jit_value v) { return e->places[v].last_use == e->at; }

// A slot of the stack for one vector. Too many of them are a failure.
int32_t tsri_jit_new_slot(jit_emitter *e);

// A register for `v`, which has none; and the end of its use.
int tsri_jit_take(jit_emitter *e, jit_value v);
void tsri_jit_give_up(jit_emitter *e, jit_value v);

// The register that holds `v`, which is read from memory if need be. It stays until the operation's end.
int tsri_jit_in_register(jit_emitter *e, jit_value v);

// Operands that are not used again give up their registers, which stay as they are until the result is written. They may become
// the result's: an instruction reads before it writes.
void tsri_jit_release_operands(jit_emitter *e);

// The register of the result, after all operands have been seen to.
int tsri_jit_result(jit_emitter *e);
// As tsri_jit_result, for instructions that overwrite one of their operands: returns a register that holds `v` now and gets the result. All other operands must be in
// pinned registers, or in memory.
int tsri_jit_result_from(jit_emitter *e, jit_value v);

#endif
