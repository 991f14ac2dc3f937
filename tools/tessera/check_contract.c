// SPDX-License-Identifier: MIT
// tensordot, kron, cross: cases, and the products that each element of the result is a sum of.
#include <string.h>

#include "check_products.h"

// Integers may have any value, because they wrap.
static check_domain domain_of(tsr_dtype dtype) { return check_is_float(dtype) ? CHECK_TAME : CHECK_ANY; }

static bool is_taken(const check_op *op, tsr_dtype dtype) { return op->dtypes & CHECK_BIT(dtype); }

// --- tensordot --------------------------------------------------------------------------------------------------------

typedef struct dot_case {
  const char *name;
  check_weight weight;
  tsr_shape a, b;
  int axes_a[3], axes_b[3], count;  // counted from the front
  check_view a_view, b_view;
} dot_case;

static const dot_case dot_cases[] = {
    {"matrices", CHECK_ALWAYS, {2, {7, 11}}, {2, {11, 5}}, {1}, {0}, 1, CHECK_PLAIN, CHECK_PLAIN},
    {"two-axes", CHECK_ALWAYS, {3, {3, 5, 7}}, {3, {7, 2, 5}}, {1, 2}, {2, 0}, 2, CHECK_PLAIN, CHECK_PLAIN},
    {"all-axes", CHECK_OFTEN, {2, {5, 13}}, {2, {13, 5}}, {1, 0}, {0, 1}, 2, CHECK_SLICED, CHECK_REVERSED},
    {"no-axes", CHECK_OFTEN, {2, {3, 2}}, {1, {5}}, {0}, {0}, 0, CHECK_TRANSPOSED, CHECK_SLICED},
    {"scalars", CHECK_OFTEN, {0, {0}}, {0, {0}}, {0}, {0}, 0, CHECK_PLAIN, CHECK_PLAIN},
    {"middle", CHECK_OFTEN, {4, {2, 3, 5, 2}}, {3, {3, 3, 2}}, {1}, {0}, 1, CHECK_PERMUTED, CHECK_TRANSPOSED},
    {"first", CHECK_OFTEN, {2, {13, 3}}, {2, {13, 4}}, {0}, {0}, 1, CHECK_OFFSET, CHECK_EXPANDED},
    {"empty-sum", CHECK_OFTEN, {2, {3, 0}}, {2, {0, 4}}, {1}, {0}, 1, CHECK_PLAIN, CHECK_PLAIN},
    {"empty", CHECK_OFTEN, {2, {0, 3}}, {2, {3, 4}}, {1}, {0}, 1, CHECK_PLAIN, CHECK_PLAIN},
    {"three-axes",
     CHECK_HEAVY,
     {4, {7, 5, 11, 3}},
     {4, {3, 5, 11, 13}},
     {1, 2, 3},
     {1, 2, 0},
     3,
     CHECK_PLAIN,
     CHECK_PLAIN},
};

static bool is_summed(const int *axes, int count, int axis) {
  bool found = false;
  for (int i = 0; i < count; i++) found = found || axes[i] == axis;
  return found;
}

// The position in one of the tensors: kept axes are taken from `index`, of which *used are already used; summed axes
// from `number`.
static int64_t place_of(tsr_shape shape, const int *axes, int count, const int64_t *index, int *used, int64_t number) {
  int64_t place[TSR_MAX_RANK] = {0};
  for (int i = 0; i < shape.rank; i++) {
    if (!is_summed(axes, count, i)) place[i] = index[(*used)++];
  }
  for (int i = count - 1; i >= 0; i--) {
    place[axes[i]] = number % shape.dims[axes[i]];
    number /= shape.dims[axes[i]];
  }
  return check_ravel(shape, place);
}

static check_term dot_term(const void *context, const int64_t *index, int64_t number) {
  const dot_case *c = context;
  int used = 0;
  check_term term = {.a = place_of(c->a, c->axes_a, c->count, index, &used, number)};
  term.b = place_of(c->b, c->axes_b, c->count, index, &used, number);
  return term;
}

