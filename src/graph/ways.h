// SPDX-License-Identifier: MIT
// A set-associative table for the launch caches (repeat.h, single.h) and the choices of tuning (autotune.c): finds the entry with a hash, and tells which entry
// a new one replaces.
//
// The table has 8 sets of 8 places. The three highest bits of a hash select the set; the next three bits select the place of the set at which the search
// begins. Hashes depend on addresses, which differ from run to run. In a direct-mapped table, two operators of a program had the same place in some runs, and
// each evicted the other at every call.
#ifndef TSRI_WAYS_H
#define TSRI_WAYS_H

#include <stdint.h>

enum { TSRI_WAY_SETS = 8, TSRI_WAYS = 8, TSRI_WAY_PLACES = TSRI_WAY_SETS * TSRI_WAYS };

typedef struct tsri_ways {
  uint64_t hashes[TSRI_WAY_PLACES];  // 0: the place is free
  uint8_t next[TSRI_WAY_SETS];       // for each set, how many entries have been replaced (modulo 256)
} tsri_ways;

// The index of the place that a search for the hash examines after `number` other places.
static inline uint32_t tsri_ways_at(uint64_t hash, uint32_t number) {
  uint32_t first = (uint32_t)(hash >> 58);
  return first / TSRI_WAYS * TSRI_WAYS + (first + number) % TSRI_WAYS;
}

// The index of the entry with this hash; TSRI_WAY_PLACES if there is none. The caller compares the rest of the entry, since different entries may have one
// hash.
static inline uint32_t tsri_ways_find(const tsri_ways *ways, uint64_t hash) {
  for (uint32_t i = 0; i < TSRI_WAYS; i++) {
    if (ways->hashes[tsri_ways_at(hash, i)] == hash) return tsri_ways_at(hash, i);
  }
  return TSRI_WAY_PLACES;
}

// The index at which to store an entry with this hash: that of an entry with the same hash, otherwise the first free place of its set, otherwise the place of
// the set whose turn it is to be replaced.
static inline uint32_t tsri_ways_put(tsri_ways *ways, uint64_t hash) {
  uint32_t place = tsri_ways_find(ways, hash);
  for (uint32_t i = 0; i < TSRI_WAYS && place == TSRI_WAY_PLACES; i++) {
    if (ways->hashes[tsri_ways_at(hash, i)] == 0) place = tsri_ways_at(hash, i);
  }
  if (place == TSRI_WAY_PLACES) place = tsri_ways_at(hash, ways->next[hash >> 61]++ % TSRI_WAYS);
  ways->hashes[place] = hash;
  return place;
}

#endif
