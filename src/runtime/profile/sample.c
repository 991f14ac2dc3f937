// SPDX-License-Identifier: MIT
// Chooses the work that is timed by events. An event between two small kernels of a GPU costs as much as one of them, so work that comes again and again
// is timed now and then, and has the mean of these times otherwise.
#include "core/alloc.h"
#include "runtime/profile/recorder.h"

enum { CLASSES = 4096, PROBES = 16 };

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
  return hash ^ hash >> 29;
}

tsri_work_class *tsri_work_class_find(tsr_profile *session, uint64_t key, const tsri_profile_context *context) {
  if (session->is_full) return NULL;
  if (!session->classes) session->classes = tsri_calloc(CLASSES, sizeof *session->classes);
  if (!session->classes) return NULL;
  uint64_t hash = mix(mix(1, key), (uint64_t)context->operators << 32 | context->result) | 1;  // 0 is a free place
  for (uint64_t i = 0; i < PROBES; i++) {
    tsri_work_class *work = &session->classes[(hash + i) % CLASSES];
    if (work->hash == 0) work->hash = hash;
    if (work->hash == hash) return work;
  }
  return NULL;
}

bool tsri_work_class_is_due(tsri_work_class *work) {
  // Two events and reading their times delay work by 5 to 10 us (a graph of CUDA the most), which is to be a 32nd of the time of the work.
  enum { ALWAYS = 2, MOST = 64 };
  const double least_ns = 10000.0 * 32;
  if (++work->seen < work->next) return false;
  double every = work->timed < ALWAYS ? 1 : work->mean_ns * MOST < least_ns ? MOST : least_ns / work->mean_ns;
  work->next = work->seen + (every > 1 ? (uint64_t)(every + 0.99) : 1);
  return true;
}

// The first time of some work may have the loading of its kernel or library in it, a thousand times its own: it counts no more once there is a second.
void tsri_work_class_add(tsri_work_class *work, uint64_t ns) {
  enum { MEMORY = 16 };  // later times count more, since kernels may become faster or slower
  work->timed++;
  if (work->timed == 2 && (double)ns < work->mean_ns) work->mean_ns = (double)ns;
  else work->mean_ns += ((double)ns - work->mean_ns) / (double)(work->timed < MEMORY ? work->timed : MEMORY);
}