static tsr_shape dot_shape(const dot_case *c, int64_t *out_terms) {
  tsr_shape shape = {.rank = 0};
  *out_terms = 1;
  for (int i = 0; i < c->a.rank; i++) {
    if (is_summed(c->axes_a, c->count, i)) *out_terms *= c->a.dims[i];
    else shape.dims[shape.rank++] = c->a.dims[i];
  }
  for (int i = 0; i < c->b.rank; i++) {
    if (!is_summed(c->axes_b, c->count, i)) shape.dims[shape.rank++] = c->b.dims[i];
  }
  return shape;
}

void check_tensordot(check_run *run, const check_op *op, tsr_dtype dtype) {
  if (!is_taken(op, dtype)) {
    if (!check_begin(run, CHECK_ALWAYS, "refused")) return;
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(3), CHECK_PLAIN, CHECK_ANY);
    check_refused(run, tsr_tensordot(x->tensor, x->tensor, (int[]){0}, (int[]){0}, 1), TSR_ERR_DTYPE);
    return;
  }
  for (size_t i = 0; i < sizeof dot_cases / sizeof dot_cases[0]; i++) {
    const dot_case *c = &dot_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_products p = {.a = check_input(run, dtype, c->a, c->a_view, domain_of(dtype)),
                        .b = check_input(run, dtype, c->b, c->b_view, domain_of(dtype)),
                        .term = dot_term,
                        .context = c};
    tsr_shape shape = dot_shape(c, &p.terms);
    check_result(run, tsr_tensordot(p.a->tensor, p.b->tensor, c->axes_a, c->axes_b, c->count),
                 check_expect_products(run, shape, &p));
  }
}

// --- kron and cross ---------------------------------------------------------------------------------------------------

typedef struct pair_case {
  const char *name;
  check_weight weight;
  tsr_shape a, b;
  check_view a_view, b_view;
  int axis;  // cross
} pair_case;

static check_term kron_term(const void *context, const int64_t *index, int64_t number) {
  (void)number;
  const pair_case *c = context;
  int rank = c->a.rank > c->b.rank ? c->a.rank : c->b.rank;
  int64_t a[TSR_MAX_RANK] = {0}, b[TSR_MAX_RANK] = {0};
  for (int i = 0; i < rank; i++) {
    int in_a = i - (rank - c->a.rank), in_b = i - (rank - c->b.rank);
    int64_t size = in_b < 0 ? 1 : c->b.dims[in_b];
    if (in_a >= 0) a[in_a] = index[i] / size;
    if (in_b >= 0) b[in_b] = index[i] % size;
  }
  return (check_term){.a = check_ravel(c->a, a), .b = check_ravel(c->b, b)};
}

static tsr_shape kron_shape(const pair_case *c) {
  tsr_shape shape = c->a.rank > c->b.rank ? c->a : c->b, other = c->a.rank > c->b.rank ? c->b : c->a;
  for (int i = 0; i < other.rank; i++) shape.dims[shape.rank - other.rank + i] *= other.dims[i];
  return shape;
}

