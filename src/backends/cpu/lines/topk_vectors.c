// SPDX-License-Identifier: MIT
// Compares sixteen keys at a time with the last key of the list. If some come before it, their items are sorted in a vector and merged with the list: the
// smaller of each item and the item at the opposite position form a bitonic sequence, which is then sorted.
#include "backends/cpu/lines/topk_vectors.h"

#include <string.h>

#include "backends/cpu/rows/exchange_avx512.h"

#if HAS_EXCHANGE
// Exchanges each lane with the one that SWAP gives. The smaller item goes to the lane whose bit in `is_upper` is not set.
#define EXCHANGE(x, SWAP, is_upper) \
  _mm512_mask_max_epu64(_mm512_min_epu64(x, SWAP(x)), (__mmask8)(is_upper), x, SWAP(x))

// Sorts a bitonic vector: lanes that first rise and then fall, or the other way round.
INLINE __m512i merge_lanes(__m512i x) {
  x = EXCHANGE(x, SWAP_4_OF_64, UPPER_4);
  x = EXCHANGE(x, SWAP_2_OF_64, UPPER_2);
  return EXCHANGE(x, SWAP_1_OF_64, UPPER_1);
}

// Sorts lanes in descending order.
INLINE __m512i sort_falling(__m512i x) {
  x = EXCHANGE(x, SWAP_1_OF_64, UPPER_1 ^ UPPER_2);
  x = EXCHANGE(x, SWAP_2_OF_64, UPPER_2 ^ UPPER_4);
  x = EXCHANGE(x, SWAP_1_OF_64, UPPER_1 ^ UPPER_4);
  x = EXCHANGE(x, SWAP_4_OF_64, ~UPPER_4);
  x = EXCHANGE(x, SWAP_2_OF_64, ~UPPER_2);
  return EXCHANGE(x, SWAP_1_OF_64, ~UPPER_1);
}

INLINE __m512i items_of(__m256i keys, __m256i indices) {
  return _mm512_or_si512(_mm512_slli_epi64(_mm512_cvtepu32_epi64(keys), 32), _mm512_cvtepu32_epi64(indices));
}

INLINE __m512i merge_items(__m512i list, __m512i items) {
  return merge_lanes(_mm512_min_epu64(list, sort_falling(items)));
}

// Merges the items of `n` keys, whose indices begin at `index`, into `best`.
INLINE __m512i merge_keys(__m512i best, const uint32_t *keys, int64_t n, uint32_t index) {
  enum { LANES = 16, HALF = LANES / 2 };
  const __m512i last_lane = _mm512_set1_epi64(TSRI_TOP_MOST - 1), none = _mm512_set1_epi64(-1);
  __m512i indices = _mm512_add_epi32(_mm512_set1_epi32((int)index),
                                     _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  __m512i last = _mm512_permutexvar_epi64(last_lane, best);
  for (int64_t i = 0; i < n; i += LANES, indices = _mm512_add_epi32(indices, _mm512_set1_epi32(LANES))) {
    __mmask16 valid = (__mmask16)_bzhi_u32(0xffff, (uint32_t)(n - i < LANES ? n - i : LANES));
    __m512i x = _mm512_mask_loadu_epi32(none, valid, keys + i);
    // An unused entry of the list accepts any item. An item with the same key as the last entry comes after it.
    __m512i limit = _mm512_shuffle_epi32(last, 0xF5);  // the upper half of each 64 bits, twice
    __mmask16 is_before = _mm512_mask_cmplt_epu32_mask(valid, x, limit);
    if (is_before == 0 && _mm512_cmpeq_epi64_mask(last, none) == 0) continue;
    __m512i items = items_of(_mm512_castsi512_si256(x), _mm512_castsi512_si256(indices));
    best = merge_items(best, _mm512_mask_mov_epi64(none, (__mmask8)valid, items));
    if (n - i > HALF) {
      items = items_of(_mm512_extracti64x4_epi64(x, 1), _mm512_extracti64x4_epi64(indices, 1));
      best = merge_items(best, _mm512_mask_mov_epi64(none, (__mmask8)(valid >> HALF), items));
    }
    last = _mm512_permutexvar_epi64(last_lane, best);
  }
  return best;
}

INLINE void write_indices(int32_t *to, __m512i list, int64_t keep) {
  _mm512_mask_cvtepi64_storeu_epi32(to, (__mmask8)_bzhi_u32(0xff, (uint32_t)keep), list);
}

TARGET void tsri_top_of_rows(const uint32_t *keys, int64_t rows, int64_t n, int64_t keep, int32_t *to) {
  for (int64_t r = 0; r < rows; r++) {
    write_indices(to + r * keep, merge_keys(_mm512_set1_epi64(-1), keys + r * n, n, 0), keep);
  }
}

TARGET void tsri_top_merge(uint64_t *list, const uint32_t *keys, int64_t n, uint32_t index) {
  _mm512_storeu_si512(list, merge_keys(_mm512_loadu_si512(list), keys, n, index));
}

bool tsri_top_has_vectors(const char *simd_level, int64_t keep) {
  return keep <= TSRI_TOP_MOST && strcmp(simd_level, "avx512") == 0;
}
#else
bool tsri_top_has_vectors(const char *simd_level, int64_t keep) {
  (void)simd_level, (void)keep;
  return false;
}

void tsri_top_of_rows(const uint32_t *keys, int64_t rows, int64_t n, int64_t keep, int32_t *to) {
  (void)keys, (void)rows, (void)n, (void)keep, (void)to;
}

void tsri_top_merge(uint64_t *list, const uint32_t *keys, int64_t n, uint32_t index) {
  (void)list, (void)keys, (void)n, (void)index;
}
#endif
