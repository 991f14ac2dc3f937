// SPDX-License-Identifier: MIT
// Loads plug-ins. A plug-in's table is checked before any function in it is called.
#include "runtime/plugin.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "platform/platform.h"
#include "platform/trust.h"

// Every plug-in that was ever found, in the order of finding. They are never unloaded.
typedef struct plugin {
  tsri_backend_entry entry;
  char *path;       // also entry.plugin_path
  char *name;       // entry.name while the plug-in has no usable table
  bool is_trusted;  // result of the last check of owner and mode
} plugin;

static plugin **loaded;
static int loaded_count;

// Indices into `loaded` of the plug-ins in the folders that were asked for last.
static int *active;
static int active_count;

int tsri_plugins_count(void) { return active_count; }

tsri_backend_entry *tsri_plugins_at(int index) { return &loaded[active[index]]->entry; }

static void refuse(plugin *candidate, const char *format, ...) TSRI_PRINTF(2, 3);
static void refuse(plugin *candidate, const char *format, ...) {
  va_list args;
  va_start(args, format);
  candidate->entry.table = NULL;
  candidate->entry.name = candidate->entry.title = candidate->name;
  candidate->entry.status = TSR_ERR_UNAVAILABLE;
  int used = snprintf(candidate->entry.reason, sizeof candidate->entry.reason, "%s: ", candidate->path);
  if (used > 0 && (size_t)used < sizeof candidate->entry.reason) {
    vsnprintf(candidate->entry.reason + used, sizeof candidate->entry.reason - (size_t)used, format, args);
  }
  va_end(args);
  tsri_log(TSR_LOG_WARN, "plug-in %s", candidate->entry.reason);
}

// The entries that every table must have, by their offset in tsri_backend.
typedef struct entry_place {
  size_t offset;
  const char *name;
} entry_place;

