// SPDX-License-Identifier: MIT
// Combines the values of all settings: defaults, then the file, the environment and tsr_config_set, each overriding the
// one before.
//
// Every value is checked, even if it is overridden: otherwise a mistake would show only when the overriding value goes
// away.
#include "runtime/config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/common/cache_folder.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "core/suggest.h"
#include "platform/platform.h"
#include "platform/trust.h"

#define PREFIX        "TESSERA_"
#define FILE_VARIABLE "TESSERA_CONFIG"

// --- One value into the config -----------------------------------------------------------------------------------

// Where a value comes from. path, line and column are set for a file only.
typedef struct origin {
  tsr_config_source source;
  const char *path;
  int line, column;
} origin;

static tsr_status fail_memory(void) {
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "config: no host memory for the settings");
}

static tsr_status fail_value(const origin *from, tsri_setting_id id, const char *text, const char *problem) {
  const tsri_setting_info *info = &tsri_settings[id];
  char shown[TSRI_CONFIG_QUOTE_BYTES];
  tsri_config_quote(text, shown);
  switch (from->source) {
    case TSR_FROM_FILE:
      return TSRI_FAIL(TSR_ERR_CONFIG, "%s:%d:%d: %s: \"%s\" %s; allowed: %s", from->path, from->line, from->column,
                       info->name, shown, problem, info->allowed);
    case TSR_FROM_ENVIRONMENT:
      return TSRI_FAIL(TSR_ERR_CONFIG, "%s: \"%s\" %s; allowed: %s", info->variable, shown, problem, info->allowed);
    default:
      return TSRI_FAIL(TSR_ERR_CONFIG, "tsr_config_set: %s: \"%s\" %s; allowed: %s", info->name, shown, problem,
                       info->allowed);
  }
}

// Uses static texts only: the defaults in settings.def are written as tsri_setting_parse would clean them.
static void assign_default(tsri_config *config, tsri_setting_id id) {
  const char *text = tsri_settings[id].fallback;
  char clean[64], problem[TSRI_CONFIG_PROBLEM_BYTES];
  tsri_config_entry *entry = &config->entries[id];
  *entry = (tsri_config_entry){.source = TSR_FROM_DEFAULT, .text = text, .clean = text, .place = "default"};
  tsri_setting_parse(id, text, clean, &entry->value, problem);
}

static const char *static_place(tsr_config_source source, tsri_setting_id id) {
  return source == TSR_FROM_ENVIRONMENT ? tsri_settings[id].variable : "code";
}

// Parses a value and stores it over the present one. On failure the config is unchanged.
static tsr_status assign(tsri_config *config, tsri_setting_id id, const char *text, size_t bytes, const origin *from) {
  bool is_file = from->source == TSR_FROM_FILE;
  size_t place_bytes = is_file ? strlen(from->path) + 16 : 0;
  char *memory = tsri_malloc(2 * (bytes + 1) + place_bytes);  // text, clean, place
  if (!memory) return fail_memory();
  char *clean = memory + bytes + 1, *place = clean + bytes + 1;
  memcpy(memory, text, bytes);
  memory[bytes] = 0;
  if (is_file) snprintf(place, place_bytes, "%s:%d", from->path, from->line);

  tsri_setting_value value;
  char problem[TSRI_CONFIG_PROBLEM_BYTES];
  if (!tsri_setting_parse(id, memory, clean, &value, problem)) {
    tsr_status status = fail_value(from, id, memory, problem);
    tsri_free(memory);
    return status;
  }
  tsri_free(config->entries[id].memory);
  config->entries[id] = (tsri_config_entry){.source = from->source,
                                            .text = memory,
                                            .clean = clean,
                                            .place = is_file ? place : static_place(from->source, id),
                                            .memory = memory,
                                            .value = value};
  return TSR_OK;
}

// --- The file ----------------------------------------------------------------------------------------------------

