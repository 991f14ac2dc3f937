// SPDX-License-Identifier: MIT
// Operators that create tensors, and views: references and cases.
#include <math.h>
#include <string.h>

#include "check_move.h"

// --- Filled by a rule -------------------------------------------------------------------------------------------------

static const tsr_shape shapes[] = {{0, {0}},       {1, {0}},        {1, {1}},    {2, {7, 19}},
                                   {3, {3, 0, 2}}, {3, {5, 3, 11}}, {1, {10007}}};

enum { SHAPE_COUNT = sizeof shapes / sizeof shapes[0] };

static check_expected *expect_full(check_run *run, tsr_dtype dtype, tsr_shape shape, tsr_dtype from,
                                   check_value value) {
  check_expected *wanted = check_expect(run, dtype, shape);
  for (int64_t i = 0; i < wanted->count; i++) wanted->values[i] = check_convert(dtype, from, value);
  return wanted;
}

void check_zeros(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < SHAPE_COUNT; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%d", i)) continue;
    check_result(run, tsr_zeros(check_device(run), dtype, shapes[i]),
                 expect_full(run, dtype, shapes[i], TSR_F64, (check_value){.real = 0}));
  }
}

void check_ones(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < SHAPE_COUNT; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%d", i)) continue;
    check_result(run, tsr_ones(check_device(run), dtype, shapes[i]),
                 expect_full(run, dtype, shapes[i], TSR_F64, (check_value){.real = 1}));
  }
}

void check_full(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const double values[] = {0.1, -2.5, 1e10, -1e300, NAN, INFINITY, -0.0, 65519, 3.999};
  for (int i = 0; i < 9; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%g", values[i])) continue;
    tsr_shape shape = shapes[i % SHAPE_COUNT];
    check_result(run, tsr_full(check_device(run), dtype, shape, values[i]),
                 expect_full(run, dtype, shape, TSR_F64, (check_value){.real = values[i]}));
  }
}

void check_full_int(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const int64_t values[] = {0, -1, 300, INT64_MAX, INT64_MIN, INT64_C(9007199254740993), 16777217, -40000};
  for (int i = 0; i < 8; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%d", i)) continue;
    tsr_shape shape = shapes[i % SHAPE_COUNT];
    check_note(run, "value %lld", (long long)values[i]);
    check_result(run, tsr_full_int(check_device(run), dtype, shape, values[i]),
                 expect_full(run, dtype, shape, TSR_I64, (check_value){.whole = values[i]}));
  }
}

void check_arange(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const struct {
    double start, stop, step;
    int64_t count;
  } list[] = {{0, 10, 1, 10}, {5, -5, -2, 5},      {0, 1, 0.25, 4},   {3, 3, 1, 0},
              {5, 1, 1, 0},   {-1.5, 1.5, 0.7, 5}, {0, 5000, 1, 5000}};
  for (int i = 0; i < 7; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%g-%g-%g", list[i].start, list[i].stop, list[i].step)) continue;
    check_expected *wanted = check_expect(run, dtype, TSR_SHAPE(list[i].count));
    for (int64_t k = 0; k < wanted->count; k++) {
      double value = list[i].start + (double)k * list[i].step;
      wanted->values[k] = check_convert(dtype, TSR_F64, (check_value){.real = value});
    }
    check_result(run, tsr_arange(check_device(run), dtype, list[i].start, list[i].stop, list[i].step), wanted);
  }
}

// Steps that f64 represents exactly, so that the way of computing them does not matter.
void check_linspace(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const struct {
    double start, stop;
    int64_t count;
  } list[] = {{0, 1, 5}, {-2, 2, 9}, {3, 100, 1}, {3, 100, 0}, {10, -6, 65}, {0, 4096, 4097}, {7, 8, 2}};
  for (int i = 0; i < 7; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%g-%g-%d", list[i].start, list[i].stop, (int)list[i].count)) continue;
    check_expected *wanted = check_expect(run, dtype, TSR_SHAPE(list[i].count));
    for (int64_t k = 0; k < wanted->count; k++) {
      double step = wanted->count > 1 ? (list[i].stop - list[i].start) / (double)(wanted->count - 1) : 0;
      wanted->values[k] = check_convert(dtype, TSR_F64, (check_value){.real = list[i].start + (double)k * step});
    }
    check_result(run, tsr_linspace(check_device(run), dtype, list[i].start, list[i].stop, list[i].count), wanted);
  }
}

