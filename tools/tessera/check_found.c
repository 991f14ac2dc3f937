// SPDX-License-Identifier: MIT
// Operators that find and count elements: nonzero, masked_select, unique, mode, bincount, histogram, bucketize, interp. References and cases.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_move.h"
#include "check_reference.h"

static bool is_truth(tsr_dtype dtype, check_value value) {
  return check_is_float(dtype) ? value.real != 0 : value.whole != 0;  // NaN is not 0
}

// NaN equals NaN and comes last.
static int compare_reals(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
  return (a > b) - (a < b);
}

static int compare(tsr_dtype dtype, check_value a, check_value b) {
  return check_is_float(dtype) ? compare_reals(a.real, b.real) : (a.whole > b.whole) - (a.whole < b.whole);
}

// --- nonzero, masked_select -------------------------------------------------------------------------------------------

void check_nonzero(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_shape more[] = {{0, {0}}, {3, {0, 2, 3}}};
  for (int i = 0; i < check_axis_case_count + 2; i++) {
    const check_axis_case *c = &check_axis_cases[i < check_axis_case_count ? i : 0];
    tsr_shape shape = i < check_axis_case_count ? c->shape : more[i - check_axis_case_count];
    if (!check_begin(run, c->weight, "%d", i)) continue;
    check_tensor *x = check_input(run, dtype, shape, c->view, CHECK_SPARSE);
    int64_t found = 0;
    for (int64_t k = 0; k < x->count; k++) found += is_truth(dtype, x->values[k]);
    check_expected *wanted = check_expect(run, TSR_I32, TSR_SHAPE(found, shape.rank));
    for (int64_t k = 0, row = 0; k < x->count; k++) {
      int64_t index[TSR_MAX_RANK];
      if (!is_truth(dtype, x->values[k])) continue;
      check_unravel(shape, k, index);
      for (int axis = 0; axis < shape.rank; axis++) wanted->values[row * shape.rank + axis].whole = index[axis];
      row++;
    }
    check_waits(run);
    check_result(run, tsr_nonzero(x->tensor), wanted);
  }
}

void check_masked_select(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const struct {
    tsr_shape x, mask;
  } list[] = {{{2, {7, 5}}, {2, {7, 5}}}, {{2, {7, 5}}, {1, {5}}}, {{1, {5}}, {2, {3, 5}}},
              {{2, {0, 5}}, {1, {5}}},    {{0, {0}}, {1, {9}}},    {{1, {3001}}, {1, {3001}}}};
  static const tsr_dtype masks[] = {TSR_BOOL, TSR_F32, TSR_U8};
  for (int i = 0; i < 6; i++) {
    if (!check_begin(run, i < 2 ? CHECK_ALWAYS : i < 5 ? CHECK_OFTEN : CHECK_HEAVY, "%d", i)) continue;
    check_tensor *x = check_input(run, dtype, list[i].x, (check_view)(i % CHECK_VIEW_COUNT), CHECK_ANY);
    check_tensor *mask = check_input(run, masks[i % 3], list[i].mask, CHECK_PLAIN, CHECK_SPARSE);
    tsr_shape both = check_broadcast(x->shape, mask->shape);
    check_value *found = check_alloc(run, (size_t)check_count(both), sizeof *found);
    int64_t count = 0;
    for (int64_t k = 0; k < check_count(both); k++) {
      int64_t index[TSR_MAX_RANK];
      check_unravel(both, k, index);
      if (is_truth(mask->dtype, mask->values[check_broadcast_at(mask->shape, both.rank, index)]))
        found[count++] = x->values[check_broadcast_at(x->shape, both.rank, index)];
    }
    check_expected *wanted = check_expect(run, dtype, TSR_SHAPE(count));
    memcpy(wanted->values, found, (size_t)count * sizeof *found);
    check_waits(run);
    check_result(run, tsr_masked_select(x->tensor, mask->tensor), wanted);
  }
}

