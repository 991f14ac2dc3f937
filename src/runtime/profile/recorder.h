// SPDX-License-Identifier: MIT
// The profiler's data: a session that is being recorded, and the profile it becomes.
//
// recorder.c adds records, clock.c times work by the device's events, sample.c chooses the work that is timed, strings.c keeps texts, totals.c adds records up,
// and write_*.c are the outputs. One lock guards everything but the strings.
#ifndef TSRI_PROFILE_RECORDER_H
#define TSRI_PROFILE_RECORDER_H

#include "core/builder.h"
#include "core/object.h"
#include "runtime/profile.h"

// A record as it is stored.
typedef struct tsri_profile_entry {
  uint64_t start_ns, duration_ns, host_start_ns, host_ns;  // since the beginning of the session
  uint64_t bytes, operations;
  uint32_t name, operators, result, label;  // interned texts
  uint32_t thread;
  uint16_t device;  // index, NO_DEVICE: none
  uint8_t kind, clock;
  uint8_t queue;
  bool is_f32;
} tsri_profile_entry;

enum { TSRI_PROFILE_NO_DEVICE = UINT16_MAX, TSRI_PROFILE_CHUNK = 1024 };

// --- Timing ------------------------------------------------------------------------------------------------------------

// Work that is alike: the same kernel or native operator, for the same operators and the same result.
typedef struct tsri_work_class {
  uint64_t hash;        // 0: the place is free
  uint64_t seen, next;  // how often it was queued, and at which of these it is timed next
  uint64_t chosen;      // how often it was chosen to be timed, and how many of these times are known
  uint64_t timed;
  double mean_ns;         // of the times
  uint64_t call_ns;       // how long the host is in the call that queues it
  uint32_t name;          // of its newest record
  const char *name_text;  // the same; NULL: there was none
} tsri_work_class;

// The class of work with this key (tsri_span_begin). NULL: each such work is timed, since the session asks for it, or there are too many classes.
tsri_work_class *tsri_work_class_find(tsr_profile *session, uint64_t key, const tsri_profile_context *context);

// Counts a piece of work that is about to be queued. True if it is to be timed, which takes `cost_ns` (tsri_timing_cost_ns).
bool tsri_work_class_is_due(tsri_work_class *work, uint64_t cost_ns);

// Adds a time that was measured: of the work on the device, and of the host's call.
void tsri_work_class_add(tsri_work_class *work, uint64_t ns);
void tsri_work_class_called(tsri_work_class *work, uint64_t ns);

// Queued work, with the events around it. Work that is not timed has none.
typedef struct tsri_timing {
  tsri_event *from, *to;
  bool is_timed;  // `to` is recorded after the work; otherwise its time is that of its class
  bool
      has_from;  // `from` is recorded before it; otherwise it began when the work before it had ended, or when it was queued
  tsri_work_class *work;      // NULL: the work has none
  uint64_t number;            // of the record
  tsri_profile_entry *entry;  // the record, unless it has been dropped
  bool has_failed;            // an event could not be recorded
  struct tsri_timing *next, *next_timed;
} tsri_timing;

enum { TSRI_LANES = 16, TSRI_MOST_TIMINGS = 1024, TSRI_MOST_UNTIMED = 1 << 14 };

// A queue of a device, with its work that has not been timed yet.
typedef struct tsri_lane {
  struct tsri_profiled *owner;
  tsri_queue *queue;
  uint8_t number;
  bool is_ready;     // `base` has happened
  tsri_event *base;  // an event of the past, and when it happened, on the host's clock since the session's beginning
  uint64_t base_ns;
  tsri_timing *first, *last;              // work in the order in which it was queued
  tsri_timing *first_timed, *last_timed;  // of it, that which is timed
  tsri_timing *spare, *spare_untimed;
  int timing_count, untimed_count, pending_count;
  bool ends_timed;  // the newest work has an event at its end
  // How long the host takes to record the events around a piece of work, and to read them: means of the latest.
  uint64_t event_ns, reading_ns;
  bool
      runs_at_once;  // work has ended when the call returns: of the first queue of a device that says so, not of queues with threads
} tsri_lane;

// How long timing a piece of work of this queue delays the host or the device, at most.
uint64_t tsri_timing_cost_ns(const tsri_lane *lane);

// Adds the host's time for recording the events around a piece of work.
void tsri_timing_cost_add(tsri_lane *lane, uint64_t host_ns);

// Adds the host's time for reading the events of so many pieces of work.
void tsri_reading_cost_add(tsri_lane *lane, uint64_t host_ns, int count);

// How much memory was in use at a time. Where there are too many samples, each stands for several and has their largest.
typedef struct tsri_memory_sample {
  uint64_t at_ns, bytes;
} tsri_memory_sample;

enum { TSRI_MEMORY_SAMPLES = 4096 };

