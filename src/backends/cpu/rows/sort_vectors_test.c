// SPDX-License-Identifier: MIT
// Sorting by vectors against the C library's sort: every small number of items, larger ones, and orders that divide badly.
#include "backends/cpu/rows/sort_vectors.h"

#include <stdlib.h>

#include "backends/cpu/cpu.h"
#include "support/test.h"

enum { MOST = 9000, PATTERNS = 7 };

static uint64_t number(int pattern, int64_t i, int64_t n, uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  uint64_t random = *state ^ *state >> 29;
  switch (pattern) {
    case 0:
      return random;
    case 1:
      return random % 5;
    case 2:
      return 7;
    case 3:
      return (uint64_t)i;
    case 4:
      return (uint64_t)(n - i);
    case 5:
      return (uint64_t)(i < n / 2 ? i : n - i);
    default:
      return random % 3 ? UINT64_MAX : 0;
  }
}

static int by_u32(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static int by_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void check_u32(int64_t n, int pattern) {
  static uint32_t items[MOST], spare[MOST], wanted[MOST];
  uint64_t state = (uint64_t)n + 1;
  for (int64_t i = 0; i < n; i++) wanted[i] = items[i] = (uint32_t)number(pattern, i, n, &state);
  qsort(wanted, (size_t)n, sizeof *wanted, by_u32);
  const void *sorted = tsri_sort_items_for("avx512", &tsri_sorter_u32)(items, spare, n, 0, 4);
  CHECK(memcmp(sorted, wanted, (size_t)n * sizeof *wanted) == 0);
}

static void check_u64(int64_t n, int pattern) {
  static uint64_t items[MOST], spare[MOST], wanted[MOST];
  uint64_t state = (uint64_t)n + 1;
  for (int64_t i = 0; i < n; i++) wanted[i] = items[i] = number(pattern, i, n, &state);
  qsort(wanted, (size_t)n, sizeof *wanted, by_u64);
  const void *sorted = tsri_sort_items_for("avx512", &tsri_sorter_u64)(items, spare, n, 0, 8);
  CHECK(memcmp(sorted, wanted, (size_t)n * sizeof *wanted) == 0);
}

TEST(items_in_any_order_are_sorted_by_vectors) {
  static const int64_t more[] = {700, 1000, 1023, 2049, 4096, 8191, 8192, 8193};
  if (strcmp(tsri_cpu_simd_level(NULL), "avx512") != 0) SKIP("this processor has no AVX-512");
  for (int pattern = 0; pattern < PATTERNS; pattern++) {
    for (int64_t n = 1; n <= 600; n++) {
      check_u32(n, pattern);
      check_u64(n, pattern);
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
      check_u32(more[i], pattern);
      check_u64(more[i], pattern);
    }
  }
}

TEST(other_levels_keep_the_sorters_own_way) {
  CHECK(tsri_sort_items_for("baseline", &tsri_sorter_u32) == tsri_sorter_u32.sort);
  CHECK(tsri_sort_items_for("avx512", &tsri_sorter_keyed_index) == tsri_sorter_keyed_index.sort);
}
