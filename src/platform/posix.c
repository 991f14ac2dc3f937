// SPDX-License-Identifier: MIT
// Locks, clock, shared libraries and folders on POSIX systems (Linux, macOS). The machine's size is in machine_*.c.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "platform/platform.h"

const char tsri_path_list_separator = ':';

// A place where threads sleep while they wait for a lock. There are a few places; the address of a lock selects its place. A thread that waits sets the lock's
// state to 2 and goes to sleep while it holds the place's mutex; a thread that unlocks a lock in state 2 takes this mutex to wake the others. So no wake-up is
// lost.
//
// The results of pthread calls are not checked here, because they fail only if they are misused.
typedef struct waiting_place {
  pthread_mutex_t mutex;
  pthread_cond_t woken;
} waiting_place;

#define PLACE \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER }
static waiting_place places[] = {PLACE, PLACE, PLACE, PLACE, PLACE, PLACE, PLACE, PLACE};

static waiting_place *place_of(const tsri_mutex *mutex) {
  enum { LINE = 64 };
  return &places[(uintptr_t)mutex / LINE % (sizeof places / sizeof places[0])];
}

void tsri_mutex_init(tsri_mutex *mutex) { atomic_init(&mutex->state, 0); }

void tsri_mutex_deinit(tsri_mutex *mutex) {
  (void)mutex;
  TSRI_MUTEX_TELL(destroy, mutex, 0);
}

void tsri_mutex_wait(tsri_mutex *mutex) {
  enum { SPINS = 100 };  // tries before sleeping: most locks are held for some ten nanoseconds only
  for (int i = 0; i < SPINS; i++) {
    int expected = 0;
    if (atomic_load_explicit(&mutex->state, memory_order_relaxed) == 0 &&
        atomic_compare_exchange_weak_explicit(&mutex->state, &expected, 1, memory_order_acquire,
                                              memory_order_relaxed)) {
      return;
    }
  }
  waiting_place *place = place_of(mutex);
  pthread_mutex_lock(&place->mutex);
  while (atomic_exchange_explicit(&mutex->state, 2, memory_order_acquire) != 0) {
    pthread_cond_wait(&place->woken, &place->mutex);
  }
  pthread_mutex_unlock(&place->mutex);
}

// Does not access the lock's memory: another thread may have taken and freed the lock by now. Only its address is used.
void tsri_mutex_wake(const tsri_mutex *mutex) {
  waiting_place *place = place_of(mutex);
  pthread_mutex_lock(&place->mutex);
  pthread_cond_broadcast(&place->woken);
  pthread_mutex_unlock(&place->mutex);
}

// All thread-specific keys, which are deleted when the library is unloaded: otherwise the system would call release
// functions that are not in memory any more.
static tsri_thread_end *ends_with_key;
static tsri_mutex ends_lock = TSRI_MUTEX_INIT;

static void call_release(void *end) { ((tsri_thread_end *)end)->release(); }

__attribute__((destructor)) static void delete_keys(void) {
  for (tsri_thread_end *end = ends_with_key; end; end = end->next) pthread_key_delete(end->key);
}

void tsri_thread_end_set(tsri_thread_end *end, bool is_wanted) {
  tsri_mutex_lock(&ends_lock);
  if (!end->has_key && pthread_key_create(&end->key, call_release) == 0) {
    end->has_key = true;
    end->next = ends_with_key;
    ends_with_key = end;
  }
  bool has_key = end->has_key;
  tsri_mutex_unlock(&ends_lock);
  if (has_key) pthread_setspecific(end->key, is_wanted ? end : NULL);
}

#define NS_PER_SECOND UINT64_C(1000000000)

bool tsri_path_is_replaceable(const char *path) {
  struct stat facts;
  return lstat(path, &facts) != 0 ? errno == ENOENT : S_ISREG(facts.st_mode);
}

uint64_t tsri_process_id(void) { return (uint64_t)getpid(); }

uint64_t tsri_clock_ns(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

void tsri_sleep_ns(uint64_t ns) {
  struct timespec left = {.tv_sec = (time_t)(ns / NS_PER_SECOND), .tv_nsec = (long)(ns % NS_PER_SECOND)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

// A tsri_library is the loader's handle.
tsri_library *tsri_library_open(const char *name, char *reason, size_t reason_bytes) {
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  const char *text = handle ? "" : dlerror();
  if (reason_bytes > 0) snprintf(reason, reason_bytes, "%s", text ? text : "the loader gave no reason");
  return (tsri_library *)handle;
}

void *tsri_library_symbol(tsri_library *library, const char *name) { return dlsym((void *)library, name); }

void tsri_library_close(tsri_library *library) {
  if (library) dlclose((void *)library);
}

bool tsri_folder_each(const char *folder, void (*visit)(const char *name, void *user), void *user) {
  DIR *open_folder = opendir(folder);
  if (!open_folder) return false;
  for (struct dirent *entry = readdir(open_folder); entry; entry = readdir(open_folder)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    visit(entry->d_name, user);
  }
  closedir(open_folder);
  return true;
}
