// SPDX-License-Identifier: MIT
// The folder of the cache as a whole: which files it has, and its limit.
#ifndef TSRI_CACHE_FOLDER_H
#define TSRI_CACHE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tsri_cache_entry {
  char *name;  // owned
  uint64_t bytes;
  double age;  // seconds since it was last written or used
} tsri_cache_entry;

typedef struct tsri_cache_entries {
  tsri_cache_entry *entries;  // owned; the youngest first
  int count, room;
  uint64_t bytes;
  bool has_failed;  // host memory ran out
} tsri_cache_entries;

// Lists the files of the cache in `folder`. The caller calls tsri_cache_entries_deinit, also when has_failed is set.
void tsri_cache_entries_init(tsri_cache_entries *list, const char *folder);
void tsri_cache_entries_deinit(tsri_cache_entries *list);

// Removes the oldest files until at most `most_bytes` are left. Returns the bytes removed; `*out_kept` is what is left, which is more than asked for if a
// file could not be removed. The file `spared` stays; NULL: none does.
uint64_t tsri_cache_remove_oldest(const char *folder, uint64_t most_bytes, const char *spared, uint64_t *out_kept);

// Most bytes that the cache may have; 0: nothing is kept or used.
void tsri_cache_set_limit(uint64_t bytes);
uint64_t tsri_cache_limit(void);

// Call after `bytes` were stored as the file `name` in `folder`: removes the oldest of the other files if the cache may be above its limit.
void tsri_cache_stored(const char *folder, const char *name, uint64_t bytes);

#endif
