// SPDX-License-Identifier: MIT
// Writes the file of a saved capture.
#ifndef TSRI_SAVED_WRITE_H
#define TSRI_SAVED_WRITE_H

#include "saved/format.h"

// Elements of a leaf.
typedef struct tsri_saved_data {
  tsr_buffer *buffer;  // borrowed
  size_t bytes;
} tsri_saved_data;

// Writes header, description and data to a file beside `path`, and renames it to `path` when all of it is written.
//
// Errors: TSR_ERR_IO with the system's reason, TSR_ERR_OUT_OF_MEMORY, those of a download. Then `path` is as it was.
tsr_status tsri_saved_write(const char *path, const char *description, size_t description_bytes,
                            const tsri_saved_data *data, uint32_t data_count);

#endif
