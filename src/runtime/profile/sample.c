// SPDX-License-Identifier: MIT
// Chooses which work is timed by events of the device. An event between two small kernels of a GPU takes as long as one of them, so repeated work
// is timed only now and then: so seldom that timing takes at most 1 / TSRI_TIMING_SHARE of the time of the work. Other work of the same
// class is recorded with the mean of the measured times.
#include "core/alloc.h"
#include "runtime/profile/recorder.h"

enum { PLACES = 2 * TSRI_WORK_CLASSES };

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
  return hash ^ hash >> 29;
}

static bool prepare(tsri_work_classes *all) {
  if (!all->classes) all->classes = tsri_calloc(TSRI_WORK_CLASSES, sizeof *all->classes);
  if (!all->numbers) all->numbers = tsri_calloc(PLACES, sizeof *all->numbers);
  return all->classes && all->numbers;
}

static tsri_work_class *add_class(tsri_work_classes *all, uint16_t *place, uint64_t hash) {
  if (all->count == TSRI_WORK_CLASSES) return NULL;
  tsri_work_class *added = &all->classes[all->count++];
  added->hash = hash;
  *place = (uint16_t)all->count;
  return added;
}

// At least half of the places are free, so the search ends.
tsri_work_class *tsri_work_class_find(tsri_work_classes *all, uint64_t key, const tsri_profile_context *context) {
  if (!(all->classes && all->numbers) && !prepare(all)) return NULL;
  uint64_t hash = mix(mix(1, key), (uint64_t)context->operators << 32 | context->result);
  for (uint64_t i = hash;; i++) {
    uint16_t *place = &all->numbers[i % PLACES];
    if (*place == 0) return add_class(all, place, hash);
    if (all->classes[*place - 1].hash == hash) return &all->classes[*place - 1];
  }
}

void tsri_work_classes_deinit(tsri_work_classes *all) {
  tsri_free(all->classes);
  tsri_free(all->numbers);
}

enum { ALWAYS = 2 };  // the first pieces of work of each class that are always timed

// How many pieces of work of this class to queue until the next one is timed. While the first times are not known yet, because the device has
// not finished that work, each pause is twice as long as the one before.
static double pause_of(const tsri_work_class *work, uint64_t cost_ns) {
  enum { UNREAD = 8, MOST_DOUBLED = 10, MOST = 1 << 16 };
  const double least_ns = (double)(cost_ns * TSRI_TIMING_SHARE);
  if (work->chosen < ALWAYS) return 1;
  if (work->timed < ALWAYS) {
    uint32_t doubled = work->chosen - ALWAYS;
    return UNREAD << (doubled < MOST_DOUBLED ? doubled : MOST_DOUBLED);
  }
  return work->mean_ns * MOST < least_ns ? MOST : least_ns / work->mean_ns;
}

static uint32_t whole_pause(const tsri_work_class *work, uint64_t cost_ns) {
  double pause = pause_of(work, cost_ns);
  return pause > 1 ? (uint32_t)(pause + 0.99) : 1;
}

// Computes the length of the current pause again, since times may have become known after it began. True: the pause is not over.
static bool extend_pause(tsri_work_class *work, uint64_t cost_ns) {
  uint64_t began = work->next - work->pause;
  work->pause = whole_pause(work, cost_ns);
  work->next = began + work->pause;
  return work->seen < work->next;
}

bool tsri_work_class_choose(tsri_work_class *work, uint64_t cost_ns) {
  if (++work->seen < work->next || extend_pause(work, cost_ns)) return false;
  work->chosen++;
  work->pause = whole_pause(work, cost_ns);
  work->next = work->seen + work->pause;
  return true;
}

bool tsri_timing_is_affordable(const tsri_lane *lane, const tsri_work_class *work, uint64_t since_ns) {
  bool is_known = work->timed >= ALWAYS;  // tsri_work_class_choose has then compared the cost with the known times
  return is_known || work->chosen <= ALWAYS || lane->timing_ns * TSRI_TIMING_SHARE <= since_ns;
}

uint64_t tsri_timing_cost_ns(const tsri_lane *lane) {
  // DELAY_NS: how long two events between small kernels, or around a graph, delay a GPU (measured with CUDA).
  enum { DELAY_NS = 12000, EVENTS = 2 };
  uint64_t busy_ns = EVENTS * lane->busy_ns;
  return (busy_ns > DELAY_NS ? busy_ns : DELAY_NS) + lane->event_ns + lane->reading_ns;
}

// A running mean that takes over a shorter time at once and a longer one only slowly: a single call may take long because it is interrupted, loads
// something, or waits for a full queue.
static uint64_t followed(uint64_t mean_ns, uint64_t ns) {
  enum { MEMORY = 8 };
  return mean_ns == 0 || ns < mean_ns ? ns : mean_ns + (ns - mean_ns) / MEMORY;
}

void tsri_timing_cost_add(tsri_lane *lane, uint64_t host_ns) { lane->event_ns = followed(lane->event_ns, host_ns); }

void tsri_reading_cost_add(tsri_lane *lane, uint64_t host_ns, int count) {
  if (count > 0) lane->reading_ns = followed(lane->reading_ns, host_ns / (uint64_t)count);
}

// The first time of a class may include loading its kernel or library, which can take a thousand times as long as the work. So a shorter second time
// replaces the first one.
void tsri_work_class_add(tsri_work_class *work, uint64_t ns) {
  enum { MEMORY = 16 };  // later times count more, since kernels may become faster or slower
  work->timed++;
  if (work->timed == 2 && (double)ns < work->mean_ns) work->mean_ns = (double)ns;
  else work->mean_ns += ((double)ns - work->mean_ns) / (double)(work->timed < MEMORY ? work->timed : MEMORY);
}

void tsri_work_class_called(tsri_work_class *work, uint64_t ns) { work->call_ns = followed(work->call_ns, ns); }
