// SPDX-License-Identifier: MIT
// The finished profile: its records and devices, and writing it to a file. Also the setting `profile`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "platform/platform.h"
#include "runtime/profile/recorder.h"

static const char *const kind_words[] = {
#define TSR_X(name, word, meaning) word,
    TSR_PROFILE_KINDS(TSR_X)
#undef TSR_X
};

const char *tsri_profile_kind_word(tsr_profile_kind kind) { return kind_words[kind]; }

const char *tsri_profile_clock_word(tsr_profile_clock clock) {
  return clock == TSR_CLOCK_DEVICE ? "device" : clock == TSR_CLOCK_ESTIMATED ? "estimated" : "host";
}

const tsri_profiled *tsri_profile_device_at(const tsr_profile *profile, int index) {
  const tsri_profiled *at = profile->devices;
  while (at && at->index != index) at = at->next;
  return at;
}

// Only work whose time on the device is known: the time that queueing takes says nothing about the device.
double tsri_profiled_share(const tsri_profiled *device, const tsri_profile_entry *entry) {
  bool is_work = entry->kind <= TSR_PROFILE_REPLAY && entry->clock != TSR_CLOCK_HOST;
  if (!device || !is_work || entry->duration_ns == 0) return 0;
  double seconds = (double)entry->duration_ns * 1e-9, bytes = 0, operations = 0;
  bool crosses_bus = entry->kind == TSR_PROFILE_UPLOAD || entry->kind == TSR_PROFILE_DOWNLOAD;
  if (device->bytes_per_second > 0 && !crosses_bus) bytes = (double)entry->bytes / seconds / device->bytes_per_second;
  if (device->operations_per_second > 0 && entry->is_f32) {
    operations = (double)entry->operations / seconds / device->operations_per_second;
  }
  return bytes > operations ? bytes : operations;
}

double tsri_profile_share(const tsr_profile *profile, const tsri_profile_entry *entry) {
  return tsri_profiled_share(tsri_profile_device_at(profile, entry->device), entry);
}

// --- What is in it -----------------------------------------------------------------------------------------------------------

static tsr_status check(const char *caller, const tsr_profile *profile, const void *out) {
  tsr_status status = tsri_object_check(profile, TSRI_OBJECT_PROFILE, caller, "profile");
  if (status == TSR_OK && !out)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the place for the result is NULL", caller);
  return status;
}

tsr_status tsr_profile_get_summary(const tsr_profile *profile, tsr_profile_summary *out_summary) {
  tsr_status status = check("profile_get_summary", profile, out_summary);
  if (status != TSR_OK) return status;
  *out_summary = (tsr_profile_summary){
      .record_count = (int)profile->record_count,
      .device_count = profile->device_count,
      .duration_ns = profile->duration_ns,
      .dropped_count = profile->dropped_count,
      .lost_count = profile->lost_count,
      .untimed_count = profile->untimed_count,
  };
  return TSR_OK;
}

tsr_status tsr_profile_get_record(const tsr_profile *profile, int index, tsr_profile_record *out_record) {
  tsr_status status = check("profile_get_record", profile, out_record);
  if (status != TSR_OK) return status;
  if (index < 0 || (uint64_t)index >= profile->record_count) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "profile_get_record: index %d, there are %llu records", index,
                     (unsigned long long)profile->record_count);
  }
  const tsri_profile_entry *entry = profile->records[index];
  *out_record = (tsr_profile_record){
      .kind = (tsr_profile_kind)entry->kind,
      .clock = (tsr_profile_clock)entry->clock,
      .name = tsri_profile_text(entry->name),
      .operators = tsri_profile_text(entry->operators),
      .result = tsri_profile_text(entry->result),
      .label = tsri_profile_text(entry->label),
      .device = entry->device == TSRI_PROFILE_NO_DEVICE ? -1 : entry->device,
      .queue = entry->queue,
      .thread = (int)entry->thread,
      .start_ns = entry->start_ns,
      .duration_ns = entry->duration_ns,
      .host_start_ns = entry->host_start_ns,
      .host_ns = entry->host_ns,
      .bytes = entry->bytes,
      .operations = entry->operations,
      .share = tsri_profile_share(profile, entry),
  };
  return TSR_OK;
}

