// SPDX-License-Identifier: MIT
// Places of the launch caches: entries whose hashes have the same first bits live side by side.
#include "graph/ways.h"

#include "support/test.h"

// A hash in set `set` whose search begins at place 3 of the set. Different `number`s give different hashes.
static uint64_t hash_of(uint32_t set, uint32_t number) {
  return (uint64_t)set << 61 | (uint64_t)3 << 58 | (number + 1);
}

TEST(eight_entries_with_the_same_first_bits_keep_their_places) {
  tsri_ways ways = {0};
  for (uint32_t set = 0; set < TSRI_WAY_SETS; set++) {
    for (uint32_t i = 0; i < TSRI_WAYS; i++)
      CHECK_EQ_UINT(tsri_ways_put(&ways, hash_of(set, i)), set * TSRI_WAYS + (3 + i) % TSRI_WAYS);
  }
  for (uint32_t set = 0; set < TSRI_WAY_SETS; set++) {
    for (uint32_t i = 0; i < TSRI_WAYS; i++)
      CHECK_EQ_UINT(tsri_ways_find(&ways, hash_of(set, i)), set * TSRI_WAYS + (3 + i) % TSRI_WAYS);
  }
  CHECK_EQ_UINT(tsri_ways_find(&ways, hash_of(3, TSRI_WAYS)), TSRI_WAY_PLACES);
}

TEST(more_than_eight_replace_each_other_in_turn) {
  tsri_ways ways = {0};
  for (uint32_t i = 0; i < TSRI_WAYS; i++) (void)tsri_ways_put(&ways, hash_of(5, i));
  CHECK_EQ_UINT(tsri_ways_put(&ways, hash_of(5, 2)), 5 * TSRI_WAYS + 5);  // it is there
  CHECK_EQ_UINT(tsri_ways_put(&ways, hash_of(5, 8)), 5 * TSRI_WAYS + 3);
  CHECK_EQ_UINT(tsri_ways_put(&ways, hash_of(5, 9)), 5 * TSRI_WAYS + 4);
  CHECK_EQ_UINT(tsri_ways_find(&ways, hash_of(5, 0)), TSRI_WAY_PLACES);
  CHECK_EQ_UINT(tsri_ways_find(&ways, hash_of(5, 8)), 5 * TSRI_WAYS + 3);
  CHECK_EQ_UINT(tsri_ways_find(&ways, hash_of(5, 2)), 5 * TSRI_WAYS + 5);
}
