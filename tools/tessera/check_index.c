// SPDX-License-Identifier: MIT
// Indexing and sorting: references and cases.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_move.h"
#include "check_reference.h"

// --- Reading by index -------------------------------------------------------------------------------------------------

typedef struct lookup {
  const check_tensor *x, *indices;
  int axis;
} lookup;

// The position for an index; a negative index counts from the end. -1: it is out of range.
static int64_t place_of(int64_t index, int64_t size) {
  if (index < 0) index += size;
  return index >= 0 && index < size ? index : -1;
}

static check_value gather_element(const void *context, const int64_t *index) {
  const lookup *l = context;
  int64_t place[TSR_MAX_RANK];
  memcpy(place, index, sizeof place);
  int64_t named = l->indices->values[check_ravel(l->indices->shape, index)].whole;
  place[l->axis] = place_of(named, l->x->shape.dims[l->axis]);
  return place[l->axis] < 0 ? (check_value){0} : l->x->values[check_ravel(l->x->shape, place)];
}

static check_value select_element(const void *context, const int64_t *index) {
  const lookup *l = context;
  int64_t place[TSR_MAX_RANK];
  memcpy(place, index, sizeof place);
  place[l->axis] = place_of(l->indices->values[index[l->axis]].whole, l->x->shape.dims[l->axis]);
  return place[l->axis] < 0 ? (check_value){0} : l->x->values[check_ravel(l->x->shape, place)];
}

static check_value take_element(const void *context, const int64_t *index) {
  const lookup *l = context;
  int64_t place = place_of(l->indices->values[check_ravel(l->indices->shape, index)].whole, l->x->count);
  return place < 0 ? (check_value){0} : l->x->values[place];
}

static const tsr_dtype index_dtypes[] = {TSR_I32, TSR_I64, TSR_U8, TSR_I16, TSR_U32, TSR_I8, TSR_U16, TSR_U64};

// Indices with a dtype that varies from case to case; some are out of range.
static check_tensor *indices_for(check_run *run, tsr_shape shape, check_view view, int64_t size) {
  tsr_dtype dtype = index_dtypes[check_random(run, 8)];
  int64_t most = size + 1 < check_most(dtype) ? size + 1 : check_most(dtype);
  return check_indices(run, dtype, shape, view, -size - 2, most);
}

// A shape for gather: smaller along the other axes, and another size along the axis.
static tsr_shape gather_shape(const check_axis_case *c) {
  tsr_shape shape = c->shape;
  for (int i = 0; i < shape.rank; i++) {
    if (i == check_axis(c)) shape.dims[i] = shape.dims[i] + 3;
    else if (shape.dims[i] > 2) shape.dims[i]--;
  }
  return shape;
}

void check_gather(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    lookup l = {.x = check_input(run, dtype, c->shape, c->view, CHECK_ANY), .axis = check_axis(c)};
    l.indices = indices_for(run, gather_shape(c), c->view, c->shape.dims[l.axis]);
    check_result(run, tsr_gather(l.x->tensor, c->axis, l.indices->tensor),
                 check_expect_each(run, dtype, l.indices->shape, gather_element, &l));
  }
}

void check_index_select(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    lookup l = {.x = check_input(run, dtype, c->shape, c->view, CHECK_ANY), .axis = check_axis(c)};
    tsr_shape shape = c->shape;
    shape.dims[l.axis] = i % 4 == 3 ? 0 : 2 * i + 1;
    l.indices = indices_for(run, TSR_SHAPE(shape.dims[l.axis]), c->view, c->shape.dims[l.axis]);
    check_result(run, tsr_index_select(l.x->tensor, c->axis, l.indices->tensor),
                 check_expect_each(run, dtype, shape, select_element, &l));
  }
}

void check_take(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    lookup l = {.x = check_input(run, dtype, c->shape, c->view, CHECK_ANY)};
    l.indices = indices_for(run, i % 2 ? TSR_SHAPE(3, 11) : TSR_SHAPE(257), c->view, l.x->count);
    check_result(run, tsr_take(l.x->tensor, l.indices->tensor),
                 check_expect_each(run, dtype, l.indices->shape, take_element, &l));
  }
  if (!check_begin(run, CHECK_OFTEN, "scalar-index")) return;
  lookup l = {.x = check_input(run, dtype, TSR_SHAPE(5, 3), CHECK_PLAIN, CHECK_ANY)};
  l.indices = indices_for(run, TSR_SCALAR, CHECK_PLAIN, 15);
  check_result(run, tsr_take(l.x->tensor, l.indices->tensor),
               check_expect_each(run, dtype, TSR_SCALAR, take_element, &l));
}

// --- Writing by index -------------------------------------------------------------------------------------------------

// What to do with several elements that are written to one position.
typedef enum meeting { REPLACE, ADD, MULTIPLY, LARGEST, SMALLEST } meeting;

