// SPDX-License-Identifier: MIT
// Times of work by the device's own clock: an event is recorded after a piece of work and read when the work has ended.
//
// The work of a queue runs in order. If the queue was busy, a piece of work began when the one before it ended. If the queue was idle, it began when it was
// queued; an event before the work would not help then, because it would happen before the host has queued the work. An event before the work is
// recorded only if the work before it has no event at its end, or if the driver submits commands in batches (limits.starts_late).
//
// Work that is not timed (sample.c) is assumed to take the mean time of its class. It is placed on the time line when the next timed work has ended,
// so that it fits in before that work.
//
// Events only give the time between two of them (on CUDA as f32 milliseconds), so a lane keeps one event as its base, whose time on the host's clock is
// known. The newest event that was read becomes the base: the time from base to event stays short, and thus precise.
#include "core/alloc.h"
#include "core/error.h"
#include "runtime/profile/recorder.h"

static const tsri_backend *backend_of(const tsri_lane *lane) { return lane->owner->device->backend; }

// Waits for the event until `deadline_ns`. False: it has not happened. Polls without sleeping at first, because a measurement begins when this returns.
static bool wait_for(const tsri_lane *lane, tsri_event *event, uint64_t deadline_ns) {
  enum { SPINS = 2000 };
  tsr_device *device = lane->owner->device;
  bool is_done = false;
  for (int i = 0; device->backend->event_is_done(device->handle, event, &is_done) == TSR_OK && !is_done; i++) {
    if (tsri_clock_ns() > deadline_ns) return false;
    if (i > SPINS) tsri_sleep_ns(2000);
  }
  return is_done;
}

// Calibration gives up if an event of an idle queue takes longer than this.
static const uint64_t calibration_ns = UINT64_C(1000000000);

// Records the base event `times` times and waits for the last one. False: an event failed, or did not happen in time.
static bool record_base(const tsri_lane *lane, tsri_queue *queue, int times) {
  bool is_good = true;
  for (int i = 0; i < times && is_good; i++) is_good = backend_of(lane)->event_record(queue, lane->base) == TSR_OK;
  return is_good && wait_for(lane, lane->base, tsri_clock_ns() + calibration_ns);
}

// Measures how long one more event keeps the queue busy: with some drivers each event is a submission of its own. Takes the shortest of a few
// measurements, since other programs may disturb some of them.
static uint64_t measure_event(const tsri_lane *lane, tsri_queue *queue) {
  enum { ROUNDS = 3, EVENTS = 8 };
  uint64_t best[2] = {UINT64_MAX, UINT64_MAX};
  for (int i = 0; i < 2 * ROUNDS; i++) {
    uint64_t start_ns = tsri_clock_ns();
    if (!record_base(lane, queue, i % 2 ? 1 + EVENTS : 1)) return 0;
    uint64_t ns = tsri_clock_ns() - start_ns;
    if (ns < best[i % 2]) best[i % 2] = ns;
  }
  return best[1] > best[0] ? (best[1] - best[0]) / EVENTS : 0;
}

bool tsri_lane_calibrate(tsri_lane *lane, tsri_queue *queue, uint64_t begin_ns) {
  enum { ROUNDS = 3 };  // the first ones may have to set something up
  tsr_device *device = lane->owner->device;
  const tsri_backend *backend = device->backend;
  if (!backend->event_create || backend->event_create(device->handle, &lane->base) != TSR_OK) return false;
  uint64_t elapsed_ns = 0;
  bool is_good = backend->queue_wait(queue, device->timeout_ns) == TSR_OK && record_base(lane, queue, 1);
  lane->busy_ns = is_good ? measure_event(lane, queue) : 0;
  for (int i = 1; i < ROUNDS && is_good; i++) {
    is_good = record_base(lane, queue, 1);
    lane->base_ns = tsri_clock_ns() - begin_ns;
  }
  is_good = is_good && backend->event_elapsed(device->handle, lane->base, lane->base, &elapsed_ns) == TSR_OK;
  if (is_good) return true;
  backend->event_destroy(device->handle, lane->base);
  lane->base = NULL;
  return false;
}

// --- Events ------------------------------------------------------------------------------------------------------------------

static void destroy_timing(const tsri_lane *lane, tsri_timing *timing) {
  tsr_device *device = lane->owner->device;
  if (timing->from) device->backend->event_destroy(device->handle, timing->from);
  if (timing->to) device->backend->event_destroy(device->handle, timing->to);
  tsri_free(timing);
}

