// SPDX-License-Identifier: MIT
// Operators on one or two axes: diagonal, moveaxis, rot90, trace, diff, quantile, median; and masked_fill. References and cases.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_move.h"
#include "check_reference.h"

// --- Views of two axes ------------------------------------------------------------------------------------------------

typedef struct pair_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape;
  int axis_a, axis_b;
} pair_case;

static const pair_case pairs[] = {
    {"matrix", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 5}}, 0, 1},
    {"last", CHECK_ALWAYS, CHECK_PLAIN, {3, {3, 5, 7}}, -2, -1},
    {"turned", CHECK_OFTEN, CHECK_PLAIN, {3, {5, 3, 7}}, 2, 0},
    {"transposed", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {11, 13}}, 0, 1},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, {3, {5, 2, 9}}, 0, 2},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, {2, {6, 11}}, 1, 0},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {2, {9, 4}}, 0, 1},
    {"offset", CHECK_OFTEN, CHECK_OFFSET, {2, {4, 7}}, 0, 1},
    {"permuted", CHECK_OFTEN, CHECK_PERMUTED, {4, {2, 3, 4, 5}}, 1, 3},
    {"one", CHECK_OFTEN, CHECK_PLAIN, {2, {1, 1}}, 0, 1},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {2, {0, 3}}, 0, 1},
    {"empty-beside", CHECK_OFTEN, CHECK_PLAIN, {3, {0, 3, 2}}, 1, 2},
    {"large", CHECK_HEAVY, CHECK_PLAIN, {2, {307, 211}}, 0, 1},
};

enum { PAIR_COUNT = sizeof pairs / sizeof pairs[0] };

// An input with the arguments of a diagonal or rotation: together they determine each element of the result.
typedef struct place {
  const check_tensor *x;
  int a, b;    // counted from the front
  int64_t by;  // the offset, or the number of turns
} place;

static place place_in(const check_tensor *x, const pair_case *c, int64_t by) {
  int rank = c->shape.rank;
  return (place){.x = x, .a = (c->axis_a + rank) % rank, .b = (c->axis_b + rank) % rank, .by = by};
}

// The shape of x without the axes a and b, and with the diagonal's size at the end.
static tsr_shape diagonal_shape(const place *p) {
  tsr_shape from = p->x->shape, shape = {.rank = 0};
  for (int i = 0; i < from.rank; i++) {
    if (i != p->a && i != p->b) shape.dims[shape.rank++] = from.dims[i];
  }
  int64_t size = 0;
  for (int64_t row = 0; row < from.dims[p->a]; row++) size += row + p->by >= 0 && row + p->by < from.dims[p->b];
  shape.dims[shape.rank++] = size;
  return shape;
}

static check_value diagonal_element(const void *context, const int64_t *index) {
  const place *p = context;
  int64_t from[TSR_MAX_RANK];
  int used = 0;
  for (int i = 0; i < p->x->shape.rank; i++) {
    if (i != p->a && i != p->b) from[i] = index[used++];
  }
  from[p->a] = index[used] + (p->by < 0 ? -p->by : 0);
  from[p->b] = index[used] + (p->by > 0 ? p->by : 0);
  return p->x->values[check_ravel(p->x->shape, from)];
}

void check_diagonal(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const int64_t offsets[] = {0, 1, -2, 100};
  for (int i = 0; i < PAIR_COUNT; i++) {
    const pair_case *c = &pairs[i];
    for (int k = 0; k < 4; k++) {
      if (!check_begin(run, k == 1 ? c->weight : CHECK_HEAVY, "%s%+d", c->name, (int)offsets[k])) continue;
      check_tensor *x = check_input(run, dtype, c->shape, c->view, CHECK_ANY);
      place p = place_in(x, c, offsets[k]);
      check_result(run, tsr_diagonal(x->tensor, offsets[k], c->axis_a, c->axis_b),
                   check_expect_each(run, dtype, diagonal_shape(&p), diagonal_element, &p));
    }
  }
}

