// SPDX-License-Identifier: MIT
// Linear algebra: reference and cases.
#include <math.h>

#include "check.h"
#include "check_reference.h"

// --- Reference --------------------------------------------------------------------------------------------------------

// alpha * a * b + beta * c; c may be NULL. Vectors have become matrices.
typedef struct product {
  const check_tensor *a, *b, *c;
  tsr_shape a_shape, b_shape, shape;  // of rank 2 or more; `shape` is the result's
  double alpha, beta;
} product;

// The position of element (row, col) of a matrix, in the batch entry that `index` of the result belongs to.
static int64_t matrix_at(tsr_shape shape, tsr_shape result, const int64_t *index, int64_t row, int64_t col) {
  int64_t place[TSR_MAX_RANK];
  for (int i = 0; i < result.rank; i++) place[i] = index[i];
  place[result.rank - 2] = row;
  place[result.rank - 1] = col;
  int64_t at = 0;
  for (int i = 0; i < shape.rank; i++) {
    bool is_batch = i < shape.rank - 2;
    int64_t position = is_batch && shape.dims[i] == 1 ? 0 : place[result.rank - shape.rank + i];
    at = at * shape.dims[i] + position;
  }
  return at;
}

static void real_element(const product *p, tsr_dtype dtype, const int64_t *index, int64_t at, check_expected *wanted) {
  ref_sum sum = {0};
  double magnitude = 0;
  int64_t row = index[p->shape.rank - 2], col = index[p->shape.rank - 1];
  for (int64_t k = 0; k < wanted->terms; k++) {
    check_value a = p->a->values[matrix_at(p->a_shape, p->shape, index, row, k)];
    check_value b = p->b->values[matrix_at(p->b_shape, p->shape, index, k, col)];
    double x = check_convert(dtype, p->a->dtype, a).real, y = check_convert(dtype, p->b->dtype, b).real;
    ref_sum_add_product(&sum, x, y);
    magnitude += fabs(x * y);
  }
  double value = p->alpha * ref_sum_value(&sum), size = fabs(p->alpha) * magnitude;
  if (p->c && p->beta != 0) {
    check_value c = p->c->values[check_broadcast_at(p->c->shape, p->shape.rank, index)];
    double added = p->beta * check_convert(dtype, p->c->dtype, c).real;
    value += added;
    size += fabs(added);
  }
  wanted->values[at].real = value;
  wanted->magnitudes[at] = size;
}

static void whole_element(const product *p, tsr_dtype dtype, const int64_t *index, int64_t at, check_expected *wanted) {
  uint64_t sum = 0;
  int64_t row = index[p->shape.rank - 2], col = index[p->shape.rank - 1];
  for (int64_t k = 0; k < wanted->terms; k++) {
    check_value a = p->a->values[matrix_at(p->a_shape, p->shape, index, row, k)];
    check_value b = p->b->values[matrix_at(p->b_shape, p->shape, index, k, col)];
    sum += (uint64_t)check_convert(dtype, p->a->dtype, a).whole * (uint64_t)check_convert(dtype, p->b->dtype, b).whole;
  }
  sum *= (uint64_t)(int64_t)p->alpha;
  if (p->c && p->beta != 0) {
    check_value c = p->c->values[check_broadcast_at(p->c->shape, p->shape.rank, index)];
    sum += (uint64_t)(int64_t)p->beta * (uint64_t)check_convert(dtype, p->c->dtype, c).whole;
  }
  wanted->values[at].whole = check_wrap(dtype, (int64_t)sum);
}

// The result's shape without the axes that vectors do not have.
static tsr_shape public_shape(const product *p) {
  tsr_shape shape = p->shape;
  if (p->b->shape.rank == 1) shape.rank--;
  if (p->a->shape.rank == 1) {
    if (p->b->shape.rank > 1) shape.dims[shape.rank - 2] = shape.dims[shape.rank - 1];
    shape.rank--;
  }
  return shape;
}

