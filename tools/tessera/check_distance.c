// SPDX-License-Identifier: MIT
// cdist: cases, and a reference in double.
#include <math.h>

#include "check.h"

typedef struct distance_case {
  const char *name;
  check_weight weight;
  tsr_shape a, b;
  check_view a_view, b_view;
} distance_case;

// Integers are computed in f32, and large ones rounded to it.
static double number_of(const check_tensor *x, int64_t at) {
  return CHECK_BIT(x->dtype) & CHECK_FLOAT_TYPES ? x->values[at].real : (double)(float)x->values[at].whole;
}

static check_expected *expect(check_run *run, const check_tensor *a, const check_tensor *b, tsr_dtype dtype) {
  tsr_shape rows_a = a->shape, rows_b = b->shape;
  int64_t k = a->shape.dims[a->shape.rank - 1];
  rows_a.dims[rows_a.rank - 1] = rows_b.dims[rows_b.rank - 2] = 1;
  rows_b.dims[rows_b.rank - 1] = b->shape.dims[b->shape.rank - 2];
  check_expected *wanted = check_expect(run, dtype, check_broadcast(rows_a, rows_b));
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count + 1, sizeof(double));
  wanted->terms = k;
  for (int64_t i = 0; i < wanted->count; i++) {
    int64_t index[TSR_MAX_RANK];
    check_unravel(wanted->shape, i, index);
    int64_t from_a = check_broadcast_at(rows_a, wanted->shape.rank, index) * k;
    int64_t from_b = check_broadcast_at(rows_b, wanted->shape.rank, index) * k;
    double sum = 0;
    for (int64_t t = 0; t < k; t++) {
      double d = number_of(a, from_a + t) - number_of(b, from_b + t);
      sum += d * d;
    }
    wanted->magnitudes[i] = wanted->values[i].real = sqrt(sum);
  }
  return wanted;
}

void check_cdist(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const distance_case list[] = {
      {"matrices", CHECK_ALWAYS, {2, {7, 5}}, {2, {11, 5}}, CHECK_PLAIN, CHECK_PLAIN},
      {"views", CHECK_OFTEN, {2, {9, 6}}, {2, {4, 6}}, CHECK_TRANSPOSED, CHECK_SLICED},
      {"batch", CHECK_OFTEN, {3, {3, 5, 4}}, {3, {3, 6, 4}}, CHECK_PERMUTED, CHECK_REVERSED},
      {"broadcast", CHECK_OFTEN, {4, {2, 1, 5, 3}}, {3, {4, 2, 3}}, CHECK_OFFSET, CHECK_EXPANDED},
      {"one-row", CHECK_OFTEN, {2, {1, 130}}, {2, {257, 130}}, CHECK_PLAIN, CHECK_TRANSPOSED},
      {"no-columns", CHECK_OFTEN, {2, {3, 0}}, {2, {2, 0}}, CHECK_PLAIN, CHECK_PLAIN},
      {"no-rows", CHECK_OFTEN, {2, {0, 3}}, {2, {2, 3}}, CHECK_PLAIN, CHECK_PLAIN},
      {"large", CHECK_HEAVY, {2, {130, 67}}, {2, {71, 67}}, CHECK_PLAIN, CHECK_PLAIN},
      // In tiles on GPUs: with parts of tiles at the edges, rows that end within a strip, loads of one element and of four along either axis, offsets.
      {"tiles", CHECK_OFTEN, {2, {70, 36}}, {2, {52, 36}}, CHECK_PLAIN, CHECK_PLAIN},
      {"tiles-odd", CHECK_OFTEN, {2, {37, 21}}, {2, {41, 21}}, CHECK_TRANSPOSED, CHECK_PLAIN},
      {"tiles-of-columns", CHECK_OFTEN, {2, {33, 20}}, {2, {36, 20}}, CHECK_PLAIN, CHECK_TRANSPOSED},
      {"tiles-of-odd-columns", CHECK_OFTEN, {2, {33, 17}}, {2, {39, 17}}, CHECK_SLICED, CHECK_TRANSPOSED},
      {"tiles-batch", CHECK_OFTEN, {3, {3, 35, 18}}, {3, {3, 30, 18}}, CHECK_OFFSET, CHECK_OFFSET},
      {"tiles-broadcast", CHECK_OFTEN, {4, {2, 1, 31, 16}}, {3, {2, 33, 16}}, CHECK_REVERSED, CHECK_OFFSET},
      {"tiles-middle", CHECK_HEAVY, {2, {500, 26}}, {2, {59, 26}}, CHECK_PLAIN, CHECK_PLAIN},
      {"tiles-middle-columns", CHECK_HEAVY, {2, {499, 28}}, {2, {60, 28}}, CHECK_PLAIN, CHECK_TRANSPOSED},
      {"tiles-large", CHECK_HEAVY, {2, {251, 28}}, {2, {500, 28}}, CHECK_PLAIN, CHECK_PLAIN},
      {"tiles-large-columns", CHECK_HEAVY, {2, {250, 19}}, {2, {501, 19}}, CHECK_PLAIN, CHECK_TRANSPOSED},
  };
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    const distance_case *c = &list[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *a = check_input(run, dtype, c->a, c->a_view, op->domain);
    check_tensor *b = check_input(run, dtype, c->b, c->b_view, op->domain);
    check_result(run, tsr_cdist(a->tensor, b->tensor), expect(run, a, b, check_float(dtype)));
  }
}
