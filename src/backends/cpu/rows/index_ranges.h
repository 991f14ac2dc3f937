// SPDX-License-Identifier: MIT
// Divides the additions of a scatter_add among threads by ranges of the result. For results with too few rows to give each thread some of them.
#ifndef TSRI_CPU_INDEX_RANGES_H
#define TSRI_CPU_INDEX_RANGES_H

#include "backends/cpu/rows/index.h"

// Additions to the elements `first` to `last` - 1 of the result, in the order of the indices: add values[i] to element places[i].
typedef struct tsri_range_additions {
  int64_t first, last;
  int64_t count;
  const uint32_t *places;
  const char *values;
  bool is_first,
      is_last;  // whether this is the first or last call for the range; there are several if there are many additions
} tsri_range_additions;

typedef struct tsri_range_work {
  const tsri_indexing *by;
  const char *source;  // values, one for each index
  size_t element;      // bytes of a value; 1, 2, 4 or 8
  int64_t count;       // elements of the result
  int threads;
  char *scratch;  // of tsri_index_ranges_bytes()
  void (*add)(const void *user, const tsri_range_additions *additions);
  const void *user;
} tsri_range_work;

#ifdef __wasm__
#include "backends/cpu/rows/index_ranges_wasm.inc"
#else

// Whether this is expected to be faster than dividing the result into at most `pieces` pieces without moving additions. Does not need w->scratch.
bool tsri_index_ranges_pay(const tsri_range_work *w, int64_t pieces);

size_t tsri_index_ranges_bytes(const tsri_range_work *w);

// Calls `add` for each range, from one thread at a time for the same range, so that all additions to an element are made in the order of the indices.
void tsri_index_ranges(const tsri_range_work *w);

#endif
#endif
