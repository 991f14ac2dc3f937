// SPDX-License-Identifier: MIT
// Batcher's merge exchange (Knuth, The Art of Computer Programming 5.2.2, algorithm M) at one SIMD level. Which elements are compared depends only on n, so
// each comparison is one of whole vectors, with a different array in each lane. Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/lines/network_lines.h"

typedef uint32_t u32_vec ISA_IN_VECTORS;

// All ones in the lanes in which x < y.
static inline u32_vec is_less(u32_vec x, u32_vec y) {
#if defined(__GNUC__)
  return (u32_vec)(x < y);
#else
  return 0 - (u32_vec)(x < y);
#endif
}

// Puts the smaller keys into a and the larger ones into b.
static inline void exchange(uint32_t *a, uint32_t *b) {
  enum { IN_VECTOR = sizeof(u32_vec) / sizeof(uint32_t) };
  ISA_UNROLL for (int r = 0; r < TSRI_NETWORK_ROWS; r += IN_VECTOR) {
    u32_vec x, y;
    memcpy(&x, a + r, sizeof x);
    memcpy(&y, b + r, sizeof y);
    u32_vec less = is_less(x, y), low = (x & less) | (y & ~less), high = (y & less) | (x & ~less);
    memcpy(a + r, &low, sizeof low);
    memcpy(b + r, &high, sizeof high);
  }
}

void ISA_NAME(tsri_network_sort_)(uint32_t *keys, int64_t n);
void ISA_NAME(tsri_network_sort_)(uint32_t *keys, int64_t n) {
  int64_t top = 1;
  while (2 * top < n) top *= 2;
  for (int64_t p = top; p > 0; p /= 2) {
    int64_t distance = p, offset = 0;
    for (int64_t q = top;; q /= 2) {
      for (int64_t i = 0; i + distance < n; i++) {
        if ((i & p) != offset) continue;
        exchange(keys + i * TSRI_NETWORK_ROWS, keys + (i + distance) * TSRI_NETWORK_ROWS);
      }
      if (q == p) break;
      distance = q - p;
      offset = p;
    }
  }
}
