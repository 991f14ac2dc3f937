// SPDX-License-Identifier: MIT
// The on-disk cache of built programs. A new file is first written under a temporary name and then renamed, so that it
// replaces the old file atomically.
//
// Drivers execute what they are given, so the cache uses only files and folders that no other user can write
// (platform/trust.h).
#include "backends/common/disk_cache.h"

#include "backends/common/cache_folder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/log.h"
#include "platform/platform.h"
#include "platform/trust.h"

#if defined(_WIN32)
#include <direct.h>
#define CACHE_VARIABLE      "LOCALAPPDATA"
#define make_folder(folder) _mkdir(folder)
#define is_absolute(folder) ((folder)[0] == '\\' || ((folder)[0] && (folder)[1] == ':'))
#else
#include <sys/stat.h>
#define CACHE_VARIABLE      "XDG_CACHE_HOME"
#define make_folder(folder) mkdir((folder), 0700)
#define is_absolute(folder) ((folder)[0] == '/')
#endif

enum {
  MOST_BYTES = 256 << 20,
  FRESH_SECONDS = 24 * 3600  // a file that was used within this time is not marked as used again
};

typedef struct cache_header {
  char magic[8];
  uint64_t bytes, checksum;
} cache_header;

static const char cache_magic[8] = {'T', 'S', 'R', 'B', 'I', 'N', '1', '\n'};

// --- Keys -----------------------------------------------------------------------------------------------------------

// FNV-1a, 64 bits. A key has two hashes with different start values, so that keys do not collide by chance.
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

// Returns $XDG_CACHE_HOME, or ".cache" in the home folder. The XDG specification says to ignore relative paths.
static char *base_folder(void) {
  const char *set = tsri_environment(CACHE_VARIABLE), *home = tsri_environment("HOME");
  if (set && is_absolute(set)) return tsri_strdup(set);
  return home && is_absolute(home) ? tsri_format_text("%s/.cache", home) : NULL;
}

// Whether files in `folder` can be trusted; else `reason` says why not. Creates the folder if it is missing and its parent folder is trusted.
static bool prepare_folder(const char *folder, char *reason, size_t reason_bytes) {
  char resolved[TSRI_PATH_BYTES];
  char *above = tsri_format_text("%.*s", (int)(strrchr(folder, '/') - folder), folder);
  if (above && tsri_path_is_trusted(above[0] ? above : "/", resolved, reason, reason_bytes)) make_folder(folder);
  tsri_free(above);
  if (tsri_path_is_trusted(folder, resolved, reason, reason_bytes)) {
    reason[0] = 0;
    return true;
  }
  tsri_log(TSR_LOG_INFO, "cache: built programs are not kept in %s: %s", folder, reason);
  return false;
}

char *tsri_cache_folder(char *reason, size_t reason_bytes) {
  reason[0] = 0;
  char *base = base_folder();
  char *folder = base ? tsri_format_text("%s/tessera", base) : NULL;
  if (folder && prepare_folder(base, reason, reason_bytes)) (void)prepare_folder(folder, reason, reason_bytes);
  tsri_free(base);
  return folder;
}

// The cache folder; NULL if it is not used because it cannot be trusted or nothing may be kept.
static char *cache_folder(void) {
  char reason[400];
  char *folder = tsri_cache_limit() > 0 ? tsri_cache_folder(reason, sizeof reason) : NULL;
  if (folder && !reason[0]) return folder;
  tsri_free(folder);
  return NULL;
}

// --- Files that a killed process left behind --------------------------------------------------------------------------

// Part of the name of a file that is being written: the final name, ".new-", and a number unique to this writer.
#define UNFINISHED ".bin.new-"

enum { STALE_SECONDS = 3600 };  // writing a file takes less than a second, so an older one was abandoned

static void remove_if_stale(const char *name, void *user) {
  const char *folder = user;
  if (!strstr(name, UNFINISHED)) return;
  char *path = tsri_format_text("%s/%s", folder, name);
  if (path && tsri_file_age(path) > STALE_SECONDS) remove(path);
  tsri_free(path);
}

// Removes abandoned files, once per process and again if the process changes the cache folder.
static void remove_stale(const char *folder) {
  static atomic_uint_fast64_t done_for;
  uint64_t name = hash(hash_starts[0], folder, strlen(folder));
  if (atomic_exchange(&done_for, name) != name) tsri_folder_each(folder, remove_if_stale, (void *)(uintptr_t)folder);
}

// --- Reading and writing ------------------------------------------------------------------------------------------------

char *tsri_cache_path(const char *backend, const tsri_cache_key *key) {
  char *folder = cache_folder();
  if (!folder) return NULL;
  remove_stale(folder);
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
  FILE *file = tsri_private_file_open(path);
  if (!file) return NULL;
  void *data = read_data(file, out_bytes);
  fclose(file);
  if (data && tsri_file_age(path) > FRESH_SECONDS) tsri_file_touch(path);  // it is not among the oldest any more
  if (!data) tsri_log(TSR_LOG_INFO, "cache: %s is damaged and not used", path);
  return data;
}

// Counts the bytes of a file that was stored, unless it is outside of the cache folder.
static void note_stored(const char *path, uint64_t bytes) {
  char *folder = cache_folder();
  size_t length = folder ? strlen(folder) : 0;
  if (folder && strncmp(path, folder, length) == 0 && path[length] == '/')
    tsri_cache_stored(folder, path + length + 1, bytes);
  tsri_free(folder);
}

bool tsri_cache_store(const char *path, const void *data, size_t bytes) {
  if (bytes == 0 || bytes > MOST_BYTES) return false;
  cache_header header = {.bytes = bytes, .checksum = hash(hash_starts[0], data, bytes)};
  memcpy(header.magic, cache_magic, sizeof cache_magic);
  // If another writer uses the same temporary name at this moment, creating the file fails; the other writer's file
  // will serve.
  char *beside = tsri_format_text("%s.new-%llx", path, (unsigned long long)tsri_clock_ns());
  FILE *file = beside ? tsri_private_file_create(beside) : NULL;
  bool is_written = file && fwrite(&header, sizeof header, 1, file) == 1 && fwrite(data, 1, bytes, file) == bytes;
  if (file && fclose(file) != 0) is_written = false;
  bool is_stored = is_written && rename(beside, path) == 0;
  if (file && !is_stored) remove(beside);
  if (is_stored) note_stored(path, sizeof header + bytes);
  if (!is_stored) tsri_log(TSR_LOG_DEBUG, "cache: %s could not be written; programs are built again next time", path);
  tsri_free(beside);
  return is_stored;
}