#define PLACE(entry) \
  { offsetof(tsri_backend, entry), #entry }
static const entry_place needed_entries[] = {
#define NEEDED(entry) PLACE(entry)
    NEEDED(name),           NEEDED(title),        NEEDED(start),         NEEDED(device_count),
    NEEDED(device_info),    NEEDED(device_open),  NEEDED(device_close),  NEEDED(buffer_create),
    NEEDED(buffer_destroy), NEEDED(queue_create), NEEDED(queue_destroy), NEEDED(queue_wait),
    NEEDED(copy_in),        NEEDED(copy_out),     NEEDED(copy),          NEEDED(fill),
#undef NEEDED
};

// Optional entries that belong together: if a table has the first, the core calls the second without checking for NULL.
static const struct {
  entry_place one, other;
} paired_entries[] = {
#define PAIR(one, other) \
  { PLACE(one), PLACE(other) }
    PAIR(event_create, event_destroy), PAIR(event_create, event_record),  PAIR(event_create, event_await),
    PAIR(event_create, event_is_done), PAIR(event_create, event_elapsed), PAIR(program_create, program_destroy),
    PAIR(program_create, launch),      PAIR(native_ops, run_op),          PAIR(graph_begin, graph_end),
    PAIR(graph_begin, graph_launch),   PAIR(graph_begin, graph_destroy),
#undef PAIR
};
#undef PLACE

static bool has_entry(const tsri_backend *table, size_t offset) {
  void *value = NULL;
  memcpy(&value, (const char *)table + offset, sizeof value);
  return value != NULL;
}

// The name of a missing entry; NULL if the table is complete. `*out_with` is the entry that requires it, or NULL if
// every backend needs it.
static const char *missing_entry(const tsri_backend *table, const char **out_with) {
  *out_with = NULL;
  for (size_t i = 0; i < sizeof needed_entries / sizeof needed_entries[0]; i++) {
    if (!has_entry(table, needed_entries[i].offset)) return needed_entries[i].name;
  }
  for (size_t i = 0; i < sizeof paired_entries / sizeof paired_entries[0]; i++) {
    *out_with = paired_entries[i].one.name;
    if (has_entry(table, paired_entries[i].one.offset) && !has_entry(table, paired_entries[i].other.offset)) {
      return paired_entries[i].other.name;
    }
  }
  *out_with = "code_forms";
  return table->code_forms != 0 && !table->program_create ? "program_create" : NULL;
}

// Whether the name can be written in a setting: lists are separated by commas, and settings are converted to lower
// case.
static bool is_name(const char *name) {
  size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
  return length > 0 && length < TSR_NAME_BYTES && name[length] == 0;
}

static bool name_is_taken(const char *name, const plugin *candidate) {
  if (strcmp(name, "auto") == 0 || tsri_registry_is_built_in(name)) return true;
  for (int i = 0; i < loaded_count; i++) {
    if (loaded[i] != candidate && loaded[i]->entry.table && strcmp(loaded[i]->entry.name, name) == 0) return true;
  }
  return false;
}

static void use_table(plugin *candidate, const tsri_backend *table) {
  if (!table) {
    refuse(candidate, "%s() returned no table", TSRI_PLUGIN_SYMBOL);
    return;
  }
  if (table->abi != TSRI_BACKEND_ABI) {
    refuse(candidate, "was built for plug-in ABI %u, this Tessera has %u; build it against this version's headers",
           table->abi, TSRI_BACKEND_ABI);
    return;
  }
  // Every table of this ABI has at least the entries up to copy_peer; later ones were added after it.
  size_t least = offsetof(tsri_backend, copy_peer) + sizeof table->copy_peer;
  if (table->table_bytes < least) {
    refuse(candidate, "its table has %u bytes, at least %zu are needed", table->table_bytes, least);
    return;
  }
  const char *with = NULL, *missing = missing_entry(table, &with);
  if (missing) {
    refuse(candidate, "its table lacks the entry '%s', which %s%s%s", missing, with ? "'" : "",
           with ? with : "every backend needs", with ? "' asks for" : "");
    return;
  }
  if (!is_name(table->name)) {
    refuse(candidate, "its name '%s' has more than lower-case letters, digits, '_' and '-', or is empty", table->name);
    return;
  }
  if (name_is_taken(table->name, candidate)) {
    refuse(candidate, "another backend is called '%s' already", table->name);
    return;
  }
  candidate->entry.table = table;
  candidate->entry.name = table->name;
  candidate->entry.title = table->title;
}

// Whether nobody else can change the file or folder. Sets `resolved` to its path without symbolic links.
static bool check_trust(plugin *candidate, char resolved[TSRI_PATH_BYTES]) {
  char reason[400];
  candidate->entry.status = TSR_OK;
  candidate->entry.reason[0] = 0;
  candidate->is_trusted = tsri_path_is_trusted(candidate->path, resolved, reason, sizeof reason);
  if (!candidate->is_trusted) refuse(candidate, "is not used: %s", reason);
  return candidate->is_trusted;
}

static void load(plugin *candidate) {
  char reason[400], resolved[TSRI_PATH_BYTES];
  if (!check_trust(candidate, resolved)) return;
  tsri_library *library = tsri_library_open(resolved, reason, sizeof reason);
  if (!library) {
    refuse(candidate, "could not be loaded: %s", reason);
    return;
  }
  tsri_plugin_fn get_table = NULL;
  void *symbol = tsri_library_symbol(library, TSRI_PLUGIN_SYMBOL);
  if (!symbol) {
    refuse(candidate, "does not export %s(): not a Tessera plug-in", TSRI_PLUGIN_SYMBOL);
    tsri_library_close(library);
    return;
  }
  memcpy(&get_table, &symbol, sizeof get_table);
  use_table(candidate, get_table());
}

static void destroy(plugin *candidate) {
  if (!candidate) return;
  tsri_free(candidate->path);
  tsri_free(candidate->name);
  tsri_free(candidate);
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), end_length = strlen(end);
  return length > end_length && strcmp(text + length - end_length, end) == 0;
}

// The name of a plug-in without a table: "lib/tsr_x.so" is "tsr_x", and a folder "lib/x/" is "x".
static char *base_name(const char *path) {
  size_t length = strlen(path);
  if (ends_with(path, tsri_library_suffix)) length -= strlen(tsri_library_suffix);
  while (length > 1 && path[length - 1] == '/') length--;
  size_t start = length;
  while (start > 0 && path[start - 1] != '/') start--;
  return tsri_format_text("%.*s", (int)(length - start), path + start);
}

