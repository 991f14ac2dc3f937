// SPDX-License-Identifier: MIT
// The cache of built programs. A new file is written beside the old one and renamed, which replaces it at once.
#include "backends/common/disk_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/log.h"
#include "platform/platform.h"

#if defined(_WIN32)
#include <direct.h>
#define CACHE_VARIABLE      "LOCALAPPDATA"
#define make_folder(folder) _mkdir(folder)
#else
#include <sys/stat.h>
#define CACHE_VARIABLE      "XDG_CACHE_HOME"
#define make_folder(folder) mkdir((folder), 0700)  // programs are run: nobody else may write them
#endif

enum { MOST_BYTES = 256 << 20 };

typedef struct cache_header {
  char magic[8];
  uint64_t bytes, checksum;
} cache_header;

static const char cache_magic[8] = {'T', 'S', 'R', 'B', 'I', 'N', '1', '\n'};

// --- Keys -----------------------------------------------------------------------------------------------------------

// FNV-1a, 64 bits; two with different starts make a key that does not collide by chance.
static const uint64_t hash_starts[2] = {UINT64_C(0xCBF29CE484222325), UINT64_C(0x6C62272E07BB0142)};

static uint64_t hash(uint64_t start, const void *data, size_t bytes) {
  const unsigned char *at = data;
  for (size_t i = 0; i < bytes; i++) start = (start ^ at[i]) * UINT64_C(0x100000001B3);
  return start;
}

void tsri_cache_key_init(tsri_cache_key *key) { memcpy(key->words, hash_starts, sizeof key->words); }

void tsri_cache_key_add(tsri_cache_key *key, const void *data, size_t bytes) {
  uint64_t length = bytes;
  for (int i = 0; i < 2; i++) key->words[i] = hash(hash(key->words[i], &length, sizeof length), data, bytes);
}

void tsri_cache_key_add_text(tsri_cache_key *key, const char *text) { tsri_cache_key_add(key, text, strlen(text)); }

// --- Files ----------------------------------------------------------------------------------------------------------

// ".cache" below the home folder where no folder is set.
static char *cache_folder(void) {
  const char *set = getenv(CACHE_VARIABLE), *home = getenv("HOME");
  char *base = NULL;
  if (set && set[0]) base = tsri_strdup(set);
  else if (home && home[0]) base = tsri_format_text("%s/.cache", home);
  if (!base) return NULL;
  char *folder = tsri_format_text("%s/tessera", base);
  make_folder(base);  // there already, most of the time; a failure shows when the file is written
  if (folder) make_folder(folder);
  tsri_free(base);
  return folder;
}

char *tsri_cache_path(const char *backend, const tsri_cache_key *key) {
  char *folder = cache_folder();
  if (!folder) return NULL;
  char *path = tsri_format_text("%s/%s-%016llx%016llx.bin", folder, backend, (unsigned long long)key->words[0],
                                (unsigned long long)key->words[1]);
  tsri_free(folder);
  return path;
}

static void *read_data(FILE *file, size_t *out_bytes) {
  cache_header header;
  if (fread(&header, sizeof header, 1, file) != 1) return NULL;
  if (memcmp(header.magic, cache_magic, sizeof cache_magic) != 0) return NULL;
  if (header.bytes == 0 || header.bytes > MOST_BYTES) return NULL;
  size_t bytes = (size_t)header.bytes;
  void *data = tsri_malloc(bytes);
  if (data && fread(data, 1, bytes, file) == bytes && hash(hash_starts[0], data, bytes) == header.checksum) {
    *out_bytes = bytes;
    return data;
  }
  tsri_free(data);
  return NULL;
}

void *tsri_cache_load(const char *path, size_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  void *data = read_data(file, out_bytes);
  fclose(file);
  if (!data) tsri_log(TSR_LOG_INFO, "cache: %s is damaged and not used", path);
  return data;
}

bool tsri_cache_store(const char *path, const void *data, size_t bytes) {
  if (bytes == 0 || bytes > MOST_BYTES) return false;
  cache_header header = {.bytes = bytes, .checksum = hash(hash_starts[0], data, bytes)};
  memcpy(header.magic, cache_magic, sizeof cache_magic);
  // "x": a name that another writer has at this moment fails, and then that one's file will do.
  char *beside = tsri_format_text("%s.%llx", path, (unsigned long long)tsri_clock_ns());
  FILE *file = beside ? fopen(beside, "wbx") : NULL;
  bool is_written = file && fwrite(&header, sizeof header, 1, file) == 1 && fwrite(data, 1, bytes, file) == bytes;
  if (file && fclose(file) != 0) is_written = false;
  bool is_stored = is_written && rename(beside, path) == 0;
  if (file && !is_stored) remove(beside);
  if (!is_stored) tsri_log(TSR_LOG_DEBUG, "cache: %s could not be written; programs are built again next time", path);
  tsri_free(beside);
  return is_stored;
}
