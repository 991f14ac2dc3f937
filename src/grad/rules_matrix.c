// SPDX-License-Identifier: MIT
// Gradients of factors of matrices and of equations. Comments write A' for the gradient of A, and A^T for its transpose.
#include "grad/rule.h"

static tsr_tensor *turned(tsr_tensor *x) { return tsr_transpose(x, -2, -1); }
static tsr_tensor *product(tsr_tensor *a, tsr_tensor *b) { return tsr_matmul(a, b); }

// The size of an axis, counted from the end; 0 for a failed tensor, which has no axes.
static int64_t size_of(const tsr_tensor *x, int from_end) {
  tsr_shape shape = tsr_tensor_shape(x);
  return shape.rank >= from_end ? shape.dims[shape.rank - from_end] : 0;
}

static int64_t rows_of(const tsr_tensor *x) { return size_of(x, 2); }
static int64_t columns_of(const tsr_tensor *x) { return size_of(x, 1); }

static tsr_tensor *identity(const tsr_tensor *like, int64_t n) {
  return tsr_eye(like->value->device, tsr_tensor_dtype(like), n, n, 0);
}

// x * u^-T for an upper triangular u.
static tsr_tensor *times_inverse_of_upper(tsr_tensor *x, tsr_tensor *u) {
  return turned(tsr_triangular_solve(u, turned(x), true, false, false));
}

// The gradient by the lower triangle of a symmetric matrix, of which only that is read.
static tsr_tensor *by_lower_triangle(tsr_tensor *g) {
  return tsr_sub(tsr_tril(tsr_add(g, turned(g)), 0), tsr_mul(g, identity(g, rows_of(g))));
}

// --- Triangles -------------------------------------------------------------------------------------------------------------

// x = L L^T: x' = L^-T P L^-1, where P is the lower triangle of L^T L' with half its diagonal. Elements above the diagonal of the result are undefined, so they are
// not used.
void tsri_gradient_cholesky(const grad_view *v) {
  tsr_tensor *l = tsr_tril(v->outputs[0], 0), *g = tsr_tril(v->cotangents[0], 0);
  tsr_tensor *p = tsr_tril(product(turned(l), g), 0);
  p = tsr_sub(p, tsr_mul_scalar(tsr_mul(p, identity(l, rows_of(l))), 0.5));
  tsr_tensor *left = tsr_triangular_solve(l, p, false, true, false);
  v->gradients[0] = by_lower_triangle(turned(tsr_triangular_solve(l, turned(left), false, true, false)));
}

// T x = b, where T is a triangle of a, or its transpose: b' = T^-T x', T' = -b' x^T.
void tsri_gradient_triangular(const grad_view *v) {
  const tsri_triangular_attributes *given = TSRI_GIVEN(v, triangular);
  bool is_upper = given->is_upper != 0, is_transposed = given->is_transposed != 0, is_unit = given->is_unit != 0;
  tsr_tensor *a = v->inputs[0], *x = v->outputs[0];
  tsr_tensor *b = tsr_triangular_solve(a, v->cotangents[0], is_upper, !is_transposed, is_unit);
  v->gradients[1] = b;
  if (!v->wants[0]) return;
  tsr_tensor *t = tsr_neg(is_transposed ? product(x, turned(b)) : product(b, turned(x)));
  int spare = tsr_tensor_shape(t).rank - tsr_tensor_shape(a).rank;
  if (spare > 0) {  // one matrix for all right sides
    int axes[TSR_MAX_RANK];
    for (int i = 0; i < spare; i++) axes[i] = i;
    t = tsr_sum(t, axes, spare, false);
  }
  v->gradients[0] = is_upper ? tsr_triu(t, is_unit ? 1 : 0) : tsr_tril(t, is_unit ? -1 : 0);
}

// --- LU --------------------------------------------------------------------------------------------------------------------

