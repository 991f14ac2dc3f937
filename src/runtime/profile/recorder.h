// SPDX-License-Identifier: MIT
// The profiler's data: a session that is being recorded, and the profile it becomes.
//
// Recording work needs no lock of the profiler: the data of a device is guarded by the device's queue_lock, which the callers of the hooks hold anyway.
// device->profile_is_busy tells tsri_profile_stop that a thread is using that data. The memory curve is guarded by the lock of the device's pool. Everything
// else (builds, allocations, moves, labels, new devices) is rare, and guarded by tsri_recording.lock.
//
// recorder.c has the hooks, profiled.c the devices of a session, stream.c keeps records, clock.c times work by the device's events, sample.c chooses the work that is timed,
// memory.c keeps the memory curve, thread.c the contexts of threads, strings.c texts; session.c begins and ends, totals.c adds records up, and write_*.c are the outputs.
#ifndef TSRI_PROFILE_RECORDER_H
#define TSRI_PROFILE_RECORDER_H

#include "core/builder.h"
#include "core/object.h"
#include "runtime/profile.h"

// --- Records -----------------------------------------------------------------------------------------------------------

// A record as it is stored.
typedef struct tsri_profile_entry {
  uint64_t start_ns, duration_ns, host_start_ns, host_ns;  // since the beginning of the session
  uint64_t bytes, operations;
  uint32_t name, operators, result, label;  // interned texts
  uint32_t thread;
  uint16_t work;    // number of its class among those of the device, from 1; 0: none
  uint16_t device;  // index, NO_DEVICE: none
  uint8_t kind, clock;
  uint8_t queue;
  bool is_f32;
} tsri_profile_entry;

enum { TSRI_PROFILE_NO_DEVICE = UINT16_MAX, TSRI_PROFILE_CHUNK = 1024 };

// Totals of records with the same key.
typedef struct tsri_profile_total {
  uint32_t name, operators, label;
  uint16_t device;
  uint8_t kind;
  uint64_t count, ns, least_ns, most_ns, bytes, operations;
  // Over the records whose share is known: the sum of share * ns, and the sum of ns.
  double share_ns, known_ns;
} tsri_profile_total;

typedef struct tsri_profile_totals {
  tsri_profile_total *rows;  // hash table with open addressing; count 0: the row is free
  size_t capacity, row_count;
  bool has_failed;  // a row had no place: host memory is out, or there are more than TSRI_MOST_TOTALS
} tsri_profile_totals;

enum { TSRI_MOST_TOTALS = 1 << 16 };

void tsri_totals_add(tsri_profile_totals *totals, const tsri_profile_entry *entry, double share);
void tsri_totals_merge(tsri_profile_totals *totals, const tsri_profile_totals *from);
void tsri_totals_deinit(tsri_profile_totals *totals);

// The records of one queue, or the host's records that belong to no queue, in the order in which the host's calls ended. Only one thread at a time adds records.
// Records are numbered from 0; those before first_number were dropped, and are included in the totals `dropped`.
typedef struct tsri_profile_stream {
  tsr_profile *session;
  const struct tsri_profiled *owner;  // NULL: the host's
  tsri_profile_entry **chunks;        // a ring of session->chunk_limit places
  tsri_profile_entry *newest;         // the chunk of the newest record
  uint64_t first_number, next_number;
  tsri_profile_totals dropped;
  struct tsri_profile_stream *next;
} tsri_profile_stream;

// Adds a stream to the session. NULL when host memory is out. Call with tsri_recording.lock held.
tsri_profile_stream *tsri_stream_create(tsr_profile *session, const struct tsri_profiled *owner);

// Room for the next record; NULL when host memory is out. When the session has as many records as it may have, the oldest of the stream are dropped.
tsri_profile_entry *tsri_stream_add(tsri_profile_stream *stream);

static inline tsri_profile_entry *tsri_stream_at(const tsri_profile_stream *stream, uint64_t number);

// Joins the records of all streams into one list, in the order in which the host's calls ended. Call when no records are added any more. Without host memory for
// the list, all records are dropped.
void tsri_streams_join(tsr_profile *session);
void tsri_streams_release(tsr_profile *session);

// --- The host's clock ----------------------------------------------------------------------------------------------------

