// SPDX-License-Identifier: MIT
// Fourier transforms of real numbers. Along an axis of an even size n = 2 m, the elements 2 j and 2 j + 1 are the parts of a complex number z[j], so that a
// transform of half the length is enough. With its result Z and w = exp(-2 pi i / n), element k of the transform of x is
//
//   X[k] = (Z[k] + conj(Z[m - k])) / 2 - i w^k (Z[k] - conj(Z[m - k])) / 2     for k = 0, …, m, with Z[m] = Z[0],
//   Z[k] = (X[k] + conj(X[m - k])) / 2 + i w^-k (X[k] - conj(X[m - k])) / 2    for k = 0, …, m - 1.
//
// An axis of an odd size is transformed as complex numbers whose imaginary parts are 0: by one operator (fft_odd.c), or with copies before and after complex transforms.
#include "core/error.h"
#include "ops/axes.h"
#include "ops/call.h"
#include "ops/fft.h"
#include "ops/fft_fused.h"
#include "ops/operators.h"
#include "ops/wide.h"

// --- Even sizes --------------------------------------------------------------------------------------------------------

// Computes X from Z, or Z from X (is_inverse). `l` describes lines of Z; those of X have one element more.
static tsr_status run_halves(const tsri_fft_lines *l, bool is_inverse, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  int64_t items = l->outer * (l->n / 2 + 1) * l->inner;
  tsri_call call;
  tsri_call_init(&call, l->device, "op_fft", "fft_halves",
                 TSRI_WITH(TSRI_TYPE("T", l->dtype), TSRI_CONSTANT("INVERSE", is_inverse)));
  tsri_call_buffer(&call, "x", x, l->dtype);
  tsri_call_buffer(&call, "y", y, l->dtype);
  tsri_call_word(&call, "items", items);
  tsri_call_word(&call, "m", l->n);
  tsri_call_word(&call, "inner", l->inner);
  tsri_call_word(&call, "x_at", x_at);
  return tsri_call_items(&call, items);
}

static tsr_status run_forward(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *z, tsr_buffer *y) {
  tsr_status status = tsri_fft_run(l, x, x_at, z);
  return status == TSR_OK ? run_halves(l, false, z, 0, y) : status;
}

static tsr_status run_inverse(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *z, tsr_buffer *y) {
  tsr_status status = run_halves(l, true, x, x_at, z);
  return status == TSR_OK ? tsri_fft_run(l, z, 0, y) : status;
}

// Runs the kernels: the transform and the halves, in one order or the other.
static tsr_status run_kernels(const tsri_fft_lines *l, bool is_inverse, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  tsr_buffer *z = NULL;
  tsr_status status = tsri_call_scratch(l->device, 2 * tsri_fft_count(l), l->dtype, &z);
  if (status == TSR_OK) status = (is_inverse ? run_inverse : run_forward)(l, x, x_at, z, y);
  tsr_buffer_release(z);
  return status;
}

// The input is contiguous: z, of m complex numbers along the axis; for the inverse X, of m + 1.
tsr_status tsri_run_fft_of_pairs(const tsri_kernel_run *run) {
  bool is_inverse = TSRI_GIVEN(run->node, fft)->is_inverse;
  tsri_fft_lines l;
  tsr_status status = tsri_fft_lines_init(run, &l);
  if (status != TSR_OK || run->layouts[0].count == 0) return status;
  if (is_inverse) l.n--;
  l.scale = is_inverse ? 1 / (double)l.n : 1;
  int64_t x_at = run->layouts[0].offset;
  tsri_fft_kind kind = is_inverse ? TSRI_FFT_FROM_HALF : TSRI_FFT_HALF;
  status = tsri_fft_run_native(&l, kind, run->inputs[0], x_at, run->output);
  if (status == TSR_ERR_UNSUPPORTED) status = tsri_fft_run_half(&l, run->inputs[0], x_at, run->output);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  return run_kernels(&l, is_inverse, run->inputs[0], x_at, run->output);
}