static check_expected *expect(check_run *run, product *p) {
  tsr_shape a = p->a->shape, b = p->b->shape;
  if (a.rank == 1) a = TSR_SHAPE(1, a.dims[0]);
  if (b.rank == 1) b = TSR_SHAPE(b.dims[0], 1);
  tsr_shape a_batch = a, b_batch = b;
  a_batch.rank -= 2;
  b_batch.rank -= 2;
  p->a_shape = a;
  p->b_shape = b;
  p->shape = check_broadcast(a_batch, b_batch);
  p->shape.dims[p->shape.rank] = a.dims[a.rank - 2];
  p->shape.dims[p->shape.rank + 1] = b.dims[b.rank - 1];
  p->shape.rank += 2;

  tsr_dtype dtype = check_promote(p->a->dtype, p->b->dtype);
  if (p->c) dtype = check_promote(dtype, p->c->dtype);
  check_expected *wanted = check_expect(run, dtype, public_shape(p));
  wanted->terms = a.dims[a.rank - 1];
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  for (int64_t at = 0; at < wanted->count; at++) {
    int64_t index[TSR_MAX_RANK];
    check_unravel(p->shape, at, index);
    if (check_is_float(dtype)) real_element(p, dtype, index, at, wanted);
    else whole_element(p, dtype, index, at, wanted);
  }
  return wanted;
}

// --- Cases ------------------------------------------------------------------------------------------------------------

typedef struct matmul_case {
  const char *name;
  check_weight weight;
  tsr_shape a, b;
  check_view a_view, b_view;
} matmul_case;

#define P CHECK_PLAIN
#define T CHECK_TRANSPOSED
static const matmul_case matmuls[] = {
    {"one", CHECK_OFTEN, {2, {1, 1}}, {2, {1, 1}}, P, P},
    {"odd", CHECK_ALWAYS, {2, {7, 19}}, {2, {19, 5}}, P, P},
    {"a-transposed", CHECK_ALWAYS, {2, {13, 11}}, {2, {11, 17}}, T, P},
    {"b-transposed", CHECK_ALWAYS, {2, {13, 11}}, {2, {11, 17}}, P, T},
    {"both-transposed", CHECK_OFTEN, {2, {13, 11}}, {2, {11, 17}}, T, T},
    {"sliced", CHECK_OFTEN, {2, {9, 10}}, {2, {10, 8}}, CHECK_SLICED, CHECK_SLICED},
    {"reversed", CHECK_OFTEN, {2, {9, 10}}, {2, {10, 8}}, CHECK_REVERSED, CHECK_REVERSED},
    {"expanded", CHECK_OFTEN, {2, {6, 10}}, {2, {10, 7}}, CHECK_EXPANDED, CHECK_EXPANDED},
    {"offset", CHECK_OFTEN, {2, {5, 9}}, {2, {9, 7}}, CHECK_OFFSET, CHECK_OFFSET},
    {"vectors", CHECK_ALWAYS, {1, {37}}, {1, {37}}, P, P},
    {"row", CHECK_ALWAYS, {1, {19}}, {2, {19, 23}}, P, T},
    {"column", CHECK_ALWAYS, {2, {23, 19}}, {1, {19}}, T, CHECK_REVERSED},
    {"batched", CHECK_ALWAYS, {3, {3, 5, 7}}, {3, {3, 7, 4}}, P, P},
    {"batched-transposed", CHECK_OFTEN, {3, {3, 5, 7}}, {3, {3, 7, 4}}, T, T},
    {"batched-permuted", CHECK_OFTEN, {3, {3, 5, 7}}, {3, {3, 7, 4}}, CHECK_PERMUTED, CHECK_PERMUTED},
    {"batch-broadcast", CHECK_OFTEN, {4, {2, 1, 5, 7}}, {3, {3, 7, 4}}, P, P},
    {"batch-of-one", CHECK_OFTEN, {2, {5, 7}}, {3, {6, 7, 4}}, P, T},
    {"batch-expanded", CHECK_OFTEN, {3, {4, 5, 7}}, {3, {4, 7, 4}}, CHECK_EXPANDED, P},
    {"batch-3d", CHECK_HEAVY, {5, {2, 3, 2, 3, 4}}, {5, {2, 1, 2, 4, 5}}, P, P},
    {"batch-vector", CHECK_OFTEN, {3, {3, 5, 7}}, {1, {7}}, P, P},
    {"vector-batch", CHECK_OFTEN, {1, {5}}, {3, {3, 5, 7}}, P, P},
    {"empty-rows", CHECK_OFTEN, {2, {0, 5}}, {2, {5, 3}}, P, P},
    {"empty-inner", CHECK_OFTEN, {2, {4, 0}}, {2, {0, 3}}, P, P},
    {"empty-batch", CHECK_OFTEN, {3, {0, 4, 2}}, {2, {2, 3}}, P, P},
    {"few-rows", CHECK_OFTEN, {2, {5, 70}}, {2, {70, 45}}, P, P},
    {"few-rows-wide", CHECK_HEAVY, {2, {11, 68}}, {2, {68, 72}}, P, P},
    {"65", CHECK_HEAVY, {2, {65, 67}}, {2, {67, 66}}, P, P},
    {"tiles", CHECK_HEAVY, {2, {129, 65}}, {2, {65, 131}}, T, P},
    {"long", CHECK_HEAVY, {2, {3, 4099}}, {2, {4099, 2}}, P, T},
    {"long-dot", CHECK_HEAVY, {1, {20011}}, {1, {20011}}, P, P},
    {"tall", CHECK_HEAVY, {2, {1031, 3}}, {2, {3, 2}}, P, P},
    {"large", CHECK_HUGE, {2, {257, 513}}, {2, {513, 255}}, P, T},
};
#undef P
#undef T

