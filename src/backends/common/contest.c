// SPDX-License-Identifier: MIT
// Times contenders in turns.
#include "backends/common/contest.h"

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
