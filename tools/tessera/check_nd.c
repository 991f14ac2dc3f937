// SPDX-License-Identifier: MIT
// gather_nd, scatter_nd, put: references and cases.
#include <math.h>
#include <string.h>

#include "check.h"
#include "check_reference.h"

typedef struct nd_case {
  const char *name;
  check_weight weight;
  tsr_shape x, indices;
  check_view x_view, view;
} nd_case;

static const nd_case nd_cases[] = {
    {"elements", CHECK_ALWAYS, {2, {7, 5}}, {2, {11, 2}}, CHECK_PLAIN, CHECK_PLAIN},
    {"rows", CHECK_ALWAYS, {3, {4, 3, 5}}, {2, {9, 1}}, CHECK_PLAIN, CHECK_PLAIN},
    {"planes", CHECK_OFTEN, {3, {4, 3, 5}}, {3, {2, 3, 2}}, CHECK_TRANSPOSED, CHECK_REVERSED},
    {"all", CHECK_OFTEN, {3, {4, 3, 5}}, {2, {13, 3}}, CHECK_PERMUTED, CHECK_TRANSPOSED},
    {"one", CHECK_OFTEN, {2, {3, 4}}, {1, {2}}, CHECK_SLICED, CHECK_SLICED},
    {"none-named", CHECK_OFTEN, {2, {3, 4}}, {2, {3, 0}}, CHECK_PLAIN, CHECK_PLAIN},
    {"no-indices", CHECK_OFTEN, {2, {3, 4}}, {2, {0, 2}}, CHECK_PLAIN, CHECK_PLAIN},
    {"empty", CHECK_OFTEN, {2, {0, 4}}, {2, {3, 1}}, CHECK_PLAIN, CHECK_PLAIN},
    {"offset", CHECK_OFTEN, {2, {6, 3}}, {2, {8, 1}}, CHECK_OFFSET, CHECK_OFFSET},
    {"many", CHECK_HEAVY, {3, {31, 17, 3}}, {2, {1031, 2}}, CHECK_PLAIN, CHECK_PLAIN},
};
enum { ND_COUNT = sizeof nd_cases / sizeof nd_cases[0] };

static tsr_shape chosen_shape(const nd_case *c) {
  tsr_shape shape = c->indices;
  int64_t named = shape.dims[--shape.rank];
  for (int i = (int)named; i < c->x.rank; i++) shape.dims[shape.rank++] = c->x.dims[i];
  return shape;
}

// The position in x of element `at` of gather_nd's result (or of the elements that scatter_nd writes); -1 if an index is out of range.
static int64_t place_in_x(const nd_case *c, const check_tensor *indices, int64_t at) {
  int64_t index[TSR_MAX_RANK], place[TSR_MAX_RANK], row = 0;
  tsr_shape shape = chosen_shape(c);
  int named = (int)c->indices.dims[c->indices.rank - 1], lead = c->indices.rank - 1;
  check_unravel(shape, at, index);
  for (int i = 0; i < lead; i++) row = row * c->indices.dims[i] + index[i];
  for (int i = 0; i < c->x.rank; i++) {
    place[i] = i < named ? indices->values[row * named + i].whole : index[lead + i - named];
    if (place[i] < 0) place[i] += c->x.dims[i];
    if (place[i] < 0 || place[i] >= c->x.dims[i]) return -1;
  }
  return check_ravel(c->x, place);
}

// Indices of a random dtype; some are out of range.
static check_tensor *indices_for(check_run *run, const nd_case *c, int64_t size) {
  static const tsr_dtype dtypes[] = {TSR_I32, TSR_I64, TSR_U8, TSR_I16, TSR_U32, TSR_U64};
  tsr_dtype dtype = dtypes[check_random(run, 6)];
  return check_indices(run, dtype, c->indices, c->view, tsr_dtype_kind_of(dtype) == TSR_KIND_UINT ? 0 : -size - 1,
                       size);
}

void check_gather_nd(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < ND_COUNT; i++) {
    const nd_case *c = &nd_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, c->x, c->x_view, CHECK_ANY);
    check_tensor *indices = indices_for(run, c, c->x.dims[0]);
    check_expected *wanted = check_expect(run, dtype, chosen_shape(c));
    for (int64_t k = 0; k < wanted->count; k++) {
      int64_t at = place_in_x(c, indices, k);
      if (at >= 0) wanted->values[k] = x->values[at];
    }
    check_result(run, tsr_gather_nd(x->tensor, indices->tensor), wanted);
  }
}

