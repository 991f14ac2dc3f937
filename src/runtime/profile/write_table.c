// SPDX-License-Identifier: MIT
// The profile as a table: devices, what was moved and what fell back, then everything that took time, the longest first.
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "runtime/bytes_text.h"
#include "runtime/profile/recorder.h"

enum { MOST_ROWS = 60, CELL_BYTES = 24 };

static bool is_device_work(int kind) { return kind <= TSR_PROFILE_REPLAY; }

static const char *device_name(const tsr_profile *profile, int index) {
  const tsri_profiled *device = tsri_profile_device_at(profile, index);
  return device ? tsri_profile_text(device->title) : "host";
}

// "12.3 ms": three digits.
static const char *format_time(double ns, char cell[CELL_BYTES]) {
  static const struct {
    double ns;
    const char *unit;
  } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
  size_t i = 0;
  while (i < 3 && ns < 0.9995 * units[i].ns) i++;
  double value = ns / units[i].ns;
  snprintf(cell, CELL_BYTES, value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[i].unit);
  return cell;
}

// A rate in units of 10^9 a second; empty if it is unknown.
static const char *format_rate(uint64_t amount, uint64_t ns, char cell[CELL_BYTES]) {
  double rate = ns > 0 ? (double)amount / (double)ns : 0;
  cell[0] = 0;
  if (rate > 0) snprintf(cell, CELL_BYTES, rate < 9.995 ? "%.2f" : "%.0f", rate);
  return cell;
}

static const char *format_share(const tsri_profile_total *row, char cell[CELL_BYTES]) {
  cell[0] = 0;
  if (row->known_ns > 0) snprintf(cell, CELL_BYTES, "%.0f %%", 100 * row->share_ns / row->known_ns);
  return cell;
}

// "fused: add relu", or just the name.
static void add_what(tsri_builder *out, const tsri_profile_total *row) {
  const char *name = tsri_profile_text(row->name), *operators = tsri_profile_text(row->operators);
  const char *label = tsri_profile_text(row->label);
  tsri_builder_add(out, "%s", name);
  if (operators[0] && strcmp(operators, name) != 0) tsri_builder_add(out, ": %s", operators);
  if (label[0] && row->kind != TSR_PROFILE_LABEL) tsri_builder_add(out, "  [%s]", label);
}

static void add_row(const tsr_profile *profile, const tsri_profile_total *row, uint64_t all_ns, tsri_builder *out) {
  char total[CELL_BYTES], mean[CELL_BYTES], most[CELL_BYTES], bytes[CELL_BYTES], rate[CELL_BYTES], share[CELL_BYTES];
  tsri_builder_add(out, "%5.1f  %8s  %7llu  %8s  %8s  %6s  %7s  %6s  %-8s %-10s ",
                   all_ns ? 100.0 * (double)row->ns / (double)all_ns : 0, format_time((double)row->ns, total),
                   (unsigned long long)row->count, format_time((double)row->ns / (double)row->count, mean),
                   format_time((double)row->most_ns, most),
                   format_rate(is_device_work(row->kind) ? row->bytes : 0, row->ns, bytes),
                   format_rate(row->operations, row->ns, rate), format_share(row, share),
                   device_name(profile, row->device), tsri_profile_kind_word((tsr_profile_kind)row->kind));
  add_what(out, row);
  tsri_builder_add(out, "\n");
}

// Adds the rows for which `is_wanted` is true, those with the longest time first, and one line that sums up the rows beyond the limit.
static void add_rows(const tsr_profile *profile, const tsri_profile_total *rows, size_t count, const char *title,
                     bool (*is_wanted)(int kind), tsri_builder *out) {
  uint64_t all_ns = 0, rest_ns = 0;
  size_t shown = 0, left = 0;
  for (size_t i = 0; i < count; i++) all_ns += is_wanted(rows[i].kind) ? rows[i].ns : 0;
  for (size_t i = 0; i < count; i++) {
    if (!is_wanted(rows[i].kind)) continue;
    if (shown == 0) {
      tsri_builder_add(out, "\n%s\n%5s  %8s  %7s  %8s  %8s  %6s  %7s  %6s  %-8s %-10s %s\n", title, "%", "time",
                       "count", "mean", "longest", "GB/s", "GFLOP/s", "limit", "device", "kind", "what");
    }
    if (shown < MOST_ROWS) {
      add_row(profile, &rows[i], all_ns, out);
      shown++;
    } else {
      rest_ns += rows[i].ns;
      left++;
    }
  }
  char rest[CELL_BYTES];
  if (left > 0) tsri_builder_add(out, "%5s  %8s  in %zu more rows\n", "", format_time((double)rest_ns, rest), left);
}

// --- The beginning ---------------------------------------------------------------------------------------------------------------

typedef struct sums {
  uint64_t ns, count, bytes;
} sums;

static sums sum_kind(const tsri_profile_total *rows, size_t count, int device, int kind) {
  sums sum = {0};
  for (size_t i = 0; i < count; i++) {
    if (rows[i].kind != kind || rows[i].device != device) continue;
    sum.ns += rows[i].ns;
    sum.count += rows[i].count;
    sum.bytes += rows[i].bytes;
  }
  return sum;
}

static uint64_t busy_ns(const tsri_profile_total *rows, size_t count, int device) {
  uint64_t ns = 0;
  for (int kind = 0; kind <= TSR_PROFILE_REPLAY; kind++) ns += sum_kind(rows, count, device, kind).ns;
  return ns;
}

