// SPDX-License-Identifier: MIT
// Memory for machine code that the library generates: first writable, then executable, never both.
#ifndef TSRI_CODE_MEMORY_H
#define TSRI_CODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

// Copies `bytes` of code into pages of their own and makes them readable and executable, but not writable. NULL if the
// system has no memory or forbids executable memory (hardened kernels, WebAssembly).
//
// Ownership: caller frees the pages by tsri_code_memory_free with the same `bytes`, once no thread executes them.
// Threads:   any.
void *tsri_code_memory_create(const void *code, size_t bytes);
void tsri_code_memory_free(void *memory, size_t bytes);  // takes NULL

// For tests: is_forbidden makes tsri_code_memory_create fail from now on, as on a system that forbids executable memory.
void tsri_code_memory_forbid(bool is_forbidden);

#endif