// --- unique, mode -----------------------------------------------------------------------------------------------------

// Different elements in ascending order, by insertion. Returns how many.
static int64_t collect(const check_tensor *x, check_value *out_values) {
  int64_t count = 0;
  for (int64_t i = 0; i < x->count; i++) {
    int64_t at = 0;
    while (at < count && compare(x->dtype, out_values[at], x->values[i]) < 0) at++;
    if (at < count && compare(x->dtype, out_values[at], x->values[i]) == 0) continue;
    memmove(out_values + at + 1, out_values + at, (size_t)(count - at) * sizeof *out_values);
    out_values[at] = x->values[i];
    count++;
  }
  return count;
}

void check_unique(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const check_domain domains[] = {CHECK_SPARSE, CHECK_ANY, CHECK_MODERATE};
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (c->weight == CHECK_HEAVY || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, domains[i % 3]);
    check_value *found = check_alloc(run, (size_t)x->count + 1, sizeof *found);
    int64_t count = collect(x, found);
    check_expected *values = check_expect(run, dtype, TSR_SHAPE(count)),
                   *inverse = check_expect(run, TSR_I32, x->shape);
    check_expected *counts = check_expect(run, TSR_I32, TSR_SHAPE(count));
    memcpy(values->values, found, (size_t)count * sizeof *found);
    for (int64_t k = 0; k < x->count; k++) {
      int64_t which = 0;
      while (compare(dtype, found[which], x->values[k]) != 0) which++;
      inverse->values[k].whole = which;
      counts->values[which].whole++;
    }
    tsr_tensor *is_values = NULL, *is_inverse = NULL, *is_counts = NULL;
    check_waits(run);
    tsr_status status = tsr_unique(x->tensor, &is_values, &is_inverse, &is_counts);
    if (status != TSR_OK) {
      check_call_failed(run, status);
      continue;
    }
    check_part_result(run, is_values, values);
    check_part_result(run, is_inverse, inverse);
    check_result(run, is_counts, counts);
  }
}

static check_value most_frequent(const check_tensor *x, int64_t first, int64_t step, int64_t n) {
  check_value best = x->values[first];
  int64_t most = 0;
  for (int64_t i = 0; i < n; i++) {
    check_value value = x->values[first + i * step];
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++)
      count += k == i || (compare(x->dtype, value, x->values[first + k * step]) == 0 &&
                          !(check_is_float(x->dtype) && isnan(value.real)));
    if (count > most || (count == most && compare(x->dtype, value, best) < 0)) {
      best = value;
      most = count;
    }
  }
  return best;
}

void check_mode(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count * 2; i++) {
    const check_axis_case *c = &check_axis_cases[i / 2];
    int axis = check_axis(c);
    int64_t n = c->shape.dims[axis], step = 1;
    if (c->weight == CHECK_HEAVY || n == 0 || !check_begin(run, c->weight, "%s%s", c->name, i % 2 ? "-kept" : ""))
      continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, i % 4 < 2 ? CHECK_SPARSE : CHECK_ANY);
    tsr_shape shape = c->shape;
    shape.dims[axis] = 1;
    for (int k = axis + 1; k < shape.rank; k++) step *= shape.dims[k];
    if (i % 2 == 0) {
      for (int k = axis; k + 1 < shape.rank; k++) shape.dims[k] = shape.dims[k + 1];
      shape.rank--;
    }
    check_expected *wanted = check_expect(run, dtype, shape);
    for (int64_t line = 0; line < wanted->count; line++)
      wanted->values[line] = most_frequent(x, line / step * step * n + line % step, step, n);
    check_result(run, tsr_mode(x->tensor, c->axis, i % 2), wanted);
  }
}

// --- Counting ---------------------------------------------------------------------------------------------------------