// Returns the path of the config file to read, or NULL if there is none. `*out_is_named` tells whether TESSERA_CONFIG
// names it.
static tsr_status find_file(char **out_path, bool *out_is_named) {
  const char *named = tsri_environment(FILE_VARIABLE), *xdg = tsri_environment("XDG_CONFIG_HOME");
  const char *home = tsri_environment("HOME");
  *out_is_named = named != NULL;
  if (named) {
    *out_path = tsri_strdup(named);
  } else if (xdg && xdg[0] == '/') {  // the XDG specification says to ignore a relative path
    *out_path = tsri_format_text("%s/tessera/config", xdg);
  } else if (home && home[0] == '/') {
    *out_path = tsri_format_text("%s/.config/tessera/config", home);
  } else {
    return TSR_OK;
  }
  return *out_path ? TSR_OK : fail_memory();
}

// Sets `*out_is_there` to whether the file exists. A missing file, or one in a folder that we may not search (which may
// be the home of another user), is an error only if TESSERA_CONFIG names it.
static tsr_status look_for_file(const char *path, bool is_named, bool *out_is_there) {
  struct stat facts;
  *out_is_there = stat(path, &facts) == 0;
  if (!*out_is_there && is_named) {
    return TSRI_FAIL(TSR_ERR_CONFIG,
                     FILE_VARIABLE ": %s: %s; allowed: the path of a config file, or /dev/null for none", path,
                     strerror(errno));
  }
  if (*out_is_there && (facts.st_mode & S_IFMT) == S_IFDIR) {
    return TSRI_FAIL(TSR_ERR_CONFIG, "%s%s: this is a folder; allowed: a config file",
                     is_named ? FILE_VARIABLE ": " : "", path);
  }
  return TSR_OK;
}

typedef struct file_visit {
  tsri_config *config;
  const char *path;
} file_visit;

static tsr_status assign_line(const tsri_config_line *line, void *user) {
  const file_visit *visit = user;
  origin from = {.source = TSR_FROM_FILE, .path = visit->path, .line = line->line, .column = line->column};
  return assign(visit->config, line->id, line->value, line->value_bytes, &from);
}

static tsr_status parse_path(tsri_config *config, const char *path) {
  FILE *stream = fopen(path, "rb");
  if (!stream) {
    return TSRI_FAIL(TSR_ERR_IO, "%s: cannot be opened: %s (" FILE_VARIABLE "=/dev/null reads no file)", path,
                     strerror(errno));
  }
  char *text = NULL;
  size_t bytes = 0;
  tsr_status status = tsri_stream_read(stream, path, TSRI_CONFIG_FILE_BYTES, &text, &bytes);
  fclose(stream);
  if (status != TSR_OK) return status;
  status = tsri_config_parse_file(path, text, bytes, assign_line, &(file_visit){config, path});
  tsri_free(text);
  return status;
}

static tsr_status assign_file(tsri_config *config) {
  char *path = NULL;
  bool is_named = false, is_there = false;
  tsr_status status = find_file(&path, &is_named);
  if (status != TSR_OK || !path) return status;
  status = look_for_file(path, is_named, &is_there);
  if (status == TSR_OK && is_there) status = parse_path(config, path);
  if (status == TSR_OK && is_there) {
    config->file = path;
  } else {
    tsri_free(path);
  }
  return status;
}

// --- The environment ---------------------------------------------------------------------------------------------

static tsr_status assign_environment(tsri_config *config) {
  const origin from = {.source = TSR_FROM_ENVIRONMENT};
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) {
    const char *text = tsri_environment(tsri_settings[i].variable);
    if (!text) continue;
    tsr_status status = assign(config, (tsri_setting_id)i, text, strlen(text), &from);
    if (status != TSR_OK) return status;
  }
  return TSR_OK;
}

#if defined(_WIN32)
#define environment_list _environ
#else
extern char **environ;
#define environment_list environ
#endif

// `entry` is "TESSERA_NAME=value". An unknown variable is not an error: another version, or a program that starts this
// one, may use it.
static void warn_if_unknown(const char *entry) {
  const char *variables[TSRI_SETTING_COUNT + 1] = {FILE_VARIABLE};
  const char *words[TSRI_SETTING_COUNT + 1];
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) variables[i + 1] = tsri_settings[i].variable;
  size_t name_bytes = strcspn(entry, "=");
  for (int i = 0; i <= TSRI_SETTING_COUNT; i++) {
    if (strlen(variables[i]) == name_bytes && memcmp(variables[i], entry, name_bytes) == 0) return;
    words[i] = variables[i] + strlen(PREFIX);  // compare the names without the common prefix
  }

  char name[128], shown[TSRI_CONFIG_QUOTE_BYTES];
  snprintf(name, sizeof name, "%.*s", (int)(name_bytes < sizeof name ? name_bytes : sizeof name), entry);
  const char *nearest = tsri_text_nearest(name + strlen(PREFIX), words, TSRI_SETTING_COUNT + 1);
  tsri_log(TSR_LOG_WARN, "the variable %s is none of ours and is ignored%s%s%s", tsri_config_quote(name, shown),
           nearest ? " (did you mean " PREFIX : "", nearest ? nearest : "", nearest ? "?)" : "");
}

