// SPDX-License-Identifier: MIT
// Times factorisations of matrices and the operators built on them, for one matrix and for batches. A case is skipped if the smaller case before it took long.
//
//   build/release/bench/linalg [BACKEND [OPERATOR [f64]]]
//   TESSERA_NATIVE=none build/release/bench/linalg cpu      without LAPACK
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

static const double CASE_SECONDS = 0.1, LONG_SECONDS = 0.7;

// --- Operators: each computes all of its results -------------------------------------------------------------------------

// x is positive definite.
typedef void operator_fn(tsr_tensor *x);

static void finish(tsr_tensor **results, int count) {
  for (int i = 0; i < count; i++) {
    bench_check(tsr_evaluate(results[i]), "linalg");
    tsr_release(results[i]);
  }
}

static void cholesky(tsr_tensor *x) { finish((tsr_tensor *[]){tsr_cholesky(x, false)}, 1); }

static void lu(tsr_tensor *x) {
  tsr_tensor *made[2];
  bench_check(tsr_lu(x, &made[0], &made[1]), "linalg");
  finish(made, 2);
}

static void inverse(tsr_tensor *x) { finish((tsr_tensor *[]){tsr_inverse(x)}, 1); }
static void triangular(tsr_tensor *x) { finish((tsr_tensor *[]){tsr_triangular_solve(x, x, false, false, false)}, 1); }

static void qr(tsr_tensor *x) {
  tsr_tensor *made[2];
  bench_check(tsr_qr(x, false, &made[0], &made[1]), "linalg");
  finish(made, 2);
}

static void eigh(tsr_tensor *x) {
  tsr_tensor *made[2];
  bench_check(tsr_eigh(x, &made[0], &made[1]), "linalg");
  finish(made, 2);
}

static void svd(tsr_tensor *x) {
  tsr_tensor *made[3];
  bench_check(tsr_svd(x, false, &made[0], &made[1], &made[2]), "linalg");
  finish(made, 3);
}

static const struct {
  const char *name;
  operator_fn *run;
} operators[] = {{"cholesky", cholesky}, {"lu", lu},  {"triangular", triangular}, {"inverse", inverse}, {"qr", qr},
                 {"eigh", eigh},         {"svd", svd}};

// --- Measuring -----------------------------------------------------------------------------------------------------------

// Symmetric matrices of numbers from -1 to 1, with n added on the diagonal, which makes them positive definite.
static tsr_tensor *make_matrices(tsr_device *device, tsr_dtype dtype, int64_t batch, int64_t n) {
  size_t count = (size_t)(batch * n * n);
  double *values = malloc(count * sizeof *values);
  if (!values) exit(1);
  for (size_t at = 0; at < count; at++) {
    int64_t i = (int64_t)at / n % n, j = (int64_t)at % n, low = i < j ? i : j, high = i < j ? j : i;
    values[at] =
        (double)((low * 7919 + high * 104729 + (low ^ high) * 31) % 1999 - 999) / 999 + (i == j ? (double)n : 0);
  }
  tsr_tensor *wide = tsr_from_data(device, TSR_F64, TSR_SHAPE(batch, n, n), values, count * sizeof *values);
  tsr_tensor *x = tsr_cast(wide, dtype);
  bench_check(tsr_evaluate(x), "linalg");
  tsr_release(wide);
  free(values);
  return x;
}

static double measure(tsr_device *device, tsr_tensor *x, operator_fn *run) {
  double best = 1e9, total = 0;
  for (int turn = 0; turn < 2 || (total < CASE_SECONDS && turn < 100); turn++) {
    double start = 1e-9 * bench_now_ns();
    run(x);
    bench_check(tsr_device_synchronize(device), "linalg");
    double took = 1e-9 * bench_now_ns() - start;
    if (turn > 0 && took < best) best = took;  // the first one compiles kernels
    if (turn > 0) total += took;
    if (turn == 0 && took > 3 * LONG_SECONDS) return took;
  }
  return best;
}

int main(int argc, char **argv) {
  static const int64_t sizes[][2] = {{1, 32},   {1, 64},   {1, 128},   {1, 256},   {1, 512},
                                     {1, 1024}, {1, 2048}, {1000, 16}, {1000, 32}, {64, 128}};
  tsr_device *device = NULL;
  bench_check(tsr_device_open(&(tsr_device_desc){.backend = argc > 1 ? argv[1] : NULL}, &device), "linalg");
  const char *wanted = argc > 2 ? argv[2] : "all";
  tsr_dtype dtype = argc > 3 && strcmp(argv[3], "f64") == 0 ? TSR_F64 : TSR_F32;
  printf("%s, milliseconds:", tsr_dtype_name(dtype));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    printf("  %lldx%lld", (long long)sizes[i][0], (long long)sizes[i][1]);
  }
  printf("\n");
  for (size_t o = 0; o < sizeof operators / sizeof *operators; o++) {
    if (strcmp(wanted, "all") != 0 && strcmp(wanted, operators[o].name) != 0) continue;
    printf("%-10s", operators[o].name);
    bool is_long = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      if (sizes[i][0] > 1 && sizes[i - 1][0] == 1) is_long = false;
      if (is_long) {
        printf("  -");
        continue;
      }
      tsr_tensor *x = make_matrices(device, dtype, sizes[i][0], sizes[i][1]);
      double seconds = measure(device, x, operators[o].run);
      is_long = seconds > LONG_SECONDS;
      printf("  %.3f", 1e3 * seconds);
      fflush(stdout);
      tsr_release(x);
    }
    printf("\n");
  }
  tsr_device_release(device);
  return 0;
}