tsr_status tsr_profile_get_device(const tsr_profile *profile, int index, tsr_profile_device *out_device) {
  tsr_status status = check("profile_get_device", profile, out_device);
  if (status != TSR_OK) return status;
  const tsri_profiled *device = tsri_profile_device_at(profile, index);
  if (!device) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "profile_get_device: index %d, there are %d devices", index,
                     profile->device_count);
  }
  *out_device = (tsr_profile_device){
      .backend = tsri_profile_text(device->backend),
      .name = tsri_profile_text(device->name),
      .has_clock = device->has_clock,
      .bytes_per_second = device->bytes_per_second,
      .operations_per_second = device->operations_per_second,
      .peak_bytes = device->curve.peak_bytes,
      .taken_count = device->curve.taken_count,
      .taken_bytes = device->curve.taken_bytes,
      .rejected = tsri_profile_text(device->rejected),
  };
  return TSR_OK;
}

void tsr_profile_release(tsr_profile *profile) {
  if (!profile || tsri_object_check(profile, TSRI_OBJECT_PROFILE, "profile_release", "profile") != TSR_OK) return;
  if (!tsri_object_release(&profile->object)) return;
  tsri_streams_release(profile);
  for (tsri_profiled *at = profile->devices, *next; at; at = next) {
    next = at->next;
    tsri_free(at->curve.samples);
    tsri_work_classes_deinit(&at->work);
    tsri_free(at);
  }
  tsri_totals_deinit(&profile->dropped);
  tsri_object_destroy(&profile->object, sizeof *profile);
}

// --- Writing -----------------------------------------------------------------------------------------------------------------

void tsri_json_string(tsri_builder *out, const char *text) {
  tsri_builder_put(out, "\"", 1);
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at == '"' || *at == '\\') tsri_builder_add(out, "\\%c", *at);
    else if (*at < 0x20 || *at == '<') tsri_builder_add(out, "\\u%04x", *at);  // no "</script>" in a report
    else tsri_builder_put(out, (const char *)at, 1);
  }
  tsri_builder_put(out, "\"", 1);
}

static bool ends_with(const char *path, const char *end) {
  size_t length = strlen(path), end_length = strlen(end);
  return length >= end_length && strcmp(path + length - end_length, end) == 0;
}

static tsr_status render(const tsr_profile *profile, const char *path, tsri_builder *out) {
  if (ends_with(path, ".json")) tsri_profile_write_trace(profile, out);
  else if (ends_with(path, ".html")) tsri_profile_write_report(profile, out);
  else tsri_profile_write_table(profile, out);
  if (!out->has_failed) return TSR_OK;
  tsri_builder_deinit(out);
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "profile_write: no host memory for its text");
}

// The path with %p replaced by the number of the process; NULL when host memory is out.
static char *expand_path(const char *path) {
  tsri_builder out = {0};
  for (; *path; path++) {
    bool is_number = path[0] == '%' && path[1] == 'p';
    if (is_number) tsri_builder_add(&out, "%llu", (unsigned long long)tsri_process_id());
    else tsri_builder_put(&out, path, 1);
    path += is_number;
  }
  if (out.has_failed) tsri_builder_deinit(&out);
  return out.text;
}

static tsr_status fail_to_write(const char *path) {
  return TSRI_FAIL(TSR_ERR_IO, "profile_write: cannot write %s", path);
}

static bool write_text(FILE *file, const tsri_builder *text) {
  return fwrite(text->text, 1, text->bytes, file) == text->bytes;
}

// Writes a temporary file and renames it, so that there is never half a file. If the path is not a plain file (a pipe, /dev/null, a link), writes into it instead.
static tsr_status save(const char *path, const tsri_builder *text) {
  static const char caller[] = "profile_write";
  if (tsri_path_is_replaceable(path)) {
    tsri_beside beside;
    tsr_status status = tsri_beside_open(&beside, path, caller);
    if (status != TSR_OK) return status;
    return tsri_beside_close(&beside, write_text(beside.file, text) ? TSR_OK : fail_to_write(path), caller);
  }
  FILE *file = fopen(path, "wb");
  bool is_good = file && write_text(file, text);
  if (file && fclose(file) != 0) is_good = false;
  return is_good ? TSR_OK : fail_to_write(path);
}

tsr_status tsr_profile_write(const tsr_profile *profile, const char *path) {
  tsr_status status = check("profile_write", profile, profile);
  if (status != TSR_OK) return status;
  if (path && !path[0]) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "profile_write: the path is empty");
  tsri_builder text = {0};
  bool is_screen = !path || strcmp(path, "-") == 0;
  char *expanded = expand_path(is_screen ? "-" : path);
  if (!expanded) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "profile_write: no host memory for the path");
  status = render(profile, expanded, &text);
  if (status == TSR_OK && is_screen && fwrite(text.text, 1, text.bytes, stderr) != text.bytes) {
    status = fail_to_write("standard error");
  }
  if (status == TSR_OK && !is_screen) status = save(expanded, &text);
  tsri_builder_deinit(&text);
  tsri_free(expanded);
  return status;
}

