// SPDX-License-Identifier: MIT
// Chooses the work that is timed by events. An event between two small kernels of a GPU costs as much as one of them, so work that comes again and again
// is timed now and then, and has the mean of these times otherwise: so seldom that timing takes a 64th of the time of the work.
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

bool tsri_work_class_is_due(tsri_work_class *work, uint64_t cost_ns) {
  enum { ALWAYS = 2, UNREAD = 8, MOST = 1024, SHARE = 64 };
  if (++work->seen < work->next) return false;
  const double least_ns = (double)(cost_ns * SHARE);
  double every = work->mean_ns * MOST < least_ns ? MOST : least_ns / work->mean_ns;
  if (work->timed < ALWAYS) every = UNREAD;  // the device is behind: the times will be known later
  if (++work->chosen < ALWAYS) every = 1;
  work->next = work->seen + (every > 1 ? (uint64_t)(every + 0.99) : 1);
  return true;
}

uint64_t tsri_timing_cost_ns(const tsri_lane *lane) {
  enum {
    DEVICE_NS = 12000
  };  // how long two events between small kernels, or around a graph, delay a GPU (measured with CUDA)
  return DEVICE_NS + lane->event_ns + lane->reading_ns;
}

// A mean of the latest that follows short calls at once: now and then a call is interrupted, loads something, or waits because a queue is full.
static uint64_t followed(uint64_t mean_ns, uint64_t ns) {
  enum { MEMORY = 8 };
  return mean_ns == 0 || ns < mean_ns ? ns : mean_ns + (ns - mean_ns) / MEMORY;
}

void tsri_timing_cost_add(tsri_lane *lane, uint64_t host_ns) { lane->event_ns = followed(lane->event_ns, host_ns); }

void tsri_reading_cost_add(tsri_lane *lane, uint64_t host_ns, int count) {
  if (count > 0) lane->reading_ns = followed(lane->reading_ns, host_ns / (uint64_t)count);
}

// The first time of some work may have the loading of its kernel or library in it, a thousand times its own: it counts no more once there is a second.
void tsri_work_class_add(tsri_work_class *work, uint64_t ns) {
  enum { MEMORY = 16 };  // later times count more, since kernels may become faster or slower
  work->timed++;
  if (work->timed == 2 && (double)ns < work->mean_ns) work->mean_ns = (double)ns;
  else work->mean_ns += ((double)ns - work->mean_ns) / (double)(work->timed < MEMORY ? work->timed : MEMORY);
}

void tsri_work_class_called(tsri_work_class *work, uint64_t ns) { work->call_ns = followed(work->call_ns, ns); }
