// SPDX-License-Identifier: MIT
// The profiler: what ran on which device, how long, with how much memory, what was moved, and what fell back to the host.
//
//   tsr_profile_begin(NULL);
//   tsr_label_begin("train");                    // optional: names what the operators below belong to
//   ...
//   tsr_label_end();
//   tsr_profile_end(&profile);
//   tsr_profile_write(profile, "report.html");   // or trace.json, table.txt
//   tsr_profile_release(profile);
//
// The setting `profile` (TESSERA_PROFILE=trace.json) does the same for a whole program without changing it.
// docs/profiling.md explains the outputs.
#ifndef TESSERA_PROFILE_H
#define TESSERA_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/device.h>
#include <tessera/export.h>
#include <tessera/status.h>

// Kinds of records: name, word in outputs, meaning. Those up to REPLAY are work of a device, with its times; the others take place on the host.
#define TSR_PROFILE_KINDS(X)                                                              \
  X(KERNEL, "kernel", "a kernel, generated or of an operator")                            \
  X(NATIVE, "native", "an operator done by the device's own code or a vendor library")    \
  X(UPLOAD, "upload", "a copy from host memory")                                          \
  X(DOWNLOAD, "download", "a copy to host memory")                                        \
  X(COPY, "copy", "a copy within a device, or from another one")                          \
  X(FILL, "fill", "memory filled with a pattern")                                         \
  X(REPLAY, "replay", "a capture that was run again")                                     \
  X(ALLOCATION, "allocation", "memory that the pool took from the device")                \
  X(BUILD, "build", "a kernel compiled for the device")                                   \
  X(WAIT, "wait", "the host waited for the device")                                       \
  X(MOVE, "move", "a tensor was moved because an operator had inputs on several devices") \
  X(FALLBACK, "fallback", "something that the device could not do was done on the host")  \
  X(LABEL, "label", "a range between tsr_label_begin and tsr_label_end")

typedef enum tsr_profile_kind {
#define TSR_X(name, word, meaning) TSR_PROFILE_##name,
  TSR_PROFILE_KINDS(TSR_X)
#undef TSR_X
      TSR_PROFILE_KIND_COUNT
} tsr_profile_kind;

// Which clock measured a record's time.
typedef enum tsr_profile_clock {
  TSR_CLOCK_HOST,    // the host's: the time was spent inside the call. Work of a device that runs work later and has no
                     // clock shows only how long queueing it took
  TSR_CLOCK_DEVICE,  // the device's: from the start to the end of the work itself
  TSR_CLOCK_ESTIMATED  // not measured: the mean of the device's times that were measured for the same work before
} tsr_profile_clock;

// One thing that happened. Texts are never NULL; they are valid as long as the library is loaded.
typedef struct tsr_profile_record {
  tsr_profile_kind kind;
  tsr_profile_clock clock;
  const char *name;       // of the kernel, of the native operator, of the device a tensor came from, …
  const char *operators;  // the operators that a kernel computes, "matmul add relu"; of a replay: its kernels
  const char *result;     // dtype and shape of the result, "f32 64x10"; empty if unknown
  const char *label;      // "train/forward"; empty: none
  int device;             // index for tsr_profile_get_device; -1: none
  int queue;              // of the device, from 0
  int thread;             // number of the calling thread, from 0 in the order in which threads were first seen
  uint64_t start_ns;      // since tsr_profile_begin, on the clock above; device times are aligned to the host's clock
  uint64_t duration_ns;
  uint64_t host_start_ns;  // when the host's call began; host_ns is how long it took
  uint64_t host_ns;
  uint64_t bytes;       // read and written, copied or allocated; 0: unknown
  uint64_t operations;  // additions, multiplications and the like; 0: unknown
  // How much of the device's limits the work reached, 0 to 1: the larger of its bytes per second and its operations per second (f32 only), each divided by the
  // limit of tsr_profile_device. Above 1 if the data was in a cache; 0: unknown.
  double share;
} tsr_profile_record;

