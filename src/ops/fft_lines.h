// SPDX-License-Identifier: MIT
// Fourier transforms of lines that fit in a work-group (kernels/op_fft.tk), and of longer lines as two or more such transforms.
#ifndef TSRI_OPS_FFT_LINES_H
#define TSRI_OPS_FFT_LINES_H

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

// Transforms x, from element `x_at` on, into y.
tsr_status tsri_fft_run_lines(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *y);

#endif
