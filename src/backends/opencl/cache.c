// SPDX-License-Identifier: MIT
// Built programs on disk: $XDG_CACHE_HOME/tessera/opencl-<key>.bin, or the same under ~/.cache.
//
// The key is a hash of the device, its driver, the options and the text, and stands in the file's name; length and
// checksum stand at its beginning. A new file is written beside the old one and renamed, which replaces it at once.
#include "backends/opencl/opencl.h"

#if TSRI_HAS_OPENCL

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/log.h"

#if defined(_WIN32)
#include <direct.h>
#define CACHE_VARIABLE      "LOCALAPPDATA"
#define make_folder(folder) _mkdir(folder)
#else
#include <sys/stat.h>
#define CACHE_VARIABLE      "XDG_CACHE_HOME"
#define make_folder(folder) mkdir((folder), 0700)  // binaries are run: nobody else may write them
#endif

// FNV-1a, 64 bits; two with different starts make a key that does not collide by chance.
static uint64_t hash(uint64_t start, const void *data, size_t bytes) {
  const unsigned char *at = data;
  for (size_t i = 0; i < bytes; i++) start = (start ^ at[i]) * UINT64_C(0x100000001B3);
  return start;
}

static const uint64_t hash_starts[2] = {UINT64_C(0xCBF29CE484222325), UINT64_C(0x6C62272E07BB0142)};

typedef struct cache_header {
  char magic[8];
  uint64_t bytes, checksum;
} cache_header;

static const char cache_magic[8] = {'T', 'S', 'R', 'C', 'L', '0', '1', '\n'};

// ".cache" below the home folder where no folder is set. The folders are made as needed.
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

char *tsri_opencl_cache_path(const opencl_device *device, const char *options, const void *text, size_t text_bytes) {
  char *folder = cache_folder();
  if (!folder) return NULL;
  uint64_t key[2];
  for (int i = 0; i < 2; i++) {
    key[i] = hash(hash_starts[i], device->key, strlen(device->key) + 1);
    key[i] = hash(key[i], options, strlen(options) + 1);
    key[i] = hash(key[i], text, text_bytes);
  }
  char *path =
      tsri_format_text("%s/opencl-%016llx%016llx.bin", folder, (unsigned long long)key[0], (unsigned long long)key[1]);
  tsri_free(folder);
  return path;
}

static void *read_binary(FILE *file, size_t *out_bytes) {
  cache_header header;
  if (fread(&header, sizeof header, 1, file) != 1) return NULL;
  if (memcmp(header.magic, cache_magic, sizeof cache_magic) != 0) return NULL;
  if (header.bytes == 0 || header.bytes > 1u << 30) return NULL;
  size_t bytes = (size_t)header.bytes;
  void *binary = tsri_malloc(bytes);
  if (binary && fread(binary, 1, bytes, file) == bytes && hash(hash_starts[0], binary, bytes) == header.checksum) {
    *out_bytes = bytes;
    return binary;
  }
  tsri_free(binary);
  return NULL;
}

void *tsri_opencl_cache_load(const char *path, size_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  void *binary = read_binary(file, out_bytes);
  fclose(file);
  if (!binary) tsri_log(TSR_LOG_INFO, "opencl: %s is damaged and not used", path);
  return binary;
}

bool tsri_opencl_cache_store(const char *path, const void *binary, size_t bytes) {
  cache_header header = {.bytes = bytes, .checksum = hash(hash_starts[0], binary, bytes)};
  memcpy(header.magic, cache_magic, sizeof cache_magic);
  // "x": a name that another writer has at this moment fails, and then that one's file will do.
  char *beside = tsri_format_text("%s.%llx", path, (unsigned long long)tsri_clock_ns());
  FILE *file = beside ? fopen(beside, "wbx") : NULL;
  bool is_written = file && fwrite(&header, sizeof header, 1, file) == 1 && fwrite(binary, 1, bytes, file) == bytes;
  if (file && fclose(file) != 0) is_written = false;
  bool is_stored = is_written && rename(beside, path) == 0;
  if (file && !is_stored) remove(beside);
  if (!is_stored)
    tsri_log(TSR_LOG_DEBUG, "opencl: %s could not be written; the program is built again next time", path);
  tsri_free(beside);
  return is_stored;
}

#endif
