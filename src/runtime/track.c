// SPDX-License-Identifier: MIT
// Tracks: creating them, ordering them by the memory their commands use, and waiting for them.
#include "runtime/track.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/poll.h"
#include "core/error.h"
#include "runtime/buffer.h"
#include "runtime/profile.h"
#include "runtime/sharing.h"

atomic_bool tsri_tracks_are_used;

// --- The calling thread's track ---------------------------------------------------------------------------------------

static TSRI_THREAD_LOCAL tsri_binding_link *bound;
static TSRI_THREAD_LOCAL tsri_track_entry entered;

void tsri_track_bind(tsri_binding_link *link) {
  link->outer = bound;
  bound = link;
}

void tsri_track_unbind(tsri_binding_link *link) {
  tsri_binding_link **at = &bound;
  while (*at && *at != link) at = &(*at)->outer;
  if (*at) *at = link->outer;
}

int tsri_track_find(const tsr_device *device) {
  if (entered.device == device) return entered.track;
  for (const tsri_binding_link *link = bound; link; link = link->outer) {
    if (link->device == device) return link->track;
  }
  return 0;
}

tsri_track_entry tsri_track_exchange(const tsr_device *device, int track) {
  tsri_track_entry before = entered;
  entered = (tsri_track_entry){device, track};
  return before;
}

// --- Creating ---------------------------------------------------------------------------------------------------------

static bool has_one(const tsr_device *device) { return device->track_count == 1; }

tsr_status tsri_track_create(tsr_device *device, int track) {
  tsri_track *made = &device->tracks[track];
  if (made->handle) return TSR_OK;
  tsr_status status = device->backend->queue_create(device->handle, &made->handle);
  if (status != TSR_OK) {
    made->handle = NULL;
    return status;
  }
  device->track_count++;
  if (track == 0) return TSR_OK;
  atomic_store(&tsri_tracks_are_used, true);
  // While there was one track, no usage was noted. So the new track must wait for everything on track 0.
  status = tsri_track_follow(device, made, 0, device->tracks[0].queued);
  if (status != TSR_OK) {
    device->backend->queue_destroy(made->handle);
    made->handle = NULL;
    device->track_count--;
  }
  return status;
}

void tsri_tracks_destroy(tsr_device *device) {
  for (int i = 0; i < TSRI_MAX_TRACKS; i++) {
    tsri_track *track = &device->tracks[i];
    if (track->event) device->backend->event_destroy(device->handle, track->event);
    if (track->handle) device->backend->queue_destroy(track->handle);
    *track = (tsri_track){0};
  }
}

// --- Order between tracks ---------------------------------------------------------------------------------------------

tsr_status tsri_track_record(tsr_device *device, tsri_track *track) {
  const tsri_backend *backend = device->backend;
  if (track->event && track->recorded == track->queued) return TSR_OK;
  tsr_status status = track->event ? TSR_OK : backend->event_create(device->handle, &track->event);
  if (status == TSR_OK) status = backend->event_record(track->handle, track->event);
  if (status == TSR_OK) track->recorded = track->queued;
  return status;
}

tsr_status tsri_track_follow(tsr_device *device, tsri_track *later, int earlier, uint64_t number) {
  tsri_track *before = &device->tracks[earlier];
  if (before == later || number <= later->awaited[earlier] || number <= atomic_load(&before->done)) return TSR_OK;
  tsr_status status = before->recorded >= number ? TSR_OK : tsri_track_record(device, before);
  if (status == TSR_OK) status = device->backend->event_await(later->handle, before->event);
  if (status == TSR_OK) later->awaited[earlier] = before->recorded;
  return status;
}

// For memory without a usage record: imported memory, and memory that is shared through DLPack, which other buffers may use too. A command that uses it waits for
// everything that is queued on all tracks.
static tsr_status follow_all(tsr_device *device, tsri_track *track) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < TSRI_MAX_TRACKS && status == TSR_OK; i++) {
    status = tsri_track_follow(device, track, i, device->tracks[i].queued);
  }
  return status;
}

