// SPDX-License-Identifier: MIT
// The list of backends. Plug-ins are loaded and never unloaded: their code may still be on the stack of some thread.
#include "runtime/registry.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "core/suggest.h"
#include "platform/platform.h"
#include "runtime/plugin.h"

#define TSRI_BACKEND(id)       extern const tsri_backend tsri_##id##_backend;
#define TSRI_DRIVER(id, label) TSRI_BACKEND(id)
#define TSRI_HIDDEN(id)        TSRI_BACKEND(id)
#include "backends/backends.def"
#undef TSRI_BACKEND
#undef TSRI_DRIVER
#undef TSRI_HIDDEN

#define NO_DRIVERS "needs a driver of the system, which WebAssembly cannot open"

static tsri_backend_entry built_in[] = {
#define TSRI_BACKEND(id) {.name = #id, .table = &tsri_##id##_backend},
#define TSRI_HIDDEN(id)  {.name = #id, .table = &tsri_##id##_backend, .is_hidden = true},
#if defined(__wasm__)
#define TSRI_DRIVER(id, label) {.name = #id, .title = label, .status = TSR_ERR_UNAVAILABLE, .reason = NO_DRIVERS},
#else
#define TSRI_DRIVER(id, label) TSRI_BACKEND(id)
#endif
#include "backends/backends.def"
#undef TSRI_BACKEND
#undef TSRI_DRIVER
#undef TSRI_HIDDEN
};
enum { BUILT_IN_COUNT = sizeof built_in / sizeof built_in[0] };

static tsri_mutex registry_lock = TSRI_MUTEX_INIT;

static tsr_status host_fail(tsr_status status, const char *place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tsri_fail_va(status, place, format, args);
  va_end(args);
  return status;
}

// The settings for backends that are being started; NULL while the registry is not locked for finding devices.
static const tsri_config *current_config;

static const char *host_setting(const char *name) {
  tsri_setting_id id;
  return current_config && tsri_setting_find(name, &id) ? tsri_config_text(current_config, id) : NULL;
}

static const tsri_host host_services = {
    .bytes = sizeof(tsri_host), .fail = host_fail, .log = tsri_log, .setting = host_setting};

bool tsri_registry_is_built_in(const char *name) {
  for (int i = 0; i < BUILT_IN_COUNT; i++) {
    if (strcmp(built_in[i].name, name) == 0) return true;
  }
  return false;
}

tsr_status tsri_registry_lock(const tsri_config *config, const char *backend) {
  tsri_mutex_lock(&registry_lock);
  for (int i = 0; i < BUILT_IN_COUNT; i++) {
    if (built_in[i].table) built_in[i].title = built_in[i].table->title;
  }
  current_config = config;
  bool may_be_plugin = !backend || !tsri_registry_is_built_in(backend);
  tsr_status status = may_be_plugin ? tsri_plugins_scan(config->plugin_path) : TSR_OK;
  if (status != TSR_OK) tsri_registry_unlock();
  return status;
}

void tsri_registry_hold(void) { tsri_mutex_lock(&registry_lock); }

void tsri_registry_unlock(void) {
  current_config = NULL;
  tsri_mutex_unlock(&registry_lock);
}

int tsri_registry_count(void) { return BUILT_IN_COUNT + tsri_plugins_count(); }

tsri_backend_entry *tsri_registry_at(int index) {
  return index < BUILT_IN_COUNT ? &built_in[index] : tsri_plugins_at(index - BUILT_IN_COUNT);
}

tsri_backend_entry *tsri_registry_find(const char *name) {
  for (int i = 0; i < tsri_registry_count(); i++) {
    if (strcmp(tsri_registry_at(i)->name, name) == 0) return tsri_registry_at(i);
  }
  return NULL;
}

tsr_status tsri_registry_start(tsri_backend_entry *entry) {
  if (entry->is_started) return TSR_OK;
  if (!entry->table) return TSRI_FAIL(entry->status, "%s: %s", entry->name, entry->reason);
  entry->status = entry->table->start(&host_services);
  entry->is_started = entry->status == TSR_OK;
  snprintf(entry->reason, sizeof entry->reason, "%s", entry->is_started ? "" : tsr_last_error());
  return entry->status;
}

char *tsri_registry_names(char *text, size_t text_bytes) {
  size_t used = (size_t)snprintf(text, text_bytes, "auto");
  for (int i = 0; i < tsri_registry_count() && used < text_bytes; i++) {
    const tsri_backend_entry *entry = tsri_registry_at(i);
    if (!entry->is_hidden) used += (size_t)snprintf(text + used, text_bytes - used, ", %s", entry->name);
  }
  return text;
}

static int find_index(const char *name, size_t length) {
  for (int i = 0; i < tsri_registry_count(); i++) {
    const char *candidate = tsri_registry_at(i)->name;
    if (strlen(candidate) == length && strncmp(candidate, name, length) == 0) return i;
  }
  return -1;
}

static tsr_status unknown_name(const char *place, const char *name, size_t length) {
  char names[512];
  return TSRI_FAIL(TSR_ERR_CONFIG, "%s: no backend is called '%.*s'; there are %s", place, (int)length, name,
                   tsri_registry_names(names, sizeof names) + strlen("auto, "));
}

static bool contains(const int *order, int count, int index) {
  for (int i = 0; i < count; i++) {
    if (order[i] == index) return true;
  }
  return false;
}

tsr_status tsri_registry_order(const char *priority, const char *place, int *order) {
  if (tsri_registry_count() > TSRI_MAX_BACKENDS) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "%d backends and plug-ins are more than the %d allowed; name fewer folders in TESSERA_PLUGIN_PATH",
                     tsri_registry_count(), TSRI_MAX_BACKENDS);
  }
  int used = 0;
  for (const char *name = priority; name && *name;) {
    size_t length = strcspn(name, ",");
    int index = find_index(name, length);
    if (index < 0) return unknown_name(place, name, length);
    if (!contains(order, used, index)) order[used++] = index;
    name += length + (name[length] == ',');
  }
  int named = used;
  for (int i = 0; i < tsri_registry_count(); i++) {
    if (!contains(order, named, i)) order[used++] = i;
  }
  return TSR_OK;
}

// Entries not named in the list rank after all that are: a list has fewer names than it has bytes.
enum { AFTER_NAMED = TSRI_CONFIG_TEXT_BYTES };

int tsri_registry_rank(const char *priority, const tsri_backend_entry *entry) {
  int rank = 0;
  for (const char *name = priority; name && *name; rank++) {
    size_t length = strcspn(name, ",");
    if (strlen(entry->name) == length && strncmp(entry->name, name, length) == 0) return rank;
    name += length + (name[length] == ',');
  }
  for (int i = 0; i < tsri_registry_count(); i++) {
    if (tsri_registry_at(i) == entry) return AFTER_NAMED + i;
  }
  return AFTER_NAMED + tsri_registry_count();
}
