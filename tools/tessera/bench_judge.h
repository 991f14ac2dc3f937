// SPDX-License-Identifier: MIT
// Decides whether one variant (tuned) is slower or faster than another (usual), from times measured in alternation.
#ifndef TESSERA_TOOL_BENCH_JUDGE_H
#define TESSERA_TOOL_BENCH_JUDGE_H

#include <stdbool.h>

typedef struct bench_verdict {
  double usual_ns, tuned_ns;  // medians
  double ratio;               // usual / tuned
  double noise;               // relative difference between ratios or times that should be equal
  bool is_faster, is_slower;
} bench_verdict;

enum { BENCH_MOST_TURNS = 32 };

// Compares two devices that were timed in turns (at most BENCH_MOST_TURNS): one is slower if it was slower in at least four of five turns, and by 3 % in the median.
// Sorts the times.
bench_verdict bench_judge_turns(double *usual, double *tuned, int turns);

// Compares several devices without tuning with several devices with it: one kind is slower if each of its devices is slower than each device of the other kind, and
// by 3 % in the median. Sorts the times.
bench_verdict bench_judge_devices(double *usual, double *tuned, int count);

#endif
