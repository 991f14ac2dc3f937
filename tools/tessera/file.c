// SPDX-License-Identifier: MIT
// Reads and writes whole files.
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report.h"

static void report_file(const char *path, const char *what) {
  fprintf(stderr, "tessera: %s: %s%s%s\n", path, what, errno ? ": " : "", errno ? strerror(errno) : "");
}

// Reads to the end, doubling the memory as needed.
static char *read_all(FILE *file, const char *path, size_t most, size_t *out_bytes) {
  size_t used = 0, capacity = 4096;
  char *data = malloc(capacity);
  while (data) {
    used += fread(data + used, 1, capacity - used - 1, file);
    if (used > most || used < capacity - 1) break;
    char *grown = capacity <= SIZE_MAX / 2 ? realloc(data, capacity *= 2) : NULL;
    if (!grown) free(data);
    data = grown;
  }
  if (!data) {
    report_no_memory();
    return NULL;
  }
  bool is_good = !ferror(file) && used <= most;
  if (ferror(file)) {
    report_file(path, "cannot be read");
  } else if (!is_good) {
    fprintf(stderr, "tessera: %s: has more than %zu bytes\n", path, most);
  }
  if (!is_good) {
    free(data);
    return NULL;
  }
  data[used] = 0;
  *out_bytes = used;
  return data;
}

char *file_read(const char *path, size_t most, size_t *out_bytes) {
  bool is_input = strcmp(path, "-") == 0;
  errno = 0;
  FILE *file = is_input ? stdin : fopen(path, "rb");
  if (!file) {
    report_file(path, "cannot be opened");
    return NULL;
  }
  char *data = read_all(file, path, most, out_bytes);
  if (!is_input) fclose(file);
  return data;
}

bool file_is_regular(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && (facts.st_mode & S_IFMT) == S_IFREG;
}

bool file_write(const char *path, const char *header, size_t header_bytes, const void *data, size_t bytes) {
  errno = 0;
  FILE *file = fopen(path, "wb");
  if (!file) {
    report_file(path, "cannot be opened for writing");
    return false;
  }
  bool is_written = fwrite(header, 1, header_bytes, file) == header_bytes && fwrite(data, 1, bytes, file) == bytes;
  is_written = fclose(file) == 0 && is_written;
  if (!is_written) report_file(path, "could not be written");
  return is_written;
}