tsr_tensor *tsri_fft_of_pairs(tsr_tensor *x, int axis, bool is_inverse) {
  const tsri_op *op = is_inverse ? TSRI_BODY(irfft) : TSRI_BODY(rfft);
  tsr_status status = tsri_fft_check(op->name, x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int64_t least = is_inverse ? 2 : 1, rank = x->layout.shape.rank;
  if (axis < 0 || axis > rank - 2 || x->layout.shape.dims[axis] < least) {
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_SHAPE, "%s: axis %d of x has fewer than %lld complex numbers", op->name,
                                      axis, (long long)least));
  }
  return tsri_fft_record(op, tsri_widened(x), axis, is_inverse ? -1 : 1);
}

// Views 2 m real numbers along the axis as m complex ones. Releases x.
static tsr_tensor *as_pairs(tsr_tensor *x, int axis) {
  if (x->status != TSR_OK) return x;
  tsr_shape shape = x->layout.shape;
  int order[TSR_MAX_RANK], rank = shape.rank++;
  for (int i = rank; i > axis; i--) shape.dims[i] = shape.dims[i - 1];
  shape.dims[axis] /= 2;
  shape.dims[axis + 1] = 2;
  for (int i = 0; i <= rank; i++) order[i] = i <= axis ? i : i < rank ? i + 1 : axis + 1;
  tsr_tensor *split = tsri_then(tsr_reshape(x, shape), x);
  return tsri_then(tsr_permute(split, order, rank + 1), split);
}

// The inverse of as_pairs, as contiguous elements. Releases x.
static tsr_tensor *as_real(tsr_tensor *x, int axis) {
  if (x->status != TSR_OK) return x;
  int order[TSR_MAX_RANK], rank = x->layout.shape.rank - 1;
  for (int i = 0; i <= rank; i++) order[i] = i <= axis ? i : i == axis + 1 ? rank : i - 1;
  tsr_tensor *split = tsri_then(tsr_permute(x, order, rank + 1), x);
  tsr_shape shape = split->layout.shape;
  shape.rank = rank;
  shape.dims[axis] *= 2;
  for (int i = axis + 1; i < rank; i++) shape.dims[i] = shape.dims[i + 1];
  return tsri_then(tsr_reshape(split, shape), split);
}

static tsr_tensor *half_of_pairs(tsr_tensor *x, int axis) {
  tsr_tensor *pairs = as_pairs(tsri_widened(x), axis);
  return tsri_then(tsri_fft_of_pairs(pairs, axis, false), pairs);
}

// Releases x.
static tsr_tensor *real_of_half(tsr_tensor *x, int axis) {
  return as_real(tsri_then(tsri_fft_of_pairs(x, axis, true), x), axis);
}

// --- Odd sizes ---------------------------------------------------------------------------------------------------------

// Makes x complex, with zeros as imaginary parts.
static tsr_tensor *with_zeros(tsr_tensor *x) {
  int64_t before[TSR_MAX_RANK] = {0}, after[TSR_MAX_RANK] = {0};
  int rank = x->layout.shape.rank;
  tsr_tensor *wide = tsri_widened(x), *pairs = tsri_then(tsr_unsqueeze(wide, rank), wide);
  if (rank < TSR_MAX_RANK) after[rank] = 1;
  return tsri_then(tsr_pad(pairs, before, after, rank + 1, 0), pairs);
}

static tsr_tensor *half_of_complex(tsr_tensor *x, int axis) {
  if (x->layout.shape.rank < TSR_MAX_RANK) {
    tsr_tensor *wide = tsri_widened(x);
    int64_t size = x->layout.shape.dims[axis];
    if (wide->status == TSR_OK && tsri_fft_takes_odd(wide, axis, false, size)) {
      return tsri_then(tsri_fft_of_odd(wide, axis, false, size), wide);
    }
    tsr_release(wide);
  }
  tsr_tensor *all = tsri_fft_record(TSRI_BODY(fft), with_zeros(x), axis, 0);
  int64_t n = x->layout.shape.dims[axis];
  return tsri_then(tsr_slice(all, axis, 0, n ? n / 2 + 1 : 0, 1), all);
}