static void run_bincount(check_run *run, tsr_dtype dtype, int i, bool has_weights) {
  static const int64_t lengths[] = {10, 0, 1, 1500, 37};
  static const tsr_shape shapes[] = {{1, {13}}, {2, {7, 19}}, {1, {5003}}, {1, {0}}, {2, {41, 11}}};
  int64_t length = lengths[i % 5], most = check_most(dtype) < 1600 ? check_most(dtype) : 1600;
  check_tensor *x = check_indices(run, dtype, shapes[i % 5], (check_view)(i % CHECK_VIEW_COUNT), -3,
                                  most < 30 ? most
                                  : i % 2   ? most
                                            : 30);
  check_tensor *weights = has_weights ? check_input(run, TSR_F32, x->shape, CHECK_PLAIN, CHECK_TAME) : NULL;
  int64_t size = length, largest = -1;
  for (int64_t k = 0; k < x->count; k++) largest = x->values[k].whole > largest ? x->values[k].whole : largest;
  if (length == 0) size = largest + 1;
  check_expected *wanted = check_expect(run, has_weights ? TSR_F32 : TSR_I32, TSR_SHAPE(size));
  if (has_weights) wanted->magnitudes = check_alloc(run, (size_t)size, sizeof(double));
  wanted->terms = x->count;
  for (int64_t k = 0; k < x->count; k++) {
    int64_t at = x->values[k].whole;
    if (at < 0 || at >= size) continue;
    if (has_weights) wanted->values[at].real += weights->values[k].real;
    if (has_weights) wanted->magnitudes[at] += fabs(weights->values[k].real);
    else wanted->values[at].whole++;
  }
  if (length == 0) check_waits(run);
  check_result(run, tsr_bincount(x->tensor, has_weights ? weights->tensor : NULL, length), wanted);
}

