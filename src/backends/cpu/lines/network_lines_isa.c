// SPDX-License-Identifier: MIT
// Batcher's merge exchange (Knuth, The Art of Computer Programming 5.2.2, algorithm M) at one SIMD level. Which elements are compared depends on n alone, so
// that each comparison is one of whole vectors, an array in each lane. Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/lines/network_lines.h"

static inline void exchange(uint32_t *restrict a, uint32_t *restrict b) {
  for (int r = 0; r < TSRI_NETWORK_ROWS; r++) {
    uint32_t low = a[r] < b[r] ? a[r] : b[r], high = a[r] < b[r] ? b[r] : a[r];
    a[r] = low;
    b[r] = high;
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
