// SPDX-License-Identifier: MIT
// Factors of column-major matrices in f64, by the plainest methods, for stand-ins of LAPACK and cuSOLVER. Element (i, j) is a[i + j * m], where m is the number of rows.
#ifndef TESSERA_FAKE_FACTORS_H
#define TESSERA_FAKE_FACTORS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

// The upper triangle becomes U with U^T U = a. Returns 0, or the number of the column that is not positive; the columns from there on are as they were.
static inline int fake_cholesky(int n, double *a) {
  for (int j = 0; j < n; j++) {
    double *column = a + (size_t)j * (size_t)n;
    for (int i = 0; i <= j; i++) {
      const double *other = a + (size_t)i * (size_t)n;
      double sum = column[i];
      for (int l = 0; l < i; l++) sum -= other[l] * column[l];
      if (i == j && !(sum > 0)) return j + 1;
      column[i] = i == j ? sqrt(sum) : sum / other[i];
    }
  }
  return 0;
}

// Row i is exchanged with row exchanges[i] - 1.
static inline void fake_lu(int m, int n, double *a, int *exchanges) {
  for (int k = 0; k < m && k < n; k++) {
    int pivot = k;
    for (int i = k; i < m; i++) {
      if (fabs(a[i + k * m]) > fabs(a[pivot + k * m])) pivot = i;
    }
    exchanges[k] = pivot + 1;
    for (int j = 0; j < n && pivot != k; j++) {
      double other = a[pivot + j * m];
      a[pivot + j * m] = a[k + j * m];
      a[k + j * m] = other;
    }
    for (int i = k + 1; i < m && a[k + k * m] != 0; i++) a[i + k * m] /= a[k + k * m];
    for (int j = k + 1; j < n; j++) {
      for (int i = k + 1; i < m; i++) a[i + j * m] -= a[i + k * m] * a[k + j * m];
    }
  }
}

// x -= tau * v * (v^T x) for a column x, where v is 1 in row k and column k of a below it.
static inline void fake_reflect(int m, int k, const double *a, double tau, double *x) {
  double dot = x[k];
  for (int i = k + 1; i < m; i++) dot += a[i + k * m] * x[i];
  x[k] -= tau * dot;
  for (int i = k + 1; i < m; i++) x[i] -= tau * dot * a[i + k * m];
}

static inline void fake_qr(int m, int n, double *a, double *tau) {
  for (int k = 0; k < m && k < n; k++) {
    double size = 0, corner = a[k + k * m];
    for (int i = k; i < m; i++) size = hypot(size, a[i + k * m]);
    double target = corner > 0 ? -size : size;
    tau[k] = size == 0 ? 0 : (target - corner) / target;
    for (int i = k + 1; i < m && size != 0; i++) a[i + k * m] /= corner - target;
    if (size != 0) a[k + k * m] = target;
    for (int j = k + 1; j < n; j++) fake_reflect(m, k, a, tau[k], a + j * m);
  }
}

// The first `columns` columns of Q, over the k columns of reflections in a.
static inline void fake_q(int m, int columns, int k, double *a, const double *tau, double *copy) {
  memcpy(copy, a, sizeof(double) * (size_t)m * (size_t)k);
  for (int j = 0; j < columns; j++) {
    for (int i = 0; i < m; i++) a[i + j * m] = i == j;
    for (int step = k - 1; step >= 0; step--) fake_reflect(m, step, copy, tau[step], a + j * m);
  }
}

// Turns columns p and q of x by the angle with cosine c and sine s.
static inline void fake_turn(int n, double *x, int p, int q, double c, double s) {
  for (int i = 0; i < n; i++) {
    double a = x[i + p * n], b = x[i + q * n];
    x[i + p * n] = c * a - s * b;
    x[i + q * n] = s * a + c * b;
  }
}

// One-sided rotations: the columns of a become orthogonal; v gets the rotations.
static inline void fake_rotate(int n, double *a, double *v) {
  bool is_turning = true;
  for (int i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
  for (int sweep = 0; sweep < 40 && is_turning; sweep++) {
    is_turning = false;
    for (int p = 0; p < n; p++) {
      for (int q = p + 1; q < n; q++) {
        double pp = 0, qq = 0, pq = 0;
        for (int i = 0; i < n; i++) {
          pp += a[i + p * n] * a[i + p * n];
          qq += a[i + q * n] * a[i + q * n];
          pq += a[i + p * n] * a[i + q * n];
        }
        if (fabs(pq) <= 1e-15 * sqrt(pp * qq)) continue;
        double zeta = (qq - pp) / (2 * pq), t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
        double c = 1 / sqrt(1 + t * t);
        fake_turn(n, a, p, q, c, c * t);
        fake_turn(n, v, p, q, c, c * t);
        is_turning = true;
      }
    }
  }
}

// a becomes u: u * diag(s) * v^T is what a was. Columns of u whose s is 0 are 0.
static inline void fake_svd(int n, double *a, double *s, double *v) {
  fake_rotate(n, a, v);
  for (int j = 0; j < n; j++) {
    double size = 0;
    for (int i = 0; i < n; i++) size = hypot(size, a[i + j * n]);
    s[j] = size;
    for (int i = 0; i < n && size > 0; i++) a[i + j * n] /= size;
  }
}

// b = b * op(a)^-1 for m x n matrices b: one row at a time.
static inline void fake_trsm(bool is_upper, bool is_turned, bool is_unit, int m, int n, const double *a, double *b) {
  bool ends_first = is_upper == is_turned;  // whether the last column of b is solved first
  for (int row = 0; row < m; row++) {
    for (int step = 0; step < n; step++) {
      int j = ends_first ? n - 1 - step : step;
      double sum = b[row + j * m];
      for (int done = 0; done < step; done++) {
        int l = ends_first ? n - 1 - done : done;
        sum -= b[row + l * m] * (is_turned ? a[j + l * n] : a[l + j * n]);
      }
      b[row + j * m] = is_unit ? sum : sum / a[j + j * n];
    }
  }
}

#endif
