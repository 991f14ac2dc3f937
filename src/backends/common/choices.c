// SPDX-License-Identifier: MIT
// The file of choices: lines of text in a file of the cache (disk_cache.h), which adds a checksum.
//
//   tessera choices 1 <device>
//   <work> TAB <choice> TAB <microseconds of the usual way> TAB <of the choice> TAB ok|bad
#include "backends/common/choices.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/disk_cache.h"
#include "core/alloc.h"
#include "core/builder.h"
#include "core/log.h"
#include "platform/platform.h"
#include "platform/trust.h"

#include <tessera/version.h>

#define FIRST_LINE "tessera choices 1 "

struct tsri_choices {
  tsri_mutex lock;
  char *device;  // what the file's name is a hash of
  char *path;    // NULL: nothing is kept on disk
  tsri_choice *entries;
  uint64_t *hashes;  // of their works: every launch looks for one
  size_t count, room;
  _Atomic uint64_t version;  // read without the lock
  bool has_warned;
};

static void warn(tsri_choices *choices, const char *problem) {
  if (choices->has_warned) return;
  choices->has_warned = true;
  tsri_log(TSR_LOG_WARN, "tuning: %s %s", choices->path, problem);
}

// --- Entries ----------------------------------------------------------------------------------------------------------------

static uint64_t hash_of(const char *work) {  // FNV-1a
  uint64_t hash = UINT64_C(14695981039346656037);
  for (; *work; work++) hash = (hash ^ (unsigned char)*work) * UINT64_C(1099511628211);
  return hash;
}

// The entry of the good choice for this work; or, if `bad` is not NULL, the entry that says that the choice `bad` is
// bad for it.
static tsri_choice *entry_of(const tsri_choices *choices, const char *work, const char *bad) {
  uint64_t hash = hash_of(work);
  for (size_t i = 0; i < choices->count; i++) {
    if (choices->hashes[i] != hash) continue;
    tsri_choice *entry = &choices->entries[i];
    if (entry->is_bad != (bad != NULL) || strcmp(entry->work, work) != 0) continue;
    if (!bad || strcmp(entry->choice, bad) == 0) return entry;
  }
  return NULL;
}

static bool add_entry(tsri_choices *choices, const tsri_choice *choice, bool replaces) {
  tsri_choice *known = entry_of(choices, choice->work, choice->is_bad ? choice->choice : NULL);
  atomic_fetch_add(&choices->version, 1);
  if (known) {
    if (replaces) *known = *choice;
    return true;
  }
  if (choices->count == choices->room) {
    size_t room = choices->room ? 2 * choices->room : 16;
    tsri_choice *entries = tsri_realloc(choices->entries, room * sizeof *entries);
    if (entries) choices->entries = entries;
    uint64_t *hashes = entries ? tsri_realloc(choices->hashes, room * sizeof *hashes) : NULL;
    if (!hashes) return false;
    choices->hashes = hashes;
    choices->room = room;
  }
  choices->hashes[choices->count] = hash_of(choice->work);
  choices->entries[choices->count++] = *choice;
  return true;
}

// --- The file ---------------------------------------------------------------------------------------------------------------

// Copies the text up to the next tab to `out`. Returns where the next field begins; NULL: there is no tab, or the text is too long.
static const char *read_field(const char *at, char *out, size_t bytes) {
  size_t length = strcspn(at, "\t\n");
  if (at[length] != '\t' || length >= bytes) return NULL;
  memcpy(out, at, length);
  out[length] = 0;
  return at + length + 1;
}

static const char *read_number(const char *at, double *out) {
  char text[32], *end = text;
  const char *next = read_field(at, text, sizeof text);
  if (next) *out = strtod(text, &end);
  return next && end != text && !*end && *out >= 0 ? next : NULL;
}

static bool read_entry(const char *line, tsri_choice *out) {
  const char *at = read_field(line, out->work, sizeof out->work);
  if (at) at = read_field(at, out->choice, sizeof out->choice);
  if (at) at = read_number(at, &out->usual_us);
  if (at) at = read_number(at, &out->chosen_us);
  out->is_bad = at && strncmp(at, "bad\n", 4) == 0;
  return at && (out->is_bad || strncmp(at, "ok\n", 3) == 0);
}

// Adds the entries of the text that this process does not have yet. False: the text is not a file of choices.
static bool read_entries(tsri_choices *choices, const char *text) {
  size_t start = strlen(FIRST_LINE), length = strlen(choices->device);
  if (strncmp(text, FIRST_LINE, start) != 0 || strncmp(text + start, choices->device, length) != 0) return false;
  const char *line = text + start + length;
  if (*line++ != '\n') return false;
  for (; *line; line = strchr(line, '\n') + 1) {
    tsri_choice entry;
    if (!strchr(line, '\n') || !read_entry(line, &entry)) return false;
    if (!add_entry(choices, &entry, false)) return true;  // host memory is out: the rest is measured again
  }
  return true;
}

static bool has_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file) fclose(file);
  return file != NULL;
}

