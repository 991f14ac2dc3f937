// SPDX-License-Identifier: MIT
// The message of checked mode for an index that is out of range, the same on every device.
#ifndef TSRI_LANG_INDEX_FAULT_H
#define TSRI_LANG_INDEX_FAULT_H

#include <stddef.h>
#include <stdint.h>

#include "lang/ir/ir.h"

typedef struct tsri_index_fault {
  const char *kernel, *file;
  const char *kind, *array;  // "shared array", its name
  uint32_t dim_count;        // 0 or 1: the array has a single index
  const uint32_t *dims;
  int64_t index;   // as the device reported it
  uint64_t count;  // number of elements in the array
  uint32_t lanes;  // number of elements accessed at once
  tsri_ir_pos pos;
} tsri_index_fault;

// "kernel rms_norm: index 70 is outside buffer 'x' of 64 elements (norm.tk:7:20)", or
// "kernel blur: index 3 is outside dimension 2 of local array 't' of 3x3 elements (blur.tk:2:9)".
void tsri_index_fault_text(const tsri_index_fault *fault, char *text, size_t text_bytes);

#endif