static void add_device(const tsr_profile *profile, const tsri_profiled *device, const tsri_profile_total *rows,
                       size_t count, tsri_builder *out) {
  char cell[CELL_BYTES];
  uint64_t ns = busy_ns(rows, count, device->index);
  tsri_builder_add(out, "%s (%s): busy for %s", tsri_profile_text(device->title), tsri_profile_text(device->name),
                   format_time((double)ns, cell));
  if (profile->duration_ns > 0) tsri_builder_add(out, ", %.0f %%", 100.0 * (double)ns / (double)profile->duration_ns);
  sums waits = sum_kind(rows, count, device->index, TSR_PROFILE_WAIT);
  sums builds = sum_kind(rows, count, device->index, TSR_PROFILE_BUILD);
  if (waits.count > 0) tsri_builder_add(out, "; the host waited for %s", format_time((double)waits.ns, cell));
  if (builds.count > 0) {
    tsri_builder_add(out, "; %llu build%s took %s", (unsigned long long)builds.count, builds.count == 1 ? "" : "s",
                     format_time((double)builds.ns, cell));
  }
  tsri_builder_add(out, "\n  memory: %s at most", tsri_format_bytes(device->curve.peak_bytes).text);
  static const int moved[] = {TSR_PROFILE_UPLOAD, TSR_PROFILE_DOWNLOAD, TSR_PROFILE_MOVE};
  static const char *const words[] = {"uploaded", "downloaded", "moved here because operators mix devices"};
  for (int i = 0; i < 3; i++) {
    sums sum = sum_kind(rows, count, device->index, moved[i]);
    if (sum.count > 0) {
      tsri_builder_add(out, "; %s %s in %llu", tsri_format_bytes(sum.bytes).text, words[i],
                       (unsigned long long)sum.count);
    }
  }
  tsri_builder_add(out, "\n");
  if (device->bytes_per_second > 0) {
    tsri_builder_add(out, "  limits: %.0f GB/s, %.0f GFLOP/s of f32\n", device->bytes_per_second / 1e9,
                     device->operations_per_second / 1e9);
  }
  if (!device->has_clock)
    tsri_builder_add(out, "  its work is timed by the host: only how long queueing took is known\n");
  if (device->rejected) tsri_builder_add(out, "  not chosen: %s\n", tsri_profile_text(device->rejected));
}

static void add_fallbacks(const tsr_profile *profile, const tsri_profile_total *rows, size_t count, tsri_builder *out) {
  for (size_t i = 0; i < count; i++) {
    if (rows[i].kind != TSR_PROFILE_FALLBACK) continue;
    tsri_builder_add(out, "%s was done on the host %llu times, because %s could not\n", tsri_profile_text(rows[i].name),
                     (unsigned long long)rows[i].count, device_name(profile, rows[i].device));
  }
}

static void add_gaps(const tsr_profile *profile, tsri_builder *out) {
  if (profile->dropped_count > 0) {
    tsri_builder_add(out, "the oldest %llu records have no place on the timeline, but count below\n",
                     (unsigned long long)profile->dropped_count);
  }
  if (profile->lost_count > 0) {
    tsri_builder_add(out, "%llu records are missing: there was no host memory for them\n",
                     (unsigned long long)profile->lost_count);
  }
  if (profile->untimed_count > 0) {
    tsri_builder_add(out, "%llu records have the host's time: too much work was queued at a time to time all of it\n",
                     (unsigned long long)profile->untimed_count);
  }
}

static bool is_host_work(int kind) {
  return kind == TSR_PROFILE_BUILD || kind == TSR_PROFILE_WAIT || kind == TSR_PROFILE_ALLOCATION;
}

static bool is_within(const char *label, const char *outer) {
  size_t bytes = strlen(outer);
  return strncmp(label, outer, bytes) == 0 && (label[bytes] == 0 || label[bytes] == '/');
}

// Adds the labelled ranges, each with the work of the operators that were recorded in it, whenever that work ran.
static void add_labels(const tsri_profile_total *rows, size_t count, tsri_builder *out) {
  char host[CELL_BYTES], mean[CELL_BYTES], work[CELL_BYTES];
  const char *title = "\nLabels\n    host  devices    count      mean  label\n";
  for (size_t i = 0; i < count; i++) {
    if (rows[i].kind != TSR_PROFILE_LABEL) continue;
    uint64_t ns = 0;
    for (size_t j = 0; j < count; j++) {
      bool is_inside = is_within(tsri_profile_text(rows[j].label), tsri_profile_text(rows[i].label));
      if (is_inside && is_device_work(rows[j].kind)) ns += rows[j].ns;
    }
    tsri_builder_add(out, "%s%8s %8s  %7llu  %8s  %s\n", title, format_time((double)rows[i].ns, host),
                     format_time((double)ns, work), (unsigned long long)rows[i].count,
                     format_time((double)rows[i].ns / (double)rows[i].count, mean), tsri_profile_text(rows[i].label));
    title = "";
  }
}

void tsri_profile_write_table(const tsr_profile *profile, tsri_builder *out) {
  tsri_profile_total *rows = NULL;
  size_t count = 0;
  char cell[CELL_BYTES];
  if (!tsri_profile_sum(profile, &rows, &count)) {
    out->has_failed = true;
    return;
  }
  tsri_builder_add(out, "Tessera profile of %s\n", format_time((double)profile->duration_ns, cell));
  for (int i = 0; i < profile->device_count; i++) {
    add_device(profile, tsri_profile_device_at(profile, i), rows, count, out);
  }
  add_fallbacks(profile, rows, count, out);
  add_gaps(profile, out);
  add_rows(profile, rows, count, "Work of devices", is_device_work, out);
  add_rows(profile, rows, count, "On the host", is_host_work, out);
  add_labels(rows, count, out);
  tsri_free(rows);
}