// Of square L U = A: A' = L^-T (tril(L^T L', -1) + triu(U' U^T)) U^-T.
static tsr_tensor *lu_of_square(tsr_tensor *l, tsr_tensor *u, tsr_tensor *dl, tsr_tensor *du) {
  tsr_tensor *inner = tsr_add(tsr_tril(product(turned(l), dl), -1), tsr_triu(product(du, turned(u)), 0));
  return times_inverse_of_upper(tsr_triangular_solve(l, inner, false, true, true), u);
}

// More rows than columns: L2 = A2 U^-1 is what L has below the square. A2' = L2' U^-T, and U' gets -L2^T A2'.
static tsr_tensor *lu_of_tall(tsr_tensor *f, tsr_tensor *g, int64_t n) {
  tsr_tensor *top = tsr_slice(f, -2, 0, n, 1), *below = tsr_slice(f, -2, n, INT64_MAX, 1);
  tsr_tensor *dtop = tsr_slice(g, -2, 0, n, 1), *u = tsr_triu(top, 0);
  tsr_tensor *second = times_inverse_of_upper(tsr_slice(g, -2, n, INT64_MAX, 1), u);
  tsr_tensor *du = tsr_sub(tsr_triu(dtop, 0), tsr_triu(product(turned(below), second), 0));
  tsr_tensor *l = tsr_add(tsr_tril(top, -1), identity(f, n));
  return tsr_concat((tsr_tensor *[]){lu_of_square(l, u, tsr_tril(dtop, -1), du), second}, 2, -2);
}

// More columns than rows: U2 = L^-1 A2. A2' = L^-T U2', and L' gets -A2' U2^T.
static tsr_tensor *lu_of_wide(tsr_tensor *f, tsr_tensor *g, int64_t n) {
  tsr_tensor *left = tsr_slice(f, -1, 0, n, 1), *right = tsr_slice(f, -1, n, INT64_MAX, 1);
  tsr_tensor *dleft = tsr_slice(g, -1, 0, n, 1);
  tsr_tensor *second = tsr_triangular_solve(left, tsr_slice(g, -1, n, INT64_MAX, 1), false, true, true);
  tsr_tensor *dl = tsr_sub(tsr_tril(dleft, -1), tsr_tril(product(second, turned(right)), -1));
  tsr_tensor *l = tsr_add(tsr_tril(left, -1), identity(f, n));
  tsr_tensor *first = lu_of_square(l, tsr_triu(left, 0), dl, tsr_triu(dleft, 0));
  return tsr_concat((tsr_tensor *[]){first, second}, 2, -1);
}

// The result has both factors; row i of their product is row rows[i] of x.
void tsri_gradient_lu(const grad_view *v) {
  tsr_tensor *f = v->outputs[0], *g = v->cotangents[0];
  int64_t m = rows_of(f), n = columns_of(f);
  if (!g || m == 0 || n == 0) return;
  tsr_tensor *l = tsr_add(tsr_tril(f, -1), m == n ? identity(f, n) : f);
  tsr_tensor *all = m > n   ? lu_of_tall(f, g, n)
                    : m < n ? lu_of_wide(f, g, m)
                            : lu_of_square(l, tsr_triu(f, 0), tsr_tril(g, -1), tsr_triu(g, 0));
  tsr_tensor *rows = tsr_expand(tsr_unsqueeze(v->outputs[1], -1), tsr_tensor_shape(f));
  v->gradients[0] = tsr_scatter(tsri_grad_zeros(f), -2, rows, all);
}

// --- QR --------------------------------------------------------------------------------------------------------------------

// The columns Q2 of Q beyond those that x determines can be rotated arbitrarily. For results that do not depend on such a rotation, their gradient can be moved to
// the other columns Q1: -Q2 Q2'^T Q1 is added to Q1'.
static tsr_tensor *without_spare_columns(tsr_tensor *q, tsr_tensor *g, int64_t count) {
  if (columns_of(q) == count || !g) return g;
  tsr_tensor *first = tsr_slice(q, -1, 0, count, 1), *spare = tsr_slice(q, -1, count, INT64_MAX, 1);
  tsr_tensor *second = product(turned(tsr_slice(g, -1, count, INT64_MAX, 1)), first);
  return tsr_sub(tsr_slice(g, -1, 0, count, 1), product(spare, second));
}

