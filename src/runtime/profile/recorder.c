// SPDX-License-Identifier: MIT
// The profiler's hooks: add a record for each piece of work. recorder.h says which lock guards what.
#include "runtime/profile/recorder.h"

#include <string.h>

// --- The device's record -------------------------------------------------------------------------------------------------

static void leave(tsr_device *device) { atomic_store_explicit(&device->profile_is_busy, false, memory_order_release); }

// Returns the device's record for use until leave(). NULL: there is no session, and leave() must not be called. Call with the queues locked.
//
// tsri_profile_stop may run at the same time: it clears tsri_profile_is_on, then reads profile_is_busy; this function sets profile_is_busy, then reads
// tsri_profile_is_on. All four are sequentially consistent, so either this function sees that the session has ended, or tsri_profile_stop sees that the
// record is in use and waits.
static tsri_profiled *enter(tsr_device *device) {
  atomic_store(&device->profile_is_busy, true);
  bool is_on = atomic_load(&tsri_profile_is_on);
  if (is_on && !device->profile) device->profile = tsri_profiled_find(device);
  if (is_on && device->profile) return device->profile;
  leave(device);
  return NULL;
}

// --- Records -------------------------------------------------------------------------------------------------------------

// The interned number of the work's name. Work of a class nearly always has the same name, so the last one is kept with the class.
static uint32_t name_of(const tsri_profile_work *work, tsri_work_class *class) {
  if (!class || !work->name) return tsri_profile_intern(work->name);
  if (!class->name_text || strcmp(class->name_text, work->name) != 0) {
    class->name = tsri_profile_intern(work->name);
    class->name_text = tsri_profile_text(class->name);
  }
  return class->name;
}

// What a record belongs to. Any of these may be NULL.
typedef struct place {
  tsri_profiled *profiled;
  const tsri_lane *lane;
  tsri_work_class *work;
} place;

// Adds a record of the calling thread to a stream of the session. Its times are those of the host's call; clock.c replaces them by the device's times.
// NULL: out of host memory, and the record is lost.
static tsri_profile_entry *add_record(tsri_profile_stream *stream, const place *at, tsri_profiled_thread *thread,
                                      uint64_t start_ns, uint64_t end_ns, const tsri_profile_work *work) {
  tsri_profile_entry *entry = tsri_stream_add(stream);
  if (!entry) {
    atomic_fetch_add(&stream->session->lost_count, 1);
    return NULL;
  }
  const tsri_profile_context context = work->context ? *work->context : tsri_thread_context(thread);
  bool is_at_once = at->lane ? at->lane->runs_at_once : at->profiled && at->profiled->runs_at_once;
  uint64_t since_ns = tsri_since(stream->session->begin_ns, start_ns);
  *entry = (tsri_profile_entry){
      .start_ns = since_ns,
      .duration_ns = end_ns - start_ns,
      .host_start_ns = since_ns,
      .host_ns = end_ns - start_ns,
      .bytes = work->bytes,
      .operations = work->operations || work->kind != TSR_PROFILE_KERNEL ? work->operations : context.operations,
      .name = name_of(work, at->work),
      .operators = work->kind == TSR_PROFILE_ALLOCATION ? 0 : context.operators,
      .result = context.result,
      .label = context.label,
      .thread = tsri_thread_number(thread),
      .work = at->work ? (uint16_t)(at->work - at->profiled->work.classes + 1) : 0,
      .device = at->profiled ? at->profiled->index : (uint16_t)TSRI_PROFILE_NO_DEVICE,
      .kind = (uint8_t)work->kind,
      .clock = is_at_once ? TSR_CLOCK_DEVICE : TSR_CLOCK_HOST,
      .queue = at->lane ? at->lane->number : 0,
      .is_f32 = work->is_f32,
  };
  return entry;
}

// As add_record, for a record that belongs to no queue.
static void add_host_record(tsr_device *device, uint64_t start_ns, uint64_t end_ns, const tsri_profile_work *work) {
  tsri_mutex_lock(&tsri_recording.lock);
  tsr_profile *session = tsri_recording.session;
  place at = {.profiled = device ? tsri_profiled_find_locked(device) : NULL};
  if (session) add_record(session->host, &at, &tsri_profiled_here, start_ns, end_ns, work);
  tsri_mutex_unlock(&tsri_recording.lock);
}

