// SPDX-License-Identifier: MIT
// Size classes and free lists of the pool.
#include "runtime/pool_bins.h"

#include "support/test.h"

static const size_t no_cap = (size_t)1 << (sizeof(size_t) * 8 - 2);

TEST(classes_follow_each_other_without_gaps) {
  tsri_bins bins;
  tsri_bins_init(&bins, 64);
  unsigned last = 0;
  for (size_t bytes = 64; bytes < (size_t)64 << 20; bytes += 64) {
    unsigned bin = tsri_bins_class(&bins, bytes);
    CHECK(bin == last || bin == last + 1);
    last = bin;
  }
  CHECK(tsri_bins_class(&bins, SIZE_MAX) < TSRI_BIN_COUNT);
}

TEST(rounding_up_adds_less_than_an_eighth_or_a_granule) {
  tsri_bins bins;
  tsri_bins_init(&bins, 256);
  for (size_t bytes = 1; bytes < (size_t)1 << 40; bytes += 1 + bytes / 37) {
    size_t rounded = tsri_bins_round(&bins, bytes, no_cap);
    CHECK(rounded >= bytes && rounded % 256 == 0);
    CHECK(rounded - bytes < 256 || rounded - bytes <= bytes / 8);
    CHECK_EQ_UINT(tsri_bins_round(&bins, rounded, no_cap), rounded);
    CHECK(tsri_bins_class(&bins, rounded - 1) < tsri_bins_class(&bins, rounded));
  }
}

TEST(rounding_up_stops_at_the_largest_step) {
  tsri_bins bins;
  tsri_bins_init(&bins, 64);
  size_t step = (size_t)2 << 20;
  CHECK_EQ_UINT(tsri_bins_round(&bins, ((size_t)1 << 30) + 1, step), ((size_t)1 << 30) + step);
}

TEST(a_granule_is_never_below_a_cache_line) {
  tsri_bins bins;
  tsri_bins_init(&bins, 1);
  CHECK_EQ_UINT(tsri_bins_granule(&bins), 64);
  tsri_bins_init(&bins, 4096);
  CHECK_EQ_UINT(tsri_bins_granule(&bins), 4096);
}

TEST(the_next_filled_class_is_found_across_words) {
  tsri_bins bins;
  tsri_bins_init(&bins, 64);
  CHECK_EQ_UINT(tsri_bins_next(&bins, 0), TSRI_BIN_COUNT);
  tsri_block small = {.bytes = 128}, twin = {.bytes = 128}, large = {.bytes = (size_t)1 << 30};
  tsri_bins_insert(&bins, &small);
  tsri_bins_insert(&bins, &twin);
  tsri_bins_insert(&bins, &large);
  CHECK_EQ_UINT(tsri_bins_next(&bins, 0), 2);
  CHECK(bins.first[2] == &twin);
  CHECK_EQ_UINT(tsri_bins_next(&bins, 3), tsri_bins_class(&bins, large.bytes));
  tsri_bins_remove(&bins, &small);
  CHECK_EQ_UINT(tsri_bins_next(&bins, 0), 2);
  tsri_bins_remove(&bins, &twin);
  tsri_bins_remove(&bins, &large);
  CHECK_EQ_UINT(tsri_bins_next(&bins, 0), TSRI_BIN_COUNT);
}