// Q R = A with as many columns as Q has: A' = (Q' + Q copy(R R'^T - Q'^T Q)) R^-T, where copy puts the lower triangle in place of the upper one, too.
static tsr_tensor *qr_of_tall(tsr_tensor *q, tsr_tensor *r, tsr_tensor *dq, tsr_tensor *dr) {
  tsr_tensor *inner = tsr_sub(product(r, turned(dr)), product(turned(dq), q));
  tsr_tensor *lower = tsr_tril(inner, -1);
  tsr_tensor *both = tsr_add(tsr_add(lower, turned(lower)), tsr_mul(inner, identity(r, rows_of(r))));
  return times_inverse_of_upper(tsr_add(dq, product(q, both)), r);
}

// More columns than rows: R2 = Q^T A2, so that A2' = Q R2', and Q' gets A2 R2'^T.
static tsr_tensor *qr_of_wide(tsr_tensor *x, tsr_tensor *q, tsr_tensor *r, tsr_tensor *dq, tsr_tensor *dr, int64_t n) {
  tsr_tensor *right = tsr_slice(dr, -1, n, INT64_MAX, 1);
  tsr_tensor *all = tsr_add(dq, product(tsr_slice(x, -1, n, INT64_MAX, 1), turned(right)));
  tsr_tensor *first = qr_of_tall(q, tsr_slice(r, -1, 0, n, 1), all, tsr_triu(tsr_slice(dr, -1, 0, n, 1), 0));
  return tsr_concat((tsr_tensor *[]){first, product(q, right)}, 2, -1);
}

void tsri_gradient_qr(const grad_view *v) {
  tsr_tensor *x = v->inputs[0], *q = v->outputs[0], *r = v->outputs[1];
  int64_t m = rows_of(x), n = columns_of(x), count = m < n ? m : n;
  if (count == 0) return;
  tsr_tensor *dq = v->cotangents[0] ? v->cotangents[0] : tsri_grad_zeros(q);
  tsr_tensor *dr = v->cotangents[1] ? v->cotangents[1] : tsri_grad_zeros(r);
  dq = without_spare_columns(q, dq, count);
  q = tsr_slice(q, -1, 0, count, 1);
  r = tsr_slice(r, -2, 0, count, 1);
  dr = tsr_slice(dr, -2, 0, count, 1);
  v->gradients[0] = m < n ? qr_of_wide(x, q, r, dq, dr, count) : qr_of_tall(q, r, dq, tsr_triu(dr, 0));
}

// --- Eigenvalues and singular values ---------------------------------------------------------------------------------------

// 1 / (w[j] - w[i]), and 0 where both are equal: there vectors may be turned among themselves.
static tsr_tensor *inverse_gaps(tsr_tensor *w) {
  tsr_tensor *gaps = tsr_sub(tsr_unsqueeze(w, -2), tsr_unsqueeze(w, -1)), *is_none = tsr_eq_scalar(gaps, 0);
  return tsr_masked_fill(tsr_reciprocal(tsr_masked_fill(gaps, is_none, 1)), is_none, 0);
}

// x * diag(s)
static tsr_tensor *scaled(tsr_tensor *x, tsr_tensor *s) { return tsr_mul(x, tsr_unsqueeze(s, -2)); }

// diag(s) as matrices.
static tsr_tensor *on_diagonal(tsr_tensor *s, int64_t n) { return tsr_mul(tsr_unsqueeze(s, -1), identity(s, n)); }

