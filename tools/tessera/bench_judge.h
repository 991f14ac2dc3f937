// SPDX-License-Identifier: MIT
// Whether one way is slower than another, from times that were taken in turns.
#ifndef TESSERA_TOOL_BENCH_JUDGE_H
#define TESSERA_TOOL_BENCH_JUDGE_H

#include <stdbool.h>

typedef struct bench_verdict {
  double usual_ns, tuned_ns;  // medians
  double ratio;               // usual / tuned
  double noise;               // how far ratios or times that should be equal are apart, as a part of them
  bool is_faster, is_slower;
} bench_verdict;

enum { BENCH_MOST_TURNS = 32 };

// By the times of two devices in the same turns, at most BENCH_MOST_TURNS: one is slower if it lost four of five turns, by 3 % in the median. Sorts the times.
bench_verdict bench_judge_turns(double *usual, double *tuned, int turns);

// By the times of several devices each: one kind is slower if each of its devices is slower than each of the other kind, by 3 % in the median. Sorts the times.
bench_verdict bench_judge_devices(double *usual, double *tuned, int count);

#endif
