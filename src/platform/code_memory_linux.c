// SPDX-License-Identifier: MIT
// Memory for machine code on Linux: a private mapping that mprotect changes from writable to executable.
//
// A system that forbids executable memory (SELinux without execmem, PR_SET_MDWE) refuses in mprotect, not in mmap.
//
// Processors whose instruction cache does not see stores (aarch64) must be told to read the code again: the compiler's
// __builtin___clear_cache does that where it is needed, and nothing elsewhere.
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "platform/code_memory.h"

static atomic_bool forbidden;

void tsri_code_memory_forbid(bool is_forbidden) { atomic_store(&forbidden, is_forbidden); }

void *tsri_code_memory_create(const void *code, size_t bytes) {
  if (bytes == 0 || atomic_load(&forbidden)) return NULL;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  memcpy(memory, code, bytes);
  __builtin___clear_cache(memory, (char *)memory + bytes);
  if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) == 0) return memory;
  munmap(memory, bytes);
  return NULL;
}

void tsri_code_memory_free(void *memory, size_t bytes) {
  if (memory) munmap(memory, bytes);
}
