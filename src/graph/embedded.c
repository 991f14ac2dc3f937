// SPDX-License-Identifier: MIT
// Looks up an embedded kernel file.
#include "graph/embedded.h"

#include <string.h>

const char *tsri_embedded_text(const char *file, size_t *out_bytes) {
  for (const tsri_embedded_file *at = tsri_embedded_files; at->name; at++) {
    if (strcmp(at->name, file) != 0) continue;
    if (out_bytes) *out_bytes = at->bytes;
    return at->text;
  }
  return NULL;
}
