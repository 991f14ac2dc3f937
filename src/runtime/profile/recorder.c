// SPDX-License-Identifier: MIT
// Records what the hooks tell: a ring of records, the devices of the session, and the contexts of threads.
#include "runtime/profile/recorder.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"

atomic_bool tsri_profile_is_on;

static tsri_mutex lock = TSRI_MUTEX_INIT;
static tsr_profile *session;              // guarded by the lock; NULL: none
static _Atomic(uint64_t) session_number;  // of the newest session, from 1; see tsr_device.profile_session
static uint64_t open_span_count;  // spans between start and finish; they use the session's events without the lock

enum { DEFAULT_RECORDS = 1 << 18, LEAST_RECORDS = 1024, MOST_DEVICES = 1024, MOST_DEPTH = 32 };

// --- Threads -------------------------------------------------------------------------------------------------------------

// One variable, since finding those of a thread is a call in a shared library.
typedef struct tsri_profiled_thread {
  tsri_profile_context *current;
  uint32_t number;  // from 1; 0: not given yet
  bool is_mute;
  int range_count;  // may be above MOST_DEPTH: those are not kept
  struct {
    uint32_t label;
    uint64_t start_ns;
  } ranges[MOST_DEPTH];  // those opened while profiling is off have an empty label
} tsri_profiled_thread;

static TSRI_THREAD_LOCAL tsri_profiled_thread here;

// What few programs use is looked for in `here` only if some thread does.
static atomic_int muted_count;
static atomic_bool has_labels;

static uint32_t number_of(tsri_profiled_thread *thread) {
  static atomic_uint last;
  if (thread->number == 0) thread->number = atomic_fetch_add(&last, 1) + 1;
  return thread->number - 1;
}

void tsri_profile_mute(bool is_muted) {
  if (here.is_mute != is_muted) atomic_fetch_add(&muted_count, is_muted ? 1 : -1);
  here.is_mute = is_muted;
}

static bool is_mute(void) { return atomic_load_explicit(&muted_count, memory_order_relaxed) > 0 && here.is_mute; }

static uint32_t label_of(const tsri_profiled_thread *thread) {
  int innermost = thread->range_count < MOST_DEPTH ? thread->range_count : MOST_DEPTH;
  return innermost > 0 ? thread->ranges[innermost - 1].label : 0;
}

uint32_t tsri_profile_label(void) {
  return atomic_load_explicit(&has_labels, memory_order_relaxed) ? label_of(&here) : 0;
}

tsri_profile_context *tsri_profile_enter(tsri_profile_context *context) {
  tsri_profiled_thread *thread = &here;
  tsri_profile_context *before = thread->current;
  thread->current = context;
  return before;
}

static tsri_profile_context context_of(const tsri_profiled_thread *thread) {
  return thread->current ? *thread->current : (tsri_profile_context){.label = label_of(thread)};
}

tsri_profile_context tsri_profile_context_now(void) { return context_of(&here); }

// The label of a range within the innermost one.
static uint32_t join_label(const char *label) {
  const char *outer = tsri_profile_text(tsri_profile_label());
  char *path = outer[0] ? tsri_format_text("%s/%s", outer, label) : NULL;
  uint32_t number = tsri_profile_intern(outer[0] ? path : label);
  tsri_free(path);
  return number;
}

void tsr_label_begin(const char *label) {
  tsri_profiled_thread *thread = &here;
  if (thread->range_count < MOST_DEPTH) {
    bool is_on = tsri_profiling();
    if (is_on) atomic_store_explicit(&has_labels, true, memory_order_relaxed);
    thread->ranges[thread->range_count].label = is_on ? join_label(label ? label : "") : 0;
    thread->ranges[thread->range_count].start_ns = is_on ? tsri_clock_ns() : 0;
  }
  thread->range_count++;
}