void check_eye(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const int64_t diagonals[] = {0, 2, -3, 100, -100};
  for (int i = 0; i < 5; i++) {
    int64_t rows = 7 + i, cols = 9 - i, diagonal = diagonals[i];
    if (!check_begin(run, CHECK_OFTEN, "%d", i)) continue;
    check_expected *wanted = check_expect(run, dtype, TSR_SHAPE(rows, cols));
    for (int64_t k = 0; k < wanted->count; k++) {
      check_value is_one = {.whole = k % cols - k / cols == diagonal};
      wanted->values[k] = check_convert(dtype, TSR_BOOL, is_one);
    }
    check_result(run, tsr_eye(check_device(run), dtype, rows, cols, diagonal), wanted);
  }
}

// --- Views ------------------------------------------------------------------------------------------------------------

// A view: element `index` of the result is an element of x at a transformed index.
typedef struct view {
  const check_tensor *x;
  int axes[TSR_MAX_RANK];
  int64_t start, step;
  tsr_shape shape;
} view;

static check_value same_order_element(const void *context, const int64_t *index) {
  const view *v = context;
  return v->x->values[check_ravel(v->shape, index)];
}

static check_value permuted_element(const void *context, const int64_t *index) {
  const view *v = context;
  int64_t place[TSR_MAX_RANK];
  for (int i = 0; i < v->shape.rank; i++) place[v->axes[i]] = index[i];
  return v->x->values[check_ravel(v->x->shape, place)];
}

static check_value sliced_element(const void *context, const int64_t *index) {
  const view *v = context;
  int64_t place[TSR_MAX_RANK];
  memcpy(place, index, sizeof place);
  place[v->axes[0]] = v->start + index[v->axes[0]] * v->step;
  return v->x->values[check_ravel(v->x->shape, place)];
}

static check_value expanded_element(const void *context, const int64_t *index) {
  const view *v = context;
  return v->x->values[check_broadcast_at(v->x->shape, v->shape.rank, index)];
}

void check_reshape(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_shape to[] = {{1, {-1}}, {2, {8, 9}}, {3, {2, -1, 3}}, {4, {1, 72, 1, 1}}, {2, {3, 24}}};
  for (int i = 0; i < 5 * CHECK_VIEW_COUNT; i++) {
    check_view from = (check_view)(i / 5);
    if (!check_begin(run, CHECK_OFTEN, "%d-%d", (int)from, i % 5)) continue;
    view v = {.x = check_input(run, dtype, TSR_SHAPE(6, 12), from, CHECK_ANY), .shape = to[i % 5]};
    int64_t known = 1;
    for (int k = 0; k < v.shape.rank; k++) known *= v.shape.dims[k] < 0 ? 1 : v.shape.dims[k];
    for (int k = 0; k < v.shape.rank; k++) v.shape.dims[k] = v.shape.dims[k] < 0 ? 72 / known : v.shape.dims[k];
    check_result(run, tsr_reshape(v.x->tensor, to[i % 5]),
                 check_expect_each(run, dtype, v.shape, same_order_element, &v));
  }
}

void check_contiguous(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_shape copied[] = {{2, {13, 17}},   {3, {5, 4, 7}},  {2, {0, 3}},  {2, {257, 131}},
                                     {3, {2, 32, 3}}, {3, {3, 3, 64}}, {2, {77, 5}}, {3, {2, 8, 20}}};
  enum { COUNT = sizeof copied / sizeof copied[0] };
  for (int i = 0; i < COUNT * CHECK_VIEW_COUNT; i++) {
    check_view from = (check_view)(i / COUNT);
    tsr_shape shape = copied[i % COUNT];
    if (!check_begin(run, from == CHECK_TRANSPOSED ? CHECK_ALWAYS : CHECK_OFTEN, "%d-%d", (int)from, i % COUNT))
      continue;
    view v = {.x = check_input(run, dtype, shape, from, CHECK_ANY), .shape = shape};
    tsr_tensor *result = tsr_contiguous(v.x->tensor);
    if (tsr_error(result) == TSR_OK && !tsr_tensor_is_contiguous(result))
      check_fail(run, "the result is not contiguous");
    else check_result(run, result, check_expect_each(run, dtype, v.shape, same_order_element, &v));
  }
}

