// SPDX-License-Identifier: MIT
// Calling conventions on x86-64: which general registers hold what in compiled code (convention.h).
#ifndef TSRI_CPU_JIT_X86_CONVENTION_H
#define TSRI_CPU_JIT_X86_CONVENTION_H

#include "backends/cpu/jit/convention.h"
#include "backends/cpu/jit/x86.h"

typedef struct x86_convention {
  // Registers that hold arguments in the code, and the index of the first lane of the current vector.
  int streams_reg, scalars_reg, lanes_reg, rounds_reg, steps_reg, index_reg;
  int address_reg;         // for an address that is needed only once
  const int *stream_regs;  // registers that hold the addresses of the first streams
  uint32_t stream_reg_count;

  // Saves the registers that must be preserved, and loads the streams' addresses. Afterwards rsp points at JIT_FRAME_BYTES, aligned to 64.
  void (*enter)(machine_code *code, uint32_t stream_count);
  void (*leave)(machine_code *code, uint32_t stream_count);
} x86_convention;

extern const x86_convention tsri_x86_system_v, tsri_x86_windows;

// The register that holds the address of a stream; X86_NONE: it has none, its address is read from the table.
static inline int x86_stream_reg(const x86_convention *convention, uint32_t stream) {
  return stream < convention->stream_reg_count ? convention->stream_regs[stream] : X86_NONE;
}

#endif