static tsr_status follow_readers(tsr_device *device, tsri_track *track, const tsri_usage *usage) {
  tsr_status status = TSR_OK;
  for (int i = 0; usage->readers >> i && status == TSR_OK; i++) {
    if (usage->readers >> i & 1u) status = tsri_track_follow(device, track, i, usage->read[i]);
  }
  return status;
}

tsr_status tsri_track_touch(tsr_device *device, tsr_buffer *buffer, bool is_written) {
  if (has_one(device) || !buffer->handle) return TSR_OK;
  tsri_track *track = device->current;
  uint32_t index = (uint32_t)(track - device->tracks);
  if (buffer->whole) buffer = buffer->whole;
  if (!buffer->block || tsri_buffer_is_shared(buffer)) return follow_all(device, track);
  tsri_usage *usage = &buffer->block->usage;
  tsr_status status = usage->written ? tsri_track_follow(device, track, (int)usage->writer, usage->written) : TSR_OK;
  if (status == TSR_OK && is_written) status = follow_readers(device, track, usage);
  if (status != TSR_OK) return status;
  if (is_written) {
    usage->writer = index;
    usage->written = track->queued + 1;
    usage->readers = 0;
  } else {
    tsri_usage_read_by(usage, index, track->queued + 1);
  }
  return TSR_OK;
}

void tsri_track_count(tsr_device *device, const tsri_command_name *name) {
  tsri_track *track = device->current;
  track->names[++track->queued % TSRI_TRACK_NAMES] = *name;
}

bool tsri_usage_is_busy(tsr_device *device, const tsri_usage *usage) {
  if (!usage->written && !usage->readers) return false;
  int now = tsri_track_now(device);
  if (usage->written && usage->writer != (uint32_t)now &&
      usage->written > atomic_load(&device->tracks[usage->writer].done)) {
    return true;
  }
  for (int i = 0; usage->readers >> i; i++) {
    bool reads = usage->readers >> i & 1u;
    if (reads && i != now && usage->read[i] > atomic_load(&device->tracks[i].done)) return true;
  }
  return false;
}

// --- Waiting ----------------------------------------------------------------------------------------------------------

// Adds the names of the operators that were queued since the last wait to the error message: one of them has failed.
static tsr_status name_suspects(const tsri_track *track, tsr_status status) {
  uint64_t count = track->queued - track->waited, shown = count < TSRI_TRACK_NAMES ? count : TSRI_TRACK_NAMES;
  char said[TSRI_ERROR_BYTES], names[TSRI_ERROR_BYTES / 2];
  size_t at = 0;
  if (count == 0) return status;
  snprintf(said, sizeof said, "%s", tsr_last_error());
  names[0] = 0;
  for (uint64_t i = 0; i < shown && at < sizeof names; i++) {
    int bytes = snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
                         track->names[(track->queued - i) % TSRI_TRACK_NAMES].text);
    if (bytes > 0) at += (size_t)bytes;
  }
  if (count == 1) return TSRI_FAIL(status, "%.*s, in %s", TSRI_ERROR_BYTES / 2, said, names);
  return TSRI_FAIL(status, "%.*s, in one of the %llu operators queued since the last wait, the newest first: %s",
                   TSRI_ERROR_BYTES / 2, said, (unsigned long long)count, names);
}

static tsr_status overdue(const tsr_device *device, uint64_t timeout_ns) {
  return TSRI_FAIL(TSR_ERR_TIMEOUT, "%s: work did not finish within %.3f ms", device->info.name,
                   (double)timeout_ns / 1e6);
}

// Names the work that may have failed. Unless it still runs, the track counts as waited for.
static tsr_status note_failure(tsr_device *device, tsri_track *track, tsr_status status) {
  status = name_suspects(track, status);
  if (!tsri_is_still_running(device, status)) track->waited = track->queued;
  return status;
}

