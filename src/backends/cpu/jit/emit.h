// SPDX-License-Identifier: MIT
// From operations (ir.h) to machine code.
#ifndef TSRI_CPU_JIT_EMIT_H
#define TSRI_CPU_JIT_EMIT_H

#include "backends/cpu/jit/target.h"

// Appends a function (convention.h) that does all operations for one vector of lanes after the other. `past_caches`: stores of
// 32-bit elements go past the caches; their addresses are then multiples of the vector's size.
//
// False: out of memory, or the operations need more stack than there is (is_too_large).
bool tsri_jit_emit(jit_ir *ir, uint32_t stream_count, bool past_caches, machine_code *code);

enum { JIT_MOST_PARTS = 4 };

// How many vectors are best done at a time (ir.h): a power of two, as many as there are registers for. At least 1.
uint32_t tsri_jit_best_parts(jit_ir *ir);

#endif
