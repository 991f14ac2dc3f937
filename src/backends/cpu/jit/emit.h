// SPDX-License-Identifier: MIT
// Generates machine code from operations (ir.h).
#ifndef TSRI_CPU_JIT_EMIT_H
#define TSRI_CPU_JIT_EMIT_H

#include "backends/cpu/jit/target.h"

// Appends a function (convention.h) that performs all operations for one vector of lanes after the other. `past_caches`: stores of 32-bit elements are
// non-temporal; their addresses are then multiples of the vector's size.
//
// False: out of memory, or the operations need too much stack (is_too_large).
bool tsri_jit_emit(jit_ir *ir, uint32_t stream_count, bool past_caches, machine_code *code);

enum { JIT_MOST_PARTS = 4 };

// How many vectors are best processed at a time (ir.h): the largest power of two for which there are enough registers. At least 1.
uint32_t tsri_jit_best_parts(jit_ir *ir);

#endif