// Changes `index` of the rotated tensor to the index of the same element before the rotations.
static void turn_back(const place *p, int64_t turns, int64_t *index) {
  for (int64_t i = turns; i > 0; i--) {
    bool is_turned = i % 2 == 1;  // before this rotation the axes have their original sizes
    int64_t size_b = p->x->shape.dims[is_turned ? p->b : p->a], a = index[p->a];
    index[p->a] = index[p->b];
    index[p->b] = size_b - 1 - a;
  }
}

static check_value turned_element(const void *context, const int64_t *index) {
  const place *p = context;
  int64_t from[TSR_MAX_RANK];
  memcpy(from, index, sizeof from);
  turn_back(p, (p->by % 4 + 4) % 4, from);
  return p->x->values[check_ravel(p->x->shape, from)];
}

void check_rot90(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < PAIR_COUNT; i++) {
    const pair_case *c = &pairs[i];
    for (int64_t times = -1; times <= 4; times++) {
      if (!check_begin(run, times == 1 ? c->weight : CHECK_HEAVY, "%s-%d", c->name, (int)times)) continue;
      check_tensor *x = check_input(run, dtype, c->shape, c->view, CHECK_ANY);
      place p = place_in(x, c, times);
      tsr_shape shape = c->shape;
      if (times % 2) {
        shape.dims[p.a] = c->shape.dims[p.b];
        shape.dims[p.b] = c->shape.dims[p.a];
      }
      check_result(run, tsr_rot90(x->tensor, times, c->axis_a, c->axis_b),
                   check_expect_each(run, dtype, shape, turned_element, &p));
    }
  }
}

// Axis a of x has become axis b of the result.
static check_value moved_element(const void *context, const int64_t *index) {
  const place *p = context;
  int64_t from[TSR_MAX_RANK];
  int used = 0;
  for (int i = 0; i < p->x->shape.rank; i++) {
    used += used == p->b;
    from[i] = i == p->a ? index[p->b] : index[used++];
  }
  return p->x->values[check_ravel(p->x->shape, from)];
}

void check_moveaxis(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < PAIR_COUNT; i++) {
    const pair_case *c = &pairs[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, CHECK_ANY);
    place p = place_in(x, c, 0);
    tsr_shape shape = c->shape;
    for (int k = 0, used = 0; k < shape.rank; k++) {
      used += used == p.a;
      shape.dims[k] = k == p.b ? c->shape.dims[p.a] : c->shape.dims[used++];
    }
    check_result(run, tsr_moveaxis(x->tensor, c->axis_a, c->axis_b),
                 check_expect_each(run, dtype, shape, moved_element, &p));
  }
}

// --- trace ------------------------------------------------------------------------------------------------------------

// The sum of the elements on the diagonal.
static check_expected *expect_trace(check_run *run, const place *p) {
  tsr_dtype from = p->x->dtype, dtype = check_summed(from);
  tsr_shape along = diagonal_shape(p), shape = along;
  shape.rank--;
  check_expected *wanted = check_expect(run, dtype, shape);
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->terms = along.dims[shape.rank];
  for (int64_t at = 0; at < wanted->count; at++) {
    int64_t index[TSR_MAX_RANK] = {0}, whole = 0;
    check_unravel(shape, at, index);
    ref_sum sum = {0};
    for (int64_t i = 0; i < wanted->terms; i++) {
      index[shape.rank] = i;
      check_value value = check_convert(dtype, from, diagonal_element(p, index));
      if (!check_is_float(dtype)) {
        whole = plus(whole, value.whole);
        continue;
      }
      ref_sum_add(&sum, value.real);
      wanted->magnitudes[at] += fabs(value.real);
    }
    if (check_is_float(dtype)) wanted->values[at].real = ref_sum_value(&sum);
    else wanted->values[at].whole = check_wrap(dtype, whole);
  }
  return wanted;
}

