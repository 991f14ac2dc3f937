// SPDX-License-Identifier: MIT
// Built programs on disk: $XDG_CACHE_HOME/tessera/<backend>-<key>.bin, or the same under ~/.cache.
//
// The key, in the file's name, is a hash of everything the program was made from. Length and checksum stand at the
// file's beginning, since drivers trust what they are given. A file that is missing, unreadable or damaged is as good
// as none; so is one that is not a regular file, or that others than root and the user could write. Any thread, any process.
#ifndef TSRI_DISK_CACHE_H
#define TSRI_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsri_cache_key {
  uint64_t words[2];
} tsri_cache_key;

void tsri_cache_key_init(tsri_cache_key *key);
// What differs in any of the parts added, or in how they are cut, differs in the key.
void tsri_cache_key_add(tsri_cache_key *key, const void *data, size_t bytes);
void tsri_cache_key_add_text(tsri_cache_key *key, const char *text);

// The file for this key, or NULL: no folder for caches, one that others could change (which is logged), rights that the
// user does not have, or no memory. The folder is made as needed, and files that killed processes left in it are
// removed when they are an hour old. The caller frees the path with tsri_free.
char *tsri_cache_path(const char *backend, const tsri_cache_key *key);

// What was stored, which the caller frees with tsri_free, or NULL.
void *tsri_cache_load(const char *path, size_t *out_bytes);

// Whether it was stored. Readers see the old file or the new one, never a part.
bool tsri_cache_store(const char *path, const void *data, size_t bytes);

#endif
