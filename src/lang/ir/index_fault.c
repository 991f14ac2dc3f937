// SPDX-License-Identifier: MIT
// Messages for indices that are out of range.
#include "lang/ir/index_fault.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct bad_index {
  uint32_t dimension;  // counted from 1; 0: the index refers to the whole array
  int64_t value;
} bad_index;

// Decodes TSRI_IR_BAD_INDEX.
static bad_index read_index(const tsri_index_fault *fault) {
  bad_index plain = {0, fault->index};
  if (fault->dim_count < 2 || fault->index < 0x80000000ll || fault->index > UINT32_MAX) return plain;
  uint32_t word = (uint32_t)fault->index & 0x7fffffffu, sign = 1u << (TSRI_IR_BAD_INDEX_BITS - 1);
  uint32_t dimension = word >> TSRI_IR_BAD_INDEX_BITS, value = word & (2 * sign - 1);
  if (dimension >= fault->dim_count) return plain;
  return (bad_index){dimension + 1, (int64_t)(value ^ sign) - (int64_t)sign};
}

static void put_what(const tsri_index_fault *fault, char *text, size_t bytes) {
  bad_index bad = read_index(fault);
  if (bad.dimension) {
    bool is_cut = bad.value == TSRI_IR_BAD_INDEX_MOST || bad.value == -TSRI_IR_BAD_INDEX_MOST;
    const char *beyond = !is_cut ? "" : bad.value > 0 ? " (or more)" : " (or less)";
    snprintf(text, bytes, "index %" PRId64 "%s is outside dimension %" PRIu32 " of", bad.value, beyond, bad.dimension);
  } else if (fault->lanes <= 1) {
    snprintf(text, bytes, "index %" PRId64 " is outside", bad.value);
  } else if (bad.value % (int64_t)fault->lanes != 0) {
    snprintf(text, bytes, "index %" PRId64 " is no multiple of the %" PRIu32 " elements accessed in", bad.value,
             fault->lanes);
  } else {
    snprintf(text, bytes, "index %" PRId64 " with the %" PRIu32 " elements from there is outside", bad.value,
             fault->lanes);
  }
}

// Writes "64", or "3x3" for an array of several dimensions.
static void put_size(const tsri_index_fault *fault, char *text, size_t bytes) {
  if (fault->dim_count < 2) {
    snprintf(text, bytes, "%" PRIu64, fault->count);
    return;
  }
  size_t used = 0;
  for (uint32_t i = 0; i < fault->dim_count && used < bytes; i++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%" PRIu32, i ? "x" : "", fault->dims[i]);
  }
}

void tsri_index_fault_text(const tsri_index_fault *fault, char *text, size_t text_bytes) {
  char what[112], size[48];
  put_what(fault, what, sizeof what);
  put_size(fault, size, sizeof size);
  snprintf(text, text_bytes, "kernel %s: %s %s '%s' of %s element%s (%s:%" PRIu32 ":%" PRIu32 ")", fault->kernel, what,
           fault->kind, fault->array, size, fault->count == 1 ? "" : "s", fault->file, TSRI_IR_LINE(fault->pos),
           TSRI_IR_COLUMN(fault->pos));
}
