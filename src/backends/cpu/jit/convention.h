// SPDX-License-Identifier: MIT
// How compiled code is called, and which general registers hold what in it. One file implements it per calling convention.
//
//   void code(void **streams, const uint64_t *scalars, size_t lanes, size_t rounds, const int64_t *steps);
//
// streams: where the first lane of each stream is; left with any contents. scalars: 8 bytes for each scalar register. lanes: a multiple,
// not 0, of the lanes in a vector. All of them are done `rounds` times, not 0; after each round a stream moves on by its step, in bytes.
#ifndef TSRI_CPU_JIT_CONVENTION_H
#define TSRI_CPU_JIT_CONVENTION_H

#include "backends/cpu/jit/x86.h"

typedef void (*jit_code)(void **streams, const uint64_t *scalars, size_t lanes, size_t rounds, const int64_t *steps);

// Bytes of stack for spilled vectors, aligned to 64; rsp points at them.
enum { JIT_FRAME_BYTES = 4096 };

// Registers that hold arguments in the code, and the index of the first lane of the vector at hand.
extern const int tsri_jit_streams_reg, tsri_jit_scalars_reg, tsri_jit_lanes_reg, tsri_jit_rounds_reg,
    tsri_jit_steps_reg;
extern const int tsri_jit_index_reg;
// A register for an address that is needed once.
extern const int tsri_jit_address_reg;

// The register that holds the address of a stream; X86_NONE: it has none and is read from the table.
int tsri_jit_stream_reg(uint32_t stream);

void tsri_jit_enter(x86_code *code, uint32_t stream_count);
void tsri_jit_leave(x86_code *code, uint32_t stream_count);

#endif
