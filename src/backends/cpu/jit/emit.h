// SPDX-License-Identifier: MIT
// From operations (ir.h) to machine code.
#ifndef TSRI_CPU_JIT_EMIT_H
#define TSRI_CPU_JIT_EMIT_H

#include "backends/cpu/jit/ir.h"

// Appends a function (convention.h) that does all operations for one vector of lanes after the other. `past_caches`: stores of
// 32-bit elements go past the caches; their addresses are then multiples of the vector's size.
//
// False: out of memory, or the operations need more stack than there is (is_too_large).
bool tsri_jit_emit(jit_ir *ir, uint32_t stream_count, bool past_caches, x86_code *code);

enum { JIT_MOST_PARTS = 4 };

// How many vectors are best done at a time (ir.h): a power of two, as many as there are registers for. At least 1.
uint32_t tsri_jit_best_parts(jit_ir *ir);

static inline uint32_t jit_vector_lanes(bool has_evex) { return has_evex ? 16 : 8; }

// Lanes that one turn of the loop does: the lanes of a call are a multiple of them.
static inline uint32_t jit_lanes_at_a_time(const jit_ir *ir) {
  return jit_vector_lanes(ir->has_evex) * (ir->parts > 1 ? ir->parts : 1u);
}

#endif
