// SPDX-License-Identifier: MIT
// Linear algebra of single matrices with few elements, computed by the host at once in double precision and rounded at the end. Results are within the roundings of the
// kernels', but not the same to the last bit; signs of singular vectors and eigenvectors are open anyway.
//
// Matrices without an inverse, or with singular values too small to compute the requested vectors, are left to the operator.
#include <float.h>
#include <math.h>

#include "small.h"

// A matrix in row-major order.
typedef struct matrix {
  int rows, cols;
  double of[TSRPY_FEW];
} matrix;

static double *at(matrix *m, int row, int col) { return &m->of[row * m->cols + col]; }

// Reads a float matrix of finite numbers; a list becomes one column if `may_be_list`. False: it is something else.
static bool read_matrix(PyObject *object, bool may_be_list, tsrpy_small *out_array, matrix *out) {
  if (!tsrpy_small_read(object, out_array) || (out_array->dtype != TSR_F32 && out_array->dtype != TSR_F64))
    return false;
  const int rank = out_array->shape.rank;
  if (rank != 2 && !(rank == 1 && may_be_list)) return false;
  out->rows = (int)out_array->shape.dims[0];
  out->cols = rank == 2 ? (int)out_array->shape.dims[1] : 1;
  for (int i = 0; i < out_array->count; i++) {
    out->of[i] = out_array->dtype == TSR_F32 ? (double)out_array->of.f32[i] : out_array->of.f64[i];
    if (!isfinite(out->of[i])) return false;
  }
  return true;
}

static bool read_square(PyObject *object, tsrpy_small *out_array, matrix *out) {
  return read_matrix(object, false, out_array, out) && out->rows == out->cols;
}

// Numbers as an Array with the dtype of `like`.
static PyObject *make_array(const tsrpy_small *like, const tsr_shape *shape, const double *numbers) {
  tsrpy_small out;
  if (!tsrpy_small_begin(&out, like, like->dtype, shape)) return NULL;
  for (int i = 0; i < out.count; i++) {
    if (like->dtype == TSR_F32) out.of.f32[i] = (float)numbers[i];
    else out.of.f64[i] = numbers[i];
  }
  return tsrpy_small_make(&out);
}

static PyObject *make_matrix(const tsrpy_small *like, const matrix *m) {
  const tsr_shape shape = {.rank = 2, .dims = {m->rows, m->cols}};
  return make_array(like, &shape, m->of);
}

// Several results as a tuple. Takes them over; NULL: one of them is NULL.
static PyObject *pack(PyObject **parts, int count) {
  PyObject *all = PyTuple_New(count);
  for (int i = 0; i < count; i++) {
    if (all && parts[i]) {
      PyTuple_SetItem(all, i, parts[i]);
    } else {
      Py_XDECREF(parts[i]);
      Py_CLEAR(all);
    }
  }
  return all;
}

// --- Elimination -----------------------------------------------------------------------------------------------------

static void swap_rows(matrix *m, int a, int b) {
  for (int i = 0; i < m->cols; i++) {
    const double other = *at(m, a, i);
    *at(m, a, i) = *at(m, b, i);
    *at(m, b, i) = other;
  }
}

// Makes an upper triangle of a, with the largest pivot of each column, and does the same to the rows of b (NULL: there is none). The determinant; 0: a pivot is 0.
static double eliminate(matrix *a, matrix *b) {
  double product = 1;
  for (int col = 0; col < a->cols; col++) {
    int best = col;
    for (int row = col + 1; row < a->rows; row++) {
      if (fabs(*at(a, row, col)) > fabs(*at(a, best, col))) best = row;
    }
    if (*at(a, best, col) == 0) return 0;
    if (best != col) {
      swap_rows(a, best, col);
      if (b) swap_rows(b, best, col);
      product = -product;
    }
    product *= *at(a, col, col);
    for (int row = col + 1; row < a->rows; row++) {
      const double factor = *at(a, row, col) / *at(a, col, col);
      for (int i = col; i < a->cols; i++) *at(a, row, i) -= factor * *at(a, col, i);
      for (int i = 0; b && i < b->cols; i++) *at(b, row, i) -= factor * *at(b, col, i);
    }
  }
  return product;
}

