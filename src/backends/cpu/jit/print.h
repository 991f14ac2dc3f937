// SPDX-License-Identifier: MIT
// A listing of the machine code that lane bytecode is compiled to.
#ifndef TSRI_CPU_JIT_PRINT_H
#define TSRI_CPU_JIT_PRINT_H

#include <stddef.h>

#include <tessera/status.h>

// Names of instruction sets, ending with NULL. In WebAssembly there are none.
extern const char *const tsri_jit_dialects[];

// Lists the compiled instructions; works on any processor. Dialects: "x86" (AVX-512 if this processor has it, else AVX2) or "arm64" (NEON). There is one
// function for each run, which processes one vector of lanes at a time. Instructions outside of runs are interpreted and not shown.
//
// Ownership: caller frees `*out_text` by tsri_free.
// Errors:    those of tsri_lanes_prepare; TSR_ERR_INVALID_ARGUMENT (no such dialect), TSR_ERR_OUT_OF_MEMORY. Then it is NULL.
tsr_status tsri_jit_print(const void *words, size_t bytes, const char *dialect, char **out_text);

#endif
