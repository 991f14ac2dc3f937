// SPDX-License-Identifier: MIT
// Fourier transforms, by a native operator of the device or by the kernels of kernels/op_fft.tk. A complex tensor has a last axis of 2, real and imaginary part.
//
// A length whose prime factors are at most MOST_RADIX is transformed by work-groups that hold whole lines, or parts of long ones (fft_lines.h). Where these cannot
// (short lines on emulated devices, small work-groups, primes above 13 in web pages), it takes a pass over memory for each factor, with those of 2 taken by fours.
// Any other length n becomes a convolution (Bluestein's): with w[t] = exp(-pi i t^2 / n), element k is w[k] times the sum over j of x[j] w[j] * conj(w[k - j]),
// which is computed by transforms of a length of small factors (fft_fused.c, or by separate launches here).
#include "ops/fft.h"

#include "core/error.h"
#include "graph/node.h"
#include "ops/axes.h"
#include "ops/call.h"
#include "ops/fft_fused.h"
#include "ops/operators.h"
#include "ops/wide.h"
#include "runtime/native_op.h"

// MOST_RADIX: a pass of radix r takes r products for each element; for larger prime factors a convolution, with about 100 products, is cheaper. MOST_LENGTH:
// kernels compute eight times a position in u32, and a convolution may take four times the length.
enum { MOST_RADIX = 61, MOST_PASSES = 32, MOST_LENGTH = 1 << 27 };

// --- Transforms ------------------------------------------------------------------------------------------------------

// Factorises n into radices, with as many 4s as possible first. Returns how many there are, at least one, or 0 if a prime factor is above MOST_RADIX.
static int find_radices(int64_t n, int64_t radices[MOST_PASSES]) {
  int count = 0;
  if (n == 1) radices[count++] = 1;
  while (n % 4 == 0) {
    radices[count++] = 4;
    n /= 4;
  }
  for (int64_t r = 2; r <= MOST_RADIX; r++) {
    while (n % r == 0) {
      radices[count++] = r;
      n /= r;
    }
  }
  return n == 1 ? count : 0;
}

// Starts a call with the arguments that all kernels which read x and w and write y have in common.
static void start_call(const tsri_fft_lines *l, const char *kernel, tsr_buffer *x, int64_t x_at, tsr_buffer *w,
                       tsr_buffer *y, int64_t items, tsri_call *call) {
  tsri_call_init(call, l->device, "op_fft", kernel, TSRI_WITH(TSRI_TYPE("T", l->dtype)));
  tsri_call_buffer(call, "x", x, l->dtype);
  tsri_call_buffer(call, "w", w, l->dtype);
  tsri_call_buffer(call, "y", y, l->dtype);
  tsri_call_word(call, "x_at", x_at);
  tsri_call_word(call, "items", items);
  tsri_call_word(call, "n", l->n);
  tsri_call_word(call, "inner", l->inner);
}

static tsr_status run_pass(const tsri_fft_lines *l, int64_t done, int64_t radix, double scale, tsr_buffer *x,
                           int64_t x_at, tsr_buffer *w, tsr_buffer *y) {
  tsri_call call;
  start_call(l, "fft_pass", x, x_at, w, y, tsri_fft_count(l), &call);
  tsri_call_word(&call, "done", done);
  tsri_call_word(&call, "radix", radix);
  tsri_call_real(&call, "scale", scale);
  return tsri_call_items(&call, tsri_fft_count(l));
}

