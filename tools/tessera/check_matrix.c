// SPDX-License-Identifier: MIT
// What the cases of operators on matrices share.
#include "check_matrix.h"

#include <math.h>

const check_matrix_case check_square_cases[] = {
    {"5", CHECK_ALWAYS, {2, {5, 5}}, CHECK_PLAIN},
    {"batch", CHECK_ALWAYS, {3, {3, 4, 4}}, CHECK_PLAIN},
    {"33", CHECK_ALWAYS, {2, {33, 33}}, CHECK_PLAIN},
    {"1", CHECK_OFTEN, {2, {1, 1}}, CHECK_PLAIN},
    {"2", CHECK_OFTEN, {3, {7, 2, 2}}, CHECK_PERMUTED},
    {"transposed", CHECK_OFTEN, {3, {2, 6, 6}}, CHECK_TRANSPOSED},
    {"sliced", CHECK_OFTEN, {2, {17, 17}}, CHECK_SLICED},
    {"reversed", CHECK_OFTEN, {3, {3, 9, 9}}, CHECK_REVERSED},
    {"offset", CHECK_OFTEN, {2, {32, 32}}, CHECK_OFFSET},
    {"no-matrices", CHECK_OFTEN, {3, {0, 3, 3}}, CHECK_PLAIN},
    {"two-axes", CHECK_OFTEN, {4, {2, 3, 5, 5}}, CHECK_PLAIN},
    {"70", CHECK_HEAVY, {3, {2, 70, 70}}, CHECK_PLAIN},
    {"many", CHECK_HEAVY, {3, {300, 3, 3}}, CHECK_PLAIN},
    {NULL, CHECK_ALWAYS, {0, {0}}, CHECK_PLAIN},
};

const check_matrix_case check_any_cases[] = {
    {"tall", CHECK_ALWAYS, {2, {7, 4}}, CHECK_PLAIN},
    {"wide", CHECK_ALWAYS, {3, {2, 3, 6}}, CHECK_PLAIN},
    {"square", CHECK_ALWAYS, {2, {9, 9}}, CHECK_PLAIN},
    {"row", CHECK_OFTEN, {2, {1, 5}}, CHECK_PLAIN},
    {"column", CHECK_OFTEN, {2, {5, 1}}, CHECK_SLICED},
    {"1", CHECK_OFTEN, {3, {5, 1, 1}}, CHECK_PLAIN},
    {"transposed", CHECK_OFTEN, {3, {2, 40, 20}}, CHECK_TRANSPOSED},
    {"reversed", CHECK_OFTEN, {2, {35, 36}}, CHECK_REVERSED},
    {"offset", CHECK_OFTEN, {3, {3, 5, 8}}, CHECK_OFFSET},
    {"permuted", CHECK_OFTEN, {4, {2, 2, 4, 3}}, CHECK_PERMUTED},
    {"no-matrices", CHECK_OFTEN, {3, {0, 4, 3}}, CHECK_PLAIN},
    {"long", CHECK_HEAVY, {2, {300, 5}}, CHECK_PLAIN},
    {"70", CHECK_HEAVY, {2, {70, 70}}, CHECK_PLAIN},
    {NULL, CHECK_ALWAYS, {0, {0}}, CHECK_PLAIN},
};

bool check_matrix_wants(const check_matrix_case *c, tsr_dtype dtype) {
  return dtype == TSR_F32 || dtype == TSR_F64 || c->weight == CHECK_ALWAYS;
}

double check_number(const check_tensor *x, int64_t at) {
  return check_is_float(x->dtype) ? x->values[at].real : (double)x->values[at].whole;
}

// --- Inputs ----------------------------------------------------------------------------------------------------------

// A random number from -1 to 1 (floats), one of -1, 0 and 1 (signed integers), or 0 or 1 (unsigned integers and bool).
static double small_number(check_run *run, tsr_dtype dtype) {
  if (check_is_float(dtype)) return check_round(dtype, (double)check_random(run, 2001) / 1000 - 1);
  double least = check_least(dtype) < 0 ? -1 : 0;
  return least + (double)check_random(run, (uint64_t)(2 - least));
}

