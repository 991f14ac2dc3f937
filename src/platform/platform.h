// SPDX-License-Identifier: MIT
// What differs between operating systems: locks, clock, shared libraries, the machine's size. One
// implementation file per system, chosen by the build; the lowest layer, which includes nothing of ours.
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
typedef char tsri_mutex;  // one thread: nothing to lock
#define TSRI_MUTEX_INIT 0
#define TSRI_THREAD_LOCAL
#else
#include <pthread.h>
typedef pthread_mutex_t tsri_mutex;
#define TSRI_MUTEX_INIT   PTHREAD_MUTEX_INITIALIZER
#define TSRI_THREAD_LOCAL _Thread_local
#endif

void tsri_mutex_init(tsri_mutex *mutex);
void tsri_mutex_deinit(tsri_mutex *mutex);
void tsri_mutex_lock(tsri_mutex *mutex);
void tsri_mutex_unlock(tsri_mutex *mutex);

// What to release when a thread ends without having done so itself. Zero-initialised but for `release`, and static.
typedef struct tsri_thread_end {
  void (*release)(void);  // called on the thread that ends; its thread-local variables still have their values
#if !defined(_WIN32) && !defined(__wasm__)
  pthread_key_t key;
  bool has_key;
  struct tsri_thread_end *next;
#endif
} tsri_thread_end;

// Whether `end->release` is to be called when the calling thread ends; at first it is not. The thread that runs main() does not end in this
// sense: the process does. Without effect where the system has no more keys for this, or the module has one thread only.
void tsri_thread_end_set(tsri_thread_end *end, bool is_wanted);

// Monotonic time.
uint64_t tsri_clock_ns(void);
void tsri_sleep_ns(uint64_t ns);

// Shared libraries. `*out_reason` (its memory the caller's array of `reason_bytes`) is the loader's own text on failure.
typedef struct tsri_library tsri_library;
tsri_library *tsri_library_open(const char *name, char *reason, size_t reason_bytes);
void *tsri_library_symbol(tsri_library *library, const char *name);
void tsri_library_close(tsri_library *library);
extern const char *const tsri_library_suffix;  // ".so", ".dylib", ".dll"
extern const char tsri_path_list_separator;    // ':' or ';'

// Calls `visit` with each file name in `folder`, in no order. False if the folder cannot be read.
bool tsri_folder_each(const char *folder, void (*visit)(const char *name, void *user), void *user);

// The processor's own words, such as "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"; empty if unknown.
void tsri_cpu_name(char *name, size_t name_bytes);
// The same for display, without trade marks, clock and filler: "Intel Xeon Platinum 8375C". `name` is not `full`.
void tsri_cpu_short_name(const char *full, char *name, size_t name_bytes);
// Cores this process may use: affinity and container quota respected. At least 1.
int tsri_cpu_count(void);
// Asks the system to back memory by large pages. Where it has none, or will not, nothing changes.
void tsri_prefer_large_pages(void *memory, size_t bytes);
// Memory this process may use, and what is left of it: container limits respected. 0 if unknown.
void tsri_memory_size(uint64_t *out_total, uint64_t *out_free);

#endif