void check_trace(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const int64_t offsets[] = {0, 2, -1};
  for (int i = 0; i < PAIR_COUNT; i++) {
    const pair_case *c = &pairs[i];
    for (int k = 0; k < 3; k++) {
      if (!check_begin(run, k ? CHECK_HEAVY : c->weight, "%s%+d", c->name, (int)offsets[k])) continue;
      check_tensor *x = check_input(run, dtype, c->shape, c->view, op->domain);
      place p = place_in(x, c, offsets[k]);
      check_result(run, tsr_trace(x->tensor, offsets[k], c->axis_a, c->axis_b), expect_trace(run, &p));
    }
  }
}

// --- diff -------------------------------------------------------------------------------------------------------------

// The difference of two values of a dtype, not rounded.
static check_value difference(tsr_dtype dtype, check_value a, check_value b) {
  if (check_is_float(dtype)) return (check_value){.real = a.real - b.real};
  return (check_value){.whole = dtype == TSR_BOOL ? a.whole != b.whole : check_wrap(dtype, minus(a.whole, b.whole))};
}

// Replaces a line of `n` elements, `step` apart, by its differences, `times` times: each difference overwrites the
// first of its two elements. All but the last are rounded.
static void diff_line(tsr_dtype dtype, check_value *line, int64_t n, int64_t step, int64_t times) {
  for (int64_t round = 0; round < times; round++) {
    for (int64_t i = 0; i + 1 < n - round; i++) {
      line[i * step] = difference(dtype, line[(i + 1) * step], line[i * step]);
      if (check_is_float(dtype) && round + 1 < times) line[i * step].real = check_round(dtype, line[i * step].real);
    }
  }
}

static check_expected *expect_diff(check_run *run, const check_tensor *x, int axis, int64_t times) {
  int64_t n = x->shape.dims[axis], step = 1, outer = 1, left = n > times ? n - times : 0;
  for (int i = 0; i < axis; i++) outer *= x->shape.dims[i];
  for (int i = axis + 1; i < x->shape.rank; i++) step *= x->shape.dims[i];
  check_value *all = check_alloc(run, (size_t)x->count, sizeof *all);
  memcpy(all, x->values, (size_t)x->count * sizeof *all);
  tsr_shape shape = x->shape;
  shape.dims[axis] = left;
  check_expected *wanted = check_expect(run, x->dtype, shape);
  for (int64_t i = 0; i < outer * step; i++) {
    int64_t first = i / step * n * step + i % step;
    diff_line(x->dtype, all + first, n, step, times);
    for (int64_t k = 0; k < left; k++) {
      wanted->values[i / step * left * step + i % step + k * step] = all[first + k * step];
    }
  }
  return wanted;
}

void check_diff(check_run *run, const check_op *op, tsr_dtype dtype) {
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    for (int64_t times = 0; times <= 3; times++) {
      if (!check_begin(run, times == 1 ? c->weight : CHECK_HEAVY, "%s-%d", c->name, (int)times)) continue;
      check_tensor *x = check_input(run, dtype, c->shape, c->view, op->domain);
      check_result(run, tsr_diff(x->tensor, times, c->axis), expect_diff(run, x, check_axis(c), times));
    }
  }
}

// --- quantile, median -------------------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The quantile of `n` numbers, which are sorted.
static double quantile_of(double *numbers, int64_t n, double q, double *out_magnitude) {
  *out_magnitude = 0;
  for (int64_t i = 0; i < n; i++) {
    if (isnan(numbers[i])) return NAN;
  }
  qsort(numbers, (size_t)n, sizeof *numbers, by_value);
  double position = q * (double)(n - 1), weight = position - floor(position);
  double low = numbers[(int64_t)position], high = weight > 0 ? numbers[(int64_t)position + 1] : low;
  *out_magnitude = fabs(low) + fabs(high);
  return low == high ? low : low * (1 - weight) + high * weight;
}

