// SPDX-License-Identifier: MIT
// Lists the cache and keeps it below its limit. Other processes may add and remove files at any time: a file that has
// disappeared by the time it is examined or removed is ignored.
#include "backends/common/cache_folder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/log.h"
#include "platform/platform.h"
#include "platform/trust.h"

static atomic_uint_fast64_t limit_bytes = UINT64_C(1024) << 20;

void tsri_cache_set_limit(uint64_t bytes) { atomic_store(&limit_bytes, bytes); }
uint64_t tsri_cache_limit(void) { return atomic_load(&limit_bytes); }

// --- Listing ---------------------------------------------------------------------------------------------------------

typedef struct visit_state {
  tsri_cache_entries *list;
  const char *folder;
} visit_state;

// Our files end in ".bin". A file that is being written, or was left behind by a killed process, has more characters
// after that. All other files are left alone.
static bool is_ours(const char *name) {
  const char *end = strstr(name, ".bin");
  return name[0] != '.' && end && (end[4] == 0 || strncmp(end + 4, ".new-", 5) == 0);
}

static void add_entry(tsri_cache_entries *list, const char *name, uint64_t bytes, double age) {
  if (list->count == list->room) {
    int room = list->room ? 2 * list->room : 32;
    tsri_cache_entry *entries = tsri_realloc(list->entries, (size_t)room * sizeof *entries);
    list->has_failed = list->has_failed || !entries;
    if (!entries) return;
    list->entries = entries;
    list->room = room;
  }
  char *copy = tsri_strdup(name);
  list->has_failed = list->has_failed || !copy;
  if (!copy) return;
  list->entries[list->count++] = (tsri_cache_entry){copy, bytes, age};
  list->bytes += bytes;
}

static void visit(const char *name, void *user) {
  visit_state *state = user;
  if (!is_ours(name)) return;
  char *path = tsri_format_text("%s/%s", state->folder, name);
  uint64_t bytes = 0;
  double age = path ? tsri_file_age(path) : -1;
  if (path && age >= 0 && tsri_file_bytes(path, &bytes)) add_entry(state->list, name, bytes, age);
  state->list->has_failed = state->list->has_failed || !path;
  tsri_free(path);
}

static int compare_ages(const void *a, const void *b) {
  const tsri_cache_entry *first = a, *second = b;
  return first->age != second->age ? (first->age > second->age) - (first->age < second->age)
                                   : strcmp(first->name, second->name);
}

void tsri_cache_entries_init(tsri_cache_entries *list, const char *folder) {
  *list = (tsri_cache_entries){0};
  (void)tsri_folder_each(folder, visit, &(visit_state){list, folder});
  if (list->count > 1) qsort(list->entries, (size_t)list->count, sizeof *list->entries, compare_ages);
}

void tsri_cache_entries_deinit(tsri_cache_entries *list) {
  for (int i = 0; i < list->count; i++) tsri_free(list->entries[i].name);
  tsri_free(list->entries);
  *list = (tsri_cache_entries){0};
}

// --- Removing --------------------------------------------------------------------------------------------------------

static bool remove_entry(const char *folder, const tsri_cache_entry *entry) {
  char *path = tsri_format_text("%s/%s", folder, entry->name);
  bool is_gone = path && (remove(path) == 0 || tsri_file_age(path) < 0);
  tsri_free(path);
  return is_gone;
}

uint64_t tsri_cache_remove_oldest(const char *folder, uint64_t most_bytes, const char *spared, uint64_t *out_kept) {
  tsri_cache_entries list;
  uint64_t removed = 0;
  tsri_cache_entries_init(&list, folder);
  for (int i = list.count; i-- > 0 && (list.bytes - removed > most_bytes || most_bytes == 0);) {
    bool is_spared = spared && strcmp(list.entries[i].name, spared) == 0;
    if (!is_spared && remove_entry(folder, &list.entries[i])) removed += list.entries[i].bytes;
  }
  *out_kept = list.bytes - removed;
  tsri_cache_entries_deinit(&list);
  return removed;
}

// An upper bound for the size of the folder, as far as this process knows; listing the folder each time would be slow.
// 0: not listed yet.
static atomic_uint_fast64_t expected_bytes;

void tsri_cache_stored(const char *folder, const char *name, uint64_t bytes) {
  uint64_t limit = tsri_cache_limit(), before = atomic_load(&expected_bytes), kept = 0;
  if (before != 0 && before + bytes <= limit) {
    atomic_fetch_add(&expected_bytes, bytes);
    return;
  }
  // Remove a little more than necessary, so that the next file does not make us list the folder again.
  uint64_t removed = tsri_cache_remove_oldest(folder, UINT64_MAX, NULL, &kept);
  if (kept > limit) removed = tsri_cache_remove_oldest(folder, limit - limit / 8, name, &kept);
  if (removed > 0)
    tsri_log(TSR_LOG_INFO, "cache: %llu bytes of the oldest files in %s were removed", (unsigned long long)removed,
             folder);
  atomic_store(&expected_bytes, kept > 0 ? kept : 1);
}
