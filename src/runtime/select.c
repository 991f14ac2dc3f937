// SPDX-License-Identifier: MIT
// tsr_device_open: chooses a device by descriptor, settings and priority, and explains a failure to find one.
#include "runtime/select.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "core/suggest.h"
#include "platform/platform.h"
#include "runtime/bytes_text.h"
#include "runtime/device.h"
#include "runtime/placing.h"
#include "runtime/profile.h"

// --- Priority -----------------------------------------------------------------------------------------------------

static tsri_mutex priority_lock = TSRI_MUTEX_INIT;
static char code_priority[256];  // list of tsr_set_priority; empty: use the settings

static void get_code_priority(char *priority) {
  tsri_mutex_lock(&priority_lock);
  memcpy(priority, code_priority, sizeof code_priority);
  tsri_mutex_unlock(&priority_lock);
}

tsr_status tsri_select_order(const tsri_config *config, int *order) {
  char priority[sizeof code_priority];
  get_code_priority(priority);
  if (priority[0]) return tsri_registry_order(priority, "set_priority", order);
  return tsri_registry_order(config->priority, tsri_config_place(config, TSRI_SETTING_PRIORITY), order);
}

// The position of an entry in that order, for the device's record.
static int rank_of(const tsri_config *config, const tsri_backend_entry *entry) {
  char priority[sizeof code_priority];
  get_code_priority(priority);
  return tsri_registry_rank(priority[0] ? priority : config->priority, entry);
}

// Checks the list and copies it to `clean`, in lower case; `clean` is empty for no list and for "auto".
static tsr_status read_priority(const char *backends, char clean[sizeof code_priority]) {
  char problem[TSRI_CONFIG_PROBLEM_BYTES], shown[TSRI_CONFIG_QUOTE_BYTES];
  tsri_setting_value value;
  clean[0] = 0;
  if (!backends || !backends[0]) return TSR_OK;
  if (strlen(backends) >= sizeof code_priority) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "set_priority: a list of %zu characters, at most %zu are allowed",
                     strlen(backends), sizeof code_priority - 1);
  }
  if (!tsri_setting_parse(TSRI_SETTING_PRIORITY, backends, clean, &value, problem)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "set_priority: \"%s\" %s; allowed: %s",
                     tsri_config_quote(backends, shown), problem, tsri_settings[TSRI_SETTING_PRIORITY].allowed);
  }
  if (!value.is_set) clean[0] = 0;
  return TSR_OK;
}

static tsr_status check_priority(const char *priority) {
  tsri_config config;
  int order[TSRI_MAX_BACKENDS];
  tsr_status status = tsri_config_resolve(&config);
  if (status != TSR_OK) return status;
  status = tsri_registry_lock(&config, NULL);
  if (status == TSR_OK) {
    status = tsri_registry_order(priority, "set_priority", order);
    tsri_registry_unlock();
  }
  tsri_config_deinit(&config);
  return status == TSR_ERR_CONFIG ? TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s", tsr_last_error()) : status;
}

tsr_status tsr_set_priority(const char *backends) {
  char priority[sizeof code_priority];
  tsr_status status = read_priority(backends, priority);
  if (status == TSR_OK && priority[0]) status = check_priority(priority);
  if (status != TSR_OK) return status;
  tsri_mutex_lock(&priority_lock);
  memcpy(code_priority, priority, strlen(priority) + 1);
  tsri_mutex_unlock(&priority_lock);
  return TSR_OK;
}

bool tsri_select_is_automatic(const tsri_backend_entry *entry, const tsr_device_info *info) {
  return !entry->is_hidden && !info->is_software;
}

bool tsri_select_is_wanted(const tsri_config *config, const tsri_backend_entry *entry, const tsr_device_info *info) {
  bool is_chosen = config->backend ? strcmp(config->backend, entry->name) == 0 : tsri_select_is_automatic(entry, info);
  bool is_index = config->device < 0 || config->device == info->index;
  return is_chosen && is_index && config->required_bytes <= info->free_bytes;
}

// --- What the caller wants -------------------------------------------------------------------------------------------

enum { NAME_BYTES = 128 };

// Descriptor and settings combined, and the reasons why candidates were rejected.
typedef struct selection {
  const tsri_config *config;
  char name[NAME_BYTES];      // the backend's name in the descriptor
  const char *backend;        // NULL: automatic
  const char *backend_place;  // where the name came from, for messages
  int index;                  // -1: any
  uint64_t required_bytes;
  tsr_device_desc desc;
  bool strict;
  bool was_short_of_memory;
  char rejections[1200];
} selection;