// Transforms x, from element `x_at` on, into y. Passes write alternately to y and to a scratch buffer, so that the last one writes to y.
static tsr_status run_passes(const tsri_fft_lines *l, const int64_t *radices, int count, tsr_buffer *x, int64_t x_at,
                             tsr_buffer *y) {
  tsr_buffer *w = NULL, *other = NULL, *from = x;
  tsr_status status = tsri_fft_make_roots(l, l->sign, l->n, l->n, l->n, false, &w);
  if (status == TSR_OK && count > 1) status = tsri_call_scratch(l->device, 2 * tsri_fft_count(l), l->dtype, &other);
  int64_t done = 1;
  for (int i = 0; i < count && status == TSR_OK; i++) {
    bool is_last = i == count - 1;
    tsr_buffer *to = (count - i) % 2 ? y : other;
    status = run_pass(l, done, radices[i], is_last ? l->scale : 1, from, i ? 0 : x_at, w, to);
    done *= radices[i];
    from = to;
  }
  tsr_buffer_release(w);
  tsr_buffer_release(other);
  return status;
}

bool tsri_fft_is_native(const tsri_fft_lines *l, int64_t n) {
  tsri_native_op op = {.kind = TSRI_NATIVE_FFT, .dtype = l->dtype, .result = l->dtype};
  op.is.fft = (tsri_fft_op){.kind = TSRI_FFT_COMPLEX, .outer = l->outer, .n = n, .inner = l->inner};
  return tsri_device_takes(l->device, &op);
}

tsr_status tsri_fft_run_native(const tsri_fft_lines *l, tsri_fft_kind kind, tsr_buffer *x, int64_t x_at,
                               tsr_buffer *y) {
  tsri_native_op op = {.kind = TSRI_NATIVE_FFT, .dtype = l->dtype, .result = l->dtype};
  op.is.fft = (tsri_fft_op){.kind = kind,
                            .outer = l->outer,
                            .n = l->n,
                            .inner = l->inner,
                            .is_inverse = l->sign > 0,
                            .scale = l->scale,
                            .from.offset = (size_t)x_at * tsr_dtype_bytes(l->dtype)};
  tsri_place_bind(&op.is.fft.from, x);
  tsri_place_bind(&op.is.fft.to, y);
  return tsri_device_run_op(l->device, &op, (tsr_buffer *const[]){y, x}, 2);
}

// Transforms lines whose length has no prime factor above MOST_RADIX: x, from element `x_at` on, into y.
static tsr_status run_factors(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  tsr_status status = tsri_fft_run_native(l, TSRI_FFT_COMPLEX, x, x_at, y);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  if (tsri_fft_takes(l)) return tsri_fft_run_lines(l, &(tsri_fft_ends){0}, x, x_at, y);
  int64_t radices[MOST_PASSES];
  int count = find_radices(l->n, radices);
  return run_passes(l, radices, count, x, x_at, y);
}

// y = x * w * scale along the axis. x has x_n elements along it, of which the first `from` are used; y has l->n elements, the others 0.
static tsr_status run_times(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, int64_t x_n, int64_t from,
                            tsr_buffer *w, double scale, tsr_buffer *y) {
  tsri_call call;
  start_call(l, "fft_times", x, x_at, w, y, tsri_fft_count(l), &call);
  tsri_call_word(&call, "x_n", x_n);
  tsri_call_word(&call, "from", from);
  tsri_call_real(&call, "scale", scale);
  return tsri_call_items(&call, tsri_fft_count(l));
}

// Computes the transform (of `size` elements) of the chirp, the sequence with which x * w is convolved.
static tsr_status make_chirp(const tsri_fft_lines *wide, int64_t n, tsr_buffer *w, tsr_buffer **out_chirp) {
  tsri_fft_lines one = *wide;
  one.outer = one.inner = 1;
  tsr_buffer *c = NULL;
  tsr_status status = tsri_call_scratch(wide->device, 2 * wide->n, wide->dtype, &c);
  if (status == TSR_OK) status = tsri_call_scratch(wide->device, 2 * wide->n, wide->dtype, out_chirp);
  if (status == TSR_OK) {
    tsri_call call;
    tsri_call_init(&call, wide->device, "op_fft", "fft_chirp", TSRI_WITH(TSRI_TYPE("T", wide->dtype)));
    tsri_call_buffer(&call, "w", w, wide->dtype);
    tsri_call_buffer(&call, "c", c, wide->dtype);
    tsri_call_word(&call, "n", n);
    tsri_call_word(&call, "size", wide->n);
    status = tsri_call_items(&call, wide->n);
  }
  if (status == TSR_OK) status = run_factors(&one, c, 0, *out_chirp);
  tsr_buffer_release(c);
  return status;
}

