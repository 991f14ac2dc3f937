// SPDX-License-Identifier: MIT
// Fourier transforms: cases, and a reference by the definition, in f64 with roots of 1 from a table.
#include <math.h>

#include "check.h"
#include "check_reference.h"

// Complex numbers. `squares`: for each number, the sum of squares of all inputs that it was computed from, by which its error is measured.
typedef struct field {
  tsr_shape shape;  // without the axis of the two parts
  double *re, *im, *squares;
} field;

typedef struct fft_case {
  const char *name;
  check_weight weight;
  tsr_shape shape;  // of the result of irfft, and of the input of the others, without the axis of the parts
  int axes[3], count;
  check_view view;
} fft_case;

static const fft_case cases[] = {
    {"2", CHECK_ALWAYS, {2, {3, 2}}, {1}, 1, CHECK_PLAIN},
    {"12", CHECK_ALWAYS, {2, {3, 12}}, {-1}, 1, CHECK_PLAIN},
    {"67", CHECK_ALWAYS, {2, {2, 67}}, {1}, 1, CHECK_PLAIN},
    {"1", CHECK_OFTEN, {2, {3, 1}}, {1}, 1, CHECK_PLAIN},
    {"3", CHECK_OFTEN, {1, {3}}, {0}, 1, CHECK_OFFSET},
    {"4", CHECK_OFTEN, {2, {2, 4}}, {1}, 1, CHECK_PERMUTED},
    {"8", CHECK_OFTEN, {2, {3, 8}}, {1}, 1, CHECK_SLICED},
    {"25", CHECK_OFTEN, {2, {2, 25}}, {1}, 1, CHECK_REVERSED},
    {"49", CHECK_OFTEN, {1, {49}}, {0}, 1, CHECK_PLAIN},
    {"61", CHECK_OFTEN, {1, {61}}, {0}, 1, CHECK_PLAIN},
    {"64", CHECK_OFTEN, {2, {3, 64}}, {1}, 1, CHECK_TRANSPOSED},
    {"210", CHECK_OFTEN, {2, {2, 210}}, {1}, 1, CHECK_PLAIN},
    {"268", CHECK_OFTEN, {1, {268}}, {0}, 1, CHECK_OFFSET},
    {"first", CHECK_OFTEN, {2, {30, 7}}, {0}, 1, CHECK_PLAIN},
    {"middle", CHECK_OFTEN, {3, {2, 71, 3}}, {1}, 1, CHECK_EXPANDED},
    {"two-axes", CHECK_ALWAYS, {2, {6, 20}}, {0, 1}, 2, CHECK_PLAIN},
    {"outer-axes", CHECK_OFTEN, {3, {9, 2, 16}}, {2, 0}, 2, CHECK_PERMUTED},
    {"three-axes", CHECK_OFTEN, {4, {2, 4, 6, 5}}, {1, 2, 3}, 3, CHECK_PLAIN},
    {"all-axes", CHECK_OFTEN, {3, {3, 4, 5}}, {0}, 0, CHECK_PLAIN},
    {"no-lines", CHECK_OFTEN, {2, {0, 6}}, {1}, 1, CHECK_PLAIN},
    {"136", CHECK_OFTEN, {2, {3, 136}}, {1}, 1, CHECK_PLAIN},
    {"527", CHECK_HEAVY, {1, {527}}, {0}, 1, CHECK_OFFSET},
    {"512", CHECK_HEAVY, {2, {2, 512}}, {1}, 1, CHECK_PLAIN},
    {"509", CHECK_HEAVY, {1, {509}}, {0}, 1, CHECK_PLAIN},
    {"1024", CHECK_HEAVY, {1, {1024}}, {0}, 1, CHECK_PLAIN},
    {"many", CHECK_HEAVY, {2, {257, 36}}, {1}, 1, CHECK_PLAIN},
};

// Dtypes other than f32 and f64 differ only in the conversion, so a few cases are enough for them.
static bool is_wanted(const fft_case *c, tsr_dtype dtype) {
  return dtype == TSR_F32 || dtype == TSR_F64 || c->weight == CHECK_ALWAYS;
}

enum { CASES = sizeof cases / sizeof cases[0] };

static field new_field(check_run *run, tsr_shape shape) {
  size_t count = (size_t)check_count(shape);
  return (field){shape, check_alloc(run, count, sizeof(double)), check_alloc(run, count, sizeof(double)),
                 check_alloc(run, count, sizeof(double))};
}

static void set(field *f, int64_t at, double re, double im) {
  f->re[at] = re;
  f->im[at] = im;
  f->squares[at] = re * re + im * im;
}