// Solves a * x = b; x takes the place of b. False: a is singular as far as can be told.
static bool solve_in_place(matrix *a, matrix *b) {
  const double limit = DBL_EPSILON * a->rows;
  double largest = 0;
  if (eliminate(a, b) == 0) return false;
  for (int i = 0; i < a->rows; i++) largest = fmax(largest, fabs(*at(a, i, i)));
  for (int row = a->rows; row-- > 0;) {
    if (fabs(*at(a, row, row)) < limit * largest) return false;
    for (int i = 0; i < b->cols; i++) {
      double rest = *at(b, row, i);
      for (int k = row + 1; k < a->cols; k++) rest -= *at(a, row, k) * *at(b, k, i);
      *at(b, row, i) = rest / *at(a, row, row);
    }
  }
  return true;
}

static PyObject *small_det(PyObject *const *given) {
  tsrpy_small x;
  matrix m;
  const tsr_shape none = {0};
  if (!read_square(given[0], &x, &m)) return NULL;
  const double found = eliminate(&m, NULL);
  return found == 0 ? NULL : make_array(&x, &none, &found);
}

// Sign and logarithm.
static PyObject *small_slogdet(PyObject *const *given) {
  tsrpy_small x;
  matrix m;
  const tsr_shape none = {0};
  if (!read_square(given[0], &x, &m)) return NULL;
  const double found = eliminate(&m, NULL), sign = found < 0 ? -1 : 1, size = log(fabs(found));
  if (found == 0 || !isfinite(found)) return NULL;
  PyObject *parts[2] = {make_array(&x, &none, &sign), make_array(&x, &none, &size)};
  return pack(parts, 2);
}

static PyObject *small_inverse(PyObject *const *given) {
  tsrpy_small x;
  matrix m;
  if (!read_square(given[0], &x, &m)) return NULL;
  matrix inverse = {.rows = m.rows, .cols = m.cols};
  for (int i = 0; i < m.rows; i++) *at(&inverse, i, i) = 1;
  return solve_in_place(&m, &inverse) ? make_matrix(&x, &inverse) : NULL;
}

// a, b: b is a list, or has columns that are right sides.
static PyObject *small_solve(PyObject *const *given) {
  tsrpy_small a, b;
  matrix m, right;
  if (!read_square(given[0], &a, &m) || !read_matrix(given[1], true, &b, &right)) return NULL;
  if (a.dtype != b.dtype || a.device != b.device || m.rows != right.rows || !solve_in_place(&m, &right)) return NULL;
  return make_array(&b, &b.shape, right.of);
}

// x, upper.
static PyObject *small_cholesky(PyObject *const *given) {
  tsrpy_small x;
  matrix m;
  const bool is_upper = given[1] == Py_True;
  if ((given[1] && !PyBool_Check(given[1])) || !read_square(given[0], &x, &m)) return NULL;
  matrix factor = {.rows = m.rows, .cols = m.cols};
  for (int row = 0; row < m.rows; row++) {
    for (int col = 0; col <= row; col++) {
      double rest = *at(&m, row, col);
      for (int k = 0; k < col; k++) {
        rest -= is_upper ? *at(&factor, k, row) * *at(&factor, k, col) : *at(&factor, row, k) * *at(&factor, col, k);
      }
      if (row == col && !(rest > 0)) return NULL;
      const double found = row == col ? sqrt(rest) : rest / *at(&factor, col, col);
      *(is_upper ? at(&factor, col, row) : at(&factor, row, col)) = found;
    }
  }
  return make_matrix(&x, &factor);
}

// --- Rotations -------------------------------------------------------------------------------------------------------

enum { MOST_SWEEPS = 40, MOST_COLUMNS = TSRPY_FEW };

// Rotates columns i and j of m by the angle of this cosine and sine.
static void rotate(matrix *m, int i, int j, double c, double s) {
  for (int row = 0; row < m->rows; row++) {
    const double a = *at(m, row, i), b = *at(m, row, j);
    *at(m, row, i) = c * a - s * b;
    *at(m, row, j) = s * a + c * b;
  }
}

// The angle that makes columns orthogonal whose squares and product are a, b and ab.
static void find_angle(double a, double b, double ab, double *out_c, double *out_s) {
  const double zeta = (b - a) / (2 * ab), t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
  *out_c = 1 / sqrt(1 + t * t);
  *out_s = t * *out_c;
}

static double product_of(matrix *m, int i, int j) {
  double sum = 0;
  for (int row = 0; row < m->rows; row++) sum += *at(m, row, i) * *at(m, row, j);
  return sum;
}

