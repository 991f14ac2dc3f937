// SPDX-License-Identifier: MIT
// Declarations shared by the files that fill the table tsri_wgpu from a webgpu.h library.
//
//   native.c          the library, its entry points and peculiarities, adapters
//   native_device.c   devices, errors, waiting
//   native_objects.c  buffers and programs
//   native_groups.c   bind groups, kept for later dispatches
//   native_queue.c    commands, submissions, reading back
//   native_times.c    time stamps
//   native_matrix.c   subgroup matrices
#ifndef TSRI_WEBGPU_NATIVE_H
#define TSRI_WEBGPU_NATIVE_H

#include <stdbool.h>

#include "backends/webgpu/webgpu_abi.h"
#include "backends/webgpu/webgpu_api.h"
#include "core/error.h"

typedef struct tsri_wgpu_entries {
#define TSRI_X(result, name, arguments) result(*name) arguments;
  WGPU_ENTRY_POINTS(TSRI_X)
#undef TSRI_X
} tsri_wgpu_entries;

// wgpuGetVersion() of the library in use; 0 if it has no such function.
uint32_t tsri_wgpu_version(void);

// Filled by start. The library stays open until the process ends, because threads of the driver may still run its
// code.
extern tsri_wgpu_entries tsri_wgpu_lib;

// The differences between libraries.
typedef struct tsri_wgpu_library {
  const char *title;
  const char *symbol;             // an entry point that only this library has
  uint32_t toggles_type;          // number of Dawn's chained struct of toggles; 0: none
  uint32_t f16_features[2];       // feature numbers that shader-f16 has or had; 0: none. The backend tests the feature
                                  // before using it
  uint32_t subgroup_features[2];  // the same for subgroups
  uint32_t matrix_features[2];    // the same for chromium-experimental-subgroup-matrix
  uint32_t matrix_configs_type;   // number of Dawn's chained struct of the sizes of such matrices; 0: none
  uint32_t array_sizes_since;     // wgpuGetVersion() since which layout entries have an array size; 0: always
} tsri_wgpu_library;
const tsri_wgpu_library *tsri_wgpu_current(void);

// Whether this library and version takes wgpu_layout_entry; otherwise it takes wgpu_old_layout_entry.
bool tsri_wgpu_has_array_sizes(const tsri_wgpu_library *library, uint32_t version);

// The entries of a program's layout, in the form that the library in use takes.
typedef union wgpu_layout_entries {
  wgpu_layout_entry entries[TSRI_WGPU_MAX_BINDINGS + 1];
  wgpu_old_layout_entry old[TSRI_WGPU_MAX_BINDINGS + 1];
} wgpu_layout_entries;
void tsri_wgpu_put_layout(bool has_array_sizes, uint32_t storage_count, const uint32_t read_only[2],
                          uint32_t uniform_bytes, wgpu_layout_entries *out);

// The result of an asynchronous request. is_there: it has arrived.
typedef struct wgpu_answer {
  bool is_there;
  uint32_t status, type;
  wgpu_object object;
  char text[600];
} wgpu_answer;

// Sets the text that error_text returns, and returns `status`.
tsr_status tsri_wgpu_fail(tsr_status status, const char *format, ...) TSRI_PRINTF(2, 3);
void tsri_wgpu_copy_text(wgpu_text from, char *to, size_t to_bytes);

// Processes the library's callbacks until `*is_there` or the time is up. Returns `*is_there`.
bool tsri_wgpu_pump(wgpu_object instance, const bool *is_there, double timeout_ms);
// Callback infos for requests that return an object, a status or an error scope. The callback fills *answer.
wgpu_callback_info tsri_wgpu_object_answer(wgpu_answer *answer);
wgpu_callback_info tsri_wgpu_status_answer(wgpu_answer *answer);
wgpu_callback_info tsri_wgpu_scope_answer(wgpu_answer *answer);