// --- Sessions ------------------------------------------------------------------------------------------------------------------

static tsri_mutex setting_lock = TSRI_MUTEX_INIT;
// Guarded by setting_lock.
static char *setting_path;        // of the setting; NULL: there is none
static bool setting_has_session;  // the session that is on was begun by the setting, not by the program
static uint64_t setting_process;  // the process that read the setting: a child writes nothing

// Logs that the profile which the setting asks for cannot be had. Without a log on standard error, as the table: the user set TESSERA_PROFILE and would
// find no file and no reason.
static void report_failure(void) {
  if (tsri_log_wants(TSR_LOG_ERROR)) tsri_log(TSR_LOG_ERROR, "TESSERA_PROFILE: %s", tsr_last_error());
  else fprintf(stderr, "tessera: TESSERA_PROFILE: %s\n", tsr_last_error());
}

// Writes the session to the setting's file, or prints it. Call with setting_lock held.
static void write_for_setting(const tsr_profile *profile) {
  if (!setting_path || setting_process != tsri_process_id()) return;
  tsr_status status = tsr_profile_write(profile, strcmp(setting_path, "on") == 0 ? NULL : setting_path);
  if (status != TSR_OK) report_failure();
}

// A program that profiles itself has precedence over the setting: the setting's session is dropped, and the program's profile is written to the setting's file.
tsr_status tsr_profile_begin(const tsr_profile_desc *desc) {
  tsri_mutex_lock(&setting_lock);
  if (setting_has_session) tsr_profile_release(tsri_profile_stop());
  setting_has_session = false;
  tsr_status status = tsri_profile_start(desc);
  tsri_mutex_unlock(&setting_lock);
  return status;
}

tsr_status tsr_profile_end(tsr_profile **out_profile) {
  if (out_profile) *out_profile = NULL;
  tsr_profile *ended = tsri_profile_stop();
  if (!ended) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "profile_end: profiling is not on");
  tsri_mutex_lock(&setting_lock);
  setting_has_session = false;
  write_for_setting(ended);
  tsri_mutex_unlock(&setting_lock);
  if (out_profile) *out_profile = ended;
  else tsr_profile_release(ended);
  return TSR_OK;
}

// --- The setting ---------------------------------------------------------------------------------------------------------------

static void write_at_exit(void) {
  tsri_mutex_lock(&setting_lock);
  bool is_ours = setting_has_session && setting_process == tsri_process_id();
  tsr_profile *profile = is_ours ? tsri_profile_stop() : NULL;
  if (profile) write_for_setting(profile);
  tsri_free(setting_path);
  setting_path = NULL;
  setting_has_session = false;
  tsri_mutex_unlock(&setting_lock);
  tsr_profile_release(profile);
}

// atexit functions run in the opposite order of their registration. This one is registered after a driver was opened, so it runs before the driver's own
// functions, and devices can still be asked for times.
void tsri_profile_register(void) {
  enum { MOST = 8 };
  static int count;
  tsri_mutex_lock(&setting_lock);
  if (setting_path && count < MOST && atexit(write_at_exit) == 0) count++;
  tsri_mutex_unlock(&setting_lock);
}

static void begin_by_setting(const char *setting, bool is_full) {
  setting_path = tsri_strdup(setting);
  setting_process = tsri_process_id();
  if (!setting_path) tsri_log(TSR_LOG_WARN, "TESSERA_PROFILE: no host memory");
  if (!setting_path || tsri_profiling()) return;  // the program has begun a session of its own
  tsr_status status = tsri_profile_start(&(tsr_profile_desc){.is_full = is_full});
  setting_has_session = status == TSR_OK;
  if (status != TSR_OK) tsri_log(TSR_LOG_WARN, "TESSERA_PROFILE: %s", tsr_last_error());
}

void tsri_profile_configure(const char *setting, bool is_full) {
  if (!setting || strcmp(setting, "off") == 0) return;
  tsri_mutex_lock(&setting_lock);
  if (!setting_path) begin_by_setting(setting, is_full);
  tsri_mutex_unlock(&setting_lock);
}
