// SPDX-License-Identifier: MIT
// Reads a stream to its end, up to a limit.
#include "core/file.h"

#include <errno.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

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