static bool resolve_switch(tsr_switch wanted, bool configured) {
  return wanted == TSR_DEFAULT ? configured : wanted == TSR_ON;
}

static tsr_status check_desc(const tsr_device_desc *desc) {
  if (desc->index < 0) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_open: index %d is negative", desc->index);
  if (desc->threads < 0) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_open: %d threads", desc->threads);
  const tsr_switch switches[] = {desc->tf32, desc->strict, desc->checked};
  for (int i = 0; i < 3; i++) {
    if ((unsigned)switches[i] > TSR_OFF) {
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_open: %d is no switch; TSR_DEFAULT, TSR_ON and TSR_OFF are",
                       (int)switches[i]);
    }
  }
  return TSR_OK;
}

// Reads the backend's name in lower case, without its index. `*out_index` is -1 if the name has no index.
static tsr_status read_name(const char *text, char name[NAME_BYTES], int *out_index) {
  char problem[TSRI_CONFIG_PROBLEM_BYTES] = "is too long", shown[TSRI_CONFIG_QUOTE_BYTES];
  tsri_setting_value value = {0};
  bool is_good = strlen(text) < NAME_BYTES && tsri_setting_parse(TSRI_SETTING_BACKEND, text, name, &value, problem);
  *out_index = value.has_index ? (int)value.number : -1;
  if (is_good) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_open: backend \"%s\" %s; allowed: %s",
                   tsri_config_quote(text, shown), problem, tsri_settings[TSRI_SETTING_BACKEND].allowed);
}

// The device index from the descriptor, else from the settings. The index in the settings is meant for the backend
// named there, so it is not used for another backend that the descriptor names. `named` is the descriptor's backend
// (NULL: none), `named_index` the index in its name (-1: none).
static int choose_index(const tsr_device_desc *desc, const tsri_config *config, const char *named, int named_index) {
  if (named_index >= 0) return named_index;
  if (desc->index > 0) return desc->index;
  bool is_for_another = named && config->backend && strcmp(named, config->backend) != 0;
  return is_for_another ? -1 : config->device;
}

static tsr_status resolve_selection(const tsr_device_desc *desc, const tsri_config *config, selection *out) {
  *out = (selection){.config = config, .desc = *desc};
  const char *text = desc->backend && desc->backend[0] ? desc->backend : NULL;
  int named_index = -1;
  tsr_status status = text ? read_name(text, out->name, &named_index) : TSR_OK;
  if (status != TSR_OK) return status;
  if (named_index >= 0 && desc->index > 0 && desc->index != named_index) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_open: backend \"%s\" and index %d name two devices", text,
                     desc->index);
  }
  bool is_named = text && strcmp(out->name, "auto") != 0;
  out->backend = is_named ? out->name : text ? NULL : config->backend;
  out->backend_place = is_named ? "device_open" : tsri_config_place(config, TSRI_SETTING_BACKEND);
  out->index = choose_index(desc, config, is_named ? out->name : NULL, named_index);
  out->required_bytes = desc->required_bytes ? desc->required_bytes : config->required_bytes;
  out->strict = resolve_switch(desc->strict, config->strict);
  return TSR_OK;
}

static void reject(selection *choice, const char *format, ...) TSRI_PRINTF(2, 3);
static void reject(selection *choice, const char *format, ...) {
  size_t used = strlen(choice->rejections), room = sizeof choice->rejections - used;
  int written = snprintf(choice->rejections + used, room, used ? "; " : "");
  if (written < 0 || (size_t)written >= room) return;
  va_list args;
  va_start(args, format);
  vsnprintf(choice->rejections + used + written, room - (size_t)written, format, args);
  va_end(args);
}

