// SPDX-License-Identifier: MIT
// Several views and diagonals: unstack, meshgrid, diag, flip_axes, bit_cast. References and cases.
#include <string.h>

#include "check_move.h"

// How an index of the result becomes an index of x: `axes` are reversed; `axis` is inserted with index `at`, or is the only axis of x.
typedef struct source {
  const check_tensor *x;
  uint32_t axes;
  int axis;
  int64_t at, offset;
} source;

// --- unstack, meshgrid ------------------------------------------------------------------------------------------------

static check_value part_element(const void *context, const int64_t *index) {
  const source *s = context;
  int64_t place[TSR_MAX_RANK];
  for (int i = 0; i < s->x->shape.rank; i++) place[i] = i == s->axis ? s->at : index[i - (i > s->axis)];
  return s->x->values[check_ravel(s->x->shape, place)];
}

// Ends a case with several results.
static void check_all(check_run *run, tsr_status status, tsr_tensor *const *results, check_expected *const *wanted,
                      int count) {
  if (status != TSR_OK) {
    check_call_failed(run, status);
    return;
  }
  for (int i = 0; i < count - 1; i++) check_part_result(run, results[i], wanted[i]);
  check_result(run, results[count - 1], wanted[count - 1]);
}

void check_unstack(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  enum { MOST = 32 };
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    int64_t count = c->shape.dims[check_axis(c)];
    if (count == 0 || count > MOST || !check_begin(run, c->weight, "%s", c->name)) continue;
    source s = {.x = check_input(run, dtype, c->shape, c->view, CHECK_ANY), .axis = check_axis(c)};
    tsr_shape shape = c->shape;
    shape.rank--;
    for (int k = s.axis; k < shape.rank; k++) shape.dims[k] = c->shape.dims[k + 1];
    tsr_tensor *parts[MOST] = {NULL};
    check_expected *wanted[MOST];
    for (s.at = 0; s.at < count; s.at++) wanted[s.at] = check_expect_each(run, dtype, shape, part_element, &s);
    check_all(run, tsr_unstack(s.x->tensor, c->axis, (int)count, parts), parts, wanted, (int)count);
  }
}

static check_value line_element(const void *context, const int64_t *index) {
  const source *s = context;
  return s->x->values[index[s->axis]];
}

void check_meshgrid(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const struct {
    const char *name;
    int64_t sizes[3];
    int count;
    check_view view;
    bool xy;
  } list[] = {{"two", {5, 7, 0}, 2, CHECK_PLAIN, false},
              {"two-xy", {5, 7, 0}, 2, CHECK_SLICED, true},
              {"three", {3, 4, 5}, 3, CHECK_REVERSED, true},
              {"one", {11, 0, 0}, 1, CHECK_OFFSET, true},
              {"empty", {3, 0, 2}, 3, CHECK_PLAIN, false}};
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    int count = list[i].count;
    if (!check_begin(run, i < 2 ? CHECK_ALWAYS : CHECK_OFTEN, "%s", list[i].name)) continue;
    source s[3];
    tsr_tensor *lists[3], *grids[3] = {NULL};
    check_expected *wanted[3];
    tsr_shape shape = {.rank = count};
    for (int k = 0; k < count; k++) {
      s[k] = (source){.x = check_input(run, dtype, TSR_SHAPE(list[i].sizes[k]), list[i].view, CHECK_ANY),
                      .axis = list[i].xy && count > 1 && k < 2 ? 1 - k : k};
      lists[k] = s[k].x->tensor;
      shape.dims[s[k].axis] = list[i].sizes[k];
    }
    for (int k = 0; k < count; k++) wanted[k] = check_expect_each(run, dtype, shape, line_element, &s[k]);
    check_all(run, tsr_meshgrid(lists, count, list[i].xy, grids), grids, wanted, count);
  }
}

// --- diag, flip_axes --------------------------------------------------------------------------------------------------

static const int64_t offsets[] = {0, 2, -3, 1};

static check_value on_diagonal(const void *context, const int64_t *index) {
  const source *s = context;
  int64_t along = s->offset < 0 ? index[1] : index[0];
  return index[1] - index[0] == s->offset ? s->x->values[along] : (check_value){0};
}

static check_value from_diagonal(const void *context, const int64_t *index) {
  const source *s = context;
  int64_t place[TSR_MAX_RANK] = {index[0] - (s->offset < 0 ? s->offset : 0),
                                 index[0] + (s->offset > 0 ? s->offset : 0)};
  return s->x->values[check_ravel(s->x->shape, place)];
}

