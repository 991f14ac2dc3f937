// SPDX-License-Identifier: MIT
// The profile as a web page: report.html with the data put into it as JSON.
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "runtime/profile/recorder.h"

// A page with more becomes slow to open.
enum { MOST_RECORDS = 40000 };

// The texts of the report, numbered from 0 in the order of their first use.
typedef struct text_list {
  uint32_t *numbers;  // by interned text; 0: not used yet
  uint32_t *used;     // interned texts by their number here; used[0] is the empty one
  uint32_t count;
} text_list;

enum { ALL_TEXTS = 1 << 16 };

static uint32_t number_of(text_list *list, uint32_t text) {
  if (text == 0 || text >= ALL_TEXTS) return 0;
  if (list->numbers[text] == 0) {
    list->used[list->count] = text;
    list->numbers[text] = list->count++;
  }
  return list->numbers[text];
}

static int device_of(uint16_t device) { return device == TSRI_PROFILE_NO_DEVICE ? -1 : device; }

static int by_length(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x > y ? -1 : x < y;
}

// Records shorter than this are left out of the timeline, so that at most MOST_RECORDS remain.
static uint64_t shortest_shown(const tsr_profile *profile) {
  uint64_t count = profile->record_count, least = 0;
  uint64_t *durations = count > MOST_RECORDS ? tsri_malloc((size_t)count * sizeof *durations) : NULL;
  if (!durations) return 0;
  for (uint64_t i = 0; i < count; i++) durations[i] = profile->records[i]->duration_ns;
  qsort(durations, (size_t)count, sizeof *durations, by_length);
  least = durations[MOST_RECORDS - 1] + 1;
  tsri_free(durations);
  return least;
}

static void add_records(const tsr_profile *profile, text_list *texts, tsri_builder *out) {
  uint64_t least_ns = shortest_shown(profile);
  const char *before = "";
  tsri_builder_add(out, "\"records\":[");
  for (uint64_t i = 0; i < profile->record_count; i++) {
    const tsri_profile_entry *entry = profile->records[i];
    if (entry->duration_ns < least_ns) continue;
    tsri_builder_add(out, "%s[%d,%d,%d,%u,%llu,%llu,%u,%u,%u,%u,%llu,%llu,%.4f]", before, entry->kind,
                     device_of(entry->device), entry->queue, entry->thread, (unsigned long long)entry->start_ns,
                     (unsigned long long)entry->duration_ns, number_of(texts, entry->name),
                     number_of(texts, entry->operators), number_of(texts, entry->result),
                     number_of(texts, entry->label), (unsigned long long)entry->bytes,
                     (unsigned long long)entry->operations, tsri_profile_share(profile, entry));
    before = ",\n";
  }
  tsri_builder_add(out, "],\n");
}

static void add_rows(const tsr_profile *profile, text_list *texts, tsri_builder *out) {
  tsri_profile_total *rows = NULL;
  size_t count = 0;
  if (!tsri_profile_sum(profile, &rows, &count)) out->has_failed = true;
  tsri_builder_add(out, "\"rows\":[");
  for (size_t i = 0; i < count; i++) {
    const tsri_profile_total *row = &rows[i];
    tsri_builder_add(
        out,
        "%s{\"kind\":%d,\"device\":%d,\"name\":%u,\"operators\":%u,\"label\":%u,\"count\":%llu,\"ns\":%llu,"
        "\"most\":%llu,\"bytes\":%llu,\"operations\":%llu,\"share\":%.6g,\"known\":%.6g}",
        i ? ",\n" : "", row->kind, device_of(row->device), number_of(texts, row->name),
        number_of(texts, row->operators), number_of(texts, row->label), (unsigned long long)row->count,
        (unsigned long long)row->ns, (unsigned long long)row->most_ns, (unsigned long long)row->bytes,
        (unsigned long long)row->operations, row->share_ns, row->known_ns);
  }
  tsri_builder_add(out, "],\n");
  tsri_free(rows);
}

static void add_device(const tsri_profiled *device, tsri_builder *out) {
  tsri_builder_add(out, "{\"backend\":");
  tsri_json_string(out, tsri_profile_text(device->title));
  tsri_builder_add(out, ",\"name\":");
  tsri_json_string(out, tsri_profile_text(device->name));
  tsri_builder_add(out, ",\"rejected\":");
  tsri_json_string(out, tsri_profile_text(device->rejected));
  tsri_builder_add(
      out, ",\"clock\":%s,\"peak\":%llu,\"taken\":%llu,\"limitBytes\":%.6g,\"limitOperations\":%.6g,\"samples\":[",
      device->has_clock ? "true" : "false", (unsigned long long)device->curve.peak_bytes,
      (unsigned long long)device->curve.taken_count, device->bytes_per_second, device->operations_per_second);
  for (int i = 0; i < device->curve.sample_count; i++) {
    tsri_builder_add(out, "%s[%llu,%llu]", i ? "," : "", (unsigned long long)device->curve.samples[i].at_ns,
                     (unsigned long long)device->curve.samples[i].bytes);
  }
  tsri_builder_add(out, "]}");
}

static void add_data(const tsr_profile *profile, text_list *texts, tsri_builder *out) {
  tsri_builder_add(out, "{\"duration\":%llu,\"recordCount\":%llu,\"dropped\":%llu,\"lost\":%llu,\"untimed\":%llu,\n",
                   (unsigned long long)profile->duration_ns, (unsigned long long)profile->record_count,
                   (unsigned long long)profile->dropped_count, (unsigned long long)profile->lost_count,
                   (unsigned long long)profile->untimed_count);
  tsri_builder_add(out, "\"kinds\":[");
  for (int i = 0; i < TSR_PROFILE_KIND_COUNT; i++) {
    tsri_builder_add(out, "%s\"%s\"", i ? "," : "", tsri_profile_kind_word((tsr_profile_kind)i));
  }
  tsri_builder_add(out, "],\n\"devices\":[");
  for (int i = 0; i < profile->device_count; i++) {
    tsri_builder_string(out, i ? ",\n" : "");
    add_device(tsri_profile_device_at(profile, i), out);
  }
  tsri_builder_add(out, "],\n");
  add_rows(profile, texts, out);
  add_records(profile, texts, out);
  tsri_builder_add(out, "\"texts\":[\"\"");
  for (uint32_t i = 1; i < texts->count; i++) {
    tsri_builder_string(out, ",\n");
    tsri_json_string(out, tsri_profile_text(texts->used[i]));
  }
  tsri_builder_add(out, "]}");
}

void tsri_profile_write_report(const tsr_profile *profile, tsri_builder *out) {
  static const char mark[] = "/*DATA*/";
  const char *page = (const char *)tsri_profile_report_bytes, *data = strstr(page, mark);
  text_list texts = {.count = 1};
  texts.numbers = tsri_calloc(ALL_TEXTS, sizeof *texts.numbers);
  texts.used = tsri_calloc(ALL_TEXTS, sizeof *texts.used);
  if (texts.numbers && texts.used && data) {
    tsri_builder_put(out, page, (size_t)(data - page));
    add_data(profile, &texts, out);
    tsri_builder_string(out, data + sizeof mark - 1);
  } else {
    out->has_failed = true;
  }
  tsri_free(texts.numbers);
  tsri_free(texts.used);
}
