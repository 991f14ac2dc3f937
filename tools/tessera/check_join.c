// SPDX-License-Identifier: MIT
// Joining, repeating and padding: references and cases.
#include <string.h>

#include "check_move.h"

// The inputs, the axis, and the operator's other arguments.
typedef struct move {
  const check_tensor *x[3];
  int axis;
  int64_t by;
  const int64_t *before;
  double value;
  tsr_shape shape;  // of the result
} move;

static check_value at(const check_tensor *x, const int64_t *index) { return x->values[check_ravel(x->shape, index)]; }

// --- concat, stack ----------------------------------------------------------------------------------------------------

// Finds the input that the element at `index` of the result comes from: returns its number, and in `place` the element's index in that input.
static int part_at(const check_tensor *const *parts, int axis, const int64_t *index, int64_t place[TSR_MAX_RANK]) {
  int part = 0;
  memcpy(place, index, TSR_MAX_RANK * sizeof *place);
  while (place[axis] >= parts[part]->shape.dims[axis]) place[axis] -= parts[part++]->shape.dims[axis];
  return part;
}

static check_value concat_element(const void *context, const int64_t *index) {
  const move *m = context;
  int64_t place[TSR_MAX_RANK];
  int part = part_at(m->x, m->axis, index, place);
  tsr_dtype dtype = check_promote(check_promote(m->x[0]->dtype, m->x[1]->dtype), m->x[2]->dtype);
  return check_convert(dtype, m->x[part]->dtype, at(m->x[part], place));
}

static void run_concat_case(check_run *run, tsr_dtype dtype, tsr_dtype other, const check_axis_case *c) {
  move m = {.axis = check_axis(c), .shape = c->shape};
  tsr_tensor *parts[3];
  m.shape.dims[m.axis] = 0;
  for (int i = 0; i < 3; i++) {
    tsr_shape shape = c->shape;
    shape.dims[m.axis] = i == 0   ? shape.dims[m.axis]
                         : i == 1 ? 0
                                  : shape.dims[m.axis] + 2;  // the second input is empty
    m.x[i] = check_input(run, i == 2 ? other : dtype, shape, c->view, CHECK_ANY);
    m.shape.dims[m.axis] += shape.dims[m.axis];
    parts[i] = m.x[i]->tensor;
  }
  tsr_dtype result = check_promote(dtype, other);
  check_result(run, tsr_concat(parts, 3, c->axis), check_expect_each(run, result, m.shape, concat_element, &m));
}

// Inputs of a case of many: more than the kernels of any backend take at once.
enum { MANY = 19 };

typedef struct many {
  const check_tensor *x[MANY];
  int axis;
} many;

static check_value many_element(const void *context, const int64_t *index) {
  const many *m = context;
  int64_t place[TSR_MAX_RANK];
  int part = part_at(m->x, m->axis, index, place);
  return at(m->x[part], place);
}

// Joins MANY matrices along the axis. Matrix i has sizes[0] * (i % sizes[1]) elements along the axis (sizes[0] if sizes[1] is 1), and sizes[2] along the other
// axis.
static void run_concat_many(check_run *run, tsr_dtype dtype, int axis, const int64_t sizes[3], check_view view) {
  many m = {.axis = axis};
  tsr_tensor *parts[MANY];
  tsr_shape shape = TSR_SHAPE(sizes[2], sizes[2]);
  int64_t all = 0;
  for (int i = 0; i < MANY; i++) {
    shape.dims[axis] = sizes[0] * (i % sizes[1] + (sizes[1] == 1));
    all += shape.dims[axis];
    m.x[i] = check_input(run, dtype, shape, view, CHECK_ANY);
    parts[i] = m.x[i]->tensor;
  }
  shape.dims[axis] = all;
  check_result(run, tsr_concat(parts, MANY, axis), check_expect_each(run, dtype, shape, many_element, &m));
}

void check_concat(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int axis = 0; axis < 2; axis++) {
    if (check_begin(run, CHECK_OFTEN, "many-even/%d", axis))
      run_concat_many(run, dtype, axis, (int64_t[]){8, 1, 12}, CHECK_PLAIN);
    if (check_begin(run, CHECK_HEAVY, "many-odd/%d", axis))
      run_concat_many(run, dtype, axis, (int64_t[]){1, 6, 7}, CHECK_PLAIN);
    if (check_begin(run, CHECK_HEAVY, "many-steps/%d", axis))
      run_concat_many(run, dtype, axis, (int64_t[]){4, 3, 8}, CHECK_SLICED);
  }
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (check_begin(run, c->weight, "%s", c->name)) run_concat_case(run, dtype, dtype, c);
  }
  for (int other = 0; other < TSR_DTYPE_COUNT; other++) {
    if ((int)dtype == other || !check_begin(run, CHECK_HEAVY, "with-%s", tsr_dtype_name((tsr_dtype)other))) continue;
    run_concat_case(run, dtype, (tsr_dtype)other, &check_axis_cases[1]);
  }
}