// Integers may have any value, because they wrap.
static check_domain domain_of(tsr_dtype dtype) { return check_is_float(dtype) ? CHECK_TAME : CHECK_ANY; }

static bool is_refused(const check_op *op, tsr_dtype dtype) { return !(op->dtypes & CHECK_BIT(dtype)); }

typedef tsr_tensor *(*product_call)(tsr_tensor *a, tsr_tensor *b);

static void run_refusal(check_run *run, product_call call, tsr_dtype dtype, tsr_shape a, tsr_shape b) {
  if (!check_begin(run, CHECK_ALWAYS, "refused")) return;
  check_tensor *x = check_input(run, dtype, a, CHECK_PLAIN, CHECK_TAME),
               *y = check_input(run, dtype, b, CHECK_PLAIN, CHECK_TAME);
  check_refused(run, call(x->tensor, y->tensor), TSR_ERR_DTYPE);
}

static void run_shape_refusal(check_run *run, product_call call, tsr_dtype dtype, tsr_shape a, tsr_shape b) {
  if (!check_begin(run, CHECK_OFTEN, "shapes-refused")) return;
  check_tensor *x = check_input(run, dtype, a, CHECK_PLAIN, CHECK_TAME),
               *y = check_input(run, dtype, b, CHECK_PLAIN, CHECK_TAME);
  check_refused(run, call(x->tensor, y->tensor), TSR_ERR_SHAPE);
}

static void run_pair(check_run *run, product_call call, tsr_dtype dtype, tsr_dtype other, const matmul_case *c) {
  check_tensor *a = check_input(run, dtype, c->a, c->a_view, domain_of(dtype));
  check_tensor *b = check_input(run, other, c->b, c->b_view, domain_of(other));
  check_result(run, call(a->tensor, b->tensor), expect(run, &(product){.a = a, .b = b, .alpha = 1}));
}

static void run_mixed(check_run *run, product_call call, tsr_dtype dtype, const matmul_case *c) {
  for (int other = 0; other < TSR_DTYPE_COUNT; other++) {
    if ((int)dtype == other || !check_begin(run, CHECK_HEAVY, "with-%s", tsr_dtype_name((tsr_dtype)other))) continue;
    run_pair(run, call, dtype, (tsr_dtype)other, c);
  }
}

// Computes the product with `into`, the variant of the operator that writes into an existing tensor, here a view with its rows in reverse order. If `plain`,
// the product itself, was refused, `into` must be refused with the same status.
static tsr_tensor *written(tsr_tensor *plain, tsr_status (*into)(tsr_tensor *, tsr_tensor *, tsr_tensor *),
                           tsr_tensor *a, tsr_tensor *b) {
  tsr_status refused = tsr_error(plain);
  tsr_shape shape = refused == TSR_OK ? tsr_tensor_shape(plain) : TSR_SCALAR;
  tsr_tensor *memory = refused == TSR_OK ? tsr_add(plain, plain) : a;  // has other elements
  tsr_tensor *target = shape.rank > 0 ? tsr_flip(memory, 0) : memory;
  tsr_status status = into(target, a, b);
  return refused != TSR_OK && status == refused ? plain : target;
}