void tsr_label_end(void) {
  tsri_profiled_thread *thread = &here;
  if (thread->range_count == 0) return;
  int ended = --thread->range_count;
  if (ended >= MOST_DEPTH || thread->ranges[ended].start_ns == 0 || !tsri_profiling()) return;
  tsri_profile_context context = {.label = thread->ranges[ended].label};
  tsri_profile_host(
      NULL, thread->ranges[ended].start_ns,
      &(tsri_profile_work){.kind = TSR_PROFILE_LABEL, .name = tsri_profile_text(context.label), .context = &context});
}

// --- Devices of the session. With the lock held. -----------------------------------------------------------------------------

static void attach(tsri_profiled *profiled, tsr_device *device) {
  profiled->device = device;
  profiled->lane_count = 0;
  device->profile = profiled;
  device->profile_session = session_number;
  device->memory_ledger.seen_taken_count = device->memory_ledger.seen_taken_bytes = 0;
}

// A device that was closed and opened again stays the same one.
static tsri_profiled *find_closed(const tsr_device *device) {
  tsri_profiled *at = session->devices;
  while (at && (at->device || at->number != device->info.index ||
                strcmp(tsri_profile_text(at->backend), device->backend->name) != 0)) {
    at = at->next;
  }
  return at;
}

static uint32_t make_title(const tsr_device *device) {
  int same = 0;
  char title[TSR_NAME_BYTES];
  uint32_t backend = tsri_profile_intern(device->backend->name);
  for (const tsri_profiled *at = session->devices; at; at = at->next) same += at->backend == backend;
  if (same == 0) return backend;
  snprintf(title, sizeof title, "%.*s %d", (int)sizeof title - 16, device->backend->name, same + 1);
  return tsri_profile_intern(title);
}

// NULL when host memory is out, or there are too many.
static tsri_profiled *add_device(tsr_device *device) {
  tsri_profiled *profiled = session->device_count < MOST_DEVICES ? tsri_calloc(1, sizeof *profiled) : NULL;
  if (!profiled) return NULL;
  profiled->samples = tsri_malloc(TSRI_MEMORY_SAMPLES * sizeof *profiled->samples);
  if (!profiled->samples) {
    tsri_free(profiled);
    return NULL;
  }
  profiled->number = device->info.index;
  profiled->index = (uint16_t)session->device_count++;
  profiled->runs_at_once = device->limits.runs_at_once;
  profiled->has_clock = profiled->runs_at_once;
  profiled->sample_stride = 1;
  profiled->title = make_title(device);
  profiled->backend = tsri_profile_intern(device->backend->name);
  profiled->name = tsri_profile_intern(device->info.name);
  profiled->next = session->devices;
  session->devices = profiled;
  return profiled;
}

static tsri_profiled *find_device(tsr_device *device) {
  if (device->profile_session == session_number) return device->profile;
  tsri_profiled *profiled = find_closed(device);
  if (!profiled) profiled = add_device(device);
  if (profiled) attach(profiled, device);
  return profiled;
}

// NULL: it has too many queues, whose work is then timed by the host.
static tsri_lane *find_lane(tsri_profiled *profiled, tsri_queue *queue) {
  for (int i = 0; i < profiled->lane_count; i++) {
    if (profiled->lanes[i].queue == queue) return &profiled->lanes[i];
  }
  if (profiled->lane_count == TSRI_LANES) return NULL;
  tsri_lane *lane = &profiled->lanes[profiled->lane_count];
  bool is_first = profiled->device && queue == profiled->device->tracks[0].handle;
  *lane = (tsri_lane){.owner = profiled,
                      .queue = queue,
                      .number = (uint8_t)profiled->lane_count++,
                      .runs_at_once = profiled->runs_at_once && is_first};
  return lane;
}

// --- The ring. With the lock held. ---------------------------------------------------------------------------------------------