static check_value stack_element(const void *context, const int64_t *index) {
  const move *m = context;
  int64_t place[TSR_MAX_RANK] = {0};
  for (int i = 0, to = 0; i < m->shape.rank; i++) {
    if (i != m->axis) place[to++] = index[i];
  }
  return at(m->x[index[m->axis]], place);
}

void check_stack(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    move m = {.axis = c->axis < 0 ? c->shape.rank : c->axis, .shape = {.rank = c->shape.rank + 1}};
    tsr_tensor *parts[3];
    for (int k = 0, from = 0; k < m.shape.rank; k++) m.shape.dims[k] = k == m.axis ? 3 : c->shape.dims[from++];
    for (int k = 0; k < 3; k++) {
      m.x[k] = check_input(run, dtype, c->shape, c->view, CHECK_ANY);
      parts[k] = m.x[k]->tensor;
    }
    check_result(run, tsr_stack(parts, 3, m.axis), check_expect_each(run, dtype, m.shape, stack_element, &m));
  }
}

// --- split ------------------------------------------------------------------------------------------------------------

static check_value split_element(const void *context, const int64_t *index) {
  const move *m = context;
  int64_t place[TSR_MAX_RANK];
  memcpy(place, index, sizeof place);
  place[m->axis] += m->by;
  return at(m->x[0], place);
}

void check_split(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    move m = {.axis = check_axis(c)};
    m.x[0] = check_input(run, dtype, c->shape, c->view, CHECK_ANY);
    int64_t size = c->shape.dims[m.axis], sizes[3] = {size / 3, 0, size - size / 3};
    tsr_tensor *parts[3] = {NULL};
    tsr_status status = tsr_split(m.x[0]->tensor, sizes, 3, c->axis, parts);
    if (status != TSR_OK) {
      check_call_failed(run, status);
      continue;
    }
    for (int k = 0; k < 3; k++) {
      tsr_shape shape = c->shape;
      shape.dims[m.axis] = sizes[k];
      check_expected *wanted = check_expect_each(run, dtype, shape, split_element, &m);
      m.by += sizes[k];
      if (k < 2) check_part_result(run, parts[k], wanted);
      else check_result(run, parts[k], wanted);
    }
  }
}

// --- repeat, tile -----------------------------------------------------------------------------------------------------

static check_value repeat_element(const void *context, const int64_t *index) {
  const move *m = context;
  int64_t place[TSR_MAX_RANK];
  memcpy(place, index, sizeof place);
  place[m->axis] /= m->by;
  return at(m->x[0], place);
}

void check_repeat(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    for (int64_t times = 0; times <= 3; times++) {
      if (!check_begin(run, times == 2 ? c->weight : CHECK_HEAVY, "%s-%d", c->name, (int)times)) continue;
      move m = {.axis = check_axis(c), .by = times, .shape = c->shape};
      m.x[0] = check_input(run, dtype, c->shape, c->view, CHECK_ANY);
      m.shape.dims[m.axis] *= times;
      check_result(run, tsr_repeat(m.x[0]->tensor, times, c->axis),
                   check_expect_each(run, dtype, m.shape, repeat_element, &m));
    }
  }
}

static check_value tile_element(const void *context, const int64_t *index) {
  const move *m = context;
  const check_tensor *x = m->x[0];
  int64_t place[TSR_MAX_RANK];
  for (int i = 0; i < x->shape.rank; i++) place[i] = index[m->shape.rank - x->shape.rank + i] % x->shape.dims[i];
  return at(x, place);
}

static void run_tile_case(check_run *run, tsr_dtype dtype, const char *name, tsr_shape shape, tsr_shape times,
                          check_view view) {
  if (!check_begin(run, CHECK_OFTEN, "%s", name)) return;
  move m = {.shape = {.rank = shape.rank > times.rank ? shape.rank : times.rank}};
  m.x[0] = check_input(run, dtype, shape, view, CHECK_ANY);
  for (int i = 0; i < m.shape.rank; i++) {
    int in_shape = i - (m.shape.rank - shape.rank), in_times = i - (m.shape.rank - times.rank);
    m.shape.dims[i] = (in_shape < 0 ? 1 : shape.dims[in_shape]) * (in_times < 0 ? 1 : times.dims[in_times]);
  }
  check_result(run, tsr_tile(m.x[0]->tensor, times), check_expect_each(run, dtype, m.shape, tile_element, &m));
}