void tsri_profile_host(tsr_device *device, uint64_t start_ns, const tsri_profile_work *work) {
  if (tsri_thread_is_mute()) return;
  uint64_t end_ns = tsri_clock_ns();
  add_host_record(device, start_ns ? start_ns : end_ns, end_ns, work);
}

enum { POLL_EVERY_NS = 2000000 };

// --- Work of a queue -----------------------------------------------------------------------------------------------------

// Call at the first work of a queue in the session: relates the clock of the device to that of the host.
static void prepare_lane(tsri_lane *lane, tsri_queue *queue) {
  lane->owner->has_clock |= tsri_lane_calibrate(lane, queue, lane->owner->session->begin_ns);
  lane->is_ready = true;
}

// Decides whether to time the work, and returns events for it. NULL: it is not timed.
static tsri_timing *take_timing(tsri_lane *lane, tsri_work_class *work) {
  if (!lane->base) return NULL;
  const uint64_t cost_ns = tsri_timing_cost_ns(lane);
  if (work && !tsri_work_class_choose(work, cost_ns)) return NULL;
  if (work && !tsri_timing_is_affordable(lane, work, tsri_since(lane->owner->session->begin_ns, tsri_clock_ns())))
    return NULL;
  tsri_timing *timing = tsri_lane_take(lane);
  if (timing) lane->timing_ns += cost_ns;
  if (timing) timing->has_from = !lane->ends_timed || lane->owner->device->limits.starts_late;
  return timing;
}

// Work that is timed with events uses the system's clock; all other work uses the fast clock, which is less precise (fast_clock.c).
static uint64_t clock_ns(const tsri_span *span) {
  return span->timing || !span->lane ? tsri_clock_ns() : tsri_fast_clock_ns(&span->lane->owner->clock);
}

static void record_from(tsri_span *span, const tsr_device *device, tsri_queue *queue) {
  uint64_t called_ns = tsri_clock_ns();
  span->timing->has_failed = device->backend->event_record(queue, span->timing->from) != TSR_OK;
  span->host_start_ns = tsri_clock_ns();
  span->event_ns = span->host_start_ns - called_ns;
}

void tsri_span_start(tsri_span *span, tsr_device *device, tsri_queue *queue, uint64_t key) {
  tsri_profiled_thread *thread = &tsri_profiled_here;
  if (thread->is_mute) return;
  span->context = tsri_thread_context(thread);
  tsri_profiled *profiled = enter(device);
  if (!profiled) return;
  span->is_on = true;
  span->thread = thread;
  tsri_lane *lane = span->lane = tsri_profiled_lane(profiled, queue);
  bool has_class = lane && !profiled->session->is_full;
  tsri_work_class *work = span->work = has_class ? tsri_work_class_find(&profiled->work, key, &span->context) : NULL;
  if (lane && !lane->runs_at_once) {
    if (!lane->is_ready) prepare_lane(lane, queue);
    span->timing = take_timing(lane, work);
    if (span->timing && span->timing->has_from) record_from(span, device, queue);
    if (!span->timing && work && work->call_ns) return;  // the clock is not needed
  }
  if (!span->host_start_ns) span->host_start_ns = clock_ns(span);
}

// The operations of a fusion are counted for its first kernel, so set them to 0 for the kernels after it.
static void use_up_operations(const tsri_profiled_thread *thread, const tsri_profile_work *work) {
  if (thread->current && !work->context && work->kind == TSR_PROFILE_KERNEL) thread->current->operations = 0;
}

// When the host's call began that returned at `end_ns`. Reading the clock takes as long as all the rest of recording a launch, so for work that is not timed
// this is an estimate: `end_ns` minus the mean duration of the timed calls of its class.
static uint64_t call_began_ns(const tsri_span *span, uint64_t end_ns) {
  if (!span->host_start_ns) return end_ns - span->work->call_ns;
  if (span->work) tsri_work_class_called(span->work, end_ns - span->host_start_ns);
  return span->host_start_ns;
}

// Reads the times of work that has ended although nobody waited for it. Asking for that may be slow: some drivers then submit the commands that they
// have collected, or wait for the device. So it is done at most every POLL_EVERY_NS, and seldom enough to take at most 1 / TSRI_TIMING_SHARE of the time.
static void poll_lane(tsri_lane *lane, uint64_t now_ns) {
  uint64_t start_ns = tsri_clock_ns();
  int count = tsri_lane_read(lane, false, now_ns);
  uint64_t took_ns = tsri_clock_ns() - start_ns;
  tsri_reading_cost_add(lane, took_ns, count);
  lane->poll_ns = now_ns + (took_ns * TSRI_TIMING_SHARE > POLL_EVERY_NS ? took_ns * TSRI_TIMING_SHARE : POLL_EVERY_NS);
}