// Transforms lines by a convolution (Bluestein's algorithm). `a` and `b` are scratch buffers with room for the lines of `wide`.
static tsr_status convolve(const tsri_fft_lines *l, const tsri_fft_lines *wide, tsr_buffer *x, int64_t x_at,
                           tsr_buffer *w, tsr_buffer *a, tsr_buffer *b, tsr_buffer *y) {
  tsri_fft_lines back = *wide;
  back.sign = -wide->sign;
  back.scale = 1 / (double)wide->n;
  tsr_buffer *chirp = NULL;
  tsr_status status = make_chirp(wide, l->n, w, &chirp);
  if (status == TSR_OK) status = run_times(wide, x, x_at, l->n, l->n, w, 1, a);
  if (status == TSR_OK) status = run_factors(wide, a, 0, b);
  if (status == TSR_OK) status = run_times(wide, b, 0, wide->n, wide->n, chirp, 1, a);
  if (status == TSR_OK) status = run_factors(&back, a, 0, b);
  if (status == TSR_OK) status = run_times(l, b, 0, wide->n, l->n, w, l->scale, y);
  tsr_buffer_release(chirp);
  return status;
}

// The smallest number from `least` on that is a power of 2 times 1, 3, 5, 9 or 15: such lengths take few stages of large radices.
static int64_t length_of_convolution(int64_t least) {
  static const int64_t odd_parts[] = {1, 3, 5, 9, 15};
  int64_t best = INT64_MAX;
  for (size_t i = 0; i < sizeof odd_parts / sizeof odd_parts[0]; i++) {
    int64_t n = odd_parts[i];
    while (n < least) n *= 2;
    if (n < best) best = n;
  }
  return best;
}

int64_t tsri_fft_convolution_length(int64_t n) {
  int64_t radices[MOST_PASSES];
  return find_radices(n, radices) == 0 ? length_of_convolution(2 * n - 1) : 0;
}

tsr_status tsri_fft_run_convolution(const tsri_fft_lines *l, const tsri_fft_ends *ends, int64_t size, tsr_buffer *x,
                                    int64_t x_at, tsr_buffer *y) {
  tsri_fft_lines wide = *l;
  wide.scale = 1;
  wide.n = size;
  int64_t room = 2 * tsri_fft_count(&wide);
  if (room > TSRI_CALL_MAX_ELEMENTS) {
    return TSRI_FAIL(
        TSR_ERR_UNSUPPORTED, "fft: %lld lines of %lld elements take room for %lld numbers, %lld are the most",
        (long long)(l->outer * l->inner), (long long)l->n, (long long)room, (long long)TSRI_CALL_MAX_ELEMENTS);
  }
  tsr_buffer *w = NULL, *a = NULL, *b = NULL;
  tsr_status status = tsri_fft_make_roots(l, l->sign, 2 * l->n, l->n, l->n, true, &w);
  bool is_fused = !tsri_fft_is_native(l, size);
  if (status == TSR_OK && is_fused) status = tsri_fft_convolve(l, ends, size, x, x_at, w, y);
  if (status == TSR_ERR_UNSUPPORTED || (status == TSR_OK && !is_fused)) {
    status = tsri_call_scratch(l->device, room, l->dtype, &a);
    if (status == TSR_OK) status = tsri_call_scratch(l->device, room, l->dtype, &b);
    if (status == TSR_OK) status = convolve(l, &wide, x, x_at, w, a, b, y);
  }
  tsr_buffer_release(w);
  tsr_buffer_release(a);
  tsr_buffer_release(b);
  return status;
}

tsr_status tsri_fft_run(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  int64_t size = tsri_fft_convolution_length(l->n);
  if (size) return tsri_fft_run_convolution(l, &(tsri_fft_ends){0}, size, x, x_at, y);
  return run_factors(l, x, x_at, y);
}