// Counts the oldest chunk's records as dropped and forgets them.
static void drop_chunk(void) {
  for (int i = 0; i < TSRI_PROFILE_CHUNK; i++, session->first_number++) {
    const tsri_profile_entry *entry = tsri_profile_at(session, session->first_number);
    tsri_totals_add(&session->dropped, entry, tsri_profile_share(session, entry));
  }
}

// Room for the next record; NULL when host memory is out.
static tsri_profile_entry *make_room(void) {
  uint64_t number = session->next_number;
  if (number % TSRI_PROFILE_CHUNK == 0) {
    if (number - session->first_number == session->chunk_count * TSRI_PROFILE_CHUNK) drop_chunk();
    tsri_profile_entry **chunk = &session->chunks[number / TSRI_PROFILE_CHUNK % session->chunk_count];
    if (!*chunk) *chunk = tsri_malloc(TSRI_PROFILE_CHUNK * sizeof **chunk);
    if (!*chunk) return NULL;
    session->newest = *chunk;
  }
  session->next_number++;
  return &session->newest[number % TSRI_PROFILE_CHUNK];
}

static uint64_t since_begin(uint64_t ns) { return ns > session->begin_ns ? ns - session->begin_ns : 0; }

static void note_time(uint64_t ns) {
  if (since_begin(ns) > session->latest_ns) session->latest_ns = since_begin(ns);
}

// The number of the work's name. Work of a class nearly always has the name of the one before.
static uint32_t name_of(const tsri_profile_work *work, tsri_work_class *class) {
  if (!class || !work->name) return tsri_profile_intern(work->name);
  if (!class->name_text || strcmp(class->name_text, work->name) != 0) {
    class->name = tsri_profile_intern(work->name);
    class->name_text = tsri_profile_text(class->name);
  }
  return class->name;
}

// Adds a record of the calling thread, which has the host's time. `timing` is that of its events, or NULL. NULL if it is lost.
static tsri_profile_entry *add_record(tsri_profiled_thread *thread, const tsri_profiled *profiled,
                                      const tsri_lane *lane, const tsri_timing *timing, uint64_t start_ns,
                                      uint64_t end_ns, const tsri_profile_work *work) {
  tsri_profile_entry *entry = make_room();
  if (!entry) {
    session->lost_count++;
    return NULL;
  }
  const tsri_profile_context context = work->context ? *work->context : context_of(thread);
  *entry = (tsri_profile_entry){
      .start_ns = since_begin(start_ns),
      .duration_ns = end_ns - start_ns,
      .bytes = work->bytes,
      .operations = work->operations || work->kind != TSR_PROFILE_KERNEL ? work->operations : context.operations,
      .name = name_of(work, timing ? timing->work : NULL),
      .operators = work->kind == TSR_PROFILE_ALLOCATION ? 0 : context.operators,
      .result = context.result,
      .label = context.label,
      .thread = number_of(thread),
      .device = profiled ? profiled->index : (uint16_t)TSRI_PROFILE_NO_DEVICE,
      .kind = (uint8_t)work->kind,
      .clock = profiled && (lane ? lane->runs_at_once : profiled->runs_at_once) ? TSR_CLOCK_DEVICE : TSR_CLOCK_HOST,
      .queue = lane ? lane->number : 0,
      .is_f32 = work->is_f32,
  };
  entry->host_start_ns = entry->start_ns;
  entry->host_ns = entry->duration_ns;
  return entry;
}

// --- Memory in use --------------------------------------------------------------------------------------------------------------

// Halves the samples: each stands for two, and has the larger of their bytes.
static void thin_samples(tsri_profiled *profiled) {
  for (int i = 0; i < TSRI_MEMORY_SAMPLES / 2; i++) {
    tsri_memory_sample *two = &profiled->samples[2 * i];
    profiled->samples[i] = two[1].bytes > two[0].bytes ? two[1] : two[0];
  }
  profiled->sample_count = TSRI_MEMORY_SAMPLES / 2;
  profiled->sample_stride *= 2;
}

