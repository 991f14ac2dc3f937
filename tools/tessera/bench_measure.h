// SPDX-License-Identifier: MIT
// Timing one row of the benchmark: warm-up, samples, statistics, and the machine's limit measured beside it.
#ifndef TESSERA_TOOL_BENCH_MEASURE_H
#define TESSERA_TOOL_BENCH_MEASURE_H

#include "bench_rows.h"

#define BENCH_MESSAGE_BYTES 512

typedef struct bench_plan {
  tsr_device *device;
  tsr_dtype dtype;
  int64_t rows, cols;  // as --size says; 0: each row's own
  uint64_t repeats;    // samples of each row; 0: as many as fit the time, 3 to 1000
  double least_ns;     // time to measure each row for
  bool takes_turns;    // a sample for every line that comes in, until there are no more; no limits are measured
} bench_plan;

typedef struct bench_result {
  const bench_row *row;
  tsr_status status;
  char message[BENCH_MESSAGE_BYTES];  // what went wrong; empty if nothing did
  tsr_dtype dtype;
  int64_t rows, cols;                          // of the first input; 0 for a row without a size
  int samples, steps;                          // a sample is the mean of so many steps
  double median_ns, best_ns, low_ns, high_ns;  // of one step; low and high are the quartiles
  double bytes, flops;                         // of one step
  bench_bound bound;                           // what it is held against
  double limit;                                // of that, in its unit, measured before and after; 0: none
  double share;                                // of that limit; 0: none
} bench_result;

// Times a row. What goes wrong is in the result.
void bench_measure(const bench_plan *plan, const bench_row *row, bench_limits *limits, bench_result *out_result);

// In GB/s and GFLOP/s; 0 where they are not counted.
double bench_gb_s(const bench_result *result);
double bench_gflop_s(const bench_result *result);

#endif