static tsri_timing *create_timing(tsri_lane *lane) {
  tsri_device *handle = lane->owner->device->handle;
  tsri_timing *timing = lane->timing_count < TSRI_MOST_TIMINGS ? tsri_calloc(1, sizeof *timing) : NULL;
  if (!timing) return NULL;
  tsr_status status = backend_of(lane)->event_create(handle, &timing->to);
  if (status == TSR_OK) status = backend_of(lane)->event_create(handle, &timing->from);
  if (status == TSR_OK) {
    lane->timing_count++;
    return timing;
  }
  destroy_timing(lane, timing);
  return NULL;
}

tsri_timing *tsri_lane_take(tsri_lane *lane) {
  tsri_timing *timing = lane->spare;
  if (timing) lane->spare = timing->next;
  else timing = create_timing(lane);
  if (timing) timing->has_failed = false;
  return timing;
}

void tsri_lane_give(tsri_lane *lane, tsri_timing *timing) {
  timing->next = lane->spare;
  lane->spare = timing;
}

void tsri_lane_add(tsri_lane *lane, tsri_timing *timing) {
  timing->next = NULL;
  if (lane->first) lane->last->next = timing;
  else lane->first = timing;
  lane->last = timing;
}

// --- Reading -----------------------------------------------------------------------------------------------------------------