tsr_status tsri_fft_lines_init(const tsri_kernel_run *run, tsri_fft_lines *out) {
  const tsri_fft_attributes *given = TSRI_GIVEN(run->node, fft);
  const tsr_shape *shape = &run->layouts[0].shape;
  int axis = (int)given->axis;
  *out = (tsri_fft_lines){.device = run->device, .dtype = run->dtype, .n = shape->dims[axis], .inner = 1, .outer = 1};
  for (int i = 0; i < axis; i++) out->outer *= shape->dims[i];
  for (int i = axis + 1; i < shape->rank - 1; i++) out->inner *= shape->dims[i];
  out->sign = given->is_inverse ? 1 : -1;
  if (out->n > MOST_LENGTH) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: axis %d has %lld elements, %d are the most", run->node->op->name, axis,
                     (long long)out->n, MOST_LENGTH);
  }
  return tsri_call_check(run->node->op->name, &run->layouts[0]);
}

// The input is contiguous, and its last axis has 2 elements (real and imaginary part).
tsr_status tsri_run_fft(const tsri_kernel_run *run) {
  tsri_fft_lines l;
  tsr_status status = tsri_fft_lines_init(run, &l);
  if (status != TSR_OK || run->layouts[0].count == 0) return status;
  l.scale = l.sign > 0 ? 1 / (double)l.n : 1;
  return tsri_fft_run(&l, run->inputs[0], run->layouts[0].offset, run->output);
}

// --- Operators -------------------------------------------------------------------------------------------------------

tsr_status tsri_fft_check(const char *caller, const tsr_tensor *x) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, x);
  if (status != TSR_OK) return status;
  const tsr_shape *shape = &x->layout.shape;
  if (shape->rank > 0 && shape->dims[shape->rank - 1] == 2) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE,
                   "%s: x is %s; its last axis holds real and imaginary part, so it must have 2 elements", caller,
                   tsr_shape_format(*shape, text, sizeof text));
}

tsr_tensor *tsri_fft_record(const tsri_op *op, tsr_tensor *x, int axis, int64_t longer) {
  tsr_tensor *input = tsri_then(tsr_contiguous(x), x);
  tsr_status status = tsri_tensor_check(op->name, input);
  if (status != TSR_OK) return tsri_then(tsri_tensor_fail(status), input);
  bool is_inverse = op == TSRI_BODY(ifft) || op == TSRI_BODY(irfft);
  tsr_shape shape = input->layout.shape;
  shape.dims[axis] += longer;
  tsr_tensor *result = tsri_record_kernel(op, input->value->device, input->dtype, shape, &input, 1,
                                          TSRI_GIVE(op, fft, .axis = axis, .is_inverse = is_inverse));
  return tsri_then(result, input);
}

tsr_tensor *tsri_fft_along_all(const tsri_op *op, tsr_tensor *x, uint32_t axes) {
  for (int i = 0; i < TSR_MAX_RANK; i++) {
    if (axes >> i & 1u) x = tsri_fft_record(op, x, i, 0);
  }
  return x;
}

static tsr_tensor *transform(const tsri_op *op, tsr_tensor *x, const int *axes, int axis_count) {
  uint32_t set = 0;
  tsr_status status = tsri_fft_check(op->name, x);
  if (status == TSR_OK) status = tsri_axis_set(op->name, x->layout.shape.rank - 1, axes, axis_count, &set);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_narrowed(op->name, tsri_fft_along_all(op, tsri_widened(x), set), x->dtype);
}

tsr_tensor *tsr_fft(tsr_tensor *x, const int *axes, int axis_count) {
  return transform(TSRI_BODY(fft), x, axes, axis_count);
}

tsr_tensor *tsr_ifft(tsr_tensor *x, const int *axes, int axis_count) {
  return transform(TSRI_BODY(ifft), x, axes, axis_count);
}