static tsr_tensor *matmul_into(tsr_tensor *a, tsr_tensor *b) {
  return written(tsr_matmul(a, b), tsr_matmul_into, a, b);
}

static tsr_tensor *gemv_into(tsr_tensor *a, tsr_tensor *x) { return written(tsr_gemv(a, x), tsr_gemv_into, a, x); }

static void run_matmuls(check_run *run, const check_op *op, product_call call, tsr_dtype dtype) {
  if (is_refused(op, dtype)) {
    run_refusal(run, call, dtype, TSR_SHAPE(2, 3), TSR_SHAPE(3, 2));
    return;
  }
  for (size_t i = 0; i < sizeof matmuls / sizeof matmuls[0]; i++) {
    if (check_begin(run, matmuls[i].weight, "%s", matmuls[i].name)) run_pair(run, call, dtype, dtype, &matmuls[i]);
  }
  run_mixed(run, call, dtype, &matmuls[1]);
  run_shape_refusal(run, call, dtype, TSR_SHAPE(2, 3), TSR_SHAPE(4, 2));
}

void check_matmul(check_run *run, const check_op *op, tsr_dtype dtype) { run_matmuls(run, op, tsr_matmul, dtype); }

void check_matmul_into(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_matmuls(run, op, matmul_into, dtype);
}

// --- gemm -------------------------------------------------------------------------------------------------------------

static const tsr_shape gemm_c[] = {{2, {13, 17}}, {1, {17}}, {2, {13, 1}}, {0, {0}}};

static void run_gemm_case(check_run *run, tsr_dtype dtype, double alpha, double beta, int c_shape) {
  if (!check_begin(run, CHECK_OFTEN, "%g-%g-%d", alpha, beta, c_shape)) return;
  check_view a_view = check_random(run, 2) ? CHECK_TRANSPOSED : CHECK_PLAIN;
  check_view b_view = check_random(run, 2) ? CHECK_TRANSPOSED : CHECK_SLICED;
  check_tensor *a = check_input(run, dtype, TSR_SHAPE(13, 11), a_view, domain_of(dtype));
  check_tensor *b = check_input(run, dtype, TSR_SHAPE(11, 17), b_view, domain_of(dtype));
  check_tensor *c = c_shape >= 0 ? check_input(run, dtype, gemm_c[c_shape], CHECK_PLAIN, domain_of(dtype)) : NULL;
  check_note(run, "alpha %g, beta %g", alpha, beta);
  tsr_tensor *result = tsr_gemm(alpha, a->tensor, b->tensor, beta, c ? c->tensor : NULL);
  check_result(run, result, expect(run, &(product){.a = a, .b = b, .c = c, .alpha = alpha, .beta = beta}));
}

void check_gemm(check_run *run, const check_op *op, tsr_dtype dtype) {
  if (is_refused(op, dtype)) return;
  bool is_float = check_is_float(dtype);
  const double alphas[] = {1, 0, 3, is_float ? 0.5 : 2}, betas[] = {0, 1, is_float ? -1.5 : 5};
  for (int a = 0; a < 4; a++) {
    for (int b = 0; b < 3; b++) run_gemm_case(run, dtype, alphas[a], betas[b], (a + b) % 5 - 1);
  }
  for (int shape = 0; shape < 4; shape++) run_gemm_case(run, dtype, 2, 3, shape);
}

// --- gemv, dot, outer -------------------------------------------------------------------------------------------------

static void run_list(check_run *run, const check_op *op, product_call call, tsr_dtype dtype, const matmul_case *list,
                     int count) {
  if (is_refused(op, dtype)) {
    run_refusal(run, call, dtype, list[0].a, list[0].b);
    return;
  }
  for (int i = 0; i < count; i++) {
    if (check_begin(run, list[i].weight, "%s", list[i].name)) run_pair(run, call, dtype, dtype, &list[i]);
  }
  run_mixed(run, call, dtype, &list[0]);
}