static void add_sample(tsri_profiled *profiled, uint64_t at_ns, uint64_t bytes) {
  if (profiled->samples_merged > 0 && profiled->samples_merged < profiled->sample_stride) {
    tsri_memory_sample *last = &profiled->samples[profiled->sample_count - 1];
    if (bytes > last->bytes) *last = (tsri_memory_sample){at_ns, bytes};
    profiled->samples_merged++;
    return;
  }
  if (profiled->sample_count == TSRI_MEMORY_SAMPLES) thin_samples(profiled);
  profiled->samples[profiled->sample_count++] = (tsri_memory_sample){at_ns, bytes};
  profiled->samples_merged = 1;
}

static uint64_t get(const _Atomic(uint64_t) *value) { return atomic_load_explicit(value, memory_order_relaxed); }
static void set(_Atomic(uint64_t) *value, uint64_t to) { atomic_store_explicit(value, to, memory_order_relaxed); }

// Adds a sample of the memory in use if it has changed. It has the time of the latest work. With the lock held.
static void read_memory(tsri_profiled *profiled) {
  tsri_memory_ledger *ledger = &profiled->device->memory_ledger;
  uint64_t changes = get(&ledger->change_count);
  if (atomic_load_explicit(&ledger->session, memory_order_acquire) != session_number) return;
  if (changes == get(&ledger->seen_count)) return;
  uint64_t taken_count = get(&ledger->taken_count), taken_bytes = get(&ledger->taken_bytes);
  add_sample(profiled, session->latest_ns, get(&ledger->most_bytes));
  set(&ledger->most_bytes, get(&ledger->in_use_bytes));  // a block that is taken meanwhile counts in the next sample
  set(&ledger->seen_count, changes);
  if (get(&ledger->peak_bytes) > profiled->peak_bytes) profiled->peak_bytes = get(&ledger->peak_bytes);
  profiled->taken_count += taken_count - ledger->seen_taken_count;
  profiled->taken_bytes += taken_bytes - ledger->seen_taken_bytes;
  ledger->seen_taken_count = taken_count;
  ledger->seen_taken_bytes = taken_bytes;
}

// Forgets what an earlier session counted.
static void clear_ledger(tsri_memory_ledger *ledger, uint64_t number) {
  set(&ledger->peak_bytes, 0);
  set(&ledger->most_bytes, 0);
  set(&ledger->taken_count, 0);
  set(&ledger->taken_bytes, 0);
  set(&ledger->change_count, 0);
  set(&ledger->seen_count, 0);
  atomic_store_explicit(&ledger->session, number, memory_order_release);
}

// Work of the device reads the ledger; where there is none, every few changes.
void tsri_profile_memory(tsr_device *device, uint64_t in_use_bytes, uint64_t taken) {
  enum { READ_EVERY = 8 };
  tsri_memory_ledger *ledger = &device->memory_ledger;
  uint64_t number = get(&session_number);
  if (is_mute()) return;
  if (get(&ledger->session) != number) clear_ledger(ledger, number);
  uint64_t changes = get(&ledger->change_count) + 1;
  set(&ledger->in_use_bytes, in_use_bytes);
  if (in_use_bytes > get(&ledger->most_bytes)) set(&ledger->most_bytes, in_use_bytes);
  if (in_use_bytes > get(&ledger->peak_bytes)) set(&ledger->peak_bytes, in_use_bytes);
  set(&ledger->taken_count, get(&ledger->taken_count) + (taken > 0));
  set(&ledger->taken_bytes, get(&ledger->taken_bytes) + taken);
  set(&ledger->change_count, changes);
  if (changes > 1 && changes - get(&ledger->seen_count) < READ_EVERY) return;
  tsri_mutex_lock(&lock);
  tsri_profiled *profiled = session ? find_device(device) : NULL;
  if (profiled) {
    note_time(tsri_clock_ns());
    read_memory(profiled);
  }
  tsri_mutex_unlock(&lock);
}