// The host's clock, continued by the processor's counter, which is read in a few nanoseconds. Zero-initialise it.
typedef struct tsri_fast_clock {
  uint64_t ns, ticks;              // when the clock was read last, and the counter at that time
  uint64_t first_ns, first_ticks;  // when it was read first
  double ns_per_tick;              // 0: not known
  uint64_t latest_ns;              // the latest time that was returned
} tsri_fast_clock;

// The time now, as tsri_clock_ns to about a microsecond, and never earlier than what it returned before.
uint64_t tsri_fast_clock_ns(tsri_fast_clock *clock);

// --- Timing ------------------------------------------------------------------------------------------------------------

// A class of work: the same kernel or native operator, for the same operators and the same result. Its size is a cache line.
typedef struct tsri_work_class {
  uint64_t hash;
  uint64_t seen, next;     // how often such work was queued; the value of `seen` at which it is timed next
  uint32_t chosen, timed;  // how often it was chosen to be timed; how many of these times have been read
  double mean_ns;          // mean of the times that have been read
  uint64_t call_ns;        // mean duration of the host's call that queues the work
  const char *name_text;   // of its newest record; NULL: there was none
  uint32_t name;           // the same text, as its interned number
  uint32_t pause;          // pieces of work from the last timed one to `next`
} tsri_work_class;

enum { TSRI_WORK_CLASSES = 4096 };

// The classes of a device, in the order in which they came, and a hash table of their numbers from 1. NULL: there are none yet.
typedef struct tsri_work_classes {
  tsri_work_class *classes;
  uint16_t *numbers;  // 0: the place is free
  int count;
} tsri_work_classes;

// The class of work with this key (tsri_span_begin). NULL: there are too many, or host memory is out.
tsri_work_class *tsri_work_class_find(tsri_work_classes *all, uint64_t key, const tsri_profile_context *context);
void tsri_work_classes_deinit(tsri_work_classes *all);

// Timing work may take at most 1 / TSRI_TIMING_SHARE of the time of the work, and so may asking whether work has ended. Together with the host's time for
// records, profiling stays below 5 % of a training step.
enum { TSRI_TIMING_SHARE = 128 };

// Counts a piece of work that is about to be queued. Returns whether it is to be timed; timing takes `cost_ns` (tsri_timing_cost_ns).
bool tsri_work_class_choose(tsri_work_class *work, uint64_t cost_ns);

// Add a measured time to the class: tsri_work_class_add the time of the work on the device, tsri_work_class_called that of the host's call.
void tsri_work_class_add(tsri_work_class *work, uint64_t ns);
void tsri_work_class_called(tsri_work_class *work, uint64_t ns);

// The events around work that is timed. Work that is not timed has none: it is a record of the lane's stream, with a class.
typedef struct tsri_timing {
  tsri_event *from, *to;
  // `from` is recorded before the work. Without it, the work began when the work before it ended, or when it was queued, whichever is later.
  bool has_from;
  bool has_failed;  // an event could not be recorded
  uint64_t number;  // of the record in the lane's stream
  struct tsri_timing *next;
} tsri_timing;

enum { TSRI_LANES = 16, TSRI_MOST_TIMINGS = 1024 };

// A queue of a device, with its records. Those from `unread` on do not have the device's times yet.
typedef struct tsri_lane {
  struct tsri_profiled *owner;
  tsri_profile_stream *stream;
  tsri_queue *queue;
  uint8_t number;
  bool is_ready;     // `base` has happened
  tsri_event *base;  // an event of the past, and when it happened, on the host's clock since the session's beginning
  uint64_t base_ns;
  uint64_t unread;
  tsri_timing *first, *last;  // events of unread work, in the order in which it was queued
  tsri_timing *spare;
  int timing_count;
  bool ends_timed;  // there is an event at the end of the newest work
  uint64_t untimed_count;
  // How long the host takes to record the events around a piece of work, and to read them: running means.
  uint64_t event_ns, reading_ns;
  uint64_t busy_ns;    // how long an event keeps the queue busy
  uint64_t timing_ns;  // what timing has cost so far (tsri_timing_cost_ns)
  uint64_t poll_ns;    // the earliest time, since the session's beginning, to ask again whether work has ended
  // Work has ended when the call that queues it returns. True for the first queue of a device with limits.runs_at_once; its other queues have threads.
  bool runs_at_once;
} tsri_lane;

