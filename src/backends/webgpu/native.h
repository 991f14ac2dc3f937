// SPDX-License-Identifier: MIT
// What the files that fill tsri_wgpu from a webgpu.h library share.
//
//   native.c          the library, its entry points and differences, adapters
//   native_device.c   devices, errors, waiting
//   native_objects.c  buffers and programs
//   native_queue.c    commands, submissions, reading back
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

// wgpuGetVersion() of the library in use; 0 where it has none.
uint32_t tsri_wgpu_version(void);

// Filled by start; the library stays open until the process ends, since drivers leave threads behind.
extern tsri_wgpu_entries tsri_wgpu_lib;

// How libraries differ.
typedef struct tsri_wgpu_library {
  const char *title;
  const char *symbol;          // an entry point that only this one has
  uint32_t toggles_type;       // number of Dawn's chained list of switches; 0: it has none
  uint32_t f16_features[2];    // numbers that shader-f16 has or had; 0: none. The backend tries before it believes
  uint32_t array_sizes_since;  // wgpuGetVersion() from which on entries of layouts have an array size; 0: all have
} tsri_wgpu_library;
const tsri_wgpu_library *tsri_wgpu_current(void);

// Does a library of this kind and version take wgpu_layout_entry (or wgpu_old_layout_entry)?
bool tsri_wgpu_has_array_sizes(const tsri_wgpu_library *library, uint32_t version);

// The entries of a program's layout as the library in use takes them: room for as many as there may be.
typedef union wgpu_layout_entries {
  wgpu_layout_entry entries[TSRI_WGPU_MAX_BINDINGS + 1];
  wgpu_old_layout_entry old[TSRI_WGPU_MAX_BINDINGS + 1];
} wgpu_layout_entries;
void tsri_wgpu_put_layout(bool has_array_sizes, uint32_t storage_count, const uint32_t read_only[2],
                          uint32_t uniform_bytes, wgpu_layout_entries *out);

// An answer that is waited for.
typedef struct wgpu_answer {
  bool is_there;
  uint32_t status, type;
  wgpu_object object;
  char text[600];
} wgpu_answer;

// Sets error_text's text and returns `status`.
tsr_status tsri_wgpu_fail(tsr_status status, const char *format, ...) TSRI_PRINTF(2, 3);
void tsri_wgpu_copy_text(wgpu_text from, char *to, size_t to_bytes);

// Lets the library call back until `*is_there` or time is up; answers whether it is.
bool tsri_wgpu_pump(wgpu_object instance, const bool *is_there, double timeout_ms);
// A callback for objects, statuses and error scopes that fills the wgpu_answer given as user1.
wgpu_callback_info tsri_wgpu_object_answer(wgpu_answer *answer);
wgpu_callback_info tsri_wgpu_status_answer(wgpu_answer *answer);
wgpu_callback_info tsri_wgpu_scope_answer(wgpu_answer *answer);

// An index for tests: Dawn's backend that runs nothing and compiles everything, with every feature.
#define WGPU_NULL_INDEX UINT32_MAX

// A new instance with the adapter of this index; both are the caller's.
tsr_status tsri_wgpu_find_adapter(uint32_t index, double timeout_ms, wgpu_object *out_instance,
                                  wgpu_object *out_adapter);

// Which numbers that may be shader-f16 the adapter has; answers how many.
uint32_t tsri_wgpu_f16_features(wgpu_object adapter, uint32_t out_numbers[2]);

enum { WGPU_MAX_SUBMISSIONS = 64 };

struct tsri_wgpu_device {
  wgpu_object instance, adapter, handle, queue;
  wgpu_object encoder, pass;  // being recorded; NULL: none
  uint32_t submitted;         // number of the newest submission
  struct wgpu_submission {
    uint32_t number;
    bool is_done, has_failed;
  } submissions[WGPU_MAX_SUBMISSIONS];
  wgpu_answer mapping;  // of the read that timed out
  bool is_lost;
  char lost_text[600];
  uint32_t error_type;  // of the first error nobody asked for; 0: none
  char error_text[600];
};

struct tsri_wgpu_buffer {
  wgpu_object handle;
  size_t bytes;
};

struct tsri_wgpu_program {
  wgpu_object pipeline, layout;
  uint32_t uniform_bytes;
};

tsr_status tsri_wgpu_check_lost(const tsri_wgpu_device *device);
// Between the two, errors of the library are kept; `end` answers with the first, as a status.
void tsri_wgpu_begin_scopes(tsri_wgpu_device *device);
tsr_status tsri_wgpu_end_scopes(tsri_wgpu_device *device, tsr_status validation, const char *what);

// The table's entries.
tsr_status tsri_wgpu_native_start(const char *library);
void tsri_wgpu_native_stop(void);
void tsri_wgpu_native_error_text(char *text, size_t text_bytes);
uint32_t tsri_wgpu_native_adapter_count(void);
tsr_status tsri_wgpu_native_adapter_info(uint32_t index, tsri_wgpu_adapter *out_adapter);
tsr_status tsri_wgpu_native_device_open(uint32_t index, double timeout_ms, tsri_wgpu_device **out_device);
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

#endif