// Elements 1 to `count` along the axis, in reverse order, conjugated: the other half of the spectrum of a real signal.
static tsr_tensor *mirrored(tsr_tensor *x, int axis, int64_t count) {
  tsr_tensor *some = tsr_slice(x, axis, 1, count + 1, 1), *turned = tsri_then(tsr_flip(some, axis), some);
  tsr_tensor *re = tsr_slice(turned, -1, 0, 1, 1), *im = tsr_slice(turned, -1, 1, 2, 1);
  tsr_tensor *parts[2] = {re, tsri_then(tsr_neg(im), im)};
  tsr_tensor *result = tsri_then(tsri_then(tsr_concat(parts, 2, -1), parts[0]), parts[1]);
  return tsri_then(result, turned);
}

// The real part of the inverse transform along the axis to `n` elements, an odd number. Releases x.
static tsr_tensor *real_inverse(tsr_tensor *x, int axis, int64_t n) {
  if (x->status == TSR_OK && tsri_fft_takes_odd(x, axis, true, n))
    return tsri_then(tsri_fft_of_odd(x, axis, true, n), x);
  tsr_tensor *parts[2] = {x, mirrored(x, axis, (n - 1) / 2)};
  tsr_tensor *joined = tsri_then(tsri_then(tsr_concat(parts, 2, axis), parts[0]), parts[1]);
  tsr_tensor *whole = tsri_fft_record(TSRI_BODY(ifft), joined, axis, 0);
  tsr_tensor *pairs = tsri_then(tsr_slice(whole, -1, 0, 1, 1), whole), *re = tsri_then(tsr_squeeze(pairs, -1), pairs);
  return tsri_then(tsr_contiguous(re), re);
}

// --- Operators ---------------------------------------------------------------------------------------------------------

// Gives the axes of rfft and irfft: the last axis named, of which half is kept, and the set of the other axes. `rank`: number of axes without that of real and
// imaginary part.
static tsr_status real_axes(const char *caller, int rank, const int *axes, int axis_count, int *out_last,
                            uint32_t *out_others) {
  tsr_status status = tsri_axis_set(caller, rank, axes, axis_count, out_others);
  if (status == TSR_OK) status = tsri_axis(caller, axis_count > 0 ? axes[axis_count - 1] : -1, rank, out_last);
  if (status == TSR_OK) *out_others &= ~(1u << *out_last);
  return status;
}

tsr_tensor *tsr_rfft(tsr_tensor *x, const int *axes, int axis_count) {
  int last = 0;
  uint32_t others = 0;
  tsr_status status = tsri_tensor_check("rfft", x);
  if (status == TSR_OK) status = real_axes("rfft", x->layout.shape.rank, axes, axis_count, &last, &others);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  bool is_of_pairs = x->layout.shape.dims[last] > 0 && x->layout.shape.dims[last] % 2 == 0;
  // half_of_complex also refuses a tensor that has no axis left for the parts.
  if (x->layout.shape.rank == TSR_MAX_RANK) is_of_pairs = false;
  tsr_tensor *half = is_of_pairs ? half_of_pairs(x, last) : half_of_complex(x, last);
  tsr_tensor *all = tsri_fft_along_all(TSRI_BODY(fft), half, others);
  return tsri_narrowed("rfft", tsri_then(tsr_contiguous(all), all), x->dtype);
}

tsr_tensor *tsr_irfft(tsr_tensor *x, int64_t size, const int *axes, int axis_count) {
  int last = 0;
  uint32_t others = 0;
  tsr_status status = tsri_fft_check("irfft", x);
  if (status == TSR_OK) status = real_axes("irfft", x->layout.shape.rank - 1, axes, axis_count, &last, &others);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int64_t half = x->layout.shape.dims[last], n = size == 0 ? 2 * (half - 1) : size;
  if (n < 1 || n / 2 + 1 != half) {
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_SHAPE, "irfft: axis %d has %lld elements, a result of %lld takes %lld",
                                      last, (long long)half, (long long)n, (long long)(n < 1 ? 1 : n / 2 + 1)));
  }
  tsr_tensor *lines = tsri_fft_along_all(TSRI_BODY(ifft), tsri_widened(x), others);
  tsr_tensor *result = n % 2 == 0 ? real_of_half(lines, last) : real_inverse(lines, last, n);
  return tsri_narrowed("irfft", result, x->dtype);
}