// f16 and bf16 are accumulated in a wider type, so sums and products are collected in f64 here.
static void join_real(check_expected *wanted, int64_t to, double value, meeting how) {
  double *here = &wanted->values[to].real;
  if (how == ADD) *here += value;
  if (how == MULTIPLY) *here *= value;
  if (how == LARGEST) *here = ref_maximum(*here, value);
  if (how == SMALLEST) *here = ref_minimum(*here, value);
  if (wanted->magnitudes) wanted->magnitudes[to] = how == ADD ? wanted->magnitudes[to] + fabs(value) : fabs(*here);
}

static int64_t join_whole(tsr_dtype dtype, int64_t here, int64_t value, meeting how) {
  bool is_less = dtype == TSR_U64 ? (uint64_t)here < (uint64_t)value : here < value;
  if (how == LARGEST) return is_less ? value : here;
  if (how == SMALLEST) return is_less ? here : value;
  return check_wrap(dtype, how == ADD ? plus(here, value) : times(here, value));
}

static void scatter_into(check_expected *wanted, const check_tensor *x, int axis, const check_tensor *indices,
                         const check_tensor *source, meeting how) {
  memcpy(wanted->values, x->values, (size_t)x->count * sizeof *x->values);
  for (int64_t i = 0; wanted->magnitudes && i < x->count; i++) wanted->magnitudes[i] = fabs(x->values[i].real);
  for (int64_t i = 0; i < indices->count; i++) {
    int64_t place[TSR_MAX_RANK];
    check_unravel(indices->shape, i, place);
    place[axis] = place_of(indices->values[i].whole, x->shape.dims[axis]);
    if (place[axis] < 0) continue;
    check_value value = check_convert(x->dtype, source->dtype, source->values[i]);
    int64_t to = check_ravel(x->shape, place);
    if (how == REPLACE) wanted->values[to] = value;
    else if (check_is_float(x->dtype)) join_real(wanted, to, value.real, how);
    else wanted->values[to].whole = join_whole(x->dtype, wanted->values[to].whole, value.whole, how);
  }
}

typedef tsr_tensor *(*scatter_call)(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source);
static const scatter_call scatter_calls[] = {tsr_scatter, tsr_scatter_add, tsr_scatter_mul, tsr_scatter_max,
                                             tsr_scatter_min};

static void run_scatter_case(check_run *run, tsr_dtype dtype, tsr_dtype source_dtype, const check_axis_case *c,
                             meeting how) {
  bool is_rounded = (how == ADD || how == MULTIPLY) && check_is_float(dtype);
  check_domain domain = !is_rounded ? CHECK_ANY : how == ADD ? CHECK_TAME : CHECK_NEAR_ONE;
  check_tensor *x = check_input(run, dtype, c->shape, c->view, domain);
  tsr_shape shape = gather_shape(c);
  int axis = check_axis(c);
  check_tensor *indices = indices_for(run, shape, c->view, c->shape.dims[axis]);
  check_tensor *source = check_input(run, source_dtype, shape, c->view, domain);
  check_expected *wanted = check_expect(run, dtype, c->shape);
  wanted->terms = shape.dims[axis] + 1;
  if (is_rounded) wanted->magnitudes = check_alloc(run, (size_t)x->count, sizeof(double));
  scatter_into(wanted, x, axis, indices, source, how);
  check_result(run, scatter_calls[how](x->tensor, c->axis, indices->tensor, source->tensor), wanted);
}

static void run_scatters(check_run *run, tsr_dtype dtype, meeting how) {
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (check_begin(run, c->weight, "%s", c->name)) run_scatter_case(run, dtype, dtype, c, how);
  }
  if (check_begin(run, CHECK_OFTEN, "from-f32")) run_scatter_case(run, dtype, TSR_F32, &check_axis_cases[1], how);
}

#define SCATTER(name, how)                                                 \
  void check_##name(check_run *run, const check_op *op, tsr_dtype dtype) { \
    (void)op;                                                              \
    run_scatters(run, dtype, how);                                         \
  }
SCATTER(scatter, REPLACE)
SCATTER(scatter_add, ADD)
SCATTER(scatter_mul, MULTIPLY)
SCATTER(scatter_max, LARGEST)
SCATTER(scatter_min, SMALLEST)

// --- one_hot ----------------------------------------------------------------------------------------------------------

typedef struct one_hot {
  const check_tensor *indices;
  tsr_dtype dtype;
} one_hot;

static check_value one_hot_element(const void *context, const int64_t *index) {
  const one_hot *o = context;
  int rank = o->indices->shape.rank;
  bool is_hot = o->indices->values[check_ravel(o->indices->shape, index)].whole == index[rank];
  return check_convert(o->dtype, TSR_BOOL, (check_value){.whole = is_hot});
}

void check_one_hot(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const int64_t classes[] = {1, 7, 0, 33};
  for (int i = 0; i < check_axis_case_count; i++) {
    const check_axis_case *c = &check_axis_cases[i];
    if (c->shape.rank > 2 || !check_begin(run, c->weight, "%s", c->name)) continue;
    one_hot o = {.dtype = dtype};
    int64_t count = classes[i % 4];
    o.indices = check_indices(run, index_dtypes[i % 8], c->shape, c->view, -2, count + 1);
    tsr_shape shape = c->shape;
    shape.dims[shape.rank++] = count;
    check_result(run, tsr_one_hot(o.indices->tensor, count, dtype),
                 check_expect_each(run, dtype, shape, one_hot_element, &o));
  }
}

