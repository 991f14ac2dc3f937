// SPDX-License-Identifier: MIT
// Fourier transforms of lines that fit in a work-group (kernels/op_fft.tk), and of longer lines as two or more such transforms.
#ifndef TSRI_OPS_FFT_LINES_H
#define TSRI_OPS_FFT_LINES_H

#include "ops/fft_plan.h"
#include "runtime/device.h"

// Describes transforms of `n` complex numbers, `inner` numbers apart, in a tensor [outer, n, inner] of complex numbers.
typedef struct tsri_fft_lines {
  tsr_device *device;
  tsr_dtype dtype;
  int64_t outer, n, inner;
  double sign;   // of the exponent: -1, or 1 for the inverse
  double scale;  // of the result
} tsri_fft_lines;

static inline int64_t tsri_fft_count(const tsri_fft_lines *l) { return l->outer * l->n * l->inner; }

// Creates a table w[t] = exp(sign * 2 pi i t / n) for t below `count`. is_chirp: t * t takes the place of t. From entry `low` on, entry t is the root for (t -
// low) * low.
tsr_status tsri_fft_make_roots(const tsri_fft_lines *l, double sign, int64_t n, int64_t count, int64_t low,
                               bool is_chirp, tsr_buffer **out_w);

// Whether tsri_fft_run_lines can transform these lines on the device.
bool tsri_fft_takes(const tsri_fft_lines *l);

// How a launch reads and writes lines: flags of op_fft.tk, where they are explained.
enum {
  TSRI_FFT_REAL = 1,
  TSRI_FFT_MIRRORED = 2,
  TSRI_FFT_CHIRPED = 4,
  TSRI_FFT_FILTER = 8,
  TSRI_FFT_PAIRED_HALF = 16,
  TSRI_FFT_LIMITED = 32
};

// What the first launch of a transform reads, and the last one writes, in place of complex numbers: flags, and how many elements a line has in x and in y (0:
// l->n).
typedef struct tsri_fft_ends {
  int reads, writes;
  int64_t x_n, y_n;
} tsri_fft_ends;

// Transforms x, from element `x_at` on, into y, which tsri_fft_takes.
tsr_status tsri_fft_run_lines(const tsri_fft_lines *l, const tsri_fft_ends *ends, tsr_buffer *x, int64_t x_at,
                              tsr_buffer *y);

// A launch of fft_lines: transforms lines of plan->n elements of x, a tensor [outer, n, m], to y, a tensor like it or, with `v`, [outer, m / inner, n, inner].
typedef struct tsri_fft_pass {
  const tsri_fft_plan *plan;
  int64_t m, inner;
  double scale;
  bool is_swapped;           // the inverse transform
  int reads, writes;         // flags; 0: complex numbers, as they are
  int64_t x_n, y_n, length;  // parameters of the flags; x_n, y_n 0: n * m / inner
  tsr_buffer *v;             // table of roots by which the results are multiplied, or NULL
  tsr_buffer *w, *c;         // the chirp and the factors of a convolution, or NULL
} tsri_fft_pass;

tsr_status tsri_fft_launch(const tsri_fft_lines *l, const tsri_fft_pass *pass, tsr_buffer *x, int64_t x_at,
                           tsr_buffer *y);

// Creates the table `v` for the first of two passes over lines of l->n elements.
tsr_status tsri_fft_make_twist(const tsri_fft_lines *l, tsr_buffer **out_v);

#endif