void check_diag(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const int64_t sizes[] = {7, 0, 1, 33};
  for (int i = 0; i < 16; i++) {
    int64_t offset = offsets[i % 4], n = sizes[i / 4], size = n + (offset < 0 ? -offset : offset);
    if (!check_begin(run, i < 4 ? CHECK_ALWAYS : CHECK_OFTEN, "list-%d", i)) continue;
    source s = {.x = check_input(run, dtype, TSR_SHAPE(n), (check_view)(i % CHECK_VIEW_COUNT), CHECK_ANY),
                .offset = offset};
    check_result(run, tsr_diag(s.x->tensor, offset),
                 check_expect_each(run, dtype, TSR_SHAPE(size, size), on_diagonal, &s));
  }
  for (int i = 0; i < 4 * CHECK_VIEW_COUNT; i++) {
    if (!check_begin(run, CHECK_OFTEN, "matrix-%d", i)) continue;
    source s = {.x = check_input(run, dtype, TSR_SHAPE(9, 5), (check_view)(i / 4), CHECK_ANY),
                .offset = offsets[i % 4]};
    int64_t rows = 9 + (s.offset < 0 ? s.offset : 0), cols = 5 - (s.offset > 0 ? s.offset : 0);
    check_result(run, tsr_diag(s.x->tensor, s.offset),
                 check_expect_each(run, dtype, TSR_SHAPE(rows < cols ? rows : cols), from_diagonal, &s));
  }
}

static check_value flipped_element(const void *context, const int64_t *index) {
  const source *s = context;
  int64_t place[TSR_MAX_RANK];
  for (int i = 0; i < s->x->shape.rank; i++)
    place[i] = s->axes >> i & 1u ? s->x->shape.dims[i] - 1 - index[i] : index[i];
  return s->x->values[check_ravel(s->x->shape, place)];
}

void check_flip_axes(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const int axes[][3] = {{0, 1, 2}, {2, 0, 0}, {-2, 0, 0}, {0, 0, 0}};
  static const int counts[] = {3, 2, 1, 0};
  static const uint32_t sets[] = {7, 5, 2, 7};
  for (int i = 0; i < 4 * CHECK_VIEW_COUNT; i++) {
    if (!check_begin(run, i < 4 ? CHECK_ALWAYS : CHECK_OFTEN, "%d-%d", i / 4, i % 4)) continue;
    source s = {.x = check_input(run, dtype, TSR_SHAPE(5, 3, 7), (check_view)(i / 4), CHECK_ANY), .axes = sets[i % 4]};
    check_result(run, tsr_flip_axes(s.x->tensor, axes[i % 4], counts[i % 4]),
                 check_expect_each(run, dtype, s.x->shape, flipped_element, &s));
  }
}

// --- bit_cast ---------------------------------------------------------------------------------------------------------

// Bits that every dtype has as numbers: bytes 1 to 49 make no NaN of any float.
static void run_bit_cast(check_run *run, tsr_dtype to, tsr_dtype from, check_view view) {
  tsr_shape shape = TSR_SHAPE(3, 24), after = shape;
  size_t from_bytes = tsr_dtype_bytes(from), to_bytes = tsr_dtype_bytes(to);
  after.dims[1] = (int64_t)(24 * from_bytes / to_bytes);
  unsigned char *bytes = check_alloc(run, 3 * 24, from_bytes);
  check_value *values = check_alloc(run, 3 * 24, sizeof *values);
  for (size_t i = 0; i < 3 * 24 * from_bytes; i++)
    bytes[i] = (unsigned char)(from == TSR_BOOL ? check_random(run, 2) : 1 + check_random(run, 49));
  for (size_t i = 0; i < 3 * 24; i++) values[i] = check_decode(from, bytes + i * from_bytes);
  check_tensor *x = check_input_of(run, from, shape, view, values);
  check_expected *wanted = check_expect(run, to, after);
  for (int64_t i = 0; i < wanted->count; i++) wanted->values[i] = check_decode(to, bytes + (size_t)i * to_bytes);
  check_result(run, tsr_bit_cast(x->tensor, to), wanted);
}

void check_bit_cast(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int from = 0; from < TSR_DTYPE_COUNT; from++) {
    const char *name = tsr_dtype_name((tsr_dtype)from);
    for (int view = 0; view < CHECK_VIEW_COUNT && dtype != TSR_BOOL; view++) {
      if (view != CHECK_EXPANDED && check_begin(run, view ? CHECK_OFTEN : CHECK_ALWAYS, "from-%s-%d", name, view))
        run_bit_cast(run, dtype, (tsr_dtype)from, (check_view)view);
    }
  }
  if (dtype != TSR_BOOL || !check_begin(run, CHECK_OFTEN, "refused")) return;
  check_tensor *x = check_input(run, TSR_U8, TSR_SHAPE(3), CHECK_PLAIN, CHECK_ANY);
  check_refused(run, tsr_bit_cast(x->tensor, TSR_BOOL), TSR_ERR_DTYPE);
}
