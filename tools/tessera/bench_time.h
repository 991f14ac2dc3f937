// SPDX-License-Identifier: MIT
// Clock and statistics for measurements.
#ifndef TESSERA_TOOL_BENCH_TIME_H
#define TESSERA_TOOL_BENCH_TIME_H

// Nanoseconds since an arbitrary moment; never decreases.
double bench_now_ns(void);

// Pauses, so that other threads become idle, such as the device's workers, which spin for a while after their work.
void bench_rest(double seconds);

// Sorts the samples. Then bench_quantile(samples, count, 0.5) is their median; it interpolates between samples.
void bench_sort(double *samples, int count);
double bench_quantile(const double *sorted, int count, double part);

#define BENCH_TIME_TEXT_BYTES 32

// Formats as "812 ns", "3.25 us", "41.6 ms" or "2.04 s". Returns `text`, which has BENCH_TIME_TEXT_BYTES.
char *bench_format_ns(double ns, char *text);

#endif
