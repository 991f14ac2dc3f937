// SPDX-License-Identifier: MIT
// Quicksort by vectors, in place. A pass over the items compares a vector of them with the pivot, and compresses those below it, and the others, to the ends of
// two parts, which grow from both ends. What fits into registers is sorted there, by bitonic merging.
//
// Items that compare as equal have the same bits (sort_items.inc), so the order of equal items does not matter. If pivots divide badly, the rest is sorted by
// the sorter's own algorithm.
#include "backends/cpu/rows/sort_vectors.h"

#include <string.h>

#include "backends/cpu/rows/exchange_avx512.h"

#if HAS_EXCHANGE
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // it leaves the loop over all merges of 16 vectors as it is
#endif
enum { MOST_VECTORS = 16 };  // vectors that are sorted in registers
enum { AT_A_TIME = 4 };      // vectors that are divided at a time

// MOST_BY_VECTORS: more items are radix sorted, whose number of passes does not grow with the number of items. Measured on Zen 4: 10^6 items of 4 bytes take
// 4.7 ms by vectors and 9.1 by radix; 10^6 items of 8 bytes with four digits take 9.8 and 7.7.

#define NAME(x)            x##_u32
#define ITEM               uint32_t
#define MOST_BY_VECTORS    INT64_MAX
#define LANES              16
#define MASK               __mmask16
#define ONES               ((ITEM)-1)
#define SET(x)             _mm512_set1_epi32((int)(x))
#define MIN(a, b)          _mm512_min_epu32(a, b)
#define MAX(a, b)          _mm512_max_epu32(a, b)
#define MASKED_MAX         _mm512_mask_max_epu32
#define BELOW(a, b)        _mm512_cmplt_epu32_mask(a, b)
#define EQUAL(a, b)        _mm512_cmpeq_epu32_mask(a, b)
#define PERMUTE(index, x)  _mm512_permutexvar_epi32(index, x)
#define SWAP_1(x)          _mm512_shuffle_epi32(x, 0xB1)
#define SWAP_2(x)          _mm512_shuffle_epi32(x, 0x4E)
#define SWAP_4(x)          _mm512_shuffle_i64x2(x, x, 0xB1)
#define SWAP_8(x)          _mm512_shuffle_i64x2(x, x, 0x4E)
#define COMPRESS(mask, x)  _mm512_maskz_compress_epi32(mask, x)
#define LOAD(mask, from)   _mm512_mask_loadu_epi32(SET(ONES), mask, from)
#define STORE(to, mask, x) _mm512_mask_storeu_epi32(to, mask, x)
#define LANE_NUMBERS       _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#include "sort_vectors.inc"

#define NAME(x)            x##_u64
#define ITEM               uint64_t
#define MOST_BY_VECTORS    4096
#define LANES              8
#define MASK               __mmask8
#define ONES               ((ITEM)-1)
#define SET(x)             _mm512_set1_epi64((long long)(x))
#define MIN(a, b)          _mm512_min_epu64(a, b)
#define MAX(a, b)          _mm512_max_epu64(a, b)
#define MASKED_MAX         _mm512_mask_max_epu64
#define BELOW(a, b)        _mm512_cmplt_epu64_mask(a, b)
#define EQUAL(a, b)        _mm512_cmpeq_epu64_mask(a, b)
#define PERMUTE(index, x)  _mm512_permutexvar_epi64(index, x)
#define SWAP_1             SWAP_1_OF_64
#define SWAP_2             SWAP_2_OF_64
#define SWAP_4             SWAP_4_OF_64
#define SWAP_8(x)          (x) /* there are eight lanes */
#define COMPRESS(mask, x)  _mm512_maskz_compress_epi64(mask, x)
#define LOAD(mask, from)   _mm512_mask_loadu_epi64(SET(ONES), mask, from)
#define STORE(to, mask, x) _mm512_mask_storeu_epi64(to, mask, x)
#define LANE_NUMBERS       _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)
#include "sort_vectors.inc"
#endif

bool tsri_sort_has_vectors(const char *simd_level, int64_t n) {
  enum { FEW = 32 };
  return HAS_EXCHANGE && n > FEW && strcmp(simd_level, "avx512") == 0;
}

tsri_sort_items tsri_sort_items_for(const char *simd_level, const tsri_item_sorter *sorter) {
#if HAS_EXCHANGE
  bool has_vectors = strcmp(simd_level, "avx512") == 0;
  if (has_vectors && sorter == &tsri_sorter_u32) return sort_u32;
  if (has_vectors && sorter == &tsri_sorter_u64) return sort_u64;
#endif
  (void)simd_level;
  return sorter->sort;
}
