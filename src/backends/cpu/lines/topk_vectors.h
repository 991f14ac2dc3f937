// SPDX-License-Identifier: MIT
// Finds the smallest of many items, with a list that stays in an AVX-512 register.
#ifndef TSRI_CPU_TOPK_VECTORS_H
#define TSRI_CPU_TOPK_VECTORS_H

#include <stdbool.h>
#include <stdint.h>

enum { TSRI_TOP_MOST = 8 };  // items in a list

// Whether the functions can be called at this SIMD level (cpu.h), and their lists have room for `keep` items.
bool tsri_top_has_vectors(const char *simd_level, int64_t keep);

// For each of `rows` contiguous rows of `n` keys: stores the indices of its `keep` smallest keys in order; of equal keys the first ones.
void tsri_top_of_rows(const uint32_t *keys, int64_t rows, int64_t n, int64_t keep, int32_t *to);

// For longer rows, part by part. An item is a 32-bit key above a 32-bit index. `list` has the TSRI_TOP_MOST smallest items so far in order, and UINT64_MAX in
// unused entries. Merges the items of keys[0] to keys[n - 1], whose indices begin at `index`, into the list; earlier items have lower indices.
void tsri_top_merge(uint64_t *list, const uint32_t *keys, int64_t n, uint32_t index);

#endif