static tsri_open_request make_request(const selection *choice, const tsri_backend_entry *entry,
                                      const tsr_device_info *info) {
  const tsr_device_desc *desc = &choice->desc;
  const tsri_config *config = choice->config;
  uint32_t timeout_ms = desc->timeout_ms ? desc->timeout_ms : config->timeout_ms;
  return (tsri_open_request){
      .backend = entry->table,
      .info = *info,
      .options = {.threads = desc->threads ? desc->threads : config->threads,
                  .simd = config->simd,
                  .native = config->native,
                  .tf32 = resolve_switch(desc->tf32, config->tf32),
                  .timeout_ns = timeout_ms ? (uint64_t)timeout_ms * 1000000u : UINT64_MAX,
                  .profiling = tsri_profiling(),
                  .no_jit = !config->jit,
                  .jit_always = config->jit_always,
                  .no_timing = config->tune == TSRI_TUNE_MODE_OFF},
      .faults = config->faults,
      .memory_limit =
          desc->memory_limit ? desc->memory_limit : tsri_memory_limit_bytes(config->memory_limit, info->total_bytes),
      .pool_bytes = desc->pool_bytes ? desc->pool_bytes : config->pool_bytes,
      .pending_bytes = config->pending_bytes,
      .timeout_ns = timeout_ms ? (uint64_t)timeout_ms * 1000000u : UINT64_MAX,
      .priority = rank_of(config, entry),
      .strict = choice->strict,
      .mix_is_error = config->mix == TSRI_MIX_ERROR,
      .is_eager = config->eager,
      .is_deterministic = config->deterministic,
      .tune = config->deterministic ? TSRI_TUNE_MODE_OFF : config->tune,
      .is_checked = resolve_switch(desc->checked, config->checked),
  };
}

// --- Trying candidates --------------------------------------------------------------------------------------------

// Rejects a device with less free memory than is required. Returns whether it has enough.
static bool check_memory(selection *choice, const tsri_backend_entry *entry, const tsr_device_info *info) {
  if (choice->required_bytes <= info->free_bytes) return true;
  choice->was_short_of_memory = true;
  reject(choice, "%s %d (%s) has %s free", entry->name, info->index, info->name,
         tsri_format_bytes(info->free_bytes).text);
  return false;
}

// Opens the device if it fits. TSR_ERR_UNAVAILABLE: try the next candidate.
static tsr_status try_device(selection *choice, tsri_backend_entry *entry, int index, tsr_device **out_device) {
  tsr_device_info info;
  memset(&info, 0, sizeof info);
  tsr_status status = entry->table->device_info(index, &info);
  if (status != TSR_OK) {
    reject(choice, "%s %d: %s", entry->name, index, tsr_last_error());
    return choice->backend ? status : TSR_ERR_UNAVAILABLE;
  }
  if (!choice->backend && !tsri_select_is_automatic(entry, &info)) {
    reject(choice, "%s %d (%s) is a software device, used only when named", entry->name, index, info.name);
    return TSR_ERR_UNAVAILABLE;
  }
  // A CPU device can always be opened: unfinished work of one does not delay another.
  if (!choice->backend && info.type != TSR_DEVICE_CPU && tsri_device_is_given_up(entry->name, index)) {
    reject(choice, "%s %d (%s) still runs work of a device that was closed", entry->name, index, info.name);
    return TSR_ERR_UNAVAILABLE;
  }
  if (!check_memory(choice, entry, &info)) return TSR_ERR_UNAVAILABLE;

  tsri_open_request request = make_request(choice, entry, &info);
  status = tsri_device_create(&request, out_device);
  if (status == TSR_OK) {
    tsri_log(TSR_LOG_INFO, "opened %s %d: %s", entry->name, index, info.name);
    return TSR_OK;
  }
  reject(choice, "%s %d: %s", entry->name, index, tsr_last_error());
  if (choice->backend || choice->strict || status == TSR_ERR_CONFIG) return status;
  tsri_log(TSR_LOG_WARN, "passing over %s %d: %s", entry->name, index, tsr_last_error());
  return TSR_ERR_UNAVAILABLE;
}

// Notes why a backend has no device. If several backends are tried, the reason is cut off before its details: the
// places that were searched, in brackets, and how to get a driver, after a semicolon. tsr_discover shows all of it.
static void reject_absent(selection *choice, const tsri_backend_entry *entry) {
  const char *reason = entry->reason[0] ? entry->reason : tsr_last_error();
  size_t bytes = choice->backend ? strlen(reason) : strcspn(reason, ";(");
  while (bytes > 0 && reason[bytes - 1] == ' ') bytes--;
  reject(choice, "%s: %.*s", entry->name, (int)bytes, reason);
}