// When the work began if the queue was idle. A kernel begins when the call that queues it returns. Other calls may queue several commands, the first of
// which already run during the call, so their work begins with the call.
static uint64_t queued_ns(const tsri_profile_entry *entry) {
  return entry->kind == TSR_PROFILE_KERNEL ? entry->host_start_ns + entry->host_ns : entry->host_start_ns;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

// NULL: the record has been dropped.
static tsri_profile_entry *entry_of(const tsri_lane *lane, uint64_t number) {
  return number >= lane->stream->first_number ? tsri_stream_at(lane->stream, number) : NULL;
}

// The time that untimed work takes; 0: not known yet.
static double expected_ns(const tsri_lane *lane, const tsri_profile_entry *entry) {
  return entry->work ? lane->owner->work.classes[entry->work - 1].mean_ns : 0;
}

// Whether the record is of work that the queue did. Waits are in the stream, too.
static bool is_work(const tsri_profile_entry *entry) { return entry->kind <= TSR_PROFILE_REPLAY; }

// The stretch of time in which untimed work is placed. from_ns: where the next piece of work goes; left: nanoseconds from there to the end; total: expected
// nanoseconds of all work that is not placed yet; scale: factor that makes all expected times fit.
typedef struct untimed_room {
  uint64_t from_ns;
  double left, total, scale;
} untimed_room;

// Places a piece of work right after the one before it. If it was queued later than that, it is placed at the time of queueing, as far as enough room is
// left for the work after it.
static void place_next(untimed_room *room, tsri_profile_entry *entry, double expected) {
  double ns = expected * room->scale, slack = room->left - room->total * room->scale;
  uint64_t late_ns = queued_ns(entry), slack_ns = slack > 0 ? (uint64_t)slack : 0;
  uint64_t wait_ns = late_ns > room->from_ns ? late_ns - room->from_ns : 0;
  if (wait_ns > slack_ns) wait_ns = slack_ns;
  entry->start_ns = room->from_ns + wait_ns;
  entry->duration_ns = ns > 1 ? (uint64_t)ns : 1;
  entry->clock = TSR_CLOCK_ESTIMATED;
  room->from_ns = entry->start_ns + entry->duration_ns;
  room->left -= (double)wait_ns + ns;
  room->total -= expected;
}

// Places all unread work before record number `end` (none of it is timed) between the base and `limit_ns`, one piece after the other. If the expected times
// do not fit, all are scaled down by the same factor.
static void place_untimed(tsri_lane *lane, uint64_t end, uint64_t limit_ns) {
  const tsri_profile_stream *stream = lane->stream;
  untimed_room room = {.from_ns = lane->base_ns,
                       .left = limit_ns > lane->base_ns ? (double)(limit_ns - lane->base_ns) : 0};
  if (lane->unread < stream->first_number) lane->unread = stream->first_number;
  for (uint64_t i = lane->unread; i < end; i++) {
    const tsri_profile_entry *entry = tsri_stream_at(stream, i);
    if (is_work(entry)) room.total += expected_ns(lane, entry);
  }
  room.scale = room.total > room.left ? room.left / room.total : 1;
  for (; lane->unread < end; lane->unread++) {
    tsri_profile_entry *entry = tsri_stream_at(stream, lane->unread);
    double expected = expected_ns(lane, entry);
    if (!is_work(entry)) continue;
    if (expected > 0) place_next(&room, entry, expected);
    else lane->untimed_count++;
  }
}

// When work began that ended at `end_ns`. `ns` is the time from the event before the work to its end, if has_from.
static uint64_t began_ns(const tsri_lane *lane, const tsri_timing *timing, const tsri_profile_entry *entry,
                         uint64_t end_ns, uint64_t ns) {
  uint64_t since_ns = timing->has_from ? end_ns - (ns < end_ns ? ns : end_ns) : 0;
  // If the queue was idle, the event before the work happened before the work was queued, so the later time counts. With submission in batches both are
  // submitted together, and the event is right.
  if (!timing->has_from || !lane->owner->device->limits.starts_late) since_ns = larger(since_ns, queued_ns(entry));
  return larger(lane->base_ns, since_ns);
}

// Writes the measured times to the record (unless it has been dropped), places the untimed work before it, and makes the event at its end the new base.
static void read_timing(tsri_lane *lane, tsri_timing *timing) {
  tsri_device *handle = lane->owner->device->handle;
  uint64_t passed_ns = 0, ns = 0;
  tsr_status status = backend_of(lane)->event_elapsed(handle, lane->base, timing->to, &passed_ns);
  if (status == TSR_OK && timing->has_from) {
    status = backend_of(lane)->event_elapsed(handle, timing->from, timing->to, &ns);
  }
  tsri_profile_entry *entry = entry_of(lane, timing->number);
  uint64_t end_ns = lane->base_ns + passed_ns, now_ns = tsri_since(lane->owner->session->begin_ns, tsri_clock_ns());
  if (end_ns > now_ns)
    end_ns = now_ns;  // it has ended: the clocks have drifted apart, or were aligned while the host was interrupted
  uint64_t start_ns = end_ns;
  if (status == TSR_OK && entry) {
    end_ns = larger(end_ns, queued_ns(entry) + 1);  // the clocks drift apart by less than this until they are aligned
    start_ns = began_ns(lane, timing, entry, end_ns, ns);
    entry->start_ns = start_ns < end_ns ? start_ns : end_ns - 1;
    entry->duration_ns = end_ns - entry->start_ns;
    entry->clock = TSR_CLOCK_DEVICE;
    if (entry->work) tsri_work_class_add(&lane->owner->work.classes[entry->work - 1], entry->duration_ns);
  }
  place_untimed(lane, timing->number, start_ns);
  lane->unread = timing->number + 1;
  if (status != TSR_OK) {
    lane->untimed_count++;
    return;
  }
  tsri_event *old = lane->base;
  lane->base = timing->to;
  timing->to = old;
  lane->base_ns = end_ns;
}

void tsri_lane_align(tsri_lane *lane, uint64_t end_ns) {
  if (lane->base) lane->base_ns = end_ns;
}

// Reads the oldest timed work, and the untimed work before it.
static void read_first(tsri_lane *lane) {
  tsri_timing *timing = lane->first;
  lane->first = timing->next;
  read_timing(lane, timing);
  tsri_lane_give(lane, timing);
}

int tsri_lane_read(tsri_lane *lane, bool is_idle, uint64_t now_ns) {
  int count = 0;
  if (!lane->base) return 0;
  for (; lane->first && (is_idle || wait_for(lane, lane->first->to, 0)); count++) read_first(lane);
  if (is_idle) place_untimed(lane, lane->stream->next_number, now_ns);
  return count;
}

static void destroy_timings(const tsri_lane *lane, tsri_timing *timings) {
  for (tsri_timing *timing = timings, *next; timing; timing = next) {
    next = timing->next;
    destroy_timing(lane, timing);
  }
}

void tsri_lane_finish(tsri_lane *lane, uint64_t deadline_ns) {
  if (!lane->base) return;
  while (lane->first && wait_for(lane, lane->first->to, deadline_ns)) read_first(lane);
  if (!lane->first) {
    place_untimed(lane, lane->stream->next_number, tsri_since(lane->owner->session->begin_ns, tsri_clock_ns()));
  }
  for (uint64_t i = lane->unread; i < lane->stream->next_number; i++) {
    const tsri_profile_entry *entry = entry_of(lane, i);
    lane->untimed_count += entry && is_work(entry);
  }
  destroy_timings(lane, lane->first);
  destroy_timings(lane, lane->spare);
  lane->first = lane->last = lane->spare = NULL;
  lane->timing_count = 0;
  backend_of(lane)->event_destroy(lane->owner->device->handle, lane->base);
  lane->base = NULL;
}
