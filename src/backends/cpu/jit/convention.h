// SPDX-License-Identifier: MIT
// How compiled code is called. One file per calling convention says where the arguments are, and which registers must be kept.
//
//   void code(void **streams, const uint64_t *scalars, size_t lanes, size_t rounds, const int64_t *steps);
//
// streams: where the first lane of each stream is; left with any contents. scalars: 8 bytes for each scalar register. lanes: a multiple,
// not 0, of the lanes in a vector. All of them are done `rounds` times, not 0; after each round a stream moves on by its step, in bytes.
#ifndef TSRI_CPU_JIT_CONVENTION_H
#define TSRI_CPU_JIT_CONVENTION_H

#include <stddef.h>
#include <stdint.h>

typedef void (*jit_code)(void **streams, const uint64_t *scalars, size_t lanes, size_t rounds, const int64_t *steps);

// Bytes of stack for spilled vectors.
enum { JIT_FRAME_BYTES = 4096 };

#endif