static tsr_status try_backend(selection *choice, tsri_backend_entry *entry, tsr_device **out_device) {
  int count = 0;
  tsr_status status = tsri_registry_start(entry);
  if (status == TSR_OK) status = entry->table->device_count(&count);
  if (status != TSR_OK) {
    reject_absent(choice, entry);
    return TSR_ERR_UNAVAILABLE;
  }
  if (choice->index >= count) {
    reject(choice, "%s has %d device%s, index %d was asked for", entry->name, count, count == 1 ? "" : "s",
           choice->index);
    return TSR_ERR_UNAVAILABLE;
  }
  if (choice->index >= 0) return try_device(choice, entry, choice->index, out_device);
  if (count == 0) reject(choice, "%s: the driver is there but reports no device", entry->name);
  status = TSR_ERR_UNAVAILABLE;
  for (int i = 0; i < count && status == TSR_ERR_UNAVAILABLE; i++) {
    status = try_device(choice, entry, i, out_device);
  }
  return status;
}

static tsr_status unknown_backend(const selection *choice) {
  char names[512];
  const char *known[TSRI_MAX_BACKENDS];
  int count = tsri_registry_count();
  for (int i = 0; i < count && i < TSRI_MAX_BACKENDS; i++) known[i] = tsri_registry_at(i)->name;
  const char *near =
      tsri_text_nearest(choice->backend, known, (size_t)(count < TSRI_MAX_BACKENDS ? count : TSRI_MAX_BACKENDS));
  return TSRI_FAIL(TSR_ERR_UNAVAILABLE, "%s: no backend is called '%s'%s%s%s; there are %s", choice->backend_place,
                   choice->backend, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
                   tsri_registry_names(names, sizeof names));
}

// No device fits: the message gives the reason for each candidate.
static tsr_status nothing_found(const selection *choice) {
  if (choice->was_short_of_memory) {
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "device_open: no device has the required %s free: %s",
                     tsri_format_bytes(choice->required_bytes).text, choice->rejections);
  }
  return TSRI_FAIL(TSR_ERR_UNAVAILABLE, "device_open: no usable device: %s", choice->rejections);
}

static tsr_status try_in_order(selection *choice, tsr_device **out_device) {
  int order[TSRI_MAX_BACKENDS], count = tsri_registry_count();
  tsr_status status = tsri_select_order(choice->config, order);
  if (status != TSR_OK) return status;
  status = TSR_ERR_UNAVAILABLE;
  for (int i = 0; i < count && status == TSR_ERR_UNAVAILABLE; i++) {
    tsri_backend_entry *entry = tsri_registry_at(order[i]);
    if (!entry->is_hidden) status = try_backend(choice, entry, out_device);
  }
  return status;
}

static tsr_status try_all(selection *choice, tsr_device **out_device) {
  tsri_backend_entry *named = choice->backend ? tsri_registry_find(choice->backend) : NULL;
  if (choice->backend && !named) return unknown_backend(choice);
  tsr_status status = named ? try_backend(choice, named, out_device) : try_in_order(choice, out_device);
  return status == TSR_ERR_UNAVAILABLE ? nothing_found(choice) : status;
}

tsr_status tsr_device_open(const tsr_device_desc *desc, tsr_device **out_device) {
  if (!out_device) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_open: out_device is NULL");
  *out_device = NULL;
  const tsr_device_desc defaults = {0};
  // Failures of devices that are passed over, or of optional features, must not become the last error of this call.
  tsri_error_record before;
  tsri_error_keep(&before);
  if (!desc) desc = &defaults;
  tsr_status status = check_desc(desc);
  tsri_config config;
  if (status == TSR_OK) status = tsri_config_resolve(&config);
  if (status != TSR_OK) return status;
  selection choice;
  status = resolve_selection(desc, &config, &choice);
  tsri_device_close_given_up();
  if (status == TSR_OK) tsri_profile_configure(config.profile, config.profile_full);
  if (status == TSR_OK) status = tsri_registry_lock(&config, choice.backend);
  if (status == TSR_OK) {
    if (tsri_profiling()) tsri_profile_mute(true);  // the self-test is not the program's work
    status = try_all(&choice, out_device);
    if (tsri_profiling()) tsri_profile_mute(false);
    tsri_registry_unlock();
  }
  if (status == TSR_OK && tsri_profiling()) tsri_profile_opened(*out_device, choice.rejections);
  if (status == TSR_OK && config.placement == TSRI_PLACEMENT_MEASURED) tsri_placing_attach(*out_device);
  tsri_config_deinit(&config);
  if (status == TSR_OK) tsri_error_restore(&before);
  return status;
}
