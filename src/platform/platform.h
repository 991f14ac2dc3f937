// SPDX-License-Identifier: MIT
// Everything that differs between operating systems: locks, functions called when a thread ends, the clock, shared
// libraries, the machine's size. One implementation file per system, chosen by the build. This is the lowest layer: it includes no
// other header of ours.
#ifndef TSRI_PLATFORM_H
#define TSRI_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#include <windows.h>
typedef SRWLOCK tsri_mutex;
#define TSRI_MUTEX_INIT   SRWLOCK_INIT
#define TSRI_THREAD_LOCAL __declspec(thread)
#elif defined(__wasm__)
typedef char tsri_mutex;                        // one thread: nothing to lock
#define TSRI_MUTEX_INIT 0
#define TSRI_THREAD_LOCAL
#else
#include <pthread.h>
#include <stdatomic.h>
// An uncontended lock is taken and released inline, by one atomic operation each: recording an operator takes two locks, a small launch six. A thread that
// finds the lock taken sleeps in posix.c.
typedef struct tsri_mutex {
  atomic_int state;  // 0: free; 1: taken; 2: taken, and others may be waiting
} tsri_mutex;
#define TSRI_MUTEX_INIT \
  { 0 }
#define TSRI_THREAD_LOCAL _Thread_local
#endif

void tsri_mutex_init(tsri_mutex *mutex);
void tsri_mutex_deinit(tsri_mutex *mutex);
#if defined(_WIN32) || defined(__wasm__)
void tsri_mutex_lock(tsri_mutex *mutex);
void tsri_mutex_unlock(tsri_mutex *mutex);
#else
void tsri_mutex_wait(tsri_mutex *mutex);        // takes a lock that was not free
void tsri_mutex_wake(const tsri_mutex *mutex);  // wakes the threads that wait for it
// ThreadSanitizer is told that this is a lock, so that it checks the order in which several are taken.
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define TSRI_MUTEX_TELL(event, ...) __tsan_mutex_##event(__VA_ARGS__)
#else
#define TSRI_MUTEX_TELL(event, ...) ((void)0)
#endif
static inline void tsri_mutex_lock(tsri_mutex *mutex) {
  TSRI_MUTEX_TELL(pre_lock, mutex, 0);
  int expected = 0;
  if (!atomic_compare_exchange_strong_explicit(&mutex->state, &expected, 1, memory_order_acquire,
                                               memory_order_relaxed)) {
    tsri_mutex_wait(mutex);
  }
  TSRI_MUTEX_TELL(post_lock, mutex, 0, 0);
}
static inline void tsri_mutex_unlock(tsri_mutex *mutex) {
  TSRI_MUTEX_TELL(pre_unlock, mutex, 0);
  if (atomic_exchange_explicit(&mutex->state, 0, memory_order_release) == 2) tsri_mutex_wake(mutex);
  TSRI_MUTEX_TELL(post_unlock, mutex, 0);
}
#endif

// A function to call when a thread ends while it still holds something. Must be static, and zero-initialised except for
// `release`.
typedef struct tsri_thread_end {
  void (*release)(void);  // called on the ending thread, whose thread-local variables are still valid
#if !defined(_WIN32) && !defined(__wasm__)
  pthread_key_t key;
  bool has_key;
  struct tsri_thread_end *next;
#endif
} tsri_thread_end;

// Sets whether `end->release` is called when the calling thread ends; initially it is not. It is not called for the
// thread that runs main(), since the process ends with it. Has no effect if the system has no more thread-specific
// keys, or on WebAssembly, which has one thread.
void tsri_thread_end_set(tsri_thread_end *end, bool is_wanted);

// Whether a file may be put at this path by renaming another one: nothing is there, or a plain file. A device such as
// /dev/null, a pipe or a link must be written into instead. On WebAssembly always true.
bool tsri_path_is_replaceable(const char *path);

// The number of this process. Not on WebAssembly.
uint64_t tsri_process_id(void);

// Monotonic time in nanoseconds.
uint64_t tsri_clock_ns(void);
void tsri_sleep_ns(uint64_t ns);

// Shared libraries. If opening one fails, `reason` gets the loader's message, cut to `reason_bytes`.
typedef struct tsri_library tsri_library;
tsri_library *tsri_library_open(const char *name, char *reason, size_t reason_bytes);
void *tsri_library_symbol(tsri_library *library, const char *name);
void tsri_library_close(tsri_library *library);
extern const char *const tsri_library_suffix;  // ".so", ".dylib", ".dll"
extern const char tsri_path_list_separator;    // ':' or ';'

// Calls `visit` with the name of each entry in `folder`, in no particular order. False if the folder cannot be read.
bool tsri_folder_each(const char *folder, void (*visit)(const char *name, void *user), void *user);

// The processor's name as it reports it, such as "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"; empty if unknown.
void tsri_cpu_name(char *name, size_t name_bytes);
// Shortens such a name for display: "Intel Xeon Platinum 8375C". `name` and `full` must not overlap.
void tsri_cpu_short_name(const char *full, char *name, size_t name_bytes);
// Number of cores this process may use, within its affinity and container quota. At least 1.
int tsri_cpu_count(void);
// Asks the system to let this process use the tile registers of AMX, which it saves only for processes that ask. False if it refuses.
bool tsri_allow_tile_registers(void);
// Asks the system to use large pages for this memory. Has no effect if the system has none or refuses.
void tsri_prefer_large_pages(void *memory, size_t bytes);
// Memory this process may use, and how much of it is free, within container limits. 0 if unknown.
void tsri_memory_size(uint64_t *out_total, uint64_t *out_free);

#endif
