// SPDX-License-Identifier: MIT
// The calling convention on aarch64: which registers hold what in compiled code (convention.h).
#ifndef TSRI_CPU_JIT_ARM64_CONVENTION_H
#define TSRI_CPU_JIT_ARM64_CONVENTION_H

#include "backends/cpu/jit/arm64.h"
#include "backends/cpu/jit/convention.h"

typedef struct arm64_convention {
  // Registers that hold arguments in the code, and the index of the first lane of the current vector.
  int streams_reg, scalars_reg, lanes_reg, rounds_reg, steps_reg, index_reg;
  int address_reg;         // for addresses
  int pool_reg;            // the pool's address
  const int *stream_regs;  // registers that hold the addresses of the first streams
  uint32_t stream_reg_count;
  const int *vector_regs;  // in the order in which they are allocated
  int spare_vector_reg;    // for use within an operation

  // Loads the streams' and the pool's addresses. Afterwards sp points at JIT_FRAME_BYTES of stack.
  void (*enter)(machine_code *code, uint32_t stream_count);
  void (*leave)(machine_code *code);
} arm64_convention;

enum { ARM64_VECTOR_REGS = 23 };
extern const arm64_convention tsri_arm64_aapcs64;

// The register that holds the address of a stream; -1: it has none, its address is read from the table.
static inline int arm64_stream_reg(const arm64_convention *convention, uint32_t stream) {
  return stream < convention->stream_reg_count ? convention->stream_regs[stream] : -1;
}

#endif
