// SPDX-License-Identifier: MIT
// Times contenders in turns.
#include "backends/common/contest.h"

#include <stdlib.h>

#include "platform/platform.h"

static void run_rounds(const tsri_contest *contest, double *best) {
  uint64_t start = tsri_clock_ns();
  for (int i = 0; i < contest->count; i++) best[i] = contest->run(contest->context, i);
  for (int round = 0; round < contest->rounds && (round == 0 || tsri_clock_ns() - start < contest->longest_ns);
       round++) {
    for (int i = 0; i < contest->count; i++) {
      double ns = best[i] < 0 ? -1 : contest->run(contest->context, i);
      if (ns < 0 || round == 0 || ns < best[i]) best[i] = ns;
    }
  }
}

int tsri_contest_hold(const tsri_contest *contest, double out_best[TSRI_MOST_CONTENDERS]) {
  int found = 0;
  run_rounds(contest, out_best);
  for (int i = 1; i < contest->count; i++) {
    if (out_best[i] >= 0 && (out_best[found] < 0 || out_best[i] < out_best[found])) found = i;
  }
  return out_best[0] >= 0 && out_best[found] > out_best[0] * contest->least_gain ? 0 : found;
}

// --- Two contenders -----------------------------------------------------------------------------------------------------------

enum { LEAST_TURNS = 6 };

static int by_time(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

bool tsri_contest_confirm(const tsri_contest *contest, int other, tsri_duel *out_duel) {
  double first_ns[TSRI_DUEL_TURNS], other_ns[TSRI_DUEL_TURNS];
  size_t turns = 0;
  uint64_t start = tsri_clock_ns();
  for (; turns < TSRI_DUEL_TURNS && (turns < LEAST_TURNS || tsri_clock_ns() - start < contest->longest_ns); turns++) {
    bool is_swapped = turns % 2;  // neither always comes after the other
    double one = contest->run(contest->context, is_swapped ? other : 0);
    double two = contest->run(contest->context, is_swapped ? 0 : other);
    if (one < 0 || two < 0) return false;
    first_ns[turns] = is_swapped ? two : one;
    other_ns[turns] = is_swapped ? one : two;
  }
  qsort(first_ns, turns, sizeof *first_ns, by_time);
  qsort(other_ns, turns, sizeof *other_ns, by_time);
  *out_duel = (tsri_duel){first_ns[turns / 2], other_ns[turns / 2]};
  bool is_apart = other_ns[turns * 3 / 4] < first_ns[turns / 4];
  return is_apart && out_duel->other_ns < out_duel->first_ns * contest->least_gain;
}