// Whether a piece of work that tsri_work_class_choose has chosen may be timed, `since_ns` after the session's beginning. While no times of its class are
// known, it may be only if all timing so far took at most 1 / TSRI_TIMING_SHARE of the session.
bool tsri_timing_is_affordable(const tsri_lane *lane, const tsri_work_class *work, uint64_t since_ns);

// How long timing a piece of work of this queue delays the host or the device, at most.
uint64_t tsri_timing_cost_ns(const tsri_lane *lane);

// Adds the host's time for recording the events around a piece of work.
void tsri_timing_cost_add(tsri_lane *lane, uint64_t host_ns);

// Adds the host's time for reading the events of `count` pieces of work.
void tsri_reading_cost_add(tsri_lane *lane, uint64_t host_ns, int count);

// The memory in use at one time. If there are too many samples, each stands for several changes, and has the largest byte count of these.
typedef struct tsri_memory_sample {
  uint64_t at_ns, bytes;
} tsri_memory_sample;

enum { TSRI_MEMORY_SAMPLES = 4096 };

// Memory in use over time. Guarded by the lock of the device's pool, but for worked_ns.
typedef struct tsri_memory_curve {
  uint64_t begin_ns;            // of the session
  _Atomic(uint64_t) worked_ns;  // when the device's newest work was queued
  uint64_t at_ns;               // time of the newest sample; the next member counts the changes that it stands for
  int changes;
  uint64_t peak_bytes, taken_count, taken_bytes;
  tsri_memory_sample *samples;
  int sample_count, sample_stride, samples_merged;
} tsri_memory_curve;

bool tsri_memory_curve_init(tsri_memory_curve *curve, uint64_t begin_ns);

// From now on, changes of the pool are not added to the device's curve.
void tsri_memory_curve_detach(tsr_device *device);

// A device that was used during the session. The members before `index` are guarded by tsri_recording.lock, the lanes and the classes by the device's queue_lock.
typedef struct tsri_profiled {
  tsr_device *device;  // NULL once it is closed, and in a finished profile
  struct tsri_profiled *next;
  uint32_t backend, name, rejected;  // interned
  uint32_t title;                    // "cpu", or "cpu 2" for the second device of that backend
  double bytes_per_second, operations_per_second;
  uint16_t index;
  int number;  // of the device in its backend
  tsr_profile *session;
  bool has_clock;  // is known when its first lane is ready
  bool runs_at_once;
  tsri_lane lanes[TSRI_LANES];
  int lane_count;
  tsri_work_classes work;
  tsri_fast_clock clock;
  tsri_memory_curve curve;
} tsri_profiled;

// The record of the device in the current session; a new device is added. NULL: there is no session, or host memory is out. Call the second function with
// tsri_recording.lock held.
tsri_profiled *tsri_profiled_find(tsr_device *device);
tsri_profiled *tsri_profiled_find_locked(tsr_device *device);

// The lane of a queue. NULL: it has too many queues, whose work is then timed by the host, or host memory is out.
tsri_lane *tsri_profiled_lane(tsri_profiled *profiled, tsri_queue *queue);

// The work of the device is over, or nobody records it any more: reads its times and frees its events.
void tsri_profiled_finish(tsri_profiled *profiled);

// --- Threads -----------------------------------------------------------------------------------------------------------

enum { TSRI_LABEL_DEPTH = 32 };

// All thread-local data of the profiler in one variable: in a shared library, finding the address of a thread-local variable is a function call.
typedef struct tsri_profiled_thread {
  tsri_profile_context *current;
  uint32_t number;  // from 1; 0: not given yet
  bool is_mute;
  int range_count;  // may be above TSRI_LABEL_DEPTH; labels of deeper ranges are not kept
  struct {
    uint32_t label;
    uint64_t start_ns;
  } ranges[TSRI_LABEL_DEPTH];  // those opened while profiling is off have an empty label
} tsri_profiled_thread;

extern TSRI_THREAD_LOCAL tsri_profiled_thread tsri_profiled_here;

uint32_t tsri_thread_number(tsri_profiled_thread *thread);  // from 0
tsri_profile_context tsri_thread_context(const tsri_profiled_thread *thread);

// Whether the calling thread's work is left out.
bool tsri_thread_is_mute(void);

// --- Sessions and profiles -----------------------------------------------------------------------------------------------

