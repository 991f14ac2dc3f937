// SPDX-License-Identifier: MIT
// Trust in a WebAssembly module: it has one user, and no files that outlive it.
#include <stdlib.h>

#include "platform/trust.h"

bool tsri_has_borrowed_rights(void) { return false; }

const char *tsri_environment(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

bool tsri_path_is_trusted(const char *path, char resolved[TSRI_PATH_BYTES], char *reason, size_t reason_bytes) {
  resolved[0] = 0;
  snprintf(reason, reason_bytes, "%s: WebAssembly has no files that are kept", path);
  return false;
}

FILE *tsri_private_file_open(const char *path) {
  (void)path;
  return NULL;
}

FILE *tsri_private_file_create(const char *path) {
  (void)path;
  return NULL;
}

double tsri_file_age(const char *path) {
  (void)path;
  return -1;
}

bool tsri_file_bytes(const char *path, uint64_t *out_bytes) {
  (void)path, (void)out_bytes;
  return false;
}

void tsri_file_touch(const char *path) { (void)path; }

int tsri_folder_lock(const char *folder) {
  (void)folder;
  return -1;
}

void tsri_folder_unlock(int lock) { (void)lock; }
