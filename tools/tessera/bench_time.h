// SPDX-License-Identifier: MIT
// Clock and statistics for measurements.
#ifndef TESSERA_TOOL_BENCH_TIME_H
#define TESSERA_TOOL_BENCH_TIME_H

// Nanoseconds since some moment, never going back.
double bench_now_ns(void);

// Lets other threads come to rest, such as workers of the device that still spin for their next piece.
void bench_rest(double seconds);

// Sorts the samples. Then bench_quantile(samples, count, 0.5) is their median; between two it interpolates.
void bench_sort(double *samples, int count);
double bench_quantile(const double *sorted, int count, double part);

#define BENCH_TIME_TEXT_BYTES 32

// "812 ns", "3.25 us", "41.6 ms", "2.04 s". Returns `text` (BENCH_TIME_TEXT_BYTES of it).
char *bench_format_ns(double ns, char *text);

#endif
