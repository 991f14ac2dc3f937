// SPDX-License-Identifier: MIT
// The pool's size classes, and a list of free blocks for each.
#include "runtime/pool_bins.h"

#include <assert.h>
#include <string.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static unsigned highest_bit(uint64_t word) {
  unsigned long at = 0;
  _BitScanReverse64(&at, word);
  return (unsigned)at;
}
static unsigned lowest_bit(uint64_t word) {
  unsigned long at = 0;
  _BitScanForward64(&at, word);
  return (unsigned)at;
}
#else
static unsigned highest_bit(uint64_t word) { return 63u - (unsigned)__builtin_clzll(word); }
static unsigned lowest_bit(uint64_t word) { return (unsigned)__builtin_ctzll(word); }
#endif

void tsri_bins_init(tsri_bins *bins, size_t alignment) {
  assert(alignment != 0 && (alignment & (alignment - 1)) == 0);
  memset(bins, 0, sizeof *bins);
  unsigned shift = highest_bit(alignment);
  bins->granule_shift = shift < TSRI_GRANULE_SHIFT_MIN ? TSRI_GRANULE_SHIFT_MIN : shift;
}

size_t tsri_bins_granule(const tsri_bins *bins) { return (size_t)1 << bins->granule_shift; }

// With n granules and 2^k the greatest power of two not above n: class = 8 (k - 2) + the three bits of n below the top
// one.
unsigned tsri_bins_class(const tsri_bins *bins, size_t bytes) {
  uint64_t granules = (uint64_t)bytes >> bins->granule_shift;
  if (granules < 8) return (unsigned)granules;
  unsigned top = highest_bit(granules);
  return 8 * (top - 2) + (unsigned)((granules >> (top - 3)) & 7);
}

size_t tsri_bins_round(const tsri_bins *bins, size_t bytes, size_t most_step) {
  size_t step = tsri_bins_granule(bins);
  size_t rounded = (bytes + step - 1) & ~(step - 1);
  if (rounded >> bins->granule_shift < 8) return rounded;
  step = (size_t)1 << (highest_bit(rounded) - 3);
  if (step > most_step) step = most_step;
  return (rounded + step - 1) & ~(step - 1);
}

void tsri_bins_insert(tsri_bins *bins, tsri_block *block) {
  unsigned bin = tsri_bins_class(bins, block->bytes);
  tsri_block *after = bins->first[bin];
  block->bin_previous = NULL;
  block->bin_next = after;
  if (after) after->bin_previous = block;
  bins->first[bin] = block;
  bins->filled[bin / 64] |= UINT64_C(1) << bin % 64;
}

void tsri_bins_remove(tsri_bins *bins, tsri_block *block) {
  if (block->bin_next) block->bin_next->bin_previous = block->bin_previous;
  if (block->bin_previous) {
    block->bin_previous->bin_next = block->bin_next;
    return;
  }
  unsigned bin = tsri_bins_class(bins, block->bytes);
  assert(bins->first[bin] == block);
  bins->first[bin] = block->bin_next;
  if (!block->bin_next) bins->filled[bin / 64] &= ~(UINT64_C(1) << bin % 64);
}

unsigned tsri_bins_next(const tsri_bins *bins, unsigned bin) {
  if (bin >= TSRI_BIN_COUNT) return TSRI_BIN_COUNT;
  unsigned word = bin / 64;
  uint64_t bits = bins->filled[word] & (~UINT64_C(0) << bin % 64);
  while (!bits) {
    if (++word == TSRI_BIN_WORDS) return TSRI_BIN_COUNT;
    bits = bins->filled[word];
  }
  return 64 * word + lowest_bit(bits);
}
