// SPDX-License-Identifier: MIT
// Fourier transforms of lines that a work-group holds (kernels/op_fft.tk), and of longer ones as two or more such transforms.
#ifndef TSRI_OPS_FFT_LINES_H
#define TSRI_OPS_FFT_LINES_H

#include "runtime/device.h"

// Transforms of `n` complex numbers, `inner` apart, in a tensor [outer, n, inner] of them.
typedef struct tsri_fft_lines {
  tsr_device *device;
  tsr_dtype dtype;
  int64_t outer, n, inner;
  double sign;   // of the exponent: -1, or 1 for the inverse
  double scale;  // of the result
} tsri_fft_lines;

static inline int64_t tsri_fft_count(const tsri_fft_lines *l) { return l->outer * l->n * l->inner; }

// Creates a table w[t] = exp(sign * 2 pi i t / n), or of t * t (`is_chirp`), for t below `count`; from entry `low` on of t * low, counted from there.
tsr_status tsri_fft_make_roots(const tsri_fft_lines *l, double sign, int64_t n, int64_t count, int64_t low,
                               bool is_chirp, tsr_buffer **out_w);

// Whether tsri_fft_run_lines transforms such lines.
bool tsri_fft_takes(const tsri_fft_lines *l);

// Transforms x, from element `x_at` on, into y.
tsr_status tsri_fft_run_lines(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *y);

#endif
