// SPDX-License-Identifier: MIT
// Times of a device's own clock: an event after each piece of work, read when the work has ended.
//
// Work of a queue follows each other, so a piece began when the one before it ended, if the queue was busy. If the queue was
// idle, it began when it was queued: an event before it would not tell better, since it would happen before the host gets to
// queueing the work. Only where commands are submitted in batches (limits.starts_late) is there an event before the work, too.
//
// Events only tell the time between two of them, as f32 milliseconds on CUDA, so a lane keeps one event as its base, with
// its time on the host's clock. The base moves along with the work: distances stay short, and thus precise.
#include "core/alloc.h"
#include "core/error.h"
#include "runtime/profile/recorder.h"

static const tsri_backend *backend_of(const tsri_lane *lane) { return lane->owner->device->backend; }

// Waits without sleeping at first: what is measured next begins when it returns.
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

bool tsri_lane_calibrate(tsri_lane *lane, tsri_queue *queue, uint64_t begin_ns) {
  enum { ROUNDS = 3 };  // the first ones may have to set something up
  tsr_device *device = lane->owner->device;
  const tsri_backend *backend = device->backend;
  if (!backend->event_create || backend->event_create(device->handle, &lane->base) != TSR_OK) return false;
  uint64_t elapsed_ns = 0;
  bool is_good = backend->queue_wait(queue, device->timeout_ns) == TSR_OK;
  for (int i = 0; i < ROUNDS && is_good; i++) {
    is_good = backend->event_record(queue, lane->base) == TSR_OK &&
              wait_for(lane, lane->base, tsri_clock_ns() + UINT64_C(1000000000));
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
  tsri_timing *timing = tsri_calloc(1, sizeof *timing);
  if (!timing) return NULL;
  tsr_status status = backend_of(lane)->event_create(handle, &timing->to);
  if (status == TSR_OK && lane->owner->device->limits.starts_late) {
    status = backend_of(lane)->event_create(handle, &timing->from);
  }
  if (status == TSR_OK) {
    lane->timing_count++;
    return timing;
  }
  destroy_timing(lane, timing);
  return NULL;
}

tsri_timing *tsri_lane_take(tsri_lane *lane) {
  if (!lane->base) return NULL;
  tsri_timing *timing = lane->spare;
  if (timing) lane->spare = timing->next;
  else if (lane->timing_count < TSRI_MOST_TIMINGS) timing = create_timing(lane);
  if (timing) timing->next = NULL;
  return timing;
}

void tsri_lane_give(tsri_lane *lane, tsri_timing *timing) {
  timing->next = lane->spare;
  lane->spare = timing;
}

void tsri_lane_add(tsri_lane *lane, tsri_timing *timing) {
  if (lane->last) lane->last->next = timing;
  else lane->first = timing;
  lane->last = timing;
  lane->pending_count++;
}

// --- Reading -----------------------------------------------------------------------------------------------------------------

// When work began that ended at `end_ns`, on an idle queue. A kernel begins as the call that queues it returns. Other calls may
// queue several, of which the first ones run meanwhile.
static uint64_t queued_ns(const tsri_profile_entry *entry) {
  return entry->kind == TSR_PROFILE_KERNEL ? entry->host_start_ns + entry->host_ns : entry->host_start_ns;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

// Gives the record its times, unless it has been dropped, and makes the event at its end the base.
static void read_timing(tsr_profile *session, tsri_lane *lane, tsri_timing *timing) {
  tsri_device *handle = lane->owner->device->handle;
  uint64_t passed_ns = 0, ns = 0;
  tsr_status status = backend_of(lane)->event_elapsed(handle, lane->base, timing->to, &passed_ns);
  if (status == TSR_OK && timing->from) {
    status = backend_of(lane)->event_elapsed(handle, timing->from, timing->to, &ns);
  }
  if (status != TSR_OK) {
    session->untimed_count++;
    return;
  }
  uint64_t end_ns = lane->base_ns + passed_ns;
  if (timing->number >= session->first_number) {
    tsri_profile_entry *entry = tsri_profile_at(session, timing->number);
    end_ns = larger(end_ns, queued_ns(entry) + 1);  // the clocks drift apart by less than this until they are aligned
    uint64_t start_ns = larger(lane->base_ns, timing->from ? end_ns - (ns < end_ns ? ns : end_ns) : queued_ns(entry));
    entry->start_ns = start_ns < end_ns ? start_ns : end_ns - 1;
    entry->duration_ns = end_ns - entry->start_ns;
    entry->clock = TSR_CLOCK_DEVICE;
  }
  tsri_event *old = lane->base;
  lane->base = timing->to;
  timing->to = old;
  lane->base_ns = end_ns;
}

void tsri_lane_align(tsri_lane *lane, uint64_t end_ns) {
  if (lane->base) lane->base_ns = end_ns;
}

static void read_first(tsr_profile *session, tsri_lane *lane) {
  tsri_timing *timing = lane->first;
  lane->first = timing->next;
  if (!lane->first) lane->last = NULL;
  lane->pending_count--;
  read_timing(session, lane, timing);
  tsri_lane_give(lane, timing);
}

void tsri_lane_read(tsr_profile *session, tsri_lane *lane, bool is_idle) {
  while (lane->first && (is_idle || wait_for(lane, lane->first->to, 0))) read_first(session, lane);
}

void tsri_lane_finish(tsr_profile *session, tsri_lane *lane, uint64_t deadline_ns) {
  while (lane->first && wait_for(lane, lane->first->to, deadline_ns)) read_first(session, lane);
  for (tsri_timing *timing = lane->first, *next; timing; timing = next) {
    next = timing->next;
    session->untimed_count++;
    destroy_timing(lane, timing);
  }
  for (tsri_timing *timing = lane->spare, *next; timing; timing = next) {
    next = timing->next;
    destroy_timing(lane, timing);
  }
  tsr_device *device = lane->owner->device;
  if (lane->base) device->backend->event_destroy(device->handle, lane->base);
  lane->first = lane->last = lane->spare = NULL;
  lane->base = NULL;
}
