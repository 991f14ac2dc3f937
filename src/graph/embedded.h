// SPDX-License-Identifier: MIT
// The kernels/*.tk files, built into the library: nothing is read from disk at run time.
#ifndef TSRI_EMBEDDED_H
#define TSRI_EMBEDDED_H

#include <stddef.h>

typedef struct tsri_embedded_file {
  const char *name;  // without ".tk"
  const char *text;  // `bytes` and a final 0
  size_t bytes;
} tsri_embedded_file;

// Made by cmake/embed_kernels.cmake; the last one has no name.
extern const tsri_embedded_file tsri_embedded_files[];

// The text of kernels/<file>.tk, or NULL if there is none.
const char *tsri_embedded_text(const char *file, size_t *out_bytes);

#endif