// As warn_if_unknown, for a process with more rights than its user, which ignores all variables.
static void warn_of_borrowed_rights(const char *entry) {
  char name[128], shown[TSRI_CONFIG_QUOTE_BYTES];
  size_t name_bytes = strcspn(entry, "=");
  snprintf(name, sizeof name, "%.*s", (int)(name_bytes < sizeof name ? name_bytes : sizeof name), entry);
  tsri_log(TSR_LOG_WARN,
           "the variable %s is ignored: this process runs with rights that its user does not have, so settings come "
           "from its code alone",
           tsri_config_quote(name, shown));
}

static void warn_of_ignored_variables(void) {
  if (!tsri_log_wants(TSR_LOG_WARN) || !environment_list) return;
  bool ignores_all = tsri_has_borrowed_rights();
  for (char **entry = environment_list; *entry; entry++) {
    if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0) continue;
    if (ignores_all) warn_of_borrowed_rights(*entry);
    else warn_if_unknown(*entry);
  }
}

// --- Code --------------------------------------------------------------------------------------------------------

static tsri_mutex code_lock = TSRI_MUTEX_INIT;
static char *code_values[TSRI_SETTING_COUNT];  // guarded by code_lock; NULL: not set

static tsr_status check_code_value(tsri_setting_id id, const char *value) {
  const origin from = {.source = TSR_FROM_CODE};
  tsri_config scratch = {0};
  tsr_status status = assign(&scratch, id, value, strlen(value), &from);
  tsri_config_deinit(&scratch);
  return status;
}

tsr_status tsr_config_set(const char *name, const char *value) {
  if (!name) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "tsr_config_set: the name is NULL");
  tsri_setting_id id;
  if (!tsri_setting_find(name, &id)) {
    char problem[TSRI_CONFIG_UNKNOWN_BYTES];
    tsri_setting_describe_unknown(name, problem);
    return TSRI_FAIL(TSR_ERR_CONFIG, "tsr_config_set: %s", problem);
  }
  char *copy = NULL;
  if (value) {
    tsr_status status = check_code_value(id, value);
    if (status != TSR_OK) return status;
    copy = tsri_strdup(value);
    if (!copy) return fail_memory();
  }
  tsri_mutex_lock(&code_lock);
  char *old = code_values[id];
  code_values[id] = copy;
  tsri_mutex_unlock(&code_lock);
  tsri_free(old);
  return TSR_OK;
}

static tsr_status assign_code(tsri_config *config) {
  const origin from = {.source = TSR_FROM_CODE};
  tsr_status status = TSR_OK;
  tsri_mutex_lock(&code_lock);
  for (int i = 0; i < TSRI_SETTING_COUNT && status == TSR_OK; i++) {
    const char *text = code_values[i];
    if (text) status = assign(config, (tsri_setting_id)i, text, strlen(text), &from);
  }
  tsri_mutex_unlock(&code_lock);
  return status;
}

// --- All sources -----------------------------------------------------------------------------------------------------

const char *tsri_config_text(const tsri_config *config, tsri_setting_id id) {
  return config->entries[id].value.is_set ? config->entries[id].clean : NULL;
}

static uint64_t number_of(const tsri_config *config, tsri_setting_id id) { return config->entries[id].value.number; }

// The device's index can come from `device`, or from the backend's name, as in cuda:1. If both give one, the value from
// the stronger source counts; if both come from the same source, they must agree.
static tsr_status resolve_index(tsri_config *c) {
  const tsri_config_entry *device = &c->entries[TSRI_SETTING_DEVICE], *backend = &c->entries[TSRI_SETTING_BACKEND];
  c->device = device->value.is_set ? (int)device->value.number : -1;
  if (!backend->value.has_index) return TSR_OK;
  int index = (int)backend->value.number;
  bool has_both = device->value.is_set && device->source == backend->source && index != c->device;
  if (has_both) {
    return TSRI_FAIL(TSR_ERR_CONFIG, "%s: \"%s\" and %s: \"%s\" name two devices; allowed: an index in one of them",
                     backend->place, backend->text, device->place, device->text);
  }
  if (!device->value.is_set || backend->source >= device->source) c->device = index;
  return TSR_OK;
}

