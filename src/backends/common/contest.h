// SPDX-License-Identifier: MIT
// Times several ways to do the same work, in turns, and tells the fastest.
#ifndef TSRI_CONTEST_H
#define TSRI_CONTEST_H

#include <stdbool.h>
#include <stdint.h>

enum { TSRI_MOST_CONTENDERS = 9 };

typedef struct tsri_contest {
  int count;  // up to TSRI_MOST_CONTENDERS
  double (*run)(void *context,
                int number);  // does the work once; returns its nanoseconds, or a negative number if it does not run
  void *context;
  int rounds;  // each runs every contender once; a round before them, which is not measured, loads what is needed
  uint64_t longest_ns;  // no new round begins after this time
  double least_gain;  // contender 0 wins unless another needs less than this part of its time: smaller gains are noise
} tsri_contest;

// Returns the number of the fastest. out_best[i] is the best time of contender i in nanoseconds, negative if it failed. Contenders take turns, so that changes
// of the clock rate and other load affect all of them alike. If all failed, returns 0.
int tsri_contest_hold(const tsri_contest *contest, double out_best[TSRI_MOST_CONTENDERS]);

// Medians of the times of two contenders, in nanoseconds.
typedef struct tsri_duel {
  double first_ns, other_ns;
} tsri_duel;

// Times contender 0 and contender `other` in turns, TSRI_DUEL_TURNS times each, and tells whether `other` is faster by
// more than the noise: three quarters of its times are below three quarters of contender 0's, and its median is below
// `least_gain` times contender 0's. Used to confirm the winner of tsri_contest_hold, which may have won by noise. After
// longest_ns no new turn begins, but at least six are taken.
enum { TSRI_DUEL_TURNS = 12 };
bool tsri_contest_confirm(const tsri_contest *contest, int other, tsri_duel *out_duel);

#endif
