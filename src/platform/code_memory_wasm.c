// SPDX-License-Identifier: MIT
// A WebAssembly module cannot add code to itself.
#include "platform/code_memory.h"

void tsri_code_memory_forbid(bool is_forbidden) { (void)is_forbidden; }

void *tsri_code_memory_create(const void *code, size_t bytes) {
  (void)code;
  (void)bytes;
  return NULL;
}

void tsri_code_memory_free(void *memory, size_t bytes) {
  (void)memory;
  (void)bytes;
}