// Singular values by rotating the columns of m, which has at least as many rows, until they are orthogonal: then m is u * diag(s), and m * v^T what it was. Values are in
// the order of the columns. False: it takes too long.
static bool find_singular(matrix *m, matrix *v, double *values) {
  *v = (matrix){.rows = m->cols, .cols = m->cols};
  for (int i = 0; i < m->cols; i++) *at(v, i, i) = 1;
  bool is_done = false;
  for (int sweep = 0; sweep < MOST_SWEEPS && !is_done; sweep++) {
    is_done = true;
    for (int i = 0; i < m->cols; i++) {
      for (int j = i + 1; j < m->cols; j++) {
        const double a = product_of(m, i, i), b = product_of(m, j, j), ab = product_of(m, i, j);
        double c, s;
        if (ab == 0 || fabs(ab) <= DBL_EPSILON * sqrt(a * b)) continue;
        is_done = false;
        find_angle(a, b, ab, &c, &s);
        rotate(m, i, j, c, s);
        rotate(v, i, j, c, s);
      }
    }
  }
  for (int i = 0; i < m->cols; i++) values[i] = sqrt(product_of(m, i, i));
  return is_done;
}

// The places of numbers in ascending order.
static void order_of(const double *numbers, int count, int *places) {
  for (int i = 0; i < count; i++) {
    int to = i;
    for (; to > 0 && numbers[places[to - 1]] > numbers[i]; to--) places[to] = places[to - 1];
    places[to] = i;
  }
}

// The singular values of x in no order, m = u * diag(s), and v, of x or of its transpose, whichever has more rows.
typedef struct singular {
  matrix m, v;
  double values[MOST_COLUMNS];
  double largest;
  int places[MOST_COLUMNS];  // in ascending order
  bool is_transposed;
} singular;

static void transpose(const matrix *from, matrix *to) {
  to->rows = from->cols;
  to->cols = from->rows;
  for (int i = 0; i < from->rows * from->cols; i++) to->of[i % from->cols * from->rows + i / from->cols] = from->of[i];
}

static bool read_singular(PyObject *object, tsrpy_small *out_array, singular *out) {
  matrix x;
  if (!read_matrix(object, false, out_array, &x)) return false;
  out->is_transposed = x.rows < x.cols;
  if (out->is_transposed) transpose(&x, &out->m);
  else out->m = x;
  if (out->m.cols * out->m.cols > TSRPY_FEW || !find_singular(&out->m, &out->v, out->values)) return false;
  order_of(out->values, out->m.cols, out->places);
  out->largest = out->values[out->places[out->m.cols - 1]];
  return true;
}

// x, full: u, s, vt.
static PyObject *small_svd(PyObject *const *given) {
  tsrpy_small x;
  singular found;
  if (given[1] && !PyBool_Check(given[1])) return NULL;
  if (!read_singular(given[0], &x, &found)) return NULL;
  const int count = found.m.cols;
  if (given[1] == Py_True && found.m.rows != count) return NULL;
  if (!(found.values[found.places[0]] > found.largest * (x.dtype == TSR_F32 ? FLT_EPSILON : DBL_EPSILON))) return NULL;
  matrix left = {.rows = found.m.rows, .cols = count}, right = {.rows = count, .cols = count};
  double values[MOST_COLUMNS];
  for (int i = 0; i < count; i++) {
    const int from = found.places[count - 1 - i];
    values[i] = found.values[from];
    for (int row = 0; row < left.rows; row++) *at(&left, row, i) = *at(&found.m, row, from) / values[i];
    for (int row = 0; row < count; row++) *at(&right, row, i) = *at(&found.v, row, from);
  }
  // x = left * diag(s) * right^T, or its transpose.
  matrix u = found.is_transposed ? right : left, vt;
  transpose(found.is_transposed ? &left : &right, &vt);
  const tsr_shape list = {.rank = 1, .dims = {count}};
  PyObject *parts[3] = {make_matrix(&x, &u), make_array(&x, &list, values), make_matrix(&x, &vt)};
  return pack(parts, 3);
}