void check_kron(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const pair_case list[] = {
      {"matrices", CHECK_ALWAYS, {2, {3, 5}}, {2, {7, 2}}, CHECK_PLAIN, CHECK_PLAIN, 0},
      {"vectors", CHECK_OFTEN, {1, {11}}, {1, {13}}, CHECK_SLICED, CHECK_REVERSED, 0},
      {"ranks", CHECK_OFTEN, {3, {2, 3, 5}}, {1, {7}}, CHECK_PERMUTED, CHECK_OFFSET, 0},
      {"ranks-other", CHECK_OFTEN, {1, {5}}, {4, {2, 3, 2, 3}}, CHECK_PLAIN, CHECK_TRANSPOSED, 0},
      {"scalar", CHECK_OFTEN, {0, {0}}, {2, {3, 4}}, CHECK_PLAIN, CHECK_EXPANDED, 0},
      {"empty", CHECK_OFTEN, {2, {0, 3}}, {2, {2, 2}}, CHECK_PLAIN, CHECK_PLAIN, 0},
      {"large", CHECK_HEAVY, {2, {17, 13}}, {2, {19, 11}}, CHECK_TRANSPOSED, CHECK_PLAIN, 0},
  };
  if (!is_taken(op, dtype)) {
    if (!check_begin(run, CHECK_ALWAYS, "refused")) return;
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(3), CHECK_PLAIN, CHECK_ANY);
    check_refused(run, tsr_kron(x->tensor, x->tensor), TSR_ERR_DTYPE);
    return;
  }
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    const pair_case *c = &list[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_products p = {.a = check_input(run, dtype, c->a, c->a_view, domain_of(dtype)),
                        .b = check_input(run, dtype, c->b, c->b_view, domain_of(dtype)),
                        .terms = 1,
                        .term = kron_term,
                        .context = c};
    check_result(run, tsr_kron(p.a->tensor, p.b->tensor), check_expect_products(run, kron_shape(c), &p));
  }
}

// a[i] * b[k] - a[k] * b[i], for the two components after the result's.
static check_term cross_term(const void *context, const int64_t *index, int64_t number) {
  const pair_case *c = context;
  int rank = c->a.rank > c->b.rank ? c->a.rank : c->b.rank;
  int64_t a[TSR_MAX_RANK], b[TSR_MAX_RANK];
  memcpy(a, index, sizeof a);
  memcpy(b, index, sizeof b);
  a[c->axis] = (index[c->axis] + (number ? 2 : 1)) % 3;
  b[c->axis] = (index[c->axis] + (number ? 1 : 2)) % 3;
  return (check_term){
      .a = check_broadcast_at(c->a, rank, a), .b = check_broadcast_at(c->b, rank, b), .is_subtracted = number == 1};
}

void check_cross(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const pair_case list[] = {
      {"rows", CHECK_ALWAYS, {2, {7, 3}}, {2, {7, 3}}, CHECK_PLAIN, CHECK_PLAIN, 1},
      {"vectors", CHECK_OFTEN, {1, {3}}, {1, {3}}, CHECK_SLICED, CHECK_REVERSED, 0},
      {"first", CHECK_OFTEN, {2, {3, 11}}, {2, {3, 11}}, CHECK_TRANSPOSED, CHECK_OFFSET, 0},
      {"broadcast", CHECK_OFTEN, {3, {5, 1, 3}}, {2, {7, 3}}, CHECK_PERMUTED, CHECK_EXPANDED, 2},
      {"middle", CHECK_OFTEN, {3, {2, 3, 5}}, {3, {2, 3, 1}}, CHECK_REVERSED, CHECK_SLICED, 1},
      {"empty", CHECK_OFTEN, {2, {0, 3}}, {2, {1, 3}}, CHECK_PLAIN, CHECK_PLAIN, 1},
      {"many", CHECK_HEAVY, {2, {1031, 3}}, {1, {3}}, CHECK_PLAIN, CHECK_PLAIN, 1},
  };
  if (!is_taken(op, dtype)) {
    if (!check_begin(run, CHECK_ALWAYS, "refused")) return;
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(3), CHECK_PLAIN, CHECK_ANY);
    check_refused(run, tsr_cross(x->tensor, x->tensor, 0), TSR_ERR_DTYPE);
    return;
  }
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    const pair_case *c = &list[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_products p = {.a = check_input(run, dtype, c->a, c->a_view, domain_of(dtype)),
                        .b = check_input(run, dtype, c->b, c->b_view, domain_of(dtype)),
                        .terms = 2,
                        .term = cross_term,
                        .context = c};
    check_result(run, tsr_cross(p.a->tensor, p.b->tensor, c->axis),
                 check_expect_products(run, check_broadcast(c->a, c->b), &p));
  }
}