// Adapter index for tests: selects Dawn's null backend, which has every feature and compiles programs, but runs nothing.
#define WGPU_NULL_INDEX UINT32_MAX

// Creates an instance and finds the adapter with this index. The caller releases both. has_experiments: the adapter shows Dawn's
// experimental features, too.
tsr_status tsri_wgpu_find_adapter(uint32_t index, bool has_experiments, double timeout_ms, wgpu_object *out_instance,
                                  wgpu_object *out_adapter);

// Stores the candidate feature numbers of shader-f16 that the adapter has. Returns how many there are.
uint32_t tsri_wgpu_f16_features(wgpu_object adapter, uint32_t out_numbers[2]);

// As tsri_wgpu_f16_features, for the feature subgroups.
uint32_t tsri_wgpu_subgroup_features(wgpu_object adapter, uint32_t out_numbers[2]);

// As tsri_wgpu_f16_features, for the feature chromium-experimental-subgroup-matrix, of an adapter with experimental features.
uint32_t tsri_wgpu_matrix_features(wgpu_object adapter, uint32_t out_numbers[2]);
// As tsri_wgpu_find_adapter, with experimental features if this one may be among them, else without.
tsr_status tsri_wgpu_find_matrix_adapter(uint32_t index, double timeout_ms, wgpu_object *out_instance,
                                         wgpu_object *out_adapter);
// The sizes in the library's list that we use: bits TSRI_WGPU_MATRIX_…
uint32_t tsri_wgpu_matrix_sides(const wgpu_matrix_config *configs, size_t count);
// Releases the memory of a list that the library has returned. NULL: the library has no such function.
extern void (*tsri_wgpu_free_matrix_configs)(wgpu_matrix_configs configs);

// As tsri_wgpu_f16_features, for the feature timestamp-query.
uint32_t tsri_wgpu_time_features(wgpu_object adapter, uint32_t out_numbers[2]);

enum { WGPU_MAX_SUBMISSIONS = 64, WGPU_KEPT_GROUPS = 2048 };

struct tsri_wgpu_device {
  wgpu_object instance, adapter, handle, queue;
  wgpu_object encoder, pass;  // being recorded, or NULL
  wgpu_object pipeline;       // of the pass's newest dispatch; NULL: it has none
  uint32_t submitted;         // number of the newest submission
  struct wgpu_submission {
    uint32_t number;
    bool is_done, has_failed;
  } submissions[WGPU_MAX_SUBMISSIONS];
  struct wgpu_times {
    wgpu_object set, resolved;
    tsri_wgpu_buffer *read;
    uint32_t written;  // stamps, from 0 on
    bool is_new;       // some were written since the last submission
  } times;
  struct wgpu_group *groups[WGPU_KEPT_GROUPS];  // native_groups.c
  wgpu_answer mapping;                          // answer for a mapping whose read timed out
  bool has_matrices;  // opened with the feature of subgroup matrices, or with one that has its number
  bool is_lost;
  char lost_text[600];
  uint32_t error_type;  // type of the first uncaptured error; 0: none
  char error_text[600];
};

// In how many kept bind groups a buffer or program occurs (counted once for each binding), and the table entry of the newest one.
typedef struct wgpu_uses {
  uint32_t count, place;
} wgpu_uses;

struct tsri_wgpu_buffer {
  wgpu_object handle;
  size_t bytes;
  wgpu_uses uses;
};

struct tsri_wgpu_program {
  wgpu_object pipeline, layout;
  uint32_t uniform_bytes;
  wgpu_uses uses;
};

tsr_status tsri_wgpu_check_lost(const tsri_wgpu_device *device);
// Opens the encoder, if none is open; and ends the compute pass, if one is.
tsr_status tsri_wgpu_open_encoder(tsri_wgpu_device *device);
void tsri_wgpu_end_pass(tsri_wgpu_device *device);
// Records the copy of new time stamps to where the host reads them. The encoder is open, and no pass.
void tsri_wgpu_times_resolve(tsri_wgpu_device *device);
void tsri_wgpu_times_close(tsri_wgpu_device *device);
// Returns a bind group with these bindings. The device keeps it: it is valid until the next call of one of these functions. NULL: it cannot be created.
wgpu_object tsri_wgpu_group_of(tsri_wgpu_device *device, tsri_wgpu_program *program, const tsri_wgpu_binding *storage,
                               uint32_t count, tsri_wgpu_buffer *uniform);
