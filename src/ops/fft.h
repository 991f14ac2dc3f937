// SPDX-License-Identifier: MIT
// What fft.c gives to transforms of real numbers (fft_real.c), and these to their gradients.
#ifndef TSRI_OPS_FFT_H
#define TSRI_OPS_FFT_H

#include "graph/node.h"
#include "ops/fft_lines.h"

#include <tessera/ops.h>

// Describes the lines of a node's input along the axis of its attributes. `scale` is for the caller to set.
//
// Errors: TSR_ERR_UNSUPPORTED (lines that are too long, or too many elements).
tsr_status tsri_fft_lines_init(const tsri_kernel_run *run, tsri_fft_lines *out);

// Transforms x, from element `x_at` on, into y, whatever the length of the lines.
tsr_status tsri_fft_run(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *y);

// The length of the circular convolutions by which lines of n elements are transformed that have a large prime factor; 0: n has none.
int64_t tsri_fft_convolution_length(int64_t n);

// As tsri_fft_run, by a convolution of `size` elements. With `ends` that are not all 0, tsri_fft_convolves must be true.
tsr_status tsri_fft_run_convolution(const tsri_fft_lines *l, const tsri_fft_ends *ends, int64_t size, tsr_buffer *x,
                                    int64_t x_at, tsr_buffer *y);

// Whether the device has a native transform for such lines, but of n elements.
bool tsri_fft_is_native(const tsri_fft_lines *l, int64_t n);

// Runs the device's native transform. Returns TSR_ERR_UNSUPPORTED, without a message, if it has none.
tsr_status tsri_fft_run_native(const tsri_fft_lines *l, tsri_fft_kind kind, tsr_buffer *x, int64_t x_at, tsr_buffer *y);

// Checks that x is complex: that its last axis has size 2.
tsr_status tsri_fft_check(const char *caller, const tsr_tensor *x);

// Records the operator `op` along an axis of a complex tensor. The result has `longer` elements more along it. Releases x.
tsr_tensor *tsri_fft_record(const tsri_op *op, tsr_tensor *x, int axis, int64_t longer);

// As tsri_fft_record, along each axis of the set, with results as long as x.
tsr_tensor *tsri_fft_along_all(const tsri_op *op, tsr_tensor *x, uint32_t axes);

// With the elements 2 j and 2 j + 1 of 2 m real numbers as the complex numbers z[j]: the first m + 1 elements of their transform, from z; is_inverse: z from
// these. `x` is complex, the axis is not its last one.
tsr_tensor *tsri_fft_of_pairs(tsr_tensor *x, int axis, bool is_inverse);

#endif
