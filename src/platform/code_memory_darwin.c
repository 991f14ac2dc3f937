// SPDX-License-Identifier: MIT
// Memory for machine code on Apple's systems.
//
// On Apple's processors memory is never writable and executable at once for a thread. A mapping with MAP_JIT is executable; pthread_jit_write_protect_np makes it
// writable for the calling thread alone, while the code is written. Programs with the hardened runtime need the entitlement com.apple.security.cs.allow-jit,
// otherwise mmap fails. On iOS it always fails, and kernels are interpreted.
#include <libkern/OSCacheControl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <TargetConditionals.h>

#include "platform/code_memory.h"

static atomic_bool forbidden;

void tsri_code_memory_forbid(bool is_forbidden) { atomic_store(&forbidden, is_forbidden); }

#if TARGET_OS_OSX

#if defined(__aarch64__)
static void write_code(void *memory, const void *code, size_t bytes) {
  pthread_jit_write_protect_np(0);
  memcpy(memory, code, bytes);
  pthread_jit_write_protect_np(1);
  sys_icache_invalidate(memory, bytes);
}
#else
static void write_code(void *memory, const void *code, size_t bytes) { memcpy(memory, code, bytes); }
#endif

void *tsri_code_memory_create(const void *code, size_t bytes) {
  if (bytes == 0 || atomic_load(&forbidden)) return NULL;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANON | MAP_JIT, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  write_code(memory, code, bytes);
  return memory;
}

#else

void *tsri_code_memory_create(const void *code, size_t bytes) {
  (void)code;
  (void)bytes;
  return NULL;
}

#endif

void tsri_code_memory_free(void *memory, size_t bytes) {
  if (memory) munmap(memory, bytes);
}
