// SPDX-License-Identifier: MIT
// Reads streams and files to their end; replaces files.
#include "core/file.h"

#include <errno.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "platform/platform.h"

static tsr_status fail(char *text, tsr_status status) {
  tsri_free(text);
  return status;
}

tsr_status tsri_stream_read(FILE *stream, const char *path, size_t most, char **out_text, size_t *out_bytes) {
  size_t room = 4096, used = 0;
  *out_text = NULL;
  char *text = tsri_malloc(room);
  if (!text) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to read it", path);
  for (;;) {
    errno = 0;
    used += fread(text + used, 1, room - used, stream);
    if (ferror(stream)) return fail(text, TSRI_FAIL(TSR_ERR_IO, "%s: cannot be read: %s", path, strerror(errno)));
    if (used < room || room > most) break;
    char *larger = tsri_realloc(text, room * 2);
    if (!larger) return fail(text, TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to read it", path));
    text = larger;
    room *= 2;
  }
  *out_text = text;
  *out_bytes = used;
  return TSR_OK;
}

static tsr_status fail_file(const char *caller, const char *path, const char *what) {
  tsr_status status = errno == ENOENT ? TSR_ERR_NOT_FOUND : errno == ENOMEM ? TSR_ERR_OUT_OF_MEMORY : TSR_ERR_IO;
  return TSRI_FAIL(status, "%s: %s: cannot be %s: %s", caller, path, what,
                   errno ? strerror(errno) : "it ended too early");
}

// Reads what is left of a file whose size is known.
static tsr_status read_all(FILE *file, const char *caller, const char *path, void **out_data, size_t *out_bytes) {
  errno = 0;
  long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (end < 0 || fseek(file, 0, SEEK_SET) != 0) return fail_file(caller, path, "read");
  void *data = tsri_malloc((size_t)end + 1);
  if (!data) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for the %ld bytes of %s", caller, end, path);
  errno = 0;
  if (fread(data, 1, (size_t)end, file) != (size_t)end) return fail(data, fail_file(caller, path, "read"));
  *out_data = data;
  *out_bytes = (size_t)end;
  return TSR_OK;
}

tsr_status tsri_file_read(const char *caller, const char *path, void **out_data, size_t *out_bytes) {
  *out_data = NULL;
  *out_bytes = 0;
  errno = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return fail_file(caller, path, "opened");
  tsr_status status = read_all(file, caller, path, out_data, out_bytes);
  fclose(file);
  return status;
}

tsr_status tsri_beside_open(tsri_beside *beside, const char *path, const char *caller) {
  *beside = (tsri_beside){.path = path};
  if (!tsri_path_is_replaceable(path)) {  // as root, renaming a file onto /dev/null would replace it
    return TSRI_FAIL(TSR_ERR_IO, "%s: %s cannot be written: there is something else than a plain file", caller, path);
  }
  beside->new_path = tsri_format_text("%s.new-%llx", path, (unsigned long long)tsri_clock_ns());
  if (!beside->new_path) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for a name", caller);
  errno = 0;
  beside->file = fopen(beside->new_path, "wbx");
  if (beside->file) return TSR_OK;
  tsr_status status = TSRI_FAIL(TSR_ERR_IO, "%s: %s cannot be written: %s", caller, path, strerror(errno));
  tsri_free(beside->new_path);
  return status;
}

tsr_status tsri_beside_close(tsri_beside *beside, tsr_status status, const char *caller) {
  errno = 0;
  bool is_written = fclose(beside->file) == 0;
  if (status == TSR_OK && (!is_written || rename(beside->new_path, beside->path) != 0)) {
    status = TSRI_FAIL(TSR_ERR_IO, "%s: %s cannot be written: %s", caller, beside->path, strerror(errno));
  }
  if (status != TSR_OK) remove(beside->new_path);
  tsri_free(beside->new_path);
  return status;
}
