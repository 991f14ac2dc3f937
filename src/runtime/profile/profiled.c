// SPDX-License-Identifier: MIT
// The devices of a session, and their queues.
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "runtime/profile/recorder.h"

enum { MOST_DEVICES = 1024 };

tsri_recording_state tsri_recording = {TSRI_MUTEX_INIT, NULL};

// Starts the lanes again; they keep their streams.
static void attach(tsri_profiled *profiled, tsr_device *device) {
  profiled->device = device;
  profiled->lane_count = 0;
}

// The record of this device if it was closed and opened again during the session; its work continues in the same record.
static tsri_profiled *find_closed(const tsr_profile *session, const tsr_device *device) {
  tsri_profiled *at = session->devices;
  while (at && (at->device || at->number != device->info.index ||
                strcmp(tsri_profile_text(at->backend), device->backend->name) != 0)) {
    at = at->next;
  }
  return at;
}

static uint32_t make_title(const tsr_profile *session, const tsr_device *device) {
  int same = 0;
  char title[TSR_NAME_BYTES];
  uint32_t backend = tsri_profile_intern(device->backend->name);
  for (const tsri_profiled *at = session->devices; at; at = at->next) same += at->backend == backend;
  if (same == 0) return backend;
  snprintf(title, sizeof title, "%.*s %d", (int)sizeof title - 16, device->backend->name, same + 1);
  return tsri_profile_intern(title);
}

// NULL when host memory is out, or there are too many.
static tsri_profiled *add_device(tsr_profile *session, const tsr_device *device) {
  tsri_profiled *profiled = session->device_count < MOST_DEVICES ? tsri_calloc(1, sizeof *profiled) : NULL;
  if (!profiled) return NULL;
  if (!tsri_memory_curve_init(&profiled->curve, session->begin_ns)) {
    tsri_free(profiled);
    return NULL;
  }
  profiled->session = session;
  profiled->number = device->info.index;
  profiled->index = (uint16_t)session->device_count++;
  profiled->runs_at_once = device->limits.runs_at_once;
  profiled->has_clock = profiled->runs_at_once;
  profiled->title = make_title(session, device);
  profiled->backend = tsri_profile_intern(device->backend->name);
  profiled->name = tsri_profile_intern(device->info.name);
  profiled->next = session->devices;
  session->devices = profiled;
  return profiled;
}

tsri_profiled *tsri_profiled_find_locked(tsr_device *device) {
  tsr_profile *session = tsri_recording.session;
  if (!session || device->is_leaving_profile) return NULL;
  tsri_profiled *profiled = session->devices;
  while (profiled && profiled->device != device) profiled = profiled->next;
  if (profiled) return profiled;
  profiled = find_closed(session, device);
  if (!profiled) profiled = add_device(session, device);
  if (profiled) attach(profiled, device);
  else atomic_fetch_add(&session->lost_count, 1);
  return profiled;
}

tsri_profiled *tsri_profiled_find(tsr_device *device) {
  tsri_mutex_lock(&tsri_recording.lock);
  tsri_profiled *profiled = tsri_profiled_find_locked(device);
  tsri_mutex_unlock(&tsri_recording.lock);
  return profiled;
}

// --- Queues --------------------------------------------------------------------------------------------------------------

static tsri_lane *add_lane(tsri_profiled *profiled, tsri_queue *queue) {
  if (profiled->lane_count == TSRI_LANES) return NULL;
  tsri_lane *lane = &profiled->lanes[profiled->lane_count];
  tsri_profile_stream *stream = lane->stream;
  if (!stream) {
    tsri_mutex_lock(&tsri_recording.lock);
    stream = tsri_stream_create(profiled->session, profiled);
    tsri_mutex_unlock(&tsri_recording.lock);
  }
  if (!stream) return NULL;
  bool is_first = queue == profiled->device->tracks[0].handle;
  *lane = (tsri_lane){.owner = profiled,
                      .stream = stream,
                      .queue = queue,
                      .number = (uint8_t)profiled->lane_count++,
                      .unread = stream->next_number,
                      .untimed_count = lane->untimed_count,
                      .runs_at_once = profiled->runs_at_once && is_first};
  return lane;
}

tsri_lane *tsri_profiled_lane(tsri_profiled *profiled, tsri_queue *queue) {
  for (int i = 0; i < profiled->lane_count; i++) {
    if (profiled->lanes[i].queue == queue) return &profiled->lanes[i];
  }
  return add_lane(profiled, queue);
}

void tsri_profiled_finish(tsri_profiled *profiled) {
  const uint64_t longest_wait_ns = UINT64_C(10000000000);  // as profile.h says of tsr_profile_end
  uint64_t deadline_ns = tsri_clock_ns() + longest_wait_ns;
  for (int i = 0; i < profiled->lane_count; i++) tsri_lane_finish(&profiled->lanes[i], deadline_ns);
}