void check_tile(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_tile_case(run, dtype, "vector", TSR_SHAPE(5), TSR_SHAPE(3), CHECK_PLAIN);
  run_tile_case(run, dtype, "matrix", TSR_SHAPE(3, 5), TSR_SHAPE(2, 3), CHECK_PLAIN);
  run_tile_case(run, dtype, "transposed", TSR_SHAPE(3, 5), TSR_SHAPE(2, 3), CHECK_TRANSPOSED);
  run_tile_case(run, dtype, "more-axes", TSR_SHAPE(3, 5), TSR_SHAPE(2, 1, 3), CHECK_SLICED);
  run_tile_case(run, dtype, "fewer-axes", TSR_SHAPE(2, 3, 5), TSR_SHAPE(4), CHECK_REVERSED);
  run_tile_case(run, dtype, "once", TSR_SHAPE(3, 5), TSR_SHAPE(1, 1), CHECK_EXPANDED);
  run_tile_case(run, dtype, "never", TSR_SHAPE(3, 5), TSR_SHAPE(2, 0), CHECK_PLAIN);
  run_tile_case(run, dtype, "scalar", TSR_SCALAR, TSR_SHAPE(2, 3), CHECK_PLAIN);
  run_tile_case(run, dtype, "empty", TSR_SHAPE(0, 5), TSR_SHAPE(2, 2), CHECK_PLAIN);
  run_tile_case(run, dtype, "large", TSR_SHAPE(67, 101), TSR_SHAPE(3, 5), CHECK_PERMUTED);
}

// --- pad, roll --------------------------------------------------------------------------------------------------------

static check_value pad_element(const void *context, const int64_t *index) {
  const move *m = context;
  const check_tensor *x = m->x[0];
  int64_t place[TSR_MAX_RANK];
  for (int i = 0; i < x->shape.rank; i++) {
    place[i] = index[i] - m->before[i];
    if (place[i] < 0 || place[i] >= x->shape.dims[i])
      return check_convert(x->dtype, TSR_F64, (check_value){.real = m->value});
  }
  return at(x, place);
}

void check_pad(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    int64_t before[TSR_MAX_RANK], after[TSR_MAX_RANK];
    move m = {.before = before, .value = i % 3, .shape = c->shape};
    for (int k = 0; k < c->shape.rank; k++) {
      before[k] = (i + k) % 3;
      after[k] = (i * k + 1) % 4;
      m.shape.dims[k] += before[k] + after[k];
    }
    m.x[0] = check_input(run, dtype, c->shape, c->view, CHECK_ANY);
    check_result(run, tsr_pad(m.x[0]->tensor, before, after, c->shape.rank, m.value),
                 check_expect_each(run, dtype, m.shape, pad_element, &m));
  }
}

static check_value roll_element(const void *context, const int64_t *index) {
  const move *m = context;
  int64_t place[TSR_MAX_RANK], size = m->shape.dims[m->axis];
  memcpy(place, index, sizeof place);
  place[m->axis] = ((index[m->axis] - m->by) % size + size) % size;
  return at(m->x[0], place);
}

void check_roll(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const int64_t shifts[] = {1, 0, -2, 1000003};
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    for (int k = 0; k < 4; k++) {
      if (!check_begin(run, k == i % 4 ? c->weight : CHECK_HEAVY, "%s-by%d", c->name, (int)shifts[k])) continue;
      move m = {.axis = check_axis(c), .by = shifts[k], .shape = c->shape};
      m.x[0] = check_input(run, dtype, c->shape, c->view, CHECK_ANY);
      check_result(run, tsr_roll(m.x[0]->tensor, shifts[k], c->axis),
                   check_expect_each(run, dtype, m.shape, roll_element, &m));
    }
  }
}

// --- Triangles --------------------------------------------------------------------------------------------------------

static check_value tril_element(const void *context, const int64_t *index) {
  const move *m = context;
  bool stays = index[m->shape.rank - 1] - index[m->shape.rank - 2] <= m->by;
  return stays ? at(m->x[0], index) : (check_value){0};
}

static check_value triu_element(const void *context, const int64_t *index) {
  const move *m = context;
  bool stays = index[m->shape.rank - 1] - index[m->shape.rank - 2] >= m->by;
  return stays ? at(m->x[0], index) : (check_value){0};
}

static void run_triangle(check_run *run, tsr_dtype dtype, tsr_tensor *(*call)(tsr_tensor *, int64_t),
                         check_element element) {
  static const int64_t diagonals[] = {0, 1, -2, 100, -100, INT64_MAX, INT64_MIN};
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (c->shape.rank < 2) continue;
    for (int k = 0; k < 7; k++) {
      if (!check_begin(run, k == 0 ? c->weight : CHECK_HEAVY, "%s-%d", c->name, k)) continue;
      move m = {.by = diagonals[k], .shape = c->shape};
      m.x[0] = check_input(run, dtype, c->shape, c->view, CHECK_ANY);
      check_note(run, "diagonal %lld", (long long)diagonals[k]);
      check_result(run, call(m.x[0]->tensor, diagonals[k]), check_expect_each(run, dtype, m.shape, element, &m));
    }
  }
  if (!check_begin(run, CHECK_OFTEN, "rank-refused")) return;
  check_refused(run, call(check_input(run, dtype, TSR_SHAPE(4), CHECK_PLAIN, CHECK_ANY)->tensor, 0), TSR_ERR_SHAPE);
}

void check_tril(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_triangle(run, dtype, tsr_tril, tril_element);
}

void check_triu(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_triangle(run, dtype, tsr_triu, triu_element);
}
