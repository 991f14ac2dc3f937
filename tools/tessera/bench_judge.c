// SPDX-License-Identifier: MIT
// Decides from measured times whether the tuned variant is slower or faster than the usual one.
#include "bench_judge.h"

#include "bench_time.h"

static const double least_share = 0.8;  // share of the turns that a variant must win to count as faster
static const double least_ratio = 1.03;

static double median(double *values, int count) {
  bench_sort(values, count);
  return bench_quantile(values, count, 0.5);
}

bench_verdict bench_judge_turns(double *usual, double *tuned, int turns) {
  double ratios[BENCH_MOST_TURNS];
  int won = 0, lost = 0;
  for (int i = 0; i < turns; i++) {
    ratios[i] = usual[i] / tuned[i];
    won += ratios[i] > 1;
    lost += ratios[i] < 1;
  }
  bench_verdict v = {.ratio = median(ratios, turns)};
  v.noise = (bench_quantile(ratios, turns, 0.75) - bench_quantile(ratios, turns, 0.25)) / 2;
  v.usual_ns = median(usual, turns);
  v.tuned_ns = median(tuned, turns);
  v.is_faster = won >= least_share * turns && v.ratio >= least_ratio;
  v.is_slower = lost >= least_share * turns && v.ratio <= 1 / least_ratio;
  return v;
}

bench_verdict bench_judge_devices(double *usual, double *tuned, int count) {
  bench_verdict v = {.usual_ns = median(usual, count), .tuned_ns = median(tuned, count)};
  v.ratio = v.usual_ns / v.tuned_ns;
  v.noise = (usual[count - 1] - usual[0]) / (2 * v.usual_ns);
  v.is_slower = tuned[0] > usual[count - 1] && v.ratio <= 1 / least_ratio;
  v.is_faster = tuned[count - 1] < usual[0] && v.ratio >= least_ratio;
  return v;
}