static plugin *create(const char *path) {
  plugin *candidate = tsri_calloc(1, sizeof *candidate);
  if (!candidate) return NULL;
  candidate->path = tsri_strdup(path);
  candidate->name = base_name(path);
  if (!candidate->path || !candidate->name) {
    destroy(candidate);
    return NULL;
  }
  candidate->entry.plugin_path = candidate->path;
  candidate->entry.name = candidate->entry.title = candidate->name;
  return candidate;
}

// Index into `loaded` of the record for `path`, which is created if there is none; -1 when host memory is out.
static int find_or_create(const char *path) {
  for (int i = 0; i < loaded_count; i++) {
    if (strcmp(loaded[i]->path, path) == 0) return i;
  }
  plugin **grown = tsri_realloc(loaded, ((size_t)loaded_count + 1) * sizeof *loaded);
  if (!grown) return -1;
  loaded = grown;
  plugin *candidate = create(path);
  if (!candidate) return -1;
  loaded[loaded_count] = candidate;
  return loaded_count++;
}

typedef struct plugin_scan {
  const char *folder;
  size_t folder_bytes;
  char **files;
  size_t file_count;
  bool is_out_of_memory;
} plugin_scan;

static void note_file(const char *name, void *user) {
  plugin_scan *scan_run = user;
  if (!ends_with(name, tsri_library_suffix) || scan_run->is_out_of_memory) return;
  char **grown = tsri_realloc(scan_run->files, (scan_run->file_count + 1) * sizeof *grown);
  if (grown) scan_run->files = grown;
  char *copy = grown ? tsri_strdup(name) : NULL;
  if (copy) scan_run->files[scan_run->file_count++] = copy;
  else scan_run->is_out_of_memory = true;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool add_active(int index) {
  for (int i = 0; i < active_count; i++) {
    if (active[i] == index) return true;  // the folder was named twice
  }
  int *grown = tsri_realloc(active, ((size_t)active_count + 1) * sizeof *active);
  if (!grown) return false;
  active = grown;
  active[active_count++] = index;
  return true;
}

static bool use_file(const plugin_scan *scan_run, const char *file) {
  char *path = tsri_format_text("%.*s/%s", (int)scan_run->folder_bytes, scan_run->folder, file);
  int index = path ? find_or_create(path) : -1;
  tsri_free(path);
  if (index < 0) return false;
  if (!loaded[index]->is_trusted) load(loaded[index]);  // it is new, or its owner and mode may have been corrected
  return add_active(index);
}

// Whether files of this folder may be loaded. If others can add files to it, the folder itself becomes an entry with
// that reason. `*out_has_memory` is false when host memory is out.
static bool check_folder(const char *path, bool *out_has_memory) {
  char resolved[TSRI_PATH_BYTES];
  int index = find_or_create(path);
  bool is_trusted = index >= 0 && check_trust(loaded[index], resolved);
  *out_has_memory = index >= 0 && (is_trusted || add_active(index));
  return is_trusted;
}

// Uses the files in the order of their names, so that the list is the same on every run.
static bool scan_folder(const char *folder, size_t folder_bytes) {
  char *path = tsri_format_text("%.*s", (int)folder_bytes, folder);
  if (!path) return false;
  plugin_scan scan_run = {.folder = folder, .folder_bytes = folder_bytes};
  bool is_there = tsri_folder_each(path, note_file, &scan_run), is_ok = !scan_run.is_out_of_memory;
  if (!is_there) tsri_log(TSR_LOG_WARN, "plug-in folder %s cannot be read", path);
  bool is_usable = is_there && is_ok && check_folder(path, &is_ok);
  tsri_free(path);
  if (scan_run.file_count > 1) qsort(scan_run.files, scan_run.file_count, sizeof *scan_run.files, by_name);
  for (size_t i = 0; i < scan_run.file_count; i++) {
    if (is_usable) is_ok = is_ok && use_file(&scan_run, scan_run.files[i]);
    tsri_free(scan_run.files[i]);
  }
  tsri_free(scan_run.files);
  return is_ok;
}

tsr_status tsri_plugins_scan(const char *folders) {
  active_count = 0;
  const char separators[] = {tsri_path_list_separator, 0};
  for (const char *folder = folders; folder && *folder;) {
    size_t bytes = strcspn(folder, separators);
    if (bytes > 0 && !scan_folder(folder, bytes)) {
      return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory to list the plug-ins in %.*s", (int)bytes, folder);
    }
    folder += bytes + (folder[bytes] != 0);
  }
  return TSR_OK;
}