// One line of n elements, `step` apart from `at` on. `work` has room for 5 * n numbers, of which the last 2 * n are the roots of 1.
static void transform_line(field *f, int64_t at, int64_t n, int64_t step, double sign, double *work) {
  double *re = work, *im = work + n, *squares = work + 2 * n, *roots = work + 3 * n,
         scale = sign > 0 ? 1 / (double)n : 1;
  for (int64_t i = 0; i < n; i++) {
    re[i] = f->re[at + i * step];
    im[i] = f->im[at + i * step];
    squares[i] = f->squares[at + i * step];
  }
  for (int64_t k = 0; k < n; k++) {
    ref_sum sum_re = {0}, sum_im = {0};
    double sum_squares = 0;
    for (int64_t j = 0; j < n; j++) {
      double c = roots[2 * (j * k % n)], s = sign * roots[2 * (j * k % n) + 1];
      ref_sum_add_product(&sum_re, re[j], c);
      ref_sum_add_product(&sum_re, -im[j], s);
      ref_sum_add_product(&sum_im, re[j], s);
      ref_sum_add_product(&sum_im, im[j], c);
      sum_squares += squares[j];
    }
    f->re[at + k * step] = ref_sum_value(&sum_re) * scale;
    f->im[at + k * step] = ref_sum_value(&sum_im) * scale;
    f->squares[at + k * step] = sum_squares * scale * scale;
  }
}

// cos(2 pi t / n). The angle is reduced to at most an eighth of a turn, so that the argument of cos or sin is small and exact enough.
static double cosine(int64_t t, int64_t n) {
  double eighth = acos(-1) / 4;
  t = t > n - t ? n - t : t;  // cos(x) = cos(-x)
  if (8 * t <= n) return cos((double)(8 * t) / (double)n * eighth);
  if (8 * t <= 3 * n) return sin((double)(2 * n - 8 * t) / (double)n * eighth);
  return -cos((double)(4 * n - 8 * t) / (double)n * eighth);
}

static void transform_axis(check_run *run, field *f, int axis, double sign) {
  int64_t n = f->shape.dims[axis], step = 1, count = check_count(f->shape);
  if (count == 0) return;
  for (int i = axis + 1; i < f->shape.rank; i++) step *= f->shape.dims[i];
  double *work = check_alloc(run, (size_t)(5 * n), sizeof *work);
  for (int64_t t = 0; t < n; t++) {
    work[3 * n + 2 * t] = cosine(4 * t, 4 * n);
    work[3 * n + 2 * t + 1] = cosine((4 * t + 3 * n) % (4 * n), 4 * n);
  }
  for (int64_t line = 0; line < count / n; line++) {
    transform_line(f, line / step * n * step + line % step, n, step, sign, work);
  }
}

static int axis_of(const fft_case *c, int i) {
  int axis = c->count == 0 ? i : c->axes[i];
  return axis < 0 ? axis + c->shape.rank : axis;
}

static int axis_count(const fft_case *c) { return c->count == 0 ? c->shape.rank : c->count; }

// The length of the longest chain of roundings: a pass of radix r adds r numbers; a prime above 61 uses a convolution, that is three transforms of up to 4 n.
static int64_t steps_of(int64_t n) {
  int64_t steps = 1, rest = n;
  for (int64_t r = 2; r <= 61; r++) {
    for (; rest > 1 && rest % r == 0; rest /= r) steps += (r + 1) / 2;
  }
  return rest > 1 ? 3 * (int64_t)ceil(log2(4 * (double)n)) : steps;
}

// Transforms along the axes of the case. Returns the length of the longest chain of roundings.
static int64_t transform_axes(check_run *run, const fft_case *c, field *f, double sign) {
  int64_t steps = 0;
  for (int i = 0; i < axis_count(c); i++) {
    transform_axis(run, f, axis_of(c, i), sign);
    steps += steps_of(f->shape.dims[axis_of(c, i)]);
  }
  return steps;
}

static tsr_shape with_parts(tsr_shape shape) {
  shape.dims[shape.rank++] = 2;
  return shape;
}

// The shape of rfft's result.
static tsr_shape halved(const fft_case *c) {
  tsr_shape shape = c->shape;
  int last = axis_of(c, axis_count(c) - 1);
  shape.dims[last] = shape.dims[last] / 2 + 1;
  return shape;
}

// The elements of `f` within `shape`, which may be shorter than f->shape along one axis.
static check_expected *expect_field(check_run *run, tsr_dtype dtype, const field *f, tsr_shape shape, bool is_real,
                                    int64_t steps) {
  check_expected *wanted = check_expect(run, check_float(dtype), is_real ? shape : with_parts(shape));
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->terms = steps;
  int parts = is_real ? 1 : 2;
  for (int64_t i = 0; i < wanted->count; i++) {
    int64_t index[TSR_MAX_RANK] = {0};
    check_unravel(shape, i / parts, index);
    int64_t at = check_ravel(f->shape, index);
    wanted->values[i].real = i % parts ? f->im[at] : f->re[at];
    wanted->magnitudes[i] = sqrt(f->squares[at]);
  }
  return wanted;
}