// A device that a session has seen.
typedef struct tsri_profiled {
  tsr_device *device;  // NULL once it is closed, and in a finished profile
  uint16_t index;
  int number;      // of the device in its backend
  bool has_clock;  // is known when its first lane is ready
  bool runs_at_once;
  uint32_t backend, name, rejected;  // interned
  uint32_t title;                    // "cpu", or "cpu 2" for the second device of that backend
  double bytes_per_second, operations_per_second;
  uint64_t peak_bytes, taken_count, taken_bytes;
  tsri_lane lanes[TSRI_LANES];
  int lane_count;
  tsri_memory_sample *samples;
  int sample_count, sample_stride, samples_merged;
  uint64_t sampled_count;  // of all samples, also merged ones
  struct tsri_profiled *next;
} tsri_profiled;

// --- Records that were dropped -----------------------------------------------------------------------------------------

// Sums of records that are alike.
typedef struct tsri_profile_total {
  uint32_t name, operators, label;
  uint16_t device;
  uint8_t kind;
  uint64_t count, ns, least_ns, most_ns, bytes, operations;
  double share_ns;  // sum of share * ns over those records whose share is known, and their time
  double known_ns;
} tsri_profile_total;

typedef struct tsri_profile_totals {
  tsri_profile_total *rows;  // a hash table with open addressing; count 0: free
  size_t capacity, row_count;
  bool has_failed;  // a row had no place: host memory is out, or there are more than TSRI_MOST_TOTALS
} tsri_profile_totals;

enum { TSRI_MOST_TOTALS = 1 << 16 };

void tsri_totals_add(tsri_profile_totals *totals, const tsri_profile_entry *entry, double share);
void tsri_totals_merge(tsri_profile_totals *totals, const tsri_profile_total *row);
void tsri_totals_deinit(tsri_profile_totals *totals);

// --- Sessions and profiles -----------------------------------------------------------------------------------------------

// A finished profile is its session. Records have numbers from 0; those from first_number on are there.
struct tsr_profile {
  tsri_object object;
  uint64_t begin_ns, duration_ns;  // begin_ns: on the host's clock
  uint64_t latest_ns;              // the latest time that is known, since begin_ns
  bool is_full;
  tsri_profile_entry **chunks;  // a ring of chunk_count chunks
  size_t chunk_count;
  uint64_t first_number, next_number;
  tsri_profile_entry *newest;  // the chunk of the newest record
  tsri_profiled *devices;      // the newest first
  int device_count;
  tsri_profile_totals dropped;
  uint64_t lost_count, untimed_count;
  tsri_work_class *classes;  // a hash table; NULL: there are none yet
};

static inline tsri_profile_entry *tsri_profile_at(const tsr_profile *profile, uint64_t number) {
  uint64_t chunk = number / TSRI_PROFILE_CHUNK % profile->chunk_count;
  return &profile->chunks[chunk][number % TSRI_PROFILE_CHUNK];
}

const tsri_profiled *tsri_profile_device_at(const tsr_profile *profile, int index);  // NULL: there is none
const char *tsri_profile_clock_word(tsr_profile_clock clock);
double tsri_profile_share(const tsr_profile *profile, const tsri_profile_entry *entry);

// --- Clocks of devices: clock.c. Called with the profiler's lock held, except tsri_lane_calibrate. -------------------------

// Creates the lane's base, an event that happens now. Waits for the queue, which is locked by the caller. False if the
// device has no clock.
bool tsri_lane_calibrate(tsri_lane *lane, tsri_queue *queue, uint64_t begin_ns);

// A record for work that is about to be queued, with two events if it is timed; NULL: the lane has none left, or there is no memory.
tsri_timing *tsri_lane_take(tsri_lane *lane, bool is_timed);
void tsri_lane_give(tsri_lane *lane, tsri_timing *timing);
void tsri_lane_add(tsri_lane *lane, tsri_timing *timing);

// Reads the times of work that has ended, or of all work if `is_idle`, at `now_ns` since the session's beginning. Returns how many pieces of work had
// events.
int tsri_lane_read(tsr_profile *session, tsri_lane *lane, bool is_idle, uint64_t now_ns);

// The host was released at this time from a wait that it had to spend: the last work ended just before. Corrects clocks that
// drift apart.
void tsri_lane_align(tsri_lane *lane, uint64_t end_ns);

// As tsri_lane_read, waiting for the work until `deadline_ns`. Then frees the lane's events.
void tsri_lane_finish(tsr_profile *session, tsri_lane *lane, uint64_t deadline_ns);

// Measures the device's limits: bytes and operations per second.
void tsri_profile_measure(tsr_device *device, double *out_bytes, double *out_operations);

// Begins a session, whoever asks for it. Errors: TSR_ERR_INVALID_ARGUMENT (one is on), TSR_ERR_OUT_OF_MEMORY.
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