// --- Hooks -----------------------------------------------------------------------------------------------------------------------

// Chooses whether the work is timed, and takes what that needs. With the lock held.
static tsri_timing *take_timing(tsri_span *span, uint64_t key) {
  tsri_lane *lane = span->lane;
  tsri_work_class *work = tsri_work_class_find(session, key, &span->context);
  bool is_timed = !work || tsri_work_class_is_due(work, tsri_timing_cost_ns(lane));
  tsri_timing *timing = tsri_lane_take(lane, is_timed);
  if (!timing) return NULL;
  timing->work = work;
  timing->has_failed = false;
  timing->has_from = is_timed && (!lane->ends_timed || lane->owner->device->limits.starts_late);
  return timing;
}

// Aligns the clock of a queue that is new to the session.
static void prepare_lane(tsri_span *span, tsri_queue *queue, uint64_t begin_ns, uint64_t key) {
  bool has_clock = tsri_lane_calibrate(span->lane, queue, begin_ns);
  tsri_mutex_lock(&lock);
  span->lane->is_ready = true;
  span->lane->owner->has_clock |= has_clock;
  span->timing = take_timing(span, key);
  tsri_mutex_unlock(&lock);
}

void tsri_span_start(tsri_span *span, tsr_device *device, tsri_queue *queue, uint64_t key) {
  tsri_profiled_thread *thread = &here;
  if (thread->is_mute) return;
  span->thread = thread;
  span->context = context_of(thread);
  tsri_mutex_lock(&lock);
  tsri_profiled *profiled = session ? find_device(device) : NULL;
  if (session && !profiled) session->lost_count++;
  if (profiled) read_memory(profiled);  // what the work needs has been taken
  span->is_on = profiled != NULL;
  span->lane = profiled ? find_lane(profiled, queue) : NULL;
  bool has_events = span->lane && !span->lane->runs_at_once, is_new = has_events && !span->lane->is_ready;
  uint64_t begin_ns = session ? session->begin_ns : 0;
  if (has_events && !is_new) span->timing = take_timing(span, key);
  if (span->is_on) open_span_count++;
  tsri_mutex_unlock(&lock);
  if (!span->is_on) return;
  if (is_new) prepare_lane(span, queue, begin_ns, key);
  tsri_timing *timing = span->timing;
  uint64_t called_ns = 0;
  if (timing && timing->has_from) {
    called_ns = tsri_clock_ns();
    timing->has_failed = device->backend->event_record(queue, timing->from) != TSR_OK;
  }
  if (!timing || timing->is_timed) span->host_start_ns = tsri_clock_ns();
  if (called_ns) span->event_ns = span->host_start_ns - called_ns;
}

// The first kernel of a fusion has all its operations.
static void use_up_operations(const tsri_profiled_thread *thread, const tsri_profile_work *work) {
  if (thread->current && !work->context && work->kind == TSR_PROFILE_KERNEL) thread->current->operations = 0;
}

// When the host made the call that returned at `end_ns`. Reading the clock takes as long as the rest of what a launch costs, so work that is not timed has the
// mean of the calls that are.
static uint64_t call_began_ns(const tsri_span *span, uint64_t end_ns) {
  tsri_work_class *work = span->timing ? span->timing->work : NULL;
  if (!span->host_start_ns) return end_ns - (work ? work->call_ns : 0);
  if (work) tsri_work_class_called(work, end_ns - span->host_start_ns);
  return span->host_start_ns;
}

