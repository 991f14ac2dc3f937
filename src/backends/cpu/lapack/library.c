// SPDX-License-Identifier: MIT
// Opens LAPACK.
#include <string.h>

#include "backends/common/trail.h"
#include "backends/cpu/lapack/lapack.h"
#include "core/log.h"
#include "platform/platform.h"

// Libraries that have BLAS and LAPACK. liblapack.so.3 is what the system's administrator chose (Debian: update-alternatives).
#if defined(_WIN32)
static const char *const library_names[] = {"libopenblas.dll", NULL};
#elif defined(__APPLE__)
static const char *const library_names[] = {"libopenblas.dylib",
                                            "/System/Library/Frameworks/Accelerate.framework/Accelerate", NULL};
#else
static const char *const library_names[] = {"libopenblas.so.0", "liblapack.so.3", NULL};
#endif
const char *const *tsri_lapack_names = library_names;

static tsri_mutex lock = TSRI_MUTEX_INIT;
static bool was_tried, is_there;
static tsri_lapack f32, f64;

static bool find(tsri_library *library, const char *name, void *slot) {
  void *address = tsri_library_symbol(library, name);
  memcpy(slot, &address, sizeof address);
  return address != NULL;
}

#define FIND(table, letter, function) find(library, letter #function "_", (void *)&(table)->function)
#define FIND_ALL(table, letter)                                                              \
  (FIND(table, letter, potrf) && FIND(table, letter, getrf) && FIND(table, letter, geqrf) && \
   FIND(table, letter, orgqr) && FIND(table, letter, syevd) && FIND(table, letter, gesdd) && \
   FIND(table, letter, trsm))

// OpenBLAS's own threads wait for one another by spinning: beside another busy process, a matrix that takes 60 us took 48 ms.
static int (*get_threads)(void);
static void (*set_threads)(int count);
static int users, threads_before;

void tsri_lapack_begin(void) {
  tsri_mutex_lock(&lock);
  if (users++ == 0 && get_threads && set_threads) {
    threads_before = get_threads();
    set_threads(1);
  }
  tsri_mutex_unlock(&lock);
}

void tsri_lapack_end(void) {
  tsri_mutex_lock(&lock);
  if (--users == 0 && get_threads && set_threads) set_threads(threads_before);
  tsri_mutex_unlock(&lock);
}

static bool load(char *trail, size_t trail_bytes) {
  trail[0] = '\0';
  for (const char *const *name = tsri_lapack_names; *name; name++) {
    char reason[200] = "has not all of LAPACK's functions";
    tsri_library *library = tsri_library_open(*name, reason, sizeof reason);
    if (library && FIND_ALL(&f32, "s") && FIND_ALL(&f64, "d")) {
      (void)find(library, "openblas_get_num_threads", (void *)&get_threads);
      (void)find(library, "openblas_set_num_threads", (void *)&set_threads);
      return true;  // the library stays open
    }
    tsri_library_close(library);
    tsri_trail_add(trail, trail_bytes, *name, reason);
  }
  return false;
}

const tsri_lapack *tsri_lapack_for(tsr_dtype dtype) {
  char trail[500];
  tsri_mutex_lock(&lock);
  if (!was_tried) {
    was_tried = true;
    is_there = load(trail, sizeof trail);
    if (!is_there) tsri_log(TSR_LOG_INFO, "cpu: matrices are factored without LAPACK (%s)", trail);
  }
  bool is_usable = is_there;
  tsri_mutex_unlock(&lock);
  if (!is_usable) return NULL;
  return dtype == TSR_F64 ? &f64 : &f32;
}

void tsri_lapack_forget(void) {
  tsri_mutex_lock(&lock);
  was_tried = false;
  tsri_mutex_unlock(&lock);
}