// Assigns to every kind of view, from every kind of view and with broadcasting. Operators recorded before must see the
// old elements.
void check_assign(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_shape pairs[][2] = {
      {{2, {13, 17}}, {2, {13, 17}}}, {{3, {5, 4, 7}}, {2, {4, 1}}}, {{2, {131, 67}}, {2, {131, 67}}}};
  for (int i = 0; i < 3 * CHECK_VIEW_COUNT * CHECK_VIEW_COUNT; i++) {
    check_view to = (check_view)(i / 3 % CHECK_VIEW_COUNT), from = (check_view)(i / 3 / CHECK_VIEW_COUNT);
    if (to == CHECK_EXPANDED) continue;  // cannot be written
    if (!check_begin(run, to == CHECK_SLICED ? CHECK_ALWAYS : CHECK_OFTEN, "%d-%d-%d", (int)to, (int)from, i % 3))
      continue;
    tsr_shape shape = pairs[i % 3][0];
    view old = {
        .x = check_input(run, dtype, shape, to, CHECK_ANY), .shape = shape, .start = shape.dims[0] - 1, .step = -1};
    view v = {.x = check_input(run, dtype, pairs[i % 3][1], from, CHECK_ANY), .shape = shape};
    tsr_tensor *before = tsr_contiguous(tsr_flip(old.x->tensor, 0));
    if (tsr_assign(old.x->tensor, v.x->tensor) != TSR_OK) {
      check_fail(run, "%s", tsr_last_error());
      continue;
    }
    tsr_tensor *after = tsr_reshape(old.x->tensor, shape);
    check_part_result(run, after, check_expect_each(run, dtype, shape, expanded_element, &v));
    check_part_result(run, before, check_expect_each(run, dtype, shape, sliced_element, &old));
    check_result(run, old.x->tensor, check_expect_each(run, dtype, shape, expanded_element, &v));
  }
}

static void run_permuted(check_run *run, tsr_dtype dtype, const int *axes, bool is_transpose) {
  for (int i = 0; i < CHECK_VIEW_COUNT; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%d-%d%d%d", i, axes[0], axes[1], axes[2])) continue;
    view v = {.x = check_input(run, dtype, TSR_SHAPE(3, 5, 4), (check_view)i, CHECK_ANY), .shape = {.rank = 3}};
    for (int k = 0; k < 3; k++) {
      v.axes[k] = axes[k];
      v.shape.dims[k] = v.x->shape.dims[axes[k]];
    }
    tsr_tensor *result = is_transpose ? tsr_transpose(v.x->tensor, 0, -1) : tsr_permute(v.x->tensor, axes, 3);
    check_result(run, result, check_expect_each(run, dtype, v.shape, permuted_element, &v));
  }
}

void check_transpose(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_permuted(run, dtype, (int[]){2, 1, 0}, true);
}

void check_permute(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_permuted(run, dtype, (int[]){1, 2, 0}, false);
  run_permuted(run, dtype, (int[]){0, 1, 2}, false);
  run_permuted(run, dtype, (int[]){2, 0, 1}, false);
}