// x = V diag(w) V^T: x' = V (diag(w') + (V^T V') / gaps) V^T, by the lower triangle.
void tsri_gradient_eigh(const grad_view *v) {
  tsr_tensor *w = v->outputs[0], *vectors = v->outputs[1], *dw = v->cotangents[0], *dv = v->cotangents[1];
  int64_t n = rows_of(vectors);
  if (n == 0) return;
  tsr_tensor *inner = dw ? on_diagonal(dw, n) : NULL;
  if (dv) {
    tsr_tensor *turns = tsr_mul(product(turned(vectors), dv), inverse_gaps(w));
    inner = inner ? tsr_add(inner, turns) : turns;
  }
  tsr_tensor *all = product(product(vectors, inner), turned(vectors));
  v->gradients[0] = by_lower_triangle(tsr_mul_scalar(tsr_add(all, turned(all)), 0.5));
}

// F (U^T U' - U'^T U), element by element, with the inverse gaps F of the squares.
static tsr_tensor *turns_of(tsr_tensor *u, tsr_tensor *du, tsr_tensor *gaps) {
  tsr_tensor *inner = product(turned(u), du);
  return tsr_mul(tsr_sub(inner, turned(inner)), gaps);
}

// What of `du` lies outside of the space of the columns of u, divided by s.
static tsr_tensor *outside(tsr_tensor *u, tsr_tensor *du, tsr_tensor *inverse) {
  return scaled(tsr_sub(du, product(u, product(turned(u), du))), inverse);
}

// x = U diag(s) V^T: x' = U (diag(s') + turns of U * diag(s) + diag(s) * turns of V) V^T, and what U' and V' have outside of the spaces of U and V.
void tsri_gradient_svd(const grad_view *v) {
  tsr_tensor *s = v->outputs[1], *ds = v->cotangents[1];
  int64_t k = columns_of(s);
  if (k == 0) return;
  tsr_tensor *du = without_spare_columns(v->outputs[0], v->cotangents[0], k);
  tsr_tensor *dv = without_spare_columns(v->outputs[2], v->cotangents[2], k);
  tsr_tensor *u = tsr_slice(v->outputs[0], -1, 0, k, 1), *w = tsr_slice(v->outputs[2], -1, 0, k, 1);
  tsr_tensor *gaps = du || dv ? inverse_gaps(tsr_square(s)) : NULL, *is_zero = tsr_eq_scalar(s, 0);
  tsr_tensor *inverse = tsr_masked_fill(tsr_reciprocal(tsr_masked_fill(s, is_zero, 1)), is_zero, 0);
  tsr_tensor *inner = ds ? on_diagonal(ds, k) : on_diagonal(tsri_grad_zeros(s), k);
  if (du) inner = tsr_add(inner, scaled(turns_of(u, du, gaps), s));
  if (dv) inner = tsr_add(inner, tsr_mul(tsr_unsqueeze(s, -1), turns_of(w, dv, gaps)));
  tsr_tensor *all = product(product(u, inner), turned(w));
  if (du) all = tsr_add(all, product(outside(u, du, inverse), turned(w)));
  if (dv) all = tsr_add(all, product(u, turned(outside(w, dv, inverse))));
  v->gradients[0] = all;
}

// With P the pseudo-inverse of A: A' = -P^T P' P^T + (I - A P) P'^T P P^T + P^T P P'^T (I - P A).
void tsri_gradient_pinv(const grad_view *v) {
  tsr_tensor *a = v->inputs[0], *p = v->outputs[0], *g = v->cotangents[0];
  tsr_tensor *pt = turned(p), *gt = turned(g);
  tsr_tensor *first = product(pt, product(g, pt));
  tsr_tensor *second = product(gt, product(p, pt)), *third = product(product(pt, p), gt);
  second = tsr_sub(second, product(a, product(p, second)));
  third = tsr_sub(third, product(product(third, p), a));
  v->gradients[0] = tsr_sub(tsr_add(second, third), first);
}