// The smallest singular value that counts; false: `tolerance` is none.
static bool read_tolerance(PyObject *tolerance, const tsrpy_small *x, const singular *s, double *out_limit) {
  double given = tolerance ? PyFloat_AsDouble(tolerance) : 0;
  if (given == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
  if (!(given >= 0 && given < 1)) return false;
  if (given == 0) given = (x->dtype == TSR_F32 ? FLT_EPSILON : DBL_EPSILON) * s->m.rows;
  *out_limit = given * s->largest;
  return true;
}

// x, tolerance.
static PyObject *small_pinv(PyObject *const *given) {
  tsrpy_small x;
  singular s;
  double limit;
  if (!read_singular(given[0], &x, &s) || !read_tolerance(given[1], &x, &s, &limit)) return NULL;
  matrix inverse = {.rows = s.m.cols, .cols = s.m.rows}, turned;
  for (int k = 0; k < s.m.cols; k++) {
    if (!(s.values[k] > limit)) continue;
    const double square = s.values[k] * s.values[k];
    for (int i = 0; i < inverse.rows * inverse.cols; i++) {
      inverse.of[i] += *at(&s.v, i / inverse.cols, k) * *at(&s.m, i % inverse.cols, k) / square;
    }
  }
  if (s.is_transposed) transpose(&inverse, &turned);
  return make_matrix(&x, s.is_transposed ? &turned : &inverse);
}

static PyObject *small_matrix_rank(PyObject *const *given) {
  tsrpy_small x, out;
  singular s;
  double limit;
  const tsr_shape none = {0};
  if (!read_singular(given[0], &x, &s) || !read_tolerance(given[1], &x, &s, &limit)) return NULL;
  if (!tsrpy_small_begin(&out, &x, TSR_I32, &none)) return NULL;
  out.of.i32[0] = 0;
  for (int k = 0; k < s.m.cols; k++) out.of.i32[0] += s.values[k] > limit;
  return tsrpy_small_make(&out);
}

// Makes a symmetric matrix of its lower triangle.
static void mirror_lower(matrix *m) {
  for (int row = 0; row < m->rows; row++) {
    for (int col = 0; col < row; col++) *at(m, col, row) = *at(m, row, col);
  }
}

// Rotates columns i and j, and then the rows.
static void rotate_both(matrix *m, int i, int j, double c, double s) {
  matrix turned;
  rotate(m, i, j, c, s);
  transpose(m, &turned);
  rotate(&turned, i, j, c, s);
  transpose(&turned, m);
  *at(m, i, j) = *at(m, j, i) = 0;
}

// Makes a symmetric matrix diagonal by rotations, whose product is v: the diagonal has the eigenvalues, v the eigenvectors as columns. False: it takes too long.
static bool diagonalise(matrix *m, matrix *v) {
  const double small = DBL_EPSILON * 0x1p-10;
  bool is_done = false;
  *v = (matrix){.rows = m->rows, .cols = m->rows};
  for (int i = 0; i < m->rows; i++) *at(v, i, i) = 1;
  for (int sweep = 0; sweep < MOST_SWEEPS && !is_done; sweep++) {
    is_done = true;
    for (int i = 0; i < m->rows; i++) {
      for (int j = i + 1; j < m->rows; j++) {
        const double a = *at(m, i, i), b = *at(m, j, j), ab = *at(m, i, j);
        double c, s;
        if (ab == 0 || fabs(ab) <= small * (fabs(a) + fabs(b))) continue;
        is_done = false;
        find_angle(a, b, ab, &c, &s);
        rotate_both(m, i, j, c, s);
        rotate(v, i, j, c, s);
      }
    }
  }
  return is_done;
}

// x: eigenvalues in ascending order, and eigenvectors as columns, of a symmetric matrix whose lower triangle is read.
static PyObject *small_eigh(PyObject *const *given) {
  tsrpy_small x;
  matrix m, v, vectors;
  double unsorted[MOST_COLUMNS] = {0}, values[MOST_COLUMNS];
  int places[MOST_COLUMNS];
  if (!read_square(given[0], &x, &m)) return NULL;
  mirror_lower(&m);
  if (!diagonalise(&m, &v)) return NULL;
  for (int i = 0; i < m.rows; i++) unsorted[i] = *at(&m, i, i);
  order_of(unsorted, m.rows, places);
  vectors = v;
  for (int i = 0; i < m.rows; i++) {
    values[i] = unsorted[places[i]];
    for (int row = 0; row < m.rows; row++) *at(&vectors, row, i) = *at(&v, row, places[i]);
  }
  const tsr_shape list = {.rank = 1, .dims = {m.rows}};
  PyObject *parts[2] = {make_array(&x, &list, values), make_matrix(&x, &vectors)};
  return pack(parts, 2);
}

const tsrpy_small_entry tsrpy_matrix_operators[] = {
    {"det", small_det},     {"slogdet", small_slogdet},         {"inverse", small_inverse},
    {"solve", small_solve}, {"cholesky", small_cholesky},       {"svd", small_svd},
    {"pinv", small_pinv},   {"matrix_rank", small_matrix_rank}, {"eigh", small_eigh},
    {NULL, NULL},
};