// --- Writing ----------------------------------------------------------------------------------------------------------

// A small integer: sums and products of several are exact in every dtype, so that rounding cannot change a result.
static check_value small_number(check_run *run, tsr_dtype dtype, tsr_combine how) {
  int64_t number = (int64_t)check_random(run, how == TSR_COMBINE_MUL ? 2 : 4);
  return check_convert(dtype, TSR_I64, (check_value){.whole = number});
}

static check_tensor *small_numbers(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view, tsr_combine how) {
  int64_t count = check_count(shape);
  check_value *values = check_alloc(run, (size_t)count, sizeof *values);
  for (int64_t i = 0; i < count; i++) values[i] = small_number(run, dtype, how);
  // check_input_of makes a plain tensor in place of a view that repeats elements.
  return check_input_of(run, dtype, shape, view, values);
}

static double real_or_whole(tsr_dtype dtype, check_value value) {
  return check_is_float(dtype) ? value.real : (double)value.whole;
}

static check_value combined(tsr_dtype dtype, check_value here, check_value value, tsr_combine how) {
  if (how == TSR_COMBINE_REPLACE) return value;
  double a = real_or_whole(dtype, here), b = real_or_whole(dtype, value), result = a;
  if (how == TSR_COMBINE_ADD) result = a + b;
  if (how == TSR_COMBINE_MUL) result = a * b;
  if (how == TSR_COMBINE_MAX) result = ref_maximum(a, b);
  if (how == TSR_COMBINE_MIN) result = ref_minimum(a, b);
  if (check_is_float(dtype)) return (check_value){.real = result};
  return (check_value){.whole = check_wrap(dtype, (int64_t)result)};
}

void check_scatter_nd(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < ND_COUNT * 5; i++) {
    const nd_case *c = &nd_cases[i / 5];
    tsr_combine how = (tsr_combine)(i % 5);
    bool may_round = (how == TSR_COMBINE_ADD || how == TSR_COMBINE_MUL) && c->weight == CHECK_HEAVY;
    if (may_round || !check_begin(run, how ? CHECK_OFTEN : c->weight, "%s-%d", c->name, how)) continue;
    check_tensor *x = small_numbers(run, dtype, c->x, c->x_view, how);
    check_tensor *indices = indices_for(run, c, c->x.dims[0]);
    check_tensor *source = small_numbers(run, dtype, chosen_shape(c), CHECK_PLAIN, how);
    check_expected *wanted = check_expect(run, dtype, c->x);
    memcpy(wanted->values, x->values, (size_t)x->count * sizeof *x->values);
    for (int64_t k = 0; k < source->count; k++) {
      int64_t at = place_in_x(c, indices, k);
      if (at >= 0) wanted->values[at] = combined(dtype, wanted->values[at], source->values[k], how);
    }
    check_result(run, tsr_scatter_nd(x->tensor, indices->tensor, source->tensor, &(tsr_scatter_desc){how}), wanted);
  }
}

void check_put(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_shape shapes[] = {{1, {13}}, {2, {3, 5}}, {0, {0}}, {1, {0}}};
  for (int i = 0; i < 20; i++) {
    tsr_combine how = (tsr_combine)(i % 5);
    if (!check_begin(run, i < 5 ? CHECK_ALWAYS : CHECK_OFTEN, "%d-%d", i / 5, how)) continue;
    check_tensor *x = small_numbers(run, dtype, TSR_SHAPE(4, 6), (check_view)(i % CHECK_VIEW_COUNT), how);
    check_tensor *indices = check_indices(run, TSR_I32, shapes[i / 5], CHECK_PLAIN, -25, 25);
    check_tensor *source = small_numbers(run, dtype, shapes[i / 5], CHECK_PLAIN, how);
    check_expected *wanted = check_expect(run, dtype, x->shape);
    memcpy(wanted->values, x->values, (size_t)x->count * sizeof *x->values);
    for (int64_t k = 0; k < source->count; k++) {
      int64_t at = indices->values[k].whole < 0 ? indices->values[k].whole + 24 : indices->values[k].whole;
      if (at >= 0 && at < 24) wanted->values[at] = combined(dtype, wanted->values[at], source->values[k], how);
    }
    const tsr_scatter_desc desc = {how};
    check_result(run, tsr_put(x->tensor, indices->tensor, source->tensor, how ? &desc : NULL), wanted);
  }
}
