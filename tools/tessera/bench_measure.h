// SPDX-License-Identifier: MIT
// Times one row of the benchmark: warm-up, samples, statistics, and the machine's limit measured beside it.
#ifndef TESSERA_TOOL_BENCH_MEASURE_H
#define TESSERA_TOOL_BENCH_MEASURE_H

#include "bench_rows.h"

#define BENCH_MESSAGE_BYTES 512

typedef struct bench_plan {
  tsr_device *device;
  tsr_dtype dtype;
  int64_t rows, cols;  // from --size; 0: each row's default
  uint64_t repeats;    // samples per row; 0: as many as fit into the time, 3 to 1000
  double least_ns;     // how long to measure each row
  bool takes_turns;    // takes one sample per input line, until the input ends; no limits are measured
} bench_plan;

typedef struct bench_result {
  const bench_row *row;
  tsr_status status;
  char message[BENCH_MESSAGE_BYTES];  // error message; empty if there was none
  tsr_dtype dtype;
  int64_t rows, cols;                          // of the first input; 0 for a row without a size
  int samples, steps;                          // a sample is the mean of this many steps
  double median_ns, best_ns, low_ns, high_ns;  // per step; low and high are the quartiles
  double bytes, flops;                         // per step
  bench_bound bound;                           // the limit that it is compared with
  double limit;                                // the value of that limit in its unit, measured before and after; 0:
                                               // none
  double share;                                // the share of that limit that was reached; 0: none
} bench_result;

// Times a row. Errors are in the result.
void bench_measure(const bench_plan *plan, const bench_row *row, bench_limits *limits, bench_result *out_result);

// Finds how many steps make a sample long enough. Also warms up: kernels are built, and memory is allocated from the system.
tsr_status bench_choose_steps(bench_case *c, int *out_steps);

// In GB/s and GFLOP/s; 0 if the row does not count them.
double bench_gb_s(const bench_result *result);
double bench_gflop_s(const bench_result *result);

#endif