static void finish_locked(const tsri_span *span, tsr_device *device, uint64_t end_ns, const tsri_profile_work *work) {
  uint64_t number = session->next_number;
  tsri_profiled *profiled = find_device(device);
  note_time(end_ns);
  tsri_profile_entry *entry =
      work ? add_record(span->thread, profiled, span->lane, span->timing, call_began_ns(span, end_ns), end_ns, work)
           : NULL;
  if (span->timing && entry && !span->timing->has_failed) {
    span->timing->number = number;
    span->timing->entry = entry;
    tsri_lane_add(span->lane, span->timing);
    if (span->lane->pending_count % 64 == 0) (void)tsri_lane_read(session, span->lane, false, since_begin(end_ns));
  } else if (span->timing) {
    tsri_lane_give(span->lane, span->timing);
  } else if (entry && span->lane && span->lane->owner->has_clock && !span->lane->runs_at_once) {
    session->untimed_count++;
  }
}

void tsri_span_finish(tsri_span *span, tsr_device *device, tsri_queue *queue, const tsri_profile_work *work) {
  uint64_t end_ns = tsri_clock_ns();
  tsri_timing *timing = span->timing;
  bool is_timed = timing && timing->is_timed;
  if (is_timed) {
    timing->has_failed |= device->backend->event_record(queue, timing->to) != TSR_OK;
    span->event_ns += tsri_clock_ns() - end_ns;
  }
  tsri_mutex_lock(&lock);
  if (is_timed) tsri_timing_cost_add(span->lane, span->event_ns);
  finish_locked(span, device, end_ns, work);
  if (span->lane) span->lane->ends_timed = is_timed && work && !timing->has_failed;
  open_span_count--;
  tsri_mutex_unlock(&lock);
  if (work) use_up_operations(span->thread, work);
}

void tsri_profile_host(tsr_device *device, uint64_t start_ns, const tsri_profile_work *work) {
  if (is_mute()) return;
  uint64_t end_ns = tsri_clock_ns();
  tsri_mutex_lock(&lock);
  tsri_profiled *profiled = session && device ? find_device(device) : NULL;
  if (session) note_time(end_ns);
  if (session) add_record(&here, profiled, NULL, NULL, start_ns ? start_ns : end_ns, end_ns, work);
  tsri_mutex_unlock(&lock);
}

void tsri_profile_waited(tsr_device *device, tsri_queue *queue, uint64_t start_ns, tsr_status status) {
  enum {
    SHORTEST_NS = 1000,  // a device that runs work at once is waited for often, and never for long
    BLOCKED_NS = 50000   // longer than an idle queue takes
  };
  if (start_ns == 0 || is_mute()) return;  // 0: profiling began meanwhile
  uint64_t end_ns = tsri_clock_ns();
  tsri_mutex_lock(&lock);
  tsri_profiled *profiled = session ? find_device(device) : NULL;
  tsri_lane *lane = profiled ? find_lane(profiled, queue) : NULL;
  if (profiled) note_time(end_ns);
  if (profiled) read_memory(profiled);
  if (lane && status == TSR_OK) {
    bool had_to_wait = lane->first && end_ns - start_ns > BLOCKED_NS;
    int count = tsri_lane_read(session, lane, true, since_begin(end_ns));
    if (count > 0) tsri_reading_cost_add(lane, tsri_clock_ns() - end_ns, count);
    if (had_to_wait) tsri_lane_align(lane, since_begin(end_ns));
  }
  if (profiled && (!profiled->runs_at_once || end_ns - start_ns >= SHORTEST_NS)) {
    add_record(&here, profiled, lane, NULL, start_ns, end_ns,
               &(tsri_profile_work){.kind = TSR_PROFILE_WAIT, .name = "wait"});
  }
  tsri_mutex_unlock(&lock);
}

bool tsri_profile_is_full(void) {
  tsri_mutex_lock(&lock);
  bool is_full = session && session->is_full;
  tsri_mutex_unlock(&lock);
  return is_full;
}

