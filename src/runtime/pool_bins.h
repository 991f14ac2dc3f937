// SPDX-License-Identifier: MIT
// The pool's size classes, and a list of free blocks for each.
//
// Sizes are counted in granules (a power of two of bytes). Below 8 granules each count is a class of its own; above,
// every doubling has 8 classes, so that sizes in a class differ by at most an eighth. A block is in the class of its
// own size, rounded down: every block of a higher class than that of a request is large enough for it.
//
// A bit per class tells whether its list has a block, so that finding the next class with one takes a few steps however
// many are empty.
//
// Threads: call with the pool's lock held.
#ifndef TSRI_POOL_BINS_H
#define TSRI_POOL_BINS_H

#include "runtime/pool.h"

enum {
  TSRI_GRANULE_SHIFT_MIN = 6,  // 64 bytes, a cache line: smaller blocks are not worth a record
  TSRI_BIN_WORDS = 7,
  TSRI_BIN_COUNT = 64 * TSRI_BIN_WORDS  // enough for 2^64 bytes in granules of 64
};

typedef struct tsri_bins {
  unsigned granule_shift;  // log2 of the granule
  uint64_t filled[TSRI_BIN_WORDS];
  // Most recently given back first: its memory is the most likely to be in a cache.
  tsri_block *first[TSRI_BIN_COUNT];
} tsri_bins;

// `alignment` is a power of two; every class is a multiple of it.
void tsri_bins_init(tsri_bins *bins, size_t alignment);

size_t tsri_bins_granule(const tsri_bins *bins);

// The size class of `bytes`, rounded down.
unsigned tsri_bins_class(const tsri_bins *bins, size_t bytes);

// Rounds `bytes` up, so that blocks of similar sizes can replace each other: by at most an eighth and at most
// `most_step` (a power of two, not below the granule), apart from rounding to the granule. `bytes` is at most
// PTRDIFF_MAX.
size_t tsri_bins_round(const tsri_bins *bins, size_t bytes, size_t most_step);

void tsri_bins_insert(tsri_bins *bins, tsri_block *block);
void tsri_bins_remove(tsri_bins *bins, tsri_block *block);

// The first class from `bin` on that has a block; TSRI_BIN_COUNT if there is none.
unsigned tsri_bins_next(const tsri_bins *bins, unsigned bin);

#endif
