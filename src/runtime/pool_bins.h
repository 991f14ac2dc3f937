// SPDX-License-Identifier: MIT
// The pool's size classes, and a list of free blocks for each.
//
// Sizes are counted in granules (a power of two of bytes). Below 8 granules each count is a class;
// above, every doubling has 8 classes, so that a class is at most an eighth wide. A block lies in
// the class it reaches: every block in a class above that of a request is large enough for it.
//
// A bit per class says whether its list holds anything, so that looking for the next filled one
// takes a few steps however many are empty.
//
// Threads: none of its own; the pool's lock is held.
#ifndef TSRI_POOL_BINS_H
#define TSRI_POOL_BINS_H

#include "runtime/pool.h"

enum {
  TSRI_GRANULE_SHIFT_MIN = 6,  // 64 bytes, a cache line: less is not worth a record
  TSRI_BIN_WORDS = 7,
  TSRI_BIN_COUNT = 64 * TSRI_BIN_WORDS  // enough for 2^64 bytes in granules of 64
};

typedef struct tsri_bins {
  unsigned granule_shift;  // log2 of the granule
  uint64_t filled[TSRI_BIN_WORDS];
  tsri_block *first[TSRI_BIN_COUNT];  // last given back first: its memory is the likeliest in a cache
} tsri_bins;

// `alignment` is a power of two; every class is a multiple of it.
void tsri_bins_init(tsri_bins *bins, size_t alignment);

size_t tsri_bins_granule(const tsri_bins *bins);

// The class that `bytes` reaches.
unsigned tsri_bins_class(const tsri_bins *bins, size_t bytes);

// The size to ask for in place of `bytes`, so that blocks of nearly the same size can stand in for
// each other: at most an eighth and at most `most_step` (a power of two, not below the granule)
// larger, apart from rounding to the granule. `bytes` is at most PTRDIFF_MAX.
size_t tsri_bins_round(const tsri_bins *bins, size_t bytes, size_t most_step);

void tsri_bins_insert(tsri_bins *bins, tsri_block *block);
void tsri_bins_remove(tsri_bins *bins, tsri_block *block);

// The first class not below `bin` with a block in it; TSRI_BIN_COUNT if there is none.
unsigned tsri_bins_next(const tsri_bins *bins, unsigned bin);

#endif