static void run_gemvs(check_run *run, const check_op *op, product_call call, tsr_dtype dtype) {
  static const matmul_case list[] = {
      {"odd", CHECK_ALWAYS, {2, {13, 29}}, {1, {29}}, CHECK_PLAIN, CHECK_PLAIN},
      {"transposed", CHECK_ALWAYS, {2, {13, 29}}, {1, {29}}, CHECK_TRANSPOSED, CHECK_REVERSED},
      {"sliced", CHECK_OFTEN, {2, {13, 29}}, {1, {29}}, CHECK_SLICED, CHECK_SLICED},
      {"empty", CHECK_OFTEN, {2, {0, 3}}, {1, {3}}, CHECK_PLAIN, CHECK_PLAIN},
      {"empty-inner", CHECK_OFTEN, {2, {3, 0}}, {1, {0}}, CHECK_PLAIN, CHECK_PLAIN},
      {"long", CHECK_HEAVY, {2, {5, 5003}}, {1, {5003}}, CHECK_PLAIN, CHECK_PLAIN},
      {"tall", CHECK_HEAVY, {2, {5003, 5}}, {1, {5}}, CHECK_PLAIN, CHECK_PLAIN},
  };
  run_list(run, op, call, dtype, list, sizeof list / sizeof list[0]);
}

void check_gemv(check_run *run, const check_op *op, tsr_dtype dtype) { run_gemvs(run, op, tsr_gemv, dtype); }

void check_gemv_into(check_run *run, const check_op *op, tsr_dtype dtype) { run_gemvs(run, op, gemv_into, dtype); }

void check_dot(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const matmul_case list[] = {
      {"odd", CHECK_ALWAYS, {1, {29}}, {1, {29}}, CHECK_PLAIN, CHECK_PLAIN},
      {"views", CHECK_ALWAYS, {1, {29}}, {1, {29}}, CHECK_SLICED, CHECK_REVERSED},
      {"expanded", CHECK_OFTEN, {1, {29}}, {1, {29}}, CHECK_EXPANDED, CHECK_PLAIN},
      {"offset", CHECK_OFTEN, {1, {29}}, {1, {29}}, CHECK_OFFSET, CHECK_OFFSET},
      {"one", CHECK_OFTEN, {1, {1}}, {1, {1}}, CHECK_PLAIN, CHECK_PLAIN},
      {"empty", CHECK_OFTEN, {1, {0}}, {1, {0}}, CHECK_PLAIN, CHECK_PLAIN},
      {"long", CHECK_HEAVY, {1, {100003}}, {1, {100003}}, CHECK_PLAIN, CHECK_PLAIN},
  };
  run_list(run, op, tsr_dot, dtype, list, sizeof list / sizeof list[0]);
  if (!is_refused(op, dtype)) run_shape_refusal(run, tsr_dot, dtype, TSR_SHAPE(3), TSR_SHAPE(4));
}

// A column vector times a row vector is the outer product.
static void run_outer_pair(check_run *run, tsr_dtype dtype, tsr_dtype other, int64_t m, int64_t n, check_view view) {
  check_tensor *a = check_input(run, dtype, TSR_SHAPE(m), view, domain_of(dtype));
  check_tensor *b = check_input(run, other, TSR_SHAPE(n), view, domain_of(other));
  tsr_tensor *result = tsr_outer(a->tensor, b->tensor);
  a->shape = TSR_SHAPE(m, 1);
  b->shape = TSR_SHAPE(1, n);
  check_result(run, result, expect(run, &(product){.a = a, .b = b, .alpha = 1}));
}

void check_outer(check_run *run, const check_op *op, tsr_dtype dtype) {
  if (is_refused(op, dtype)) {
    run_refusal(run, tsr_outer, dtype, TSR_SHAPE(2), TSR_SHAPE(3));
    return;
  }
  static const struct {
    const char *name;
    int64_t m, n;
    check_view view;
  } list[] = {{"odd", 13, 7, CHECK_PLAIN},  {"sliced", 5, 11, CHECK_SLICED}, {"reversed", 17, 3, CHECK_REVERSED},
              {"empty", 0, 4, CHECK_PLAIN}, {"one", 1, 1, CHECK_PLAIN},      {"large", 301, 257, CHECK_PLAIN}};
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    if (!check_begin(run, i ? CHECK_OFTEN : CHECK_ALWAYS, "%s", list[i].name)) continue;
    run_outer_pair(run, dtype, dtype, list[i].m, list[i].n, list[i].view);
  }
}