// Fills the typed fields from the entries.
static void fill_fields(tsri_config *c) {
  const tsri_setting_value *limit = &c->entries[TSRI_SETTING_MEMORY_LIMIT].value;
  c->backend = tsri_config_text(c, TSRI_SETTING_BACKEND);
  c->priority = tsri_config_text(c, TSRI_SETTING_PRIORITY);
  c->memory_limit = (tsri_memory_limit){.bytes = limit->number, .millionths = limit->millionths};
  c->pool_bytes = number_of(c, TSRI_SETTING_POOL_BYTES);
  c->pending_bytes = number_of(c, TSRI_SETTING_PENDING_BYTES);
  c->required_bytes = number_of(c, TSRI_SETTING_REQUIRED_BYTES);
  c->timeout_ms = (uint32_t)number_of(c, TSRI_SETTING_TIMEOUT);
  c->threads = (int)number_of(c, TSRI_SETTING_THREADS);
  c->simd = tsri_config_text(c, TSRI_SETTING_SIMD);
  c->native = tsri_config_text(c, TSRI_SETTING_NATIVE);
  c->jit = number_of(c, TSRI_SETTING_JIT) != 0;
  c->jit_always = number_of(c, TSRI_SETTING_JIT) > 1;
  c->tf32 = number_of(c, TSRI_SETTING_TF32) != 0;
  c->strict = number_of(c, TSRI_SETTING_STRICT) != 0;
  c->eager = number_of(c, TSRI_SETTING_EAGER) != 0;
  c->deterministic = number_of(c, TSRI_SETTING_DETERMINISTIC) != 0;
  c->tune = (tsri_tune_mode)number_of(c, TSRI_SETTING_TUNE);
  c->checked = number_of(c, TSRI_SETTING_CHECKED) != 0;
  c->mix = (tsri_mix_rule)number_of(c, TSRI_SETTING_MIX);
  c->placement = (tsri_placement_rule)number_of(c, TSRI_SETTING_PLACEMENT);
  c->log = (tsr_log_level)number_of(c, TSRI_SETTING_LOG);
  c->plugin_path = tsri_config_text(c, TSRI_SETTING_PLUGIN_PATH);
  c->cache_bytes = number_of(c, TSRI_SETTING_CACHE_MB) << 20;
  c->faults = tsri_config_text(c, TSRI_SETTING_FAULTS);
  c->profile = tsri_config_text(c, TSRI_SETTING_PROFILE);
  c->profile_full = number_of(c, TSRI_SETTING_PROFILE_FULL) != 0;
}

tsr_status tsri_config_resolve(tsri_config *out_config) {
  *out_config = (tsri_config){0};
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) assign_default(out_config, (tsri_setting_id)i);

  tsr_status status = assign_file(out_config);
  if (status == TSR_OK) status = assign_environment(out_config);
  if (status == TSR_OK) status = assign_code(out_config);
  if (status == TSR_OK) status = resolve_index(out_config);
  if (status != TSR_OK) {
    tsri_config_deinit(out_config);
    return status;
  }
  fill_fields(out_config);
  tsri_log_configure(out_config->log);
  tsri_cache_set_limit(out_config->cache_bytes);
  warn_of_ignored_variables();
  return TSR_OK;
}

void tsri_config_deinit(tsri_config *config) {
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) tsri_free(config->entries[i].memory);
  tsri_free(config->file);
  *config = (tsri_config){0};
}

const char *tsri_config_place(const tsri_config *config, tsri_setting_id id) { return config->entries[id].place; }

uint64_t tsri_memory_limit_bytes(tsri_memory_limit limit, uint64_t total_bytes) {
  if (limit.millionths == 0) return limit.bytes;
  // Two steps, because total * millionths may overflow.
  return total_bytes / 1000000 * limit.millionths + total_bytes % 1000000 * limit.millionths / 1000000;
}
