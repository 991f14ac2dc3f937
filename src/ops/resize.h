// SPDX-License-Identifier: MIT
// Parts of tsr_resize.
#ifndef TSRI_OPS_RESIZE_H
#define TSRI_OPS_RESIZE_H

#include "ops/call.h"
#include "ops/operators.h"

// The operator that computes the table of an axis. No inputs; results: indices and weights of the elements that each position is made of, [taps * m]. Its
// attributes are `positions`.
extern const tsri_op tsri_op_resize_table;

// Maps positions of the result to positions of x: position i is at i * step + start of x. All of ONNX' coordinate formulas have this form.
typedef struct tsri_resize_line {
  double step, start;
} tsri_resize_line;

// Passes the line to a kernel as step<suffix>, step<suffix>_rest, start<suffix> and start<suffix>_rest: each number rounded to f32, unless `wide` is f64, and its
// rounding error.
void tsri_resize_pass_line(tsri_call *call, const char *suffix, tsri_resize_line line, tsr_dtype wide);

// Both of the last two axes by one kernel (resize_plane.c), for the nearest element and linear interpolation on GPUs. The operator has one input, x, contiguous,
// and the attributes `plane`; it has no gradient.
extern const tsri_op tsri_op_resize_plane;

// Whether the kernel can be used for x; the caller sees to the description.
bool tsri_resize_has_planes(const tsr_tensor *x);

// Records the operator. `shape` is that of the result. Errors: those of recording, as a failed tensor.
tsr_tensor *tsri_resize_planes(tsr_tensor *x, tsr_shape shape, tsr_dtype dtype, const tsri_plane_attributes *given);

#endif