// Python's [start:stop:step], with results computed by hand for an axis of 11.
void check_slice(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const struct {
    int64_t start, stop, step, first, count;
  } list[] = {{0, TSR_END, 1, 0, 11}, {2, 9, 3, 2, 3},   {-3, TSR_END, 1, 8, 3}, {TSR_END, TSR_END, -2, 10, 6},
              {8, 2, -1, 8, 6},       {5, 5, 1, 0, 0},   {-100, 100, 4, 0, 3},   {3, 1, 1, 0, 0},
              {-2, -9, -3, 9, 3},     {20, 30, 1, 0, 0}, {10, 11, 1, 10, 1}};
  for (int i = 0; i < 11; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%d", i)) continue;
    int axis = i % 3;
    view v = {.axes = {axis}, .start = list[i].first, .step = list[i].step, .shape = TSR_SHAPE(4, 3, 5)};
    v.shape.dims[axis] = 11;
    v.x = check_input(run, dtype, v.shape, (check_view)(i % CHECK_VIEW_COUNT), CHECK_ANY);
    v.shape.dims[axis] = list[i].count;
    check_note(run, "[%lld:%lld:%lld]", (long long)list[i].start, (long long)list[i].stop, (long long)list[i].step);
    check_result(run, tsr_slice(v.x->tensor, axis, list[i].start, list[i].stop, list[i].step),
                 check_expect_each(run, dtype, v.shape, sliced_element, &v));
  }
}

void check_flip(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    view v = {.x = check_input(run, dtype, c->shape, c->view, CHECK_ANY), .axes = {check_axis(c)}, .shape = c->shape};
    v.start = c->shape.dims[v.axes[0]] - 1;
    v.step = -1;
    check_result(run, tsr_flip(v.x->tensor, c->axis), check_expect_each(run, dtype, v.shape, sliced_element, &v));
  }
}

void check_expand(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_shape from[] = {{2, {1, 7}}, {2, {5, 1}}, {0, {0}}, {3, {2, 1, 3}}, {1, {1}}};
  static const tsr_shape to[] = {{2, {4, 7}}, {3, {3, 5, 6}}, {2, {2, 3}}, {4, {2, 2, 5, 3}}, {1, {0}}};
  for (int i = 0; i < 5; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%d", i)) continue;
    view v = {.x = check_input(run, dtype, from[i], CHECK_REVERSED, CHECK_ANY), .shape = to[i]};
    check_result(run, tsr_expand(v.x->tensor, to[i]), check_expect_each(run, dtype, to[i], expanded_element, &v));
  }
}

void check_squeeze(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < CHECK_VIEW_COUNT; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%d", i)) continue;
    view v = {.x = check_input(run, dtype, TSR_SHAPE(5, 1, 7), (check_view)i, CHECK_ANY), .shape = TSR_SHAPE(5, 7)};
    check_result(run, tsr_squeeze(v.x->tensor, 1), check_expect_each(run, dtype, v.shape, same_order_element, &v));
  }
  if (!check_begin(run, CHECK_OFTEN, "refused")) return;
  check_refused(run, tsr_squeeze(check_input(run, dtype, TSR_SHAPE(5, 2), CHECK_PLAIN, CHECK_ANY)->tensor, 1),
                TSR_ERR_SHAPE);
}

void check_unsqueeze(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int axis = 0; axis <= 2; axis++) {
    if (!check_begin(run, CHECK_OFTEN, "%d", axis)) continue;
    view v = {.x = check_input(run, dtype, TSR_SHAPE(5, 7), CHECK_TRANSPOSED, CHECK_ANY), .shape = {.rank = 3}};
    for (int i = 0, from = 0; i < 3; i++) v.shape.dims[i] = i == axis ? 1 : v.x->shape.dims[from++];
    check_result(run, tsr_unsqueeze(v.x->tensor, axis), check_expect_each(run, dtype, v.shape, same_order_element, &v));
  }
}

void check_squeeze_all(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_shape from[] = {{4, {1, 5, 1, 7}}, {2, {1, 1}}, {2, {3, 4}}},
                         to[] = {{2, {5, 7}}, {0, {0}}, {2, {3, 4}}};
  for (int i = 0; i < 3; i++) {
    if (!check_begin(run, CHECK_OFTEN, "%d", i)) continue;
    view v = {.x = check_input(run, dtype, from[i], CHECK_SLICED, CHECK_ANY), .shape = to[i]};
    check_result(run, tsr_squeeze_all(v.x->tensor), check_expect_each(run, dtype, to[i], same_order_element, &v));
  }
}
