// SPDX-License-Identifier: MIT
// Passes of a Fourier transform, and how one thread computes a pass for a few lines.
//
// A line of n complex numbers that is too long for one pass is treated as a matrix [n1, n2] of its elements j = j1 * n2 + j2. The first pass transforms n1
// elements over j1, multiplies each result k1 by the n-th root of 1 to the power j2 * k1, and stores a matrix [n2, n1]; the next ones transform its n2 elements
// over j2 in the same way. So every element ends in its final position.
#ifndef TSRI_CPU_FFT_PASS_H
#define TSRI_CPU_FFT_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/dtype.h>

// MOST_LENGTH: elements that a pass transforms at once. LEAST_LENGTH: a longer line is divided if there are fewer lines than LANES, so that all lanes of a vector are
// used. MOST_RADIX: the largest prime factor. LANES: those of the widest vectors; results would depend on the SIMD level if this number did.
enum {
  TSRI_CPU_FFT_MOST_LENGTH = 512,
  TSRI_CPU_FFT_LEAST_LENGTH = 64,
  TSRI_CPU_FFT_MOST_RADIX = 61,
  TSRI_CPU_FFT_LANES = 16,
  TSRI_CPU_FFT_MOST_PASSES = 16,
  TSRI_CPU_FFT_MOST_RADICES = 10
};

// The powers w^t of a root of 1, w = exp(-2 pi i / order): w^(t % 2^bits) * w^(t - t % 2^bits), as complex numbers. `high` has every 2^bits-th power.
typedef struct tsri_cpu_fft_roots {
  int64_t order;
  int bits;
  double *low, *high;
} tsri_cpu_fft_roots;

// The step between the transform Z of m pairs of real numbers and the first m + 1 elements X of theirs; src/ops/fft_real.c has the formulas.
typedef struct tsri_cpu_fft_halves {
  int64_t m, inner;   // Z is [m, inner], X is [m + 1, inner]
  bool is_inverse;    // computes Z from X
  const void *roots;  // complex numbers of the dtype: exp(-2 pi i k / (2 m)) for k up to m / 2
} tsri_cpu_fft_halves;

// x is [outer, n, m] and y is [outer, m / inner, n, inner]; a line is what `n` counts.
typedef struct tsri_cpu_fft_pass {
  int64_t n, m, inner;
  int radices[TSRI_CPU_FFT_MOST_RADICES], radix_count;  // their product is n
  const void *roots;                                    // n complex numbers of the dtype: the n-th roots of 1
  // All passes but the last: element k of line (o, j, i) of [outer, m / inner, inner] is multiplied by w^(j * k).
  bool is_twisted;
  tsri_cpu_fft_roots twist;
  const void *lane_twist;  // for each k the real parts, then the imaginary parts, of w^(l * k) for l below LANES
  // swaps_in, swaps_out: real and imaginary parts change places when they are read, or stored, which makes the transform the inverse one.
  bool swaps_in, swaps_out;
  double scale;
  // If the transform has only this pass: halves of the spectra of real numbers take the place of y, or of x if halves->is_inverse. NULL: none.
  const tsri_cpu_fft_halves *halves;
} tsri_cpu_fft_pass;

// `count` lines from `first` on, at most as many as a vector has lanes. They are neighbours of one run: lines with the same index on [outer, m / inner] if inner is at
// least the number of lanes, else lines with the same index on outer if m is, else all lines.
typedef struct tsri_cpu_fft_group {
  int64_t first;
  int count;
  const void *x;
  void *y;
  void *scratch;  // 2 * (n + 1) vectors of real and imaginary parts
} tsri_cpu_fft_group;

typedef struct tsri_cpu_fft_level {
  int lanes;
  void (*run)(const tsri_cpu_fft_pass *pass, const tsri_cpu_fft_group *group);
  // Computes the elements k and m - k in memory, for k from `first` up to `last`, which is at most m / 2 + 1.
  void (*halves)(const tsri_cpu_fft_halves *halves, const void *x, void *y, int64_t first, int64_t last);
} tsri_cpu_fft_level;

// f32 or f64. `simd`: a result of tsri_cpu_simd_level.
const tsri_cpu_fft_level *tsri_cpu_fft_level_for(const char *simd, tsr_dtype dtype);

// w^t.
static inline void tsri_cpu_fft_root(const tsri_cpu_fft_roots *roots, int64_t t, double *out_re, double *out_im) {
  const double *a = &roots->low[2 * (t & (((int64_t)1 << roots->bits) - 1))], *b = &roots->high[2 * (t >> roots->bits)];
  *out_re = a[0] * b[0] - a[1] * b[1];
  *out_im = a[0] * b[1] + a[1] * b[0];
}

#endif
