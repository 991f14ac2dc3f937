// SPDX-License-Identifier: MIT
// The profiler's data of a thread: the context of the work that it queues, its labels, and whether its work is left out of the profile.
#include "core/alloc.h"
#include "runtime/profile/recorder.h"

TSRI_THREAD_LOCAL tsri_profiled_thread tsri_profiled_here;

// Few programs mute threads or use labels. These globals say whether any thread does, so that tsri_profiled_here, which is slower to reach, is read only then.
static atomic_int muted_count;
static atomic_bool has_labels;

uint32_t tsri_thread_number(tsri_profiled_thread *thread) {
  static atomic_uint last;
  if (thread->number == 0) thread->number = atomic_fetch_add(&last, 1) + 1;
  return thread->number - 1;
}

void tsri_profile_mute(bool is_muted) {
  tsri_profiled_thread *thread = &tsri_profiled_here;
  if (thread->is_mute != is_muted) atomic_fetch_add(&muted_count, is_muted ? 1 : -1);
  thread->is_mute = is_muted;
}

bool tsri_thread_is_mute(void) {
  return atomic_load_explicit(&muted_count, memory_order_relaxed) > 0 && tsri_profiled_here.is_mute;
}

static uint32_t label_of(const tsri_profiled_thread *thread) {
  int innermost = thread->range_count < TSRI_LABEL_DEPTH ? thread->range_count : TSRI_LABEL_DEPTH;
  return innermost > 0 ? thread->ranges[innermost - 1].label : 0;
}

bool tsri_profile_has_labels(void) { return atomic_load_explicit(&has_labels, memory_order_relaxed); }

uint32_t tsri_profile_label(void) { return tsri_profile_has_labels() ? label_of(&tsri_profiled_here) : 0; }

tsri_profile_context *tsri_profile_enter(tsri_profile_context *context) {
  tsri_profiled_thread *thread = &tsri_profiled_here;
  tsri_profile_context *before = thread->current;
  thread->current = context;
  return before;
}

tsri_profile_context tsri_thread_context(const tsri_profiled_thread *thread) {
  return thread->current ? *thread->current : (tsri_profile_context){.label = label_of(thread)};
}

// --- Labels --------------------------------------------------------------------------------------------------------------

// The full label of a range inside the innermost open one: "outer/inner".
static uint32_t join_label(const char *label) {
  const char *outer = tsri_profile_text(tsri_profile_label());
  char *path = outer[0] ? tsri_format_text("%s/%s", outer, label) : NULL;
  uint32_t number = tsri_profile_intern(outer[0] ? path : label);
  tsri_free(path);
  return number;
}

void tsr_label_begin(const char *label) {
  tsri_profiled_thread *thread = &tsri_profiled_here;
  if (thread->range_count < TSRI_LABEL_DEPTH) {
    bool is_on = tsri_profiling();
    if (is_on) atomic_store_explicit(&has_labels, true, memory_order_relaxed);
    thread->ranges[thread->range_count].label = is_on ? join_label(label ? label : "") : 0;
    thread->ranges[thread->range_count].start_ns = is_on ? tsri_clock_ns() : 0;
  }
  thread->range_count++;
}

void tsr_label_end(void) {
  tsri_profiled_thread *thread = &tsri_profiled_here;
  if (thread->range_count == 0) return;
  int ended = --thread->range_count;
  if (ended >= TSRI_LABEL_DEPTH || thread->ranges[ended].start_ns == 0 || !tsri_profiling()) return;
  tsri_profile_context context = {.label = thread->ranges[ended].label};
  tsri_profile_host(
      NULL, thread->ranges[ended].start_ns,
      &(tsri_profile_work){.kind = TSR_PROFILE_LABEL, .name = tsri_profile_text(context.label), .context = &context});
}
