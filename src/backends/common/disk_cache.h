// SPDX-License-Identifier: MIT
// Cache of built programs on disk: $XDG_CACHE_HOME/tessera/<backend>-<key>.bin, or the same under ~/.cache.
//
// The key in the file's name is a hash of everything the program was built from. The file begins with a length and a
// checksum, because drivers trust what they are given. A missing, unreadable or damaged file is ignored; so is one
// that is not a regular file or that anyone but root and the user could write. Any thread, any process.
#ifndef TSRI_DISK_CACHE_H
#define TSRI_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsri_cache_key {
  uint64_t words[2];
} tsri_cache_key;

void tsri_cache_key_init(tsri_cache_key *key);
// Adds one part to the key. Two keys differ if any part differs, or if the same bytes are split into parts
// differently.
void tsri_cache_key_add(tsri_cache_key *key, const void *data, size_t bytes);
void tsri_cache_key_add_text(tsri_cache_key *key, const char *text);

// The path of the cache folder, which the caller frees with tsri_free; NULL: there is none, or host memory is out. Creates it if needed. `reason` says why it is
// not used, because others could change it, say; else it is empty.
char *tsri_cache_folder(char *reason, size_t reason_bytes);

// Returns the file's path for this key. The caller frees it with tsri_free. Creates the folder if needed, and removes
// unfinished files of killed processes from it when they are an hour old. NULL: there is no cache folder, nothing may be kept (tsri_cache_limit), others could
// change it (which is logged), the user may not write there, or host memory is out.
char *tsri_cache_path(const char *backend, const tsri_cache_key *key);

// Returns the stored bytes, or NULL. The caller frees them with tsri_free.
void *tsri_cache_load(const char *path, size_t *out_bytes);

// Returns whether the bytes were stored. Readers see the old file or the new one, never a part of it.
bool tsri_cache_store(const char *path, const void *data, size_t bytes);

#endif