static void read_file(tsri_choices *choices) {
  size_t bytes = 0;
  char *stored = choices->path ? tsri_cache_load(choices->path, &bytes) : NULL;
  char *text = stored ? tsri_format_text("%.*s", (int)bytes, stored) : NULL;
  bool is_unused = choices->path && !stored && has_file(choices->path);
  if (is_unused || (text && !read_entries(choices, text))) {
    warn(choices,
         "is damaged, of another version or writable by others, and is not used; `tessera tune` makes it anew");
  }
  tsri_free(text);
  tsri_free(stored);
}

static void write_file(tsri_choices *choices) {
  tsri_builder text = {0};
  tsri_builder_add(&text, FIRST_LINE "%s\n", choices->device);
  for (size_t i = 0; i < choices->count; i++) {
    const tsri_choice *entry = &choices->entries[i];
    tsri_builder_add(&text, "%s\t%s\t%.3f\t%.3f\t%s\n", entry->work, entry->choice, entry->usual_us, entry->chosen_us,
                     entry->is_bad ? "bad" : "ok");
  }
  bool is_written = !text.has_failed && choices->path && tsri_cache_store(choices->path, text.text, text.bytes);
  if (!is_written && choices->path)
    warn(choices, "cannot be written; what is measured is forgotten when the program ends");
  tsri_builder_deinit(&text);
}

// --- Interface --------------------------------------------------------------------------------------------------------------

tsri_choices *tsri_choices_open(const char *backend, const tsr_device_info *info) {
  tsri_choices *choices = tsri_calloc(1, sizeof *choices);
  if (!choices) return NULL;
  choices->device = tsri_format_text("%s; %s; %s; %s; %s; %d units; tessera %s", backend, info->name, info->uuid,
                                     info->arch, info->driver, info->compute_units, tsr_version());
  if (!choices->device) {
    tsri_free(choices);
    return NULL;
  }
  tsri_cache_key key;
  tsri_cache_key_init(&key);
  tsri_cache_key_add_text(&key, choices->device);
  choices->path = tsri_cache_path("choices", &key);
  tsri_mutex_init(&choices->lock);
  read_file(choices);
  return choices;
}

void tsri_choices_close(tsri_choices *choices) {
  if (!choices) return;
  tsri_mutex_deinit(&choices->lock);
  tsri_free(choices->device);
  tsri_free(choices->path);
  tsri_free(choices->entries);
  tsri_free(choices->hashes);
  tsri_free(choices);
}

bool tsri_choices_find(tsri_choices *choices, const char *work, tsri_choice *out_choice) {
  tsri_mutex_lock(&choices->lock);
  const tsri_choice *entry = entry_of(choices, work, NULL);
  if (entry) *out_choice = *entry;
  tsri_mutex_unlock(&choices->lock);
  return entry != NULL;
}

bool tsri_choices_is_bad(tsri_choices *choices, const char *work, const char *choice) {
  tsri_mutex_lock(&choices->lock);
  bool is_bad = entry_of(choices, work, choice) != NULL;
  tsri_mutex_unlock(&choices->lock);
  return is_bad;
}

// Adds what this process knows to the file. Holds the folder's lock meanwhile, so that nothing another process writes
// between our reading and our writing is lost.
static void update_file(tsri_choices *choices) {
  const char *end = choices->path ? strrchr(choices->path, '/') : NULL;
  char *folder = end ? tsri_format_text("%.*s", (int)(end - choices->path), choices->path) : NULL;
  int lock = folder ? tsri_folder_lock(folder) : -1;
  read_file(choices);  // what other processes have added meanwhile
  write_file(choices);
  tsri_folder_unlock(lock);
  tsri_free(folder);
}

void tsri_choices_put(tsri_choices *choices, const tsri_choice *choice) {
  tsri_mutex_lock(&choices->lock);
  if (add_entry(choices, choice, true)) update_file(choices);
  tsri_mutex_unlock(&choices->lock);
}

size_t tsri_choices_count(tsri_choices *choices) {
  tsri_mutex_lock(&choices->lock);
  size_t count = choices->count;
  tsri_mutex_unlock(&choices->lock);
  return count;
}

uint64_t tsri_choices_version(const tsri_choices *choices) {
  return atomic_load_explicit(&choices->version, memory_order_relaxed);
}

bool tsri_choices_at(tsri_choices *choices, size_t index, tsri_choice *out_choice) {
  tsri_mutex_lock(&choices->lock);
  bool is_there = index < choices->count;
  if (is_there) *out_choice = choices->entries[index];
  tsri_mutex_unlock(&choices->lock);
  return is_there;
}

bool tsri_choices_clear(tsri_choices *choices) {
  tsri_mutex_lock(&choices->lock);
  choices->count = 0;
  atomic_fetch_add(&choices->version, 1);
  bool is_gone = !choices->path || remove(choices->path) == 0 || errno == ENOENT;
  tsri_mutex_unlock(&choices->lock);
  return is_gone;
}
