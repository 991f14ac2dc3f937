// SPDX-License-Identifier: MIT
// tsr_discover: a snapshot of every backend with its devices, or the reason why it has none.
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "runtime/select.h"

// The snapshot and everything it points to, freed by tsr_discovery_release.
typedef struct discovery_record {
  tsr_discovery public;  // must be first: tsr_discovery_release casts it back
  tsr_backend_report *reports;
  int report_count;
} discovery_record;

static void free_report(tsr_backend_report *report) {
  tsri_free((char *)report->name);
  tsri_free((char *)report->title);
  tsri_free((char *)report->reason);
  tsri_free((char *)report->plugin_path);
  tsri_free((tsr_device_info *)report->devices);
}

void tsr_discovery_release(tsr_discovery *discovery) {
  if (!discovery) return;
  discovery_record *record = (discovery_record *)discovery;
  for (int i = 0; i < record->report_count; i++) free_report(&record->reports[i]);
  tsri_free(record->reports);
  tsri_free(record);
}

// Asks the backend for its devices. A device whose device_info fails is left out, and its error becomes the report's
// reason.
static tsr_status list_devices(const tsri_backend *table, tsr_backend_report *report, char *reason,
                               size_t reason_bytes) {
  int count = 0;
  tsr_status status = table->device_count(&count);
  if (status != TSR_OK || count <= 0) {
    snprintf(reason, reason_bytes, "%s",
             status != TSR_OK ? tsr_last_error() : "the driver is there but reports no device");
    report->status = status;
    return TSR_OK;
  }
  tsr_device_info *devices = tsri_calloc((size_t)count, sizeof *devices);
  if (!devices) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "discover: no host memory for %d devices", count);
  report->devices = devices;
  for (int i = 0; i < count; i++) {
    status = table->device_info(i, &devices[report->device_count]);
    if (status == TSR_OK) report->device_count++;
    else snprintf(reason, reason_bytes, "%s", tsr_last_error());
  }
  if (report->device_count == 0) report->status = status;
  return TSR_OK;
}

static tsr_status describe(tsri_backend_entry *entry, tsr_backend_report *report) {
  char reason[sizeof entry->reason];
  snprintf(reason, sizeof reason, "%s", entry->reason);
  report->status = entry->status;
  if (entry->table) {
    report->status = tsri_registry_start(entry);
    snprintf(reason, sizeof reason, "%s", entry->reason);
    tsr_status status = report->status == TSR_OK ? list_devices(entry->table, report, reason, sizeof reason) : TSR_OK;
    if (status != TSR_OK) return status;
  }
  report->name = tsri_strdup(entry->name);
  report->title = tsri_strdup(entry->title);
  report->reason = tsri_strdup(reason);
  report->plugin_path = entry->plugin_path ? tsri_strdup(entry->plugin_path) : NULL;
  if (!report->name || !report->title || !report->reason || (entry->plugin_path && !report->plugin_path)) {
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "discover: no host memory for the report on %s", entry->name);
  }
  return TSR_OK;
}

static bool mark_best(const tsri_config *config, discovery_record *record, const tsri_backend_entry *entry) {
  const tsr_backend_report *report = &record->reports[record->report_count - 1];
  for (int i = 0; i < report->device_count; i++) {
    if (!tsri_select_is_wanted(config, entry, &report->devices[i])) continue;
    record->public.best_backend = record->report_count - 1;
    record->public.best_device = i;
    return true;
  }
  return false;
}

static tsr_status fill(const tsri_config *config, discovery_record *record) {
  int order[TSRI_MAX_BACKENDS], count = tsri_registry_count();
  tsr_status status = tsri_select_order(config, order);
  if (status != TSR_OK) return status;
  record->reports = tsri_calloc((size_t)count, sizeof *record->reports);
  if (!record->reports) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "discover: no host memory for %d backends", count);
  bool has_best = false;
  for (int i = 0; i < count && status == TSR_OK; i++) {
    tsri_backend_entry *entry = tsri_registry_at(order[i]);
    if (entry->is_hidden) continue;
    status = describe(entry, &record->reports[record->report_count++]);
    if (status == TSR_OK && !has_best) has_best = mark_best(config, record, entry);
  }
  record->public.backends = record->reports;
  record->public.backend_count = record->report_count;
  return status;
}

tsr_status tsr_discover(tsr_discovery **out_discovery) {
  if (!out_discovery) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "discover: out_discovery is NULL");
  *out_discovery = NULL;
  tsri_error_record before;  // a backend that is not there is no error of this call
  tsri_error_keep(&before);
  tsri_config config;
  tsr_status status = tsri_config_resolve(&config);
  if (status != TSR_OK) return status;
  discovery_record *record = tsri_calloc(1, sizeof *record);
  if (!record) status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "discover: no host memory for its record");
  if (status == TSR_OK) status = tsri_registry_lock(&config, NULL);
  if (status == TSR_OK) {
    record->public.best_backend = record->public.best_device = -1;
    status = fill(&config, record);
    tsri_registry_unlock();
  }
  if (status == TSR_OK) *out_discovery = &record->public;
  else if (record) tsr_discovery_release(&record->public);
  tsri_config_deinit(&config);
  if (status == TSR_OK) tsri_error_restore(&before);
  return status;
}