// A session that is being recorded, and, after tsri_profile_stop, the finished profile.
struct tsr_profile {
  tsri_object object;
  uint64_t begin_ns, duration_ns;  // begin_ns: on the host's clock
  bool is_full;
  size_t chunk_limit;  // most chunks of all streams together; each stream may have one chunk in any case
  _Atomic(size_t) chunk_count;
  tsri_profile_stream *streams;  // all of them
  tsri_profile_stream *host;     // of records that belong to no queue
  tsri_profiled *devices;        // the newest first
  int device_count;
  _Atomic(uint64_t) lost_count;
  // The members below are valid in a finished profile only.
  tsri_profile_entry **records;
  uint64_t record_count, dropped_count, untimed_count;
  tsri_profile_totals dropped;
};

// The current session. `lock` guards it, its lists of devices and streams, and the host's stream.
typedef struct tsri_recording_state {
  tsri_mutex lock;
  tsr_profile *session;  // NULL: none
} tsri_recording_state;
extern tsri_recording_state tsri_recording;

static inline tsri_profile_entry *tsri_stream_at(const tsri_profile_stream *stream, uint64_t number) {
  uint64_t chunk = number / TSRI_PROFILE_CHUNK % stream->session->chunk_limit;
  return &stream->chunks[chunk][number % TSRI_PROFILE_CHUNK];
}

// A time of the host's clock since the beginning of the session.
static inline uint64_t tsri_since(uint64_t begin_ns, uint64_t ns) { return ns > begin_ns ? ns - begin_ns : 0; }

const tsri_profiled *tsri_profile_device_at(const tsr_profile *profile, int index);  // NULL: there is none
const char *tsri_profile_clock_word(tsr_profile_clock clock);
double tsri_profile_share(const tsr_profile *profile, const tsri_profile_entry *entry);

// The part of the device's limit that the work of a record reached; `device` may be NULL.
double tsri_profiled_share(const tsri_profiled *device, const tsri_profile_entry *entry);

// --- Clocks of devices: clock.c ------------------------------------------------------------------------------------------

// Creates the lane's base, an event that happens now. Waits for the queue, which is locked by the caller. False if the
// device has no clock.
bool tsri_lane_calibrate(tsri_lane *lane, tsri_queue *queue, uint64_t begin_ns);

// Events for work that is about to be queued; NULL: the lane has none left, or there is no memory.
tsri_timing *tsri_lane_take(tsri_lane *lane);
void tsri_lane_give(tsri_lane *lane, tsri_timing *timing);
void tsri_lane_add(tsri_lane *lane, tsri_timing *timing);

// Reads the times of work that has ended, or of all work if `is_idle`, at `now_ns` since the session's beginning. Returns how many pieces of work had
// events.
int tsri_lane_read(tsri_lane *lane, bool is_idle, uint64_t now_ns);

// Call when a wait for the queue, during which the host was blocked, ended at `end_ns`: the last work ended just before. Sets the base's time to it, which corrects
// the drift between the two clocks.
void tsri_lane_align(tsri_lane *lane, uint64_t end_ns);

// As tsri_lane_read, waiting for the work until `deadline_ns`. Then frees the lane's events.
void tsri_lane_finish(tsri_lane *lane, uint64_t deadline_ns);

// Measures the device's limits: bytes and operations per second.
void tsri_profile_measure(tsr_device *device, double *out_bytes, double *out_operations);

// Begins a session, for tsr_profile_begin and for the setting `profile`. Errors: TSR_ERR_INVALID_ARGUMENT (there is one already), TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_profile_start(const tsr_profile_desc *desc);

// Ends the session and returns it with its events freed; NULL: there is none.
tsr_profile *tsri_profile_stop(void);

// Has the result written when the process ends, if the setting `profile` began the session. Called after a device was
// opened.
void tsri_profile_register(void);

// --- Outputs -----------------------------------------------------------------------------------------------------------

void tsri_profile_write_trace(const tsr_profile *profile, tsri_builder *out);
void tsri_profile_write_table(const tsr_profile *profile, tsri_builder *out);
void tsri_profile_write_report(const tsr_profile *profile, tsri_builder *out);

// All records added up, those that were dropped too, sorted by time, the longest first. False when host memory is out.
bool tsri_profile_sum(const tsr_profile *profile, tsri_profile_total **out_rows, size_t *out_count);

// Writes a text as a string of JSON, with quotes.
void tsri_json_string(tsri_builder *out, const char *text);

extern const unsigned char
    tsri_profile_report_bytes[];  // report.html, generated by cmake/embed_text.cmake; ends with 0

#endif
