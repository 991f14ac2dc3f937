// SPDX-License-Identifier: MIT
// A function under construction: where each value is at the current operation.
//
// Operations are emitted in order. A value gets a register when it is computed, and keeps it until its last use, or until another value needs a register and
// none is free: then the value whose next use is farthest away is spilled to the stack. Constants are in a pool after the code. Constants and scalars keep a
// register throughout the function if enough registers are available.
#ifndef TSRI_CPU_JIT_EMITTER_H
#define TSRI_CPU_JIT_EMITTER_H

#include "backends/cpu/jit/code.h"
#include "backends/cpu/jit/ir.h"

enum { JIT_MOST_REGS = 32, JIT_NO_PLACE = -1 };

// Where a value is, and how it is used.
typedef struct jit_place {
  int16_t reg;       // JIT_NO_PLACE: none
  int16_t slot;      // on the stack, or in the pool for a constant; JIT_NO_PLACE: none
  uint8_t mask_reg;  // AVX-512: the mask register that holds it; 0: none
  bool is_plain;     // it has a use that cannot take it from a mask register
  uint16_t use_count;
  uint32_t last_use;  // index of an operation; 0: never used; UINT32_MAX: keeps its register
} jit_place;

typedef struct jit_emitter {
  jit_ir *ir;
  machine_code *code;
  uint32_t stream_count;
  jit_place *places;  // by value
  uint32_t at;        // current operation
  jit_value owner[JIT_MOST_REGS];
  uint32_t reg_count, owned, pinned;  // bits by register; pinned: operands of the current operation
  uint32_t fixed;                     // bits by register: holds a constant or scalar throughout the function
  uint32_t mask_regs;                 // AVX-512: bits by mask register: in use
  uint32_t slot_count;
  uint32_t *pool;  // each constant takes one word, or the lanes of a vector (pool_unit); of 64 bits at least two words
  uint32_t pool_count;
  int32_t addressed_stream;  // aarch64: the stream that the address register points to; JIT_NO_PLACE: none
  bool past_caches, failed;
} jit_emitter;

// Finds the last use of each value. The emitter must be zero except for ir. False: out of memory. Call tsri_jit_emitter_deinit in either case.
bool tsri_jit_emitter_init(jit_emitter *e, jit_ir *ir);
void tsri_jit_emitter_deinit(jit_emitter *e);

// The largest number of values that are live at once, without those in memory.
uint32_t tsri_jit_pressure(const jit_emitter *e);
// Allocates registers that no other value will need to the most frequently used constants and scalars.
void tsri_jit_fix_registers(jit_emitter *e);

// Whether the value is a constant or scalar, which is always in memory, and may also have a register.
static inline bool jit_lies_in_memory(const jit_emitter *e, jit_value v) { return jit_is_in_memory(&e->ir->ops[v]); }
static inline bool jit_has_register(const jit_emitter *e, jit_value v) { return e->places[v].reg != JIT_NO_PLACE; }
static inline bool jit_is_last_use(const jit_emitter *e, jit_value v) { return e->places[v].last_use == e->at; }

// Allocates a stack slot for one vector. Sets the failure flag if there are too many.
int32_t tsri_jit_new_slot(jit_emitter *e);

// tsri_jit_take: allocates a register for `v`, which has none. The next function: ends the use of its register.
int tsri_jit_take(jit_emitter *e, jit_value v);
void tsri_jit_give_up(jit_emitter *e, jit_value v);

// Returns the register that holds `v`, after loading it from memory if necessary. The register is pinned until the operation's end.
int tsri_jit_in_register(jit_emitter *e, jit_value v);

// Frees the registers of operands that are not used again. Their contents stay until the result is written, so the result may get one of them: an instruction
// reads before it writes.
void tsri_jit_release_operands(jit_emitter *e);

// Allocates the register of the result. Call after all operands have their registers.
int tsri_jit_result(jit_emitter *e);
// As tsri_jit_result, for instructions that overwrite one of their operands: returns a register that holds `v` and will hold the result. All other operands
// must be in pinned registers, or in memory.
int tsri_jit_result_from(jit_emitter *e, jit_value v);

#endif
