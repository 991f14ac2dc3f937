// SPDX-License-Identifier: MIT
// Pipelines on disk: $XDG_CACHE_HOME/tessera/vulkan-<key>.bin, or the same under ~/.cache.
//
// One file per device and driver. Length and checksum stand at its beginning, since drivers trust what they are given. A
// new file is written beside the old one and renamed, which replaces it at once.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

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
#define make_folder(folder) mkdir((folder), 0700)  // programs are run: nobody else may write them
#endif

enum { MOST_BYTES = 256 << 20 };

typedef struct cache_header {
  char magic[8];
  uint64_t bytes, checksum;
} cache_header;

static const char cache_magic[8] = {'T', 'S', 'R', 'V', 'K', '0', '1', '\n'};

// FNV-1a, 64 bits.
static uint64_t hash(uint64_t start, const void *data, size_t bytes) {
  const unsigned char *at = data;
  for (size_t i = 0; i < bytes; i++) start = (start ^ at[i]) * UINT64_C(0x100000001B3);
  return start;
}

#define HASH_START UINT64_C(0xCBF29CE484222325)

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

char *tsri_vulkan_cache_path(const vulkan_physical *physical) {
  const VkPhysicalDeviceProperties *p = &physical->properties;
  char *folder = cache_folder();
  if (!folder) return NULL;
  uint64_t key = hash(HASH_START, p->pipelineCacheUUID, VK_UUID_SIZE);
  key = hash(key, &p->driverVersion, sizeof p->driverVersion);
  key = hash(key, &p->vendorID, sizeof p->vendorID);
  key = hash(key, &p->deviceID, sizeof p->deviceID);
  char *path = tsri_format_text("%s/vulkan-%016llx.bin", folder, (unsigned long long)key);
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
  if (data && fread(data, 1, bytes, file) == bytes && hash(HASH_START, data, bytes) == header.checksum) {
    *out_bytes = bytes;
    return data;
  }
  tsri_free(data);
  return NULL;
}

void *tsri_vulkan_cache_load(const char *path, size_t *out_bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  void *data = read_data(file, out_bytes);
  fclose(file);
  if (!data) tsri_log(TSR_LOG_INFO, "vulkan: %s is damaged and not used", path);
  return data;
}

bool tsri_vulkan_cache_store(const char *path, const void *data, size_t bytes) {
  if (bytes == 0 || bytes > MOST_BYTES) return false;
  cache_header header = {.bytes = bytes, .checksum = hash(HASH_START, data, bytes)};
  memcpy(header.magic, cache_magic, sizeof cache_magic);
  // "x": a name that another writer has at this moment fails, and then that one's file will do.
  char *beside = tsri_format_text("%s.%llx", path, (unsigned long long)tsri_clock_ns());
  FILE *file = beside ? fopen(beside, "wbx") : NULL;
  bool is_written = file && fwrite(&header, sizeof header, 1, file) == 1 && fwrite(data, 1, bytes, file) == bytes;
  if (file && fclose(file) != 0) is_written = false;
  bool is_stored = is_written && rename(beside, path) == 0;
  if (file && !is_stored) remove(beside);
  if (!is_stored) tsri_log(TSR_LOG_DEBUG, "vulkan: %s could not be written; programs are built again next time", path);
  tsri_free(beside);
  return is_stored;
}

#endif
