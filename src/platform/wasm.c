// SPDX-License-Identifier: MIT
// The system of a WebAssembly module: one thread, a clock, no shared libraries, and memory that can grow to what 32
// bits can address.
#include <stdio.h>
#include <time.h>

#include "platform/platform.h"

const char *const tsri_library_suffix = ".wasm";
const char tsri_path_list_separator = ':';

// There is one thread, so nothing needs to be locked.
void tsri_mutex_init(tsri_mutex *mutex) { *mutex = TSRI_MUTEX_INIT; }

void tsri_mutex_deinit(tsri_mutex *mutex) { (void)mutex; }

void tsri_mutex_lock(tsri_mutex *mutex) { (void)mutex; }

void tsri_mutex_unlock(tsri_mutex *mutex) { (void)mutex; }

// The only thread ends with the module.
void tsri_thread_end_set(tsri_thread_end *end, bool is_wanted) { (void)end, (void)is_wanted; }

#define NS_PER_SECOND UINT64_C(1000000000)

uint64_t tsri_clock_ns(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

// Does not sleep: that would block the page's only thread. Code that waits for a device returns to the page instead
// (backends/webgpu), so no other work could run during a sleep.
void tsri_sleep_ns(uint64_t ns) { (void)ns; }

tsri_library *tsri_library_open(const char *name, char *reason, size_t reason_bytes) {
  (void)name;
  if (reason_bytes > 0) snprintf(reason, reason_bytes, "WebAssembly opens no shared libraries");
  return NULL;
}

void *tsri_library_symbol(tsri_library *library, const char *name) {
  (void)library, (void)name;
  return NULL;
}

void tsri_library_close(tsri_library *library) { (void)library; }

bool tsri_folder_each(const char *folder, void (*visit)(const char *name, void *user), void *user) {
  (void)folder, (void)visit, (void)user;
  return false;
}

// --- The machine -----------------------------------------------------------------------------------------------------

// A page cannot find out which processor it runs on.
void tsri_cpu_name(char *name, size_t name_bytes) {
  if (name_bytes > 0) snprintf(name, name_bytes, "WebAssembly");
}

int tsri_cpu_count(void) { return 1; }

bool tsri_allow_tile_registers(void) { return false; }

// How far the module's memory may grow. If the engine stops it earlier, an allocation fails as usual.
void tsri_memory_size(uint64_t *out_total, uint64_t *out_free) {
  enum { PAGE_BYTES = 65536 };
  const uint64_t most = UINT64_C(1) << 32;
  *out_total = most;
  *out_free = most - (uint64_t)__builtin_wasm_memory_size(0) * PAGE_BYTES;
}

void tsri_prefer_large_pages(void *memory, size_t bytes) {
  (void)memory;
  (void)bytes;
}

bool tsri_path_is_replaceable(const char *path) {
  (void)path;
  return true;
}