static void set_number(tsr_dtype dtype, check_value *value, double number) {
  if (check_is_float(dtype)) value->real = check_round(dtype, number);
  else value->whole = (int64_t)number;
}

static double value_of(tsr_dtype dtype, check_value value) {
  return check_is_float(dtype) ? value.real : (double)value.whole;
}

// The element (i, j) of a matrix of n columns, made of a small random number and, for most kinds, a large number on one diagonal. bool has no large numbers, so
// that its matrices are the identity, or the identity with its rows in reverse order.
static double number_at(tsr_dtype dtype, check_matrix_kind kind, int64_t i, int64_t j, int64_t n, double small) {
  int64_t across = kind == CHECK_MATRIX_REGULAR ? n - 1 - i : i;
  if (kind == CHECK_MATRIX_ANY || kind == CHECK_MATRIX_SYMMETRIC) return small;
  if (dtype == TSR_BOOL) return j == across;
  if (kind == CHECK_MATRIX_TRIANGLES) return i == j ? 3 : i - j == 1 || j - i == 1 ? small : 0;
  return j == across ? (double)n + 2 + small : small;
}

static void fill(check_run *run, tsr_dtype dtype, int64_t m, int64_t n, check_matrix_kind kind, check_value *to) {
  bool is_symmetric = kind == CHECK_MATRIX_SYMMETRIC || kind == CHECK_MATRIX_POSITIVE;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double number = number_at(dtype, kind, i, j, n, small_number(run, dtype));
      if (is_symmetric && j < i) number = value_of(dtype, to[j * n + i]);
      set_number(dtype, &to[i * n + j], number);
    }
  }
}

check_tensor *check_matrices(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view,
                             check_matrix_kind kind) {
  int64_t count = check_count(shape), m = shape.dims[shape.rank - 2], n = shape.dims[shape.rank - 1];
  check_value *values = check_alloc(run, (size_t)count, sizeof *values);
  for (int64_t at = 0; at < count; at += m * n) fill(run, dtype, m, n, kind, values + at);
  return check_input_of(run, dtype, shape, view, values);
}

double check_matrix_size(const check_tensor *x) {
  double size = 1;
  for (int64_t i = 0; i < x->count; i++) size = fmax(size, fabs(check_number(x, i)));
  return size;
}

// --- What must come out ----------------------------------------------------------------------------------------------

static tsr_dtype wide_of(tsr_dtype dtype) { return dtype == TSR_F64 ? TSR_F64 : TSR_F32; }

check_expected *check_expect_zeros(check_run *run, tsr_dtype of, tsr_shape shape, double size, int64_t steps) {
  check_expected *wanted = check_expect(run, wide_of(of), shape);
  tsr_dtype result = check_float(of);
  wanted->terms = steps;
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  for (int64_t i = 0; i < wanted->count; i++) {
    wanted->magnitudes[i] = size * check_roundoff(result) / check_roundoff(wide_of(of));
  }
  return wanted;
}

check_expected *check_expect_same(check_run *run, tsr_dtype of, const check_tensor *x, double size, int64_t steps) {
  check_expected *wanted = check_expect_zeros(run, of, x->shape, size, steps);
  for (int64_t i = 0; i < wanted->count; i++) wanted->values[i].real = check_number(x, i);
  return wanted;
}

check_expected *check_expect_identity(check_run *run, tsr_dtype of, tsr_shape shape, double size, int64_t steps) {
  check_expected *wanted = check_expect_zeros(run, of, shape, size, steps);
  int64_t m = shape.dims[shape.rank - 2], n = shape.dims[shape.rank - 1];
  for (int64_t i = 0; i < wanted->count; i++) wanted->values[i].real = i / n % m == i % n;
  return wanted;
}

tsr_tensor *check_wide(tsr_tensor *x) { return tsr_cast(x, wide_of(tsr_tensor_dtype(x))); }
tsr_tensor *check_product(tsr_tensor *a, tsr_tensor *b) { return tsr_matmul(check_wide(a), check_wide(b)); }
tsr_tensor *check_transposed(tsr_tensor *a) { return tsr_transpose(a, -2, -1); }
