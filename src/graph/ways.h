// SPDX-License-Identifier: MIT
// Places of the launch caches (repeat.h, single.h) and of what tuning chose (autotune.c): where the entry with a hash is, and which entry a new one replaces.
//
// An entry has eight places to choose from, by three bits of its hash; the next three say at which of them the search begins. Hashes are made of addresses, which differ from run to run:
// with one place for each, two operators of a program shared it in some runs, and were planned anew each time.
#ifndef TSRI_WAYS_H
#define TSRI_WAYS_H

#include <stdint.h>

enum { TSRI_WAY_SETS = 8, TSRI_WAYS = 8, TSRI_WAY_PLACES = TSRI_WAY_SETS * TSRI_WAYS };

typedef struct tsri_ways {
  uint64_t hashes[TSRI_WAY_PLACES];  // 0: the place is free
  uint8_t next[TSRI_WAY_SETS];       // of each set of eight places, how often an entry was replaced
} tsri_ways;

// The place at which a search for the hash looks after `number` others.
static inline uint32_t tsri_ways_at(uint64_t hash, uint32_t number) {
  uint32_t first = (uint32_t)(hash >> 58);
  return first / TSRI_WAYS * TSRI_WAYS + (first + number) % TSRI_WAYS;
}

// The place of the entry with this hash; TSRI_WAY_PLACES if there is none. Whether the rest of the entry is equal is for the caller to see.
static inline uint32_t tsri_ways_find(const tsri_ways *ways, uint64_t hash) {
  for (uint32_t i = 0; i < TSRI_WAYS; i++) {
    if (ways->hashes[tsri_ways_at(hash, i)] == hash) return tsri_ways_at(hash, i);
  }
  return TSRI_WAY_PLACES;
}

// A place for an entry with this hash: that of the entry that has it already, or else the first that is free, or else one of its eight in turn.
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
