// SPDX-License-Identifier: MIT
// Into which passes a Fourier transform is divided, and their tables of roots.
#ifndef TSRI_CPU_FFT_PLAN_H
#define TSRI_CPU_FFT_PLAN_H

#include "backends/cpu/fft/pass.h"

typedef struct tsri_cpu_fft_plan {
  tsri_cpu_fft_pass passes[TSRI_CPU_FFT_MOST_PASSES];
  int count;
  int64_t longest;  // elements of the longest pass
} tsri_cpu_fft_plan;

// Whether no prime factor of n is above TSRI_CPU_FFT_MOST_RADIX.
bool tsri_cpu_fft_is_smooth(int64_t n);

// Plans transforms of `lines` lines in all, of n elements that are `inner` apart. n is smooth. Tables are not there yet.
void tsri_cpu_fft_plan_init(tsri_cpu_fft_plan *plan, int64_t lines, int64_t n, int64_t inner);

// Bytes that the tables of all passes take.
size_t tsri_cpu_fft_table_bytes(const tsri_cpu_fft_plan *plan, tsr_dtype dtype);

// Computes the tables, in memory of that size that is aligned to a cache line.
void tsri_cpu_fft_make_tables(tsri_cpu_fft_plan *plan, tsr_dtype dtype, char *memory);

// Computes the roots of halves->m / 2 + 1 elements in `memory`. The plan has its tables.
void tsri_cpu_fft_make_half_roots(const tsri_cpu_fft_plan *plan, tsri_cpu_fft_halves *halves, tsr_dtype dtype,
                                  void *memory);

#endif
