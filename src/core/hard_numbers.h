// SPDX-License-Identifier: MIT
// Test operands for f32 division and square root whose exact results are as near as possible to the midpoint of two floats. There an approximate result is most
// likely to be rounded to the wrong side.
#ifndef TSRI_CORE_HARD_NUMBERS_H
#define TSRI_CORE_HARD_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

// Returns a number from 1 to 4 whose square root is about y / 2^24 - k / (2 y 2^24), for an odd y of 25 bits; 0 if there is none. `k` is 1 plus a multiple of
// 8. There are four y with y^2 = k modulo 2^25; `which` selects one of them.
static inline float tsri_hard_square(int32_t k, uint32_t which) {
  const uint64_t wanted = (uint64_t)(int64_t)k, one = 1;
  uint64_t y = 1;
  for (int bit = 3; bit < 25; bit++) {
    if ((y * y - wanted) >> bit & 1) y ^= one << (bit - 1);
  }
  if (which & 1) y = (one << 25) - y;
  if (which & 2) y ^= one << 24;
  uint64_t square = y * y - wanted;
  bool is_float = y >> 24 == 1 && (square >> 49 == 0 || (square >> 25 & 1) == 0);
  return is_float ? (float)((double)square * 0x1p-48) : 0;
}

// Sets `*out_a` and `*out_b` to integers a and b of 24 bits with 2^24 a = b m + 1 (is_below: b m - 1), for an odd m of 25 bits. `random` determines b. If a
// would have 25 bits, it is set to 1.
static inline void tsri_hard_quotient(uint32_t random, bool is_below, float *out_a, float *out_b) {
  const uint64_t places = UINT64_C(1) << 24;
  uint64_t b = places / 2 + (random % (places / 2) | 1), inverse = b;
  for (int i = 0; i < 4; i++) inverse *= 2 - b * inverse;  // b * inverse is 1 modulo 2^3, then 2^6, 2^12, 2^24
  uint64_t m = (is_below ? inverse : 0 - inverse) % places + places;
  uint64_t a = (b * m + places / 2) / places;
  *out_a = a < places || a % 2 == 0 ? (float)a : 1;
  *out_b = (float)b;
}

#endif
