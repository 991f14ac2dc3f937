// SPDX-License-Identifier: MIT
// Fourier transforms of real numbers along an axis of an odd size, on GPUs. The first launch reads real numbers as complex ones, or makes the whole of the half of a
// spectrum; the last one writes the half, or real parts. With complex transforms (fft_real.c) these are launches of their own.
#include "core/error.h"
#include "graph/watch.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/fft.h"
#include "ops/fft_fused.h"
#include "ops/operators.h"

static tsri_fft_ends ends_of(bool is_inverse, int64_t n) {
  int64_t half = n / 2 + 1;
  return is_inverse ? (tsri_fft_ends){.reads = TSRI_FFT_MIRRORED, .writes = TSRI_FFT_REAL, .x_n = half}
                    : (tsri_fft_ends){.reads = TSRI_FFT_REAL, .writes = TSRI_FFT_LIMITED, .y_n = half};
}

// `shape` has the sizes before and after the axis; its last axis holds the parts if it is that of a half (is_half).
static tsri_fft_lines lines_of(tsr_device *device, tsr_dtype dtype, const tsr_shape *shape, bool is_half, int axis,
                               bool is_inverse, int64_t n) {
  tsri_fft_lines l = {.device = device, .dtype = dtype, .n = n, .inner = 1, .outer = 1};
  for (int i = 0; i < axis; i++) l.outer *= shape->dims[i];
  for (int i = axis + 1; i < shape->rank - is_half; i++) l.inner *= shape->dims[i];
  l.sign = is_inverse ? 1 : -1;
  l.scale = is_inverse ? 1 / (double)n : 1;
  return l;
}

static tsr_status run_odd(const tsri_kernel_run *run) {
  const tsri_fft_attributes *given = TSRI_GIVEN(run->node, fft);
  bool is_inverse = given->is_inverse;
  int axis = (int)given->axis;
  const tsr_shape *shape = &run->layouts[0].shape;
  int64_t n = is_inverse ? run->shape.dims[axis] : shape->dims[axis], x_at = run->layouts[0].offset;
  tsr_status status = tsri_call_check(run->node->op->name, &run->layouts[0]);
  if (status != TSR_OK) return status;
  tsri_fft_lines l = lines_of(run->device, run->dtype, shape, is_inverse, axis, is_inverse, n);
  tsri_fft_ends ends = ends_of(is_inverse, n);
  int64_t size = tsri_fft_convolution_length(n);
  if (size) return tsri_fft_run_convolution(&l, &ends, size, run->inputs[0], x_at, run->output);
  return tsri_fft_run_lines(&l, &ends, run->inputs[0], x_at, run->output);
}

const tsri_op tsri_op_fft_odd = {.name = "rfft",
                                 .kind = TSRI_OP_KERNEL,
                                 .run = run_odd,
                                 .attribute_set = TSRI_SET_fft,
                                 .attribute_bytes = sizeof(tsri_fft_attributes)};

bool tsri_fft_takes_odd(const tsr_tensor *x, int axis, bool is_inverse, int64_t n) {
  enum { MOST = 1 << 26 };  // also of a convolution, which is up to four times as long
  tsr_device *device = x->value->device;
  tsri_graph_state *state = NULL;  // plans read the device's tuning
  if (tsri_watching || n < 3 || n % 2 == 0 || n > MOST || x->layout.count == 0) return false;
  if (tsri_graph_state_for(device, &state) != TSR_OK) return false;
  tsri_fft_lines l = lines_of(device, x->dtype, &x->layout.shape, is_inverse, axis, is_inverse, n);
  int64_t size = tsri_fft_convolution_length(n);
  if (tsri_fft_is_native(&l, size ? size : n)) return false;
  if (size == 0) return tsri_fft_takes(&l);
  return tsri_fft_convolves(&l, size) && size <= TSRI_CALL_MAX_ELEMENTS / 2 / (l.outer * l.inner);
}

tsr_tensor *tsri_fft_of_odd(tsr_tensor *x, int axis, bool is_inverse, int64_t n) {
  const tsri_op *op = &tsri_op_fft_odd;
  tsr_tensor *input = tsr_contiguous(x);
  tsr_status status = tsri_tensor_check(op->name, input);
  if (status != TSR_OK) return tsri_then(tsri_tensor_fail(status), input);
  tsr_shape shape = input->layout.shape;
  if (is_inverse) shape.rank--;
  else shape.dims[shape.rank++] = 2;
  shape.dims[axis] = is_inverse ? n : n / 2 + 1;
  tsr_tensor *result = tsri_record_kernel(op, input->value->device, input->dtype, shape, &input, 1,
                                          TSRI_GIVE(op, fft, .axis = axis, .is_inverse = is_inverse));
  return tsri_then(result, input);
}
