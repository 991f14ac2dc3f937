// SPDX-License-Identifier: MIT
// A listing of the machine code that lane bytecode is compiled to.
#ifndef TSRI_CPU_JIT_PRINT_H
#define TSRI_CPU_JIT_PRINT_H

#include <stddef.h>

#include <tessera/status.h>

// Names of processors' instructions, up to NULL. WebAssembly has none.
extern const char *const tsri_jit_dialects[];

// The instructions for a processor, on any: "x86" (AVX-512 where this processor has it, else AVX2) or "arm64" (NEON). One function for
// each run, which does one vector of lanes at a time. What is not part of a run is interpreted and not shown.
//
// Ownership: caller frees `*out_text` by tsri_free.
// Errors:    those of tsri_lanes_prepare; TSR_ERR_INVALID_ARGUMENT (no such dialect), TSR_ERR_OUT_OF_MEMORY. Then it is NULL.
tsr_status tsri_jit_print(const void *words, size_t bytes, const char *dialect, char **out_text);

#endif
