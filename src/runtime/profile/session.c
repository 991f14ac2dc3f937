// SPDX-License-Identifier: MIT
// Begins and ends sessions, and devices within them.
#include "core/alloc.h"
#include "core/error.h"
#include "runtime/profile/recorder.h"

enum { DEFAULT_RECORDS = 1 << 18, LEAST_RECORDS = 1024 };

atomic_bool tsri_profile_is_on;
static atomic_bool is_full;  // of the session that is on

// Held while a session begins or ends, and while a device leaves it. Comes before the locks of queues and pools, and before tsri_recording.lock.
static tsri_mutex lock = TSRI_MUTEX_INIT;

bool tsr_profile_is_on(void) { return tsri_profiling(); }

bool tsri_profile_is_full(void) { return atomic_load_explicit(&is_full, memory_order_relaxed); }

// --- Beginning ------------------------------------------------------------------------------------------------------------

static tsr_profile *create_session(const tsr_profile_desc *desc) {
  uint64_t limit = desc && desc->record_limit ? desc->record_limit : DEFAULT_RECORDS;
  if (limit < LEAST_RECORDS) limit = LEAST_RECORDS;
  if (limit > INT32_MAX / 2) limit = INT32_MAX / 2;
  tsr_profile *profile = tsri_object_create(TSRI_OBJECT_PROFILE, sizeof *profile);
  if (!profile) return NULL;
  profile->chunk_limit = (size_t)(limit / TSRI_PROFILE_CHUNK);
  profile->is_full = desc && desc->is_full;
  profile->begin_ns = tsri_clock_ns();
  profile->host = tsri_stream_create(profile, NULL);
  if (profile->host) return profile;
  tsr_profile_release(profile);
  return NULL;
}

tsr_status tsri_profile_start(const tsr_profile_desc *desc) {
  tsr_profile *profile = create_session(desc);
  if (!profile) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "profile_begin: no host memory for its record");
  tsri_mutex_lock(&lock);
  tsri_mutex_lock(&tsri_recording.lock);
  bool is_free = tsri_recording.session == NULL;
  if (is_free) tsri_recording.session = profile;
  tsri_mutex_unlock(&tsri_recording.lock);
  if (is_free) {
    atomic_store(&is_full, profile->is_full);
    atomic_store(&tsri_profile_is_on, true);
  }
  tsri_mutex_unlock(&lock);
  if (is_free) return TSR_OK;
  tsr_profile_release(profile);
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "profile_begin: profiling is on already, by an earlier call");
}

// --- Ending ---------------------------------------------------------------------------------------------------------------

// Detaches the device from its session, after reading the times of its last work. No other thread uses the device's record by then: hooks find no record
// any more (the session has ended, or the device is being closed), and this function waits for those that are still using it.
static void detach(tsri_profiled *profiled) {
  tsr_device *device = profiled->device;
  while (atomic_load(&device->profile_is_busy)) tsri_sleep_ns(20000);
  tsri_memory_curve_detach(device);
  tsri_profiled_finish(profiled);
  device->profile = NULL;
  tsri_mutex_lock(&tsri_recording.lock);
  profiled->device = NULL;
  tsri_mutex_unlock(&tsri_recording.lock);
}

// After the session is taken out of tsri_recording, no device or record can be added to it.
tsr_profile *tsri_profile_stop(void) {
  tsri_mutex_lock(&lock);
  atomic_store(&tsri_profile_is_on, false);
  tsri_mutex_lock(&tsri_recording.lock);
  tsr_profile *ended = tsri_recording.session;
  tsri_recording.session = NULL;
  tsri_mutex_unlock(&tsri_recording.lock);
  for (tsri_profiled *at = ended ? ended->devices : NULL; at; at = at->next) {
    if (at->device) detach(at);
    for (int i = 0; i < TSRI_LANES; i++) ended->untimed_count += at->lanes[i].untimed_count;
  }
  tsri_mutex_unlock(&lock);
  if (!ended) return NULL;
  ended->duration_ns = tsri_clock_ns() - ended->begin_ns;
  tsri_streams_join(ended);
  return ended;
}

// --- Devices --------------------------------------------------------------------------------------------------------------

// Needed even while profiling is off: tsri_profile_stop may still be reading the device's times in another thread. Memory that is freed while the device closes is
// not recorded.
void tsri_profile_closing(tsr_device *device) {
  tsri_mutex_lock(&lock);
  tsri_mutex_lock(&tsri_recording.lock);
  device->is_leaving_profile = true;
  tsri_profiled *at = tsri_recording.session ? tsri_recording.session->devices : NULL;
  while (at && at->device != device) at = at->next;
  tsri_mutex_unlock(&tsri_recording.lock);
  if (at) detach(at);
  tsri_mutex_unlock(&lock);
}

void tsri_profile_opened(tsr_device *device, const char *rejected) {
  if (!tsri_profiling()) return;
  tsri_profile_register();
  double bytes = 0, operations = 0;
  tsri_profile_mute(true);
  tsri_profile_measure(device, &bytes, &operations);
  tsri_profile_mute(false);
  uint32_t text = tsri_profile_intern(rejected);
  tsri_mutex_lock(&tsri_recording.lock);
  tsri_profiled *profiled = tsri_profiled_find_locked(device);
  if (profiled) {
    if (bytes > profiled->bytes_per_second) profiled->bytes_per_second = bytes;
    if (operations > profiled->operations_per_second) profiled->operations_per_second = operations;
    if (text) profiled->rejected = text;
  }
  tsri_mutex_unlock(&tsri_recording.lock);
}