static double number_of(const check_tensor *x, int64_t at) {
  return check_is_float(x->dtype) ? x->values[at].real : (double)x->values[at].whole;
}

// --- Complex to complex ----------------------------------------------------------------------------------------------

static void check_complex(check_run *run, const check_op *op, tsr_dtype dtype, bool is_inverse) {
  for (int i = 0; i < CASES; i++) {
    const fft_case *c = &cases[i];
    if (!is_wanted(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, with_parts(c->shape), c->view, op->domain);
    field f = new_field(run, c->shape);
    for (int64_t k = 0; k < x->count / 2; k++) set(&f, k, number_of(x, 2 * k), number_of(x, 2 * k + 1));
    int64_t steps = transform_axes(run, c, &f, is_inverse ? 1 : -1);
    tsr_tensor *y = is_inverse ? tsr_ifft(x->tensor, c->axes, c->count) : tsr_fft(x->tensor, c->axes, c->count);
    check_result(run, y, expect_field(run, dtype, &f, c->shape, false, steps));
  }
  if (check_begin(run, CHECK_OFTEN, "no-parts")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(4, 3), CHECK_PLAIN, op->domain);
    check_refused(run, is_inverse ? tsr_ifft(x->tensor, NULL, 0) : tsr_fft(x->tensor, NULL, 0), TSR_ERR_SHAPE);
  }
}

void check_fft(check_run *run, const check_op *op, tsr_dtype dtype) { check_complex(run, op, dtype, false); }
void check_ifft(check_run *run, const check_op *op, tsr_dtype dtype) { check_complex(run, op, dtype, true); }

// --- Real ------------------------------------------------------------------------------------------------------------

void check_rfft(check_run *run, const check_op *op, tsr_dtype dtype) {
  for (int i = 0; i < CASES; i++) {
    const fft_case *c = &cases[i];
    if (!is_wanted(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, op->domain);
    field f = new_field(run, c->shape);
    for (int64_t k = 0; k < x->count; k++) set(&f, k, number_of(x, k), 0);
    int64_t steps = transform_axes(run, c, &f, -1);
    check_result(run, tsr_rfft(x->tensor, c->axes, c->count), expect_field(run, dtype, &f, halved(c), false, steps));
  }
}

// Completes the half of a transform that rfft stores: a missing element along the last axis of the case is the conjugate of the opposite element on that axis, after
// the other axes were transformed back.
static int64_t inverse_of_half(check_run *run, const fft_case *c, const field *half, field *whole) {
  int last = axis_of(c, axis_count(c) - 1);
  field others = *half;
  int64_t steps = 0, n = c->shape.dims[last];
  fft_case rest = *c;
  rest.count = axis_count(c) - 1;
  for (int i = 0; i < rest.count; i++) rest.axes[i] = axis_of(c, i);
  if (rest.count > 0) steps = transform_axes(run, &rest, &others, 1);
  for (int64_t i = 0; i < check_count(c->shape); i++) {
    int64_t index[TSR_MAX_RANK] = {0};
    check_unravel(c->shape, i, index);
    bool is_missing = index[last] > n / 2;
    if (is_missing) index[last] = n - index[last];
    int64_t at = check_ravel(half->shape, index);
    whole->re[i] = others.re[at];
    whole->im[i] = is_missing ? -others.im[at] : others.im[at];
    whole->squares[i] = others.squares[at];
  }
  fft_case only = *c;
  only.axes[0] = last;
  only.count = 1;
  return steps + transform_axes(run, &only, whole, 1);
}

void check_irfft(check_run *run, const check_op *op, tsr_dtype dtype) {
  for (int i = 0; i < CASES; i++) {
    const fft_case *c = &cases[i];
    if (!is_wanted(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, with_parts(halved(c)), c->view, op->domain);
    field half = new_field(run, halved(c)), whole = new_field(run, c->shape);
    for (int64_t k = 0; k < x->count / 2; k++) set(&half, k, number_of(x, 2 * k), number_of(x, 2 * k + 1));
    int64_t steps = inverse_of_half(run, c, &half, &whole);
    int64_t n = c->shape.dims[axis_of(c, axis_count(c) - 1)];
    tsr_tensor *y = tsr_irfft(x->tensor, n % 2 ? n : 0, c->axes, c->count);
    check_result(run, y, expect_field(run, dtype, &whole, c->shape, true, steps));
  }
  if (check_begin(run, CHECK_OFTEN, "wrong-size")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(5, 2), CHECK_PLAIN, op->domain);
    check_refused(run, tsr_irfft(x->tensor, 7, NULL, 0), TSR_ERR_SHAPE);
  }
}