// --- Sorting ----------------------------------------------------------------------------------------------------------

typedef struct sorted_line {
  check_value value;
  int64_t at;
  bool is_float, is_descending;
} sorted_line;

// NaN comes last in both directions; equal elements keep their order.
static int compare(const void *left, const void *right) {
  const sorted_line *a = left, *b = right;
  bool a_last = a->is_float && isnan(a->value.real), b_last = b->is_float && isnan(b->value.real);
  if (a_last != b_last) return a_last ? 1 : -1;
  if (!a_last) {
    bool is_less = a->is_float ? a->value.real < b->value.real : a->value.whole < b->value.whole;
    bool is_more = a->is_float ? a->value.real > b->value.real : a->value.whole > b->value.whole;
    if (is_less || is_more) return is_less != a->is_descending ? -1 : 1;
  }
  return a->at < b->at ? -1 : 1;
}

// The first `k` elements of each sorted line: their values and original positions.
static void sort_lines(check_run *run, const check_tensor *x, int axis, bool descending, int64_t k,
                       check_expected *values, check_expected *indices) {
  int64_t n = x->shape.dims[axis], step = 1;
  for (int i = axis + 1; i < x->shape.rank; i++) step *= x->shape.dims[i];
  sorted_line *line = check_alloc(run, (size_t)n, sizeof *line);
  for (int64_t l = 0; l < (x->count ? x->count / n : 0); l++) {
    int64_t first = l / step * step * n + l % step, to = l / step * step * k + l % step;
    for (int64_t i = 0; i < n; i++) {
      line[i] = (sorted_line){x->values[first + i * step], i, check_is_float(x->dtype), descending};
    }
    qsort(line, (size_t)n, sizeof *line, compare);
    for (int64_t i = 0; i < k; i++) {
      if (values) values->values[to + i * step] = line[i].value;
      if (indices) indices->values[to + i * step].whole = line[i].at;
    }
  }
}

static const check_domain sort_domains[] = {CHECK_ANY, CHECK_SPARSE, CHECK_TAME};

static void run_sorts(check_run *run, tsr_dtype dtype, bool wants_indices) {
  for (int i = 0; i < check_axis_case_count * 2; i++) {
    const check_axis_case *c = &check_axis_cases[i / 2];
    bool descending = i % 2;
    if (!check_begin(run, c->weight, "%s%s", c->name, descending ? "-down" : "")) continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, sort_domains[i % 3]);
    check_expected *wanted = check_expect(run, wants_indices ? TSR_I32 : dtype, c->shape);
    int axis = check_axis(c);
    sort_lines(run, x, axis, descending, c->shape.dims[axis], wants_indices ? NULL : wanted,
               wants_indices ? wanted : NULL);
    check_result(run,
                 wants_indices ? tsr_argsort(x->tensor, c->axis, descending) : tsr_sort(x->tensor, c->axis, descending),
                 wanted);
  }
  if (!check_begin(run, CHECK_HEAVY, "long")) return;
  check_tensor *x = check_input(run, dtype, TSR_SHAPE(2, 9001), CHECK_PLAIN, CHECK_ANY);
  check_expected *wanted = check_expect(run, wants_indices ? TSR_I32 : dtype, x->shape);
  sort_lines(run, x, 1, false, 9001, wants_indices ? NULL : wanted, wants_indices ? wanted : NULL);
  check_result(run, wants_indices ? tsr_argsort(x->tensor, 1, false) : tsr_sort(x->tensor, 1, false), wanted);
}

void check_sort(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_sorts(run, dtype, false);
}

void check_argsort(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_sorts(run, dtype, true);
}

static void run_topk_case(check_run *run, tsr_dtype dtype, const check_axis_case *c, int64_t k, bool largest) {
  check_tensor *x = check_input(run, dtype, c->shape, c->view, largest ? CHECK_ANY : CHECK_SPARSE);
  check_note(run, "k %lld", (long long)k);
  tsr_shape shape = c->shape;
  shape.dims[check_axis(c)] = k;
  check_expected *values = check_expect(run, dtype, shape), *indices = check_expect(run, TSR_I32, shape);
  sort_lines(run, x, check_axis(c), largest, k, values, indices);
  tsr_tensor *is_values = NULL, *is_indices = NULL;
  tsr_status status = tsr_topk(x->tensor, k, c->axis, largest, &is_values, &is_indices);
  if (status != TSR_OK) {
    check_call_failed(run, status);
    return;
  }
  check_part_result(run, is_values, values);
  check_result(run, is_indices, indices);
}

void check_topk(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count * 2; i++) {
    const check_axis_case *c = &check_axis_cases[i / 2];
    int64_t size = c->shape.dims[check_axis(c)], k = i % 3 == 0 ? size : i % 3 == 1 ? size / 2 : size > 0;
    if (check_begin(run, c->weight, "%s%s", c->name, i % 2 ? "-smallest" : ""))
      run_topk_case(run, dtype, c, k, i % 2 == 0);
  }
}
