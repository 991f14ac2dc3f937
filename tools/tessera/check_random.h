// SPDX-License-Identifier: MIT
// The random numbers of the library's counter, written from its definition, for references.
#ifndef TESSERA_TOOL_CHECK_RANDOM_H
#define TESSERA_TOOL_CHECK_RANDOM_H

#include "check.h"

typedef struct check_words {
  uint32_t at[4];
} check_words;

check_words check_philox(uint32_t block, uint32_t attempt, uint32_t kind, uint64_t seed);

// Element i of tsr_rand.
double check_uniform_at(tsr_dtype dtype, int64_t i, uint64_t seed);

// The word with its lowest bit set, cut to 24 bits, in units of 2^-32.
double check_fraction(uint32_t word);

// check_normal_above: the point above which a share p of a normal distribution lies. The other function: that point for a random word; p is half of the word's
// fraction, and its lowest bit is the sign.
double check_normal_above(double p);
double check_normal(uint32_t word);

#endif