// tsri_wgpu_drop_groups_with: releases the kept bind groups that contain a buffer or program; call it before that is destroyed. tsri_wgpu_drop_groups: releases
// all.
void tsri_wgpu_drop_groups_with(tsri_wgpu_device *device, const wgpu_uses *uses);
void tsri_wgpu_drop_groups(tsri_wgpu_device *device);
// Errors between tsri_wgpu_begin_scopes and tsri_wgpu_end_scopes are collected; the latter returns the first one as a status.
void tsri_wgpu_begin_scopes(tsri_wgpu_device *device);
tsr_status tsri_wgpu_end_scopes(tsri_wgpu_device *device, tsr_status validation, const char *what);

// The entries of the table.
tsr_status tsri_wgpu_native_start(const char *library);
void tsri_wgpu_native_stop(void);
void tsri_wgpu_native_error_text(char *text, size_t text_bytes);
uint32_t tsri_wgpu_native_adapter_count(void);
tsr_status tsri_wgpu_native_adapter_info(uint32_t index, tsri_wgpu_adapter *out_adapter);
tsr_status tsri_wgpu_native_device_open(uint32_t index, bool wants_matrices, double timeout_ms,
                                        tsri_wgpu_device **out_device);
void tsri_wgpu_native_device_close(tsri_wgpu_device *device);
tsr_status tsri_wgpu_native_device_check(tsri_wgpu_device *device);
tsr_status tsri_wgpu_native_buffer_create(tsri_wgpu_device *device, uint32_t kind, size_t bytes,
                                          tsri_wgpu_buffer **out_buffer);
void tsri_wgpu_native_buffer_destroy(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer);
tsr_status tsri_wgpu_native_program_create(tsri_wgpu_device *device, const char *text, size_t text_bytes,
                                           const char *entry, uint32_t storage_count, const uint32_t read_only[2],
                                           uint32_t uniform_bytes, tsri_wgpu_program **out_program);
void tsri_wgpu_native_program_destroy(tsri_wgpu_device *device, tsri_wgpu_program *program);
tsr_status tsri_wgpu_native_write(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, const void *data,
                                  size_t bytes);
tsr_status tsri_wgpu_native_copy(tsri_wgpu_device *device, tsri_wgpu_buffer *dst, size_t dst_offset,
                                 tsri_wgpu_buffer *src, size_t src_offset, size_t bytes);
tsr_status tsri_wgpu_native_dispatch(tsri_wgpu_device *device, tsri_wgpu_program *program,
                                     const tsri_wgpu_binding *storage, uint32_t storage_count,
                                     tsri_wgpu_buffer *uniform, size_t uniform_offset, uint32_t groups_x,
                                     uint32_t groups_y, uint32_t groups_z);
tsr_status tsri_wgpu_native_submit(tsri_wgpu_device *device, uint32_t *out_number);
tsr_status tsri_wgpu_native_wait(tsri_wgpu_device *device, uint32_t number, double timeout_ms);
tsr_status tsri_wgpu_native_read(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, void *data,
                                 size_t bytes, double timeout_ms);

tsr_status tsri_wgpu_native_times_open(tsri_wgpu_device *device, uint32_t count);
tsr_status tsri_wgpu_native_time_write(tsri_wgpu_device *device, uint32_t slot);
tsr_status tsri_wgpu_native_times_read(tsri_wgpu_device *device, uint64_t *out_ns, double timeout_ms);
uint32_t tsri_wgpu_native_matrices(tsri_wgpu_device *device);

#endif
