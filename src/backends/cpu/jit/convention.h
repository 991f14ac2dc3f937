// SPDX-License-Identifier: MIT
// How compiled code is called. There is one file per calling convention, which defines where the arguments are, and which registers must be preserved.
//
// void code(void **streams, const uint64_t *scalars, size_t lanes, size_t rounds, const int64_t *steps);
//
// streams: address of the first lane of each stream; the code may change the array. scalars: 8 bytes for each scalar register. lanes: a positive multiple of
// the lanes in a vector. All lanes are processed `rounds` times (at least once); after each round, the address of each stream is advanced by its step, in
// bytes.
#ifndef TSRI_CPU_JIT_CONVENTION_H
#define TSRI_CPU_JIT_CONVENTION_H

#include <stddef.h>
#include <stdint.h>

typedef void (*jit_code)(void **streams, const uint64_t *scalars, size_t lanes, size_t rounds, const int64_t *steps);

// Bytes of stack for spilled vectors.
enum { JIT_FRAME_BYTES = 4096 };

#endif