// Gives the events `timing` (may be NULL) to the lane, for the record that was added last. Now and then it also reads the times of earlier work.
static void add_timing(tsri_lane *lane, tsri_timing *timing, const tsri_profile_entry *entry, uint64_t end_ns) {
  bool is_good = timing && entry && !timing->has_failed;
  if (lane->first && end_ns > lane->poll_ns) poll_lane(lane, end_ns);
  if (is_good) {
    if (!lane->first && lane->poll_ns < end_ns + POLL_EVERY_NS) lane->poll_ns = end_ns + POLL_EVERY_NS;
    timing->number = lane->stream->next_number - 1;
    tsri_lane_add(lane, timing);
  } else if (timing) {
    tsri_lane_give(lane, timing);
  }
  if (entry && !lane->base && lane->owner->has_clock && !lane->runs_at_once) lane->untimed_count++;
  lane->ends_timed = is_good;
}

static void finish_in_lane(const tsri_span *span, uint64_t end_ns, const tsri_profile_work *work) {
  tsri_lane *lane = span->lane;
  place at = {lane->owner, lane, span->work};
  uint64_t since_ns = tsri_since(lane->owner->session->begin_ns, end_ns);
  tsri_profile_entry *entry =
      work ? add_record(lane->stream, &at, span->thread, call_began_ns(span, end_ns), end_ns, work) : NULL;
  add_timing(lane, span->timing, entry, since_ns);
  atomic_store_explicit(&lane->owner->curve.worked_ns, since_ns, memory_order_relaxed);
}

void tsri_span_finish(tsri_span *span, tsr_device *device, tsri_queue *queue, const tsri_profile_work *work) {
  uint64_t end_ns = clock_ns(span);
  tsri_timing *timing = span->timing;
  if (timing) {
    timing->has_failed |= device->backend->event_record(queue, timing->to) != TSR_OK;
    tsri_timing_cost_add(span->lane, span->event_ns + (tsri_clock_ns() - end_ns));
  }
  if (span->lane) finish_in_lane(span, end_ns, work);
  else if (work) add_host_record(device, span->host_start_ns, end_ns, work);
  leave(device);
  if (work) use_up_operations(span->thread, work);
}

// --- Waits ---------------------------------------------------------------------------------------------------------------

// Reads the times of all work of a queue, after a wait for it from `start_ns` to `end_ns` succeeded.
static void read_ended(tsri_lane *lane, uint64_t start_ns, uint64_t end_ns) {
  enum { BLOCKED_NS = 50000 };  // a wait for an idle queue takes less time than this
  bool had_to_wait = lane->unread < lane->stream->next_number && end_ns - start_ns > BLOCKED_NS;
  uint64_t since_ns = tsri_since(lane->owner->session->begin_ns, end_ns);
  int count = tsri_lane_read(lane, true, since_ns);
  tsri_reading_cost_add(lane, count > 0 ? tsri_clock_ns() - end_ns : 0, count);
  if (had_to_wait) tsri_lane_align(lane, since_ns);
}

void tsri_profile_waited(tsr_device *device, tsri_queue *queue, uint64_t start_ns, tsr_status status) {
  // On a device that runs work at once, shorter waits are not recorded: they are frequent and mean nothing.
  enum { SHORTEST_NS = 1000 };
  static const tsri_profile_work wait = {.kind = TSR_PROFILE_WAIT, .name = "wait"};
  if (start_ns == 0 || tsri_thread_is_mute()) return;  // 0: profiling began meanwhile
  uint64_t end_ns = tsri_clock_ns();
  tsri_profiled *profiled = enter(device);
  tsri_lane *lane = profiled ? tsri_profiled_lane(profiled, queue) : NULL;
  if (lane && status == TSR_OK) read_ended(lane, start_ns, end_ns);
  if (profiled && (!profiled->runs_at_once || end_ns - start_ns >= SHORTEST_NS)) {
    place at = {profiled, lane, NULL};
    bool was_read = lane && lane->unread == lane->stream->next_number;
    if (lane) add_record(lane->stream, &at, &tsri_profiled_here, start_ns, end_ns, &wait);
    else add_host_record(device, start_ns, end_ns, &wait);
    if (was_read) lane->unread = lane->stream->next_number;  // the wait's own record has no device time to read
  }
  if (profiled) leave(device);
}