void check_bincount(check_run *run, const check_op *op, tsr_dtype dtype) {
  bool is_taken = op->dtypes & CHECK_BIT(dtype);
  for (int i = 0; i < 20 && is_taken; i++) {
    if (check_begin(run, i < 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%d%s", i % 10, i < 10 ? "" : "-weights"))
      run_bincount(run, dtype, i % 10, i >= 10);
  }
  if (is_taken || !check_begin(run, CHECK_OFTEN, "refused")) return;
  check_tensor *x = check_input(run, dtype, TSR_SHAPE(3), CHECK_PLAIN, CHECK_ANY);
  check_refused(run, tsr_bincount(x->tensor, NULL, 4), TSR_ERR_DTYPE);
}

// The ranges are powers of 2 wide, so that every edge is exact. With more than 4,032 of them, a counter in shared memory counts two; the last case has enough
// elements for that with more than 8,064.
void check_histogram(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const struct {
    int64_t bins;
    double low, high;
  } list[] = {{8, -2, 2},      {1, 0, 1}, {64, -64, 64}, {2048, -16, 16}, {4, 0, 64}, {4097, -64, 64.03125},
              {16000, -64, 61}};
  static const tsr_shape shapes[] = {{1, {257}}, {2, {7, 19}}, {1, {9001}},     {0, {0}},
                                     {1, {0}},   {1, {9001}},  {2, {600, 1001}}};
  for (int i = 0; i < 17; i++) {
    int entry = i < 15 ? i % 5 : i - 10, shape = i < 15 ? i / 3 : i - 10;
    int64_t bins = list[entry].bins;
    double low = list[entry].low, high = list[entry].high, width = (high - low) / (double)bins;
    if (!check_begin(run, i < 3 ? CHECK_ALWAYS : i < 16 ? CHECK_OFTEN : CHECK_HEAVY, "%d", i)) continue;
    check_tensor *x =
        check_input(run, dtype, shapes[shape], (check_view)(i % CHECK_VIEW_COUNT), i % 2 ? CHECK_MODERATE : CHECK_TAME);
    check_expected *wanted = check_expect(run, TSR_I32, TSR_SHAPE(bins));
    for (int64_t k = 0; k < x->count; k++) {
      double value = check_convert(check_float(dtype), dtype, x->values[k]).real;
      if (!(value >= low && value <= high)) continue;
      int64_t bin = (int64_t)floor((value - low) / width);
      while (bin > 0 && value < low + (double)bin * width) bin--;  // the difference may have been rounded up
      wanted->values[bin < bins ? bin : bins - 1].whole++;
    }
    check_result(run, tsr_histogram(x->tensor, bins, low, high), wanted);
  }
}

void check_bucketize(check_run *run, const check_op *op, tsr_dtype dtype) {
  if (!(op->dtypes & CHECK_BIT(dtype))) return;
  for (int i = 0; i < 2 * CHECK_VIEW_COUNT; i++) {
    if (!check_begin(run, i < 2 ? CHECK_ALWAYS : CHECK_OFTEN, "%d%s", i / 2, i % 2 ? "-right" : "")) continue;
    check_value edges[9];
    for (int k = 0; k < 9; k++) edges[k] = check_convert(dtype, TSR_I64, (check_value){.whole = 2 * (k / 2)});
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(7, 11), (check_view)(i / 2), CHECK_SPARSE);
    check_tensor *boundaries = check_input_of(run, dtype, TSR_SHAPE(9), CHECK_PLAIN, edges);
    check_expected *wanted = check_expect(run, TSR_I32, x->shape);
    for (int64_t k = 0; k < x->count; k++) {
      for (int e = 0; e < 9; e++) wanted->values[k].whole += compare(dtype, edges[e], x->values[k]) < i % 2;
    }
    check_result(run, tsr_bucketize(x->tensor, boundaries->tensor, i % 2), wanted);
  }
}

// --- interp -----------------------------------------------------------------------------------------------------------

static double height(const check_tensor *xs, const check_tensor *ys, tsr_dtype dtype, double x, double *out_size) {
  int64_t n = xs->count, at = 0;
  *out_size = 0;
  if (isnan(x)) return NAN;
#define AT(t, i) check_convert(dtype, (t)->dtype, (t)->values[i]).real
  while (at + 1 < n && AT(xs, at + 1) <= x) at++;
  if (x <= AT(xs, 0) || at == n - 1) return AT(ys, at);
  double left = AT(xs, at), right = AT(xs, at + 1), low = AT(ys, at), high = AT(ys, at + 1);
#undef AT
  *out_size = 2 * (fabs(low) + fabs(high));
  return low + (high - low) * ((x - left) / (right - left));
}

void check_interp(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const int64_t sizes[] = {7, 1, 2, 33};
  for (int i = 0; i < 4 * CHECK_VIEW_COUNT; i++) {
    int64_t n = sizes[i % 4];
    if (!check_begin(run, i < 4 ? CHECK_ALWAYS : CHECK_OFTEN, "%d-%d", (int)n, i / 4)) continue;
    check_value *places = check_alloc(run, (size_t)n, sizeof *places);
    for (int64_t k = 0; k < n; k++)
      places[k] = check_convert(dtype, TSR_I64, (check_value){.whole = dtype == TSR_BOOL ? k > 0 : 3 * k});
    tsr_dtype computed = check_float(dtype);
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(7, 11), (check_view)(i / 4), CHECK_MODERATE);
    check_tensor *xs = check_input_of(run, dtype, TSR_SHAPE(n), CHECK_PLAIN, places);
    check_tensor *ys = check_input(run, dtype, TSR_SHAPE(n), CHECK_PLAIN, CHECK_TAME);
    check_expected *wanted = check_expect(run, computed, x->shape);
    wanted->magnitudes = check_alloc(run, (size_t)x->count, sizeof(double));
    for (int64_t k = 0; k < x->count; k++) {
      double value = check_convert(computed, dtype, x->values[k]).real;
      wanted->values[k].real = height(xs, ys, computed, value, &wanted->magnitudes[k]);
    }
    check_result(run, tsr_interp(x->tensor, xs->tensor, ys->tensor), wanted);
  }
}
