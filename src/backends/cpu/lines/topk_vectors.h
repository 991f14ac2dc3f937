// SPDX-License-Identifier: MIT
// The least of many items, in a list that stays in a vector of AVX-512.
#ifndef TSRI_CPU_TOPK_VECTORS_H
#define TSRI_CPU_TOPK_VECTORS_H

#include <stdbool.h>
#include <stdint.h>

enum { TSRI_TOP_MOST = 8 };  // items of a list

// Whether these functions can be called at this SIMD level (cpu.h), and its lists are long enough for `keep` items.
bool tsri_top_has_vectors(const char *simd_level, int64_t keep);

// For each row of `n` keys, side by side: the indices of its `keep` least keys in order, of equal keys the first ones.
void tsri_top_of_rows(const uint32_t *keys, int64_t rows, int64_t n, int64_t keep, int32_t *to);

// For longer rows, part by part. An item is a key of 32 bits above an index of 32 bits. `list` has the TSRI_TOP_MOST least ones so far in order, and UINT64_MAX in places that are
// still free. Merges the items of keys[0] to keys[n - 1], whose indices begin at `index`, into it; indices of earlier items are lower.
void tsri_top_merge(uint64_t *list, const uint32_t *keys, int64_t n, uint32_t index);

#endif
