// SPDX-License-Identifier: MIT
// The profile as a trace in the JSON format that Perfetto and chrome://tracing read: one process per device with a thread
// per queue, one for the host with a thread per thread, and a counter for each device's memory. Times are microseconds.
#include "runtime/profile/recorder.h"

enum { HOST_PROCESS = 1, FIRST_DEVICE_PROCESS = 2 };

static void add_name(tsri_builder *out, const char *what, int process, int thread, const char *name) {
  tsri_builder_add(out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", what, process,
                   thread);
  tsri_json_string(out, name);
  tsri_builder_add(out, "}},\n");
}

static void add_names(const tsr_profile *profile, tsri_builder *out) {
  add_name(out, "process_name", HOST_PROCESS, 0, "host");
  for (int i = 0; i < profile->device_count; i++) {
    const tsri_profiled *device = tsri_profile_device_at(profile, i);
    tsri_builder title = {0};
    tsri_builder_add(&title, "%s: %s", tsri_profile_text(device->title), tsri_profile_text(device->name));
    add_name(out, "process_name", FIRST_DEVICE_PROCESS + i, 0, title.text ? title.text : "device");
    tsri_builder_deinit(&title);
    for (int queue = 0; queue < (device->lane_count ? device->lane_count : 1); queue++) {
      add_name(out, "thread_name", FIRST_DEVICE_PROCESS + i, queue, queue ? "another queue" : "queue");
    }
  }
}

static void add_text(tsri_builder *out, const char *key, uint32_t text) {
  if (text == 0) return;
  tsri_builder_add(out, ",\"%s\":", key);
  tsri_json_string(out, tsri_profile_text(text));
}

static void add_arguments(const tsr_profile *profile, const tsri_profile_entry *entry, tsri_builder *out) {
  double share = tsri_profile_share(profile, entry), ns = (double)entry->duration_ns;
  tsri_builder_add(out, ",\"args\":{\"kind\":\"%s\"", tsri_profile_kind_word((tsr_profile_kind)entry->kind));
  add_text(out, "name", entry->name);
  add_text(out, "operators", entry->operators);
  add_text(out, "result", entry->result);
  add_text(out, "label", entry->label);
  if (entry->bytes) tsri_builder_add(out, ",\"bytes\":%llu", (unsigned long long)entry->bytes);
  if (entry->operations) tsri_builder_add(out, ",\"operations\":%llu", (unsigned long long)entry->operations);
  if (entry->bytes && ns > 0) tsri_builder_add(out, ",\"GB/s\":%.3f", (double)entry->bytes / ns);
  if (entry->operations && ns > 0) tsri_builder_add(out, ",\"GFLOP/s\":%.3f", (double)entry->operations / ns);
  if (share > 0) tsri_builder_add(out, ",\"share of limit\":%.4f", share);
  tsri_builder_add(out, ",\"clock\":\"%s\",\"host_us\":%.3f,\"host_call_us\":%.3f}",
                   tsri_profile_clock_word((tsr_profile_clock)entry->clock), (double)entry->host_start_ns / 1e3,
                   (double)entry->host_ns / 1e3);
}

// Work of a device is shown in the row of its queue; builds, waits, labels and the like in the row of the host's thread.
static void add_record(const tsr_profile *profile, const tsri_profile_entry *entry, tsri_builder *out) {
  bool is_device = entry->kind <= TSR_PROFILE_REPLAY && entry->device != TSRI_PROFILE_NO_DEVICE;
  bool is_instant = entry->kind == TSR_PROFILE_MOVE || entry->kind == TSR_PROFILE_FALLBACK;
  uint32_t title = is_device && entry->operators ? entry->operators : entry->name;
  tsri_builder_add(out, "{\"ph\":\"%s\",\"name\":", is_instant ? "i\",\"s\":\"t" : "X");
  tsri_json_string(out, entry->kind == TSR_PROFILE_MOVE ? "implicit move" : tsri_profile_text(title));
  tsri_builder_add(out, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f",
                   tsri_profile_kind_word((tsr_profile_kind)entry->kind),
                   is_device ? FIRST_DEVICE_PROCESS + entry->device : HOST_PROCESS,
                   is_device ? (unsigned)entry->queue : (unsigned)entry->thread, (double)entry->start_ns / 1e3);
  if (!is_instant) tsri_builder_add(out, ",\"dur\":%.3f", (double)entry->duration_ns / 1e3);
  add_arguments(profile, entry, out);
  tsri_builder_add(out, "},\n");
}

static void add_memory(const tsri_profiled *device, tsri_builder *out) {
  for (int i = 0; i < device->curve.sample_count; i++) {
    tsri_builder_add(out,
                     "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":%d,\"tid\":0,\"ts\":%.3f,\"args\":{\"bytes\":%llu}},\n",
                     FIRST_DEVICE_PROCESS + device->index, (double)device->curve.samples[i].at_ns / 1e3,
                     (unsigned long long)device->curve.samples[i].bytes);
  }
}

void tsri_profile_write_trace(const tsr_profile *profile, tsri_builder *out) {
  tsri_builder_add(out,
                   "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":%llu,\"lost\":%llu,\"untimed\":%llu},\n",
                   (unsigned long long)profile->dropped_count, (unsigned long long)profile->lost_count,
                   (unsigned long long)profile->untimed_count);
  tsri_builder_add(out, "\"traceEvents\":[\n");
  add_names(profile, out);
  for (uint64_t i = 0; i < profile->record_count; i++) add_record(profile, profile->records[i], out);
  for (int i = 0; i < profile->device_count; i++) add_memory(tsri_profile_device_at(profile, i), out);
  // Closes the list with an event that marks the end, since every other one ends with a comma.
  tsri_builder_add(out, "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"end\",\"pid\":%d,\"tid\":0,\"ts\":%.3f}\n]}\n",
                   HOST_PROCESS, (double)profile->duration_ns / 1e3);
}