void tsri_profile_opened(tsr_device *device, const char *rejected) {
  if (!tsri_profiling()) return;
  tsri_profile_register();
  double bytes = 0, operations = 0;
  tsri_profile_mute(true);
  tsri_profile_measure(device, &bytes, &operations);
  tsri_profile_mute(false);
  uint32_t text = tsri_profile_intern(rejected);
  tsri_mutex_lock(&lock);
  tsri_profiled *profiled = session ? find_device(device) : NULL;
  if (profiled) {
    if (bytes > profiled->bytes_per_second) profiled->bytes_per_second = bytes;
    if (operations > profiled->operations_per_second) profiled->operations_per_second = operations;
    if (text) profiled->rejected = text;
  }
  tsri_mutex_unlock(&lock);
}

// How long the end of a session, or of a device, waits for work that is being timed.
static const uint64_t longest_wait_ns = UINT64_C(10000000000);

static void finish_lanes(tsri_profiled *profiled) {
  uint64_t deadline_ns = tsri_clock_ns() + longest_wait_ns;
  for (int i = 0; i < profiled->lane_count; i++) tsri_lane_finish(session, &profiled->lanes[i], deadline_ns);
}

// Also while profiling is off: tsr_profile_end may be waiting for the device's work in another thread.
void tsri_profile_closing(tsr_device *device) {
  if (device->profile_session == 0) return;
  tsri_mutex_lock(&lock);
  bool is_known = session && device->profile_session == session_number;
  if (is_known) {
    read_memory(device->profile);
    finish_lanes(device->profile);
    device->profile->device = NULL;
  }
  tsri_mutex_unlock(&lock);
}

// --- Sessions --------------------------------------------------------------------------------------------------------------------

static tsr_profile *create_session(const tsr_profile_desc *desc) {
  uint64_t limit = desc && desc->record_limit ? desc->record_limit : DEFAULT_RECORDS;
  if (limit < LEAST_RECORDS) limit = LEAST_RECORDS;
  if (limit > INT32_MAX / 2) limit = INT32_MAX / 2;
  tsr_profile *profile = tsri_object_create(TSRI_OBJECT_PROFILE, sizeof *profile);
  if (!profile) return NULL;
  profile->chunk_count = (size_t)(limit / TSRI_PROFILE_CHUNK);
  profile->chunks = tsri_calloc(profile->chunk_count, sizeof *profile->chunks);
  profile->is_full = desc && desc->is_full;
  profile->begin_ns = tsri_clock_ns();
  if (profile->chunks) return profile;
  tsr_profile_release(profile);
  return NULL;
}

tsr_status tsri_profile_start(const tsr_profile_desc *desc) {
  tsr_profile *profile = create_session(desc);
  if (!profile) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "profile_begin: no host memory for its record");
  tsri_mutex_lock(&lock);
  bool is_free = session == NULL;
  if (is_free) {
    session = profile;
    session_number++;
    atomic_store(&tsri_profile_is_on, true);
  }
  tsri_mutex_unlock(&lock);
  if (is_free) return TSR_OK;
  tsr_profile_release(profile);
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "profile_begin: profiling is on already, by an earlier call");
}

// Waits for spans that are under way, which use the events without the lock.
tsr_profile *tsri_profile_stop(void) {
  tsri_mutex_lock(&lock);
  atomic_store(&tsri_profile_is_on, false);
  while (session && open_span_count > 0) {
    tsri_mutex_unlock(&lock);
    tsri_sleep_ns(20000);
    tsri_mutex_lock(&lock);
  }
  tsr_profile *ended = session;
  if (ended) {
    for (tsri_profiled *at = ended->devices; at; at = at->next) {
      if (at->device) {
        read_memory(at);
        finish_lanes(at);
      }
      at->device = NULL;
    }
    ended->duration_ns = tsri_clock_ns() - ended->begin_ns;
    session = NULL;
    session_number++;  // devices are not known any more
  }
  tsri_mutex_unlock(&lock);
  return ended;
}

bool tsr_profile_is_on(void) { return tsri_profiling(); }
