// SPDX-License-Identifier: MIT
// Fourier transforms whose steps before and after are part of the launches of fft_lines: what is read is made of the input, and what is written is made of the
// transform. Web pages do without (fft_fused_wasm.c).
#ifndef TSRI_OPS_FFT_FUSED_H
#define TSRI_OPS_FFT_FUSED_H

#include "graph/node.h"
#include "ops/fft_lines.h"

// Transforms of real numbers by pairs (fft_real.c): `l` describes the lines of Z. Computes X from Z's input x, or (l->sign > 0) Z's inverse transform from X.
// Returns TSR_ERR_UNSUPPORTED, without a message, if a work-group cannot hold such a line.
tsr_status tsri_fft_run_half(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *y);

// Transforms lines of any length by convolutions of `size` elements (fft.c), a length that tsri_fft_takes; `w` is the chirp of l->n elements. Returns
// TSR_ERR_UNSUPPORTED, without a message, if tsri_fft_convolves is false.
tsr_status tsri_fft_convolve(const tsri_fft_lines *l, const tsri_fft_ends *ends, int64_t size, tsr_buffer *x,
                             int64_t x_at, tsr_buffer *w, tsr_buffer *y);

// Whether it takes at most two passes to transform lines of `size` elements.
bool tsri_fft_convolves(const tsri_fft_lines *l, int64_t size);

// Transforms of real numbers along an axis of an odd size `n`, by one operator: rfft of x, or (is_inverse) irfft. tsri_fft_takes_odd: whether the device's
// kernels can do that for this x (f32 or f64), and it has no native transform; not while gradients are recorded, which are those of complex transforms.
bool tsri_fft_takes_odd(const tsr_tensor *x, int axis, bool is_inverse, int64_t n);
tsr_tensor *tsri_fft_of_odd(tsr_tensor *x, int axis, bool is_inverse, int64_t n);
extern const tsri_op tsri_op_fft_odd;

#endif