// A device that was used while the profile was recorded.
typedef struct tsr_profile_device {
  const char *backend, *name;
  bool has_clock;                // times of its work are from its own clock
  double bytes_per_second;       // the limits that `share` is relative to, measured when the device was opened;
  double operations_per_second;  // 0: not measured. Of f32 multiply-adds, without matrix units
  uint64_t peak_bytes;           // most memory in use at a time
  uint64_t taken_count;          // how often memory was taken from the pool; taken_bytes is how much in all
  uint64_t taken_bytes;
  const char *rejected;  // why other devices were passed over when this one was chosen; empty: none were
} tsr_profile_device;

// What is in a profile, and what is not.
typedef struct tsr_profile_summary {
  int record_count, device_count;
  uint64_t duration_ns;    // from begin to end
  uint64_t dropped_count;  // old records that made room for newer ones: counted in the table, not on the timeline
  uint64_t lost_count;     // records that are missing everywhere, because host memory was out
  uint64_t untimed_count;  // records that have the host's time although the device has a clock
} tsr_profile_summary;

// Options; the zero value is the default.
typedef struct tsr_profile_desc {
  // Most records to keep. When there are more, the oldest records of a queue make room for its new ones. 0 means 262,144; smaller numbers than 1,024 count as
  // 1,024, and each queue may keep as many in any case. A record takes 80 bytes.
  uint64_t record_limit;
  // Runs captures step by step, so that each of their kernels is timed, also where the device would run them as one graph.
  bool is_full;
} tsr_profile_desc;

typedef struct tsr_profile tsr_profile;

// Begins to record, on all threads and devices. For devices that are opened from now on, the limits are measured, and times are those of the device's own clock
// if it has one. Devices that are open already may have only the host's times (OpenCL, Vulkan). `desc` NULL: all defaults.
//
// Threads: any.
// Errors:  TSR_ERR_INVALID_ARGUMENT (tsr_profile_begin was called before, without tsr_profile_end), TSR_ERR_UNSUPPORTED (web pages).
//
// If the setting `profile` has begun to record already, its records are discarded; the file that it names gets the profile of this call instead.
TSR_API tsr_status tsr_profile_begin(const tsr_profile_desc *desc);

// Ends recording and returns the records. Waits, for 10 s at most, until queued work that is being timed has ended.
//
// Ownership: caller releases `*out_profile`. NULL: the records are discarded.
// Threads:   any.
// Errors:    TSR_ERR_INVALID_ARGUMENT (tsr_profile_begin has not been called), TSR_ERR_OUT_OF_MEMORY. Then `*out_profile`
//            is NULL, and profiling is off.
TSR_API tsr_status tsr_profile_end(tsr_profile **out_profile);

// Whether profiling is on.
TSR_API bool tsr_profile_is_on(void);

// What the profile contains. Records are in the order in which the host made the calls.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL, or no such index).
TSR_API tsr_status tsr_profile_get_summary(const tsr_profile *profile, tsr_profile_summary *out_summary);
TSR_API tsr_status tsr_profile_get_record(const tsr_profile *profile, int index, tsr_profile_record *out_record);
TSR_API tsr_status tsr_profile_get_device(const tsr_profile *profile, int index, tsr_profile_device *out_device);

// Writes the profile to a file, by the end of its name: .json is a trace for Perfetto (ui.perfetto.dev) and
// chrome://tracing, .html a report to open in a browser, and everything else the table as text. NULL or "-": the table to standard error. %p in the path becomes
// the number of the process.
//
// The profile is written to a temporary file beside `path`, which is then renamed, so that there is never half a file. If `path` exists and is not a plain file (a
// pipe, a link), the profile is written into it instead.
// Errors: TSR_ERR_INVALID_ARGUMENT (no profile, an empty path), TSR_ERR_IO, TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_profile_write(const tsr_profile *profile, const char *path);

// Accepts NULL.
TSR_API void tsr_profile_release(tsr_profile *profile);

// Begins a labelled range of the calling thread. Until tsr_label_end, the records of everything that the thread does get this label, and so do those of operators
// that it records, even if they run later. Ranges nest, up to 32 deep: their labels are joined with '/'.
// Costs nothing measurable while profiling is off. `label` is copied; NULL counts as empty.
TSR_API void tsr_label_begin(const char *label);
// Ends the innermost range of the calling thread; does nothing if there is none.
TSR_API void tsr_label_end(void);

#endif