static check_expected *expect_quantile(check_run *run, const check_tensor *x, int axis, double q, bool keep_dims) {
  tsr_dtype dtype = check_float(x->dtype);
  int64_t n = x->shape.dims[axis], step = 1;
  for (int i = axis + 1; i < x->shape.rank; i++) step *= x->shape.dims[i];
  tsr_shape shape = x->shape;
  shape.dims[axis] = 1;
  for (int i = axis; i + 1 < shape.rank && !keep_dims; i++) shape.dims[i] = shape.dims[i + 1];
  if (!keep_dims) shape.rank--;
  check_expected *wanted = check_expect(run, dtype, shape);
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  double *line = check_alloc(run, (size_t)n, sizeof *line);
  for (int64_t i = 0; i < wanted->count; i++) {
    for (int64_t k = 0; k < n; k++) {
      line[k] = check_convert(dtype, x->dtype, x->values[i / step * n * step + i % step + k * step]).real;
    }
    wanted->values[i].real = quantile_of(line, n, q, &wanted->magnitudes[i]);
  }
  return wanted;
}

// A negative q means the median.
static void run_quantiles(check_run *run, const check_op *op, tsr_dtype dtype, double q) {
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    bool keep_dims = i % 2 == 1;
    if (!check_begin(run, c->weight, "%s-%g", c->name, q)) continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, op->domain);
    tsr_tensor *result =
        q < 0 ? tsr_median(x->tensor, c->axis, keep_dims) : tsr_quantile(x->tensor, q, c->axis, keep_dims);
    if (c->shape.dims[check_axis(c)] == 0) check_refused(run, result, TSR_ERR_SHAPE);
    else check_result(run, result, expect_quantile(run, x, check_axis(c), q < 0 ? 0.5 : q, keep_dims));
  }
}

void check_quantile(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const double list[] = {0, 0.25, 0.625, 1};
  for (int i = 0; i < 4; i++) run_quantiles(run, op, dtype, list[i]);
}

void check_median(check_run *run, const check_op *op, tsr_dtype dtype) { run_quantiles(run, op, dtype, -1); }

// --- masked_fill ------------------------------------------------------------------------------------------------------

typedef struct masked {
  const check_tensor *x, *mask;
  check_value value;
} masked;

static check_value masked_element(const void *context, const int64_t *index) {
  const masked *m = context;
  check_value mask = m->mask->values[check_broadcast_at(m->mask->shape, m->x->shape.rank, index)];
  bool is_filled = check_convert(TSR_BOOL, m->mask->dtype, mask).whole != 0;
  return is_filled ? m->value : m->x->values[check_ravel(m->x->shape, index)];
}

void check_masked_fill(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_dtype mask_dtypes[] = {TSR_BOOL, TSR_U8, TSR_F32};
  double value = dtype == TSR_BOOL ? 1 : check_is_float(dtype) ? -2.5 : 3;
  for (int i = 0; i < PAIR_COUNT; i++) {
    const pair_case *c = &pairs[i];
    for (int k = 0; k < 3; k++) {
      if (!check_begin(run, k ? CHECK_HEAVY : c->weight, "%s-%s", c->name, tsr_dtype_name(mask_dtypes[k]))) continue;
      tsr_shape shape = c->shape;
      if (k == 1) shape.dims[0] = 1;  // is broadcast
      masked m = {.x = check_input(run, dtype, c->shape, c->view, CHECK_ANY),
                  .mask = check_input(run, mask_dtypes[k], shape, CHECK_PLAIN, CHECK_SPARSE)};
      m.value = check_convert(dtype, TSR_F64, (check_value){.real = value});
      check_result(run, tsr_masked_fill(m.x->tensor, m.mask->tensor, value),
                   check_expect_each(run, dtype, c->shape, masked_element, &m));
    }
  }
}