static tsr_status finish_wait(tsr_device *device, tsri_track *track, uint64_t timeout_ns) {
  tsr_status status = device->backend->queue_wait(track->handle, timeout_ns);
  if (status != TSR_OK) return note_failure(device, track, status);
  track->waited = track->queued;
  if (has_one(device)) atomic_store_explicit(&track->done, track->queued, memory_order_relaxed);
  else tsri_track_ended(track, track->queued);
  return TSR_OK;
}

// Polls the track's event without the lock, so that other threads can queue work meanwhile. `*out_done`: it has happened. An error
// is left to the wait that follows.
static void poll_event(tsr_device *device, const tsri_track *track, uint64_t number, tsri_poll *poll, bool *out_done) {
  tsr_status status = TSR_OK;
  *out_done = false;
  tsri_mutex_unlock(&device->queue_lock);
  do {
    status = device->backend->event_is_done(device->handle, track->event, out_done);
    if (atomic_load(&track->done) >= number) *out_done = true;  // another thread has waited
  } while (status == TSR_OK && !*out_done && tsri_poll_again(poll));
  if (status != TSR_OK) *out_done = true;
  tsri_mutex_lock(&device->queue_lock);
}

static tsr_status wait_for(tsr_device *device, tsri_track *track, uint64_t timeout_ns) {
  if (has_one(device)) return finish_wait(device, track, timeout_ns);
  tsri_poll poll = tsri_poll_begin(timeout_ns);
  for (;;) {
    tsr_status status = tsri_track_record(device, track);
    if (status != TSR_OK) return finish_wait(device, track, timeout_ns);  // the error of the queue says more
    uint64_t number = track->recorded;
    bool is_done = false;
    poll_event(device, track, number, &poll, &is_done);
    if (!is_done) return name_suspects(track, overdue(device, timeout_ns));
    if (track->queued == number) return finish_wait(device, track, timeout_ns);
    tsri_track_ended(track, number);
  }
}

tsr_status tsri_track_wait(tsr_device *device, tsri_track *track, uint64_t timeout_ns) {
  uint64_t start_ns = tsri_profile_clock();
  tsr_status status = wait_for(device, track, timeout_ns);
  if (start_ns) tsri_profile_waited(device, track->handle, start_ns, status);
  return status;
}

tsr_status tsri_tracks_wait(tsr_device *device, uint64_t timeout_ns) {
  tsri_track *first_track = &device->tracks[0];
  if (has_one(device)) {  // a fast path, because every read of a tensor waits
    return tsri_profiling() ? tsri_track_wait(device, first_track, timeout_ns)
                            : finish_wait(device, first_track, timeout_ns);
  }
  tsr_status first = TSR_OK;
  for (int i = 0; i < TSRI_MAX_TRACKS; i++) {
    if (!device->tracks[i].handle) continue;
    tsr_status status = tsri_track_wait(device, &device->tracks[i], timeout_ns);
    if (first == TSR_OK) first = status;
  }
  return first;
}

static void refresh(tsr_device *device, tsri_track *track) {
  bool is_done = false;
  if (!track->event || track->recorded <= atomic_load(&track->done)) {
    if (track->queued > atomic_load(&track->done)) (void)tsri_track_record(device, track);
    return;
  }
  if (device->backend->event_is_done(device->handle, track->event, &is_done) == TSR_OK && is_done) {
    tsri_track_ended(track, track->recorded);
  }
}

void tsri_tracks_refresh(tsr_device *device) {
  tsri_mutex_lock(&device->queue_lock);
  for (int i = 0; i < TSRI_MAX_TRACKS && !has_one(device); i++) {
    if (device->tracks[i].handle) refresh(device, &device->tracks[i]);
  }
  tsri_mutex_unlock(&device->queue_lock);
}
