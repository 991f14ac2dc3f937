// SPDX-License-Identifier: MIT
// The CPU's own Fourier transforms against sums in f64: lengths of all radices and numbers of passes, lines in all layouts, SIMD levels, threads.
#include "backends/cpu/fft/fft.h"

#include "backends/cpu/rows/rows_testing.h"

enum { MOST = 1 << 18 };

typedef struct trial {
  tsri_fft_kind kind;
  int64_t outer, n, inner;
  bool is_inverse;
} trial;

// Complex numbers that are read and written for one outer index.
static int64_t numbers_in(const trial *t) { return (t->n + (t->kind == TSRI_FFT_FROM_HALF)) * t->inner; }
static int64_t numbers_out(const trial *t) { return (t->n + (t->kind == TSRI_FFT_HALF)) * t->inner; }

// The caller frees the result.
static void *run(const trial *t, tsr_dtype dtype, const void *x, int threads, const char *simd) {
  size_t number = 2 * tsr_dtype_bytes(dtype), bytes = (size_t)(t->outer * numbers_out(t)) * number;
  cpu_device *device = open_device(threads, simd);
  tsri_buffer *from = NULL, *to = NULL;
  void *y = malloc(bytes);
  CHECK(y != NULL);
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)device, (size_t)(t->outer * numbers_in(t)) * number, &from));
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)device, bytes, &to));
  memcpy(tsri_cpu_buffer_host(NULL, from), x, (size_t)(t->outer * numbers_in(t)) * number);
  memset(tsri_cpu_buffer_host(NULL, to), 0xFF, bytes);  // NaN
  tsri_fft_op op = {.kind = t->kind,
                    .outer = t->outer,
                    .n = t->n,
                    .inner = t->inner,
                    .is_inverse = t->is_inverse,
                    .scale = t->is_inverse ? 1 / (double)t->n : 1,
                    .from.buffer = from,
                    .to.buffer = to};
  CHECK(tsri_cpu_has_fft(&op));
  CHECK_OK(tsri_cpu_fft(device, dtype, &op));
  memcpy(y, tsri_cpu_buffer_host(NULL, to), bytes);
  tsri_cpu_buffer_destroy((tsri_device *)device, from);
  tsri_cpu_buffer_destroy((tsri_device *)device, to);
  close_device(device);
  return y;
}

// Element k of a complex line by the definition.
static void sum_of(const double *x, const trial *t, int64_t o, int64_t i, int64_t k, double out[2]) {
  long double re = 0, im = 0, sign = t->is_inverse ? 2 : -2, scale = t->is_inverse ? 1 / (long double)t->n : 1;
  for (int64_t j = 0; j < t->n; j++) {
    long double turn = sign * acosl(-1.0L) * (long double)(j * k % t->n) / (long double)t->n, c = cosl(turn),
                s = sinl(turn);
    const double *at = &x[2 * ((o * t->n + j) * t->inner + i)];
    re += at[0] * c - at[1] * s;
    im += at[0] * s + at[1] * c;
  }
  out[0] = (double)(re * scale);
  out[1] = (double)(im * scale);
}

// x is in [-1, 1); the error of a transform grows with the square root of its sum of squares, and slowly with its passes.
static void check_some(const trial *t, tsr_dtype dtype, const double *x, const void *found) {
  static double y[2 * MOST];
  double bound = (dtype == TSR_F64 ? 2e-15 : 1e-6) * sqrt((double)t->n) / (t->is_inverse ? (double)t->n : 1);
  CHECK_OK(tsr_convert(TSR_F64, y, dtype, found, (size_t)(2 * t->outer * numbers_out(t))));
  for (int64_t r = 0; r < 11; r++) {
    int64_t o = r * 3 % t->outer, i = r * 5 % t->inner, k = r == 10 ? t->n - 1 : r * (t->n / 3 + 1) % t->n;
    double sum[2];
    sum_of(x, t, o, i, k, sum);
    const double *at = &y[2 * ((o * t->n + k) * t->inner + i)];
    CHECK_NEAR(at[0], sum[0], bound);
    CHECK_NEAR(at[1], sum[1], bound);
  }
}

static void fill(double *x, int64_t count) {
  uint32_t state = 11;
  for (int64_t i = 0; i < count; i++) x[i] = (double)(float)((double)random_word(&state) / 0x1p23 - 1);
}

// All levels and numbers of threads give the same bits.
static void *check_levels(const trial *t, tsr_dtype dtype, const double *x) {
  static double narrow[2 * MOST];
  size_t bytes = (size_t)(2 * t->outer * numbers_out(t)) * tsr_dtype_bytes(dtype);
  CHECK_OK(tsr_convert(dtype, narrow, TSR_F64, x, (size_t)(2 * t->outer * numbers_in(t))));
  void *found = run(t, dtype, narrow, 1, "");
  static const char *const levels[] = {"", "baseline", "avx2", "avx512"};
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
    void *other = run(t, dtype, narrow, i == 0 ? 5 : 1, levels[i]);
    CHECK(memcmp(found, other, bytes) == 0);
    free(other);
  }
  return found;
}

static void check(const trial *t, tsr_dtype dtype) {
  static double x[2 * MOST];
  fill(x, 2 * t->outer * numbers_in(t));
  void *found = check_levels(t, dtype, x);
  if (t->kind == TSRI_FFT_COMPLEX) check_some(t, dtype, x, found);
  free(found);
}

static const int64_t lengths[] = {1,  2,  3,   4,   5,   7,   8,   9,   16,  30,   32,   48,   59,   61,   64,
                                  77, 96, 100, 128, 143, 243, 256, 360, 512, 1000, 1024, 2187, 3600, 4096, 3721};

TEST(transforms_are_the_sums) {
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    int64_t n = lengths[i], outer = i % 4 == 0 ? 1 : i % 4 == 1 ? 19 : 3, inner = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 21;
    for (int dtype = 0; dtype < 2; dtype++) {
      check(&(trial){.outer = outer, .n = n, .inner = 1, .is_inverse = i % 2 == 0}, dtype ? TSR_F64 : TSR_F32);
      check(&(trial){.outer = i % 2 ? 1 : 2, .n = n, .inner = inner, .is_inverse = i % 2 == 1},
            dtype ? TSR_F64 : TSR_F32);
    }
  }
}

// Too large for one thread's cache, in two passes and in three.
TEST(transforms_that_threads_share_are_the_sums) {
  check(&(trial){.outer = 1, .n = 1 << 17, .inner = 1}, TSR_F32);
  check(&(trial){.outer = 2, .n = 32768, .inner = 3, .is_inverse = true}, TSR_F64);
  check(&(trial){.outer = 1, .n = 3 * 61 * 61 * 16, .inner = 1}, TSR_F64);
}

// The half of the transform of real numbers, made of pairs of them, is that of complex numbers without imaginary parts, and gives them back.
static void check_halves(tsr_dtype dtype, int64_t outer, int64_t m, int64_t inner) {
  static double x[2 * MOST], half[2 * MOST], back[2 * MOST];
  static double wide[4 * MOST];  // complex numbers for the real ones that x has in pairs
  trial to_half = {.kind = TSRI_FFT_HALF, .outer = outer, .n = m, .inner = inner};
  trial from_half = {.kind = TSRI_FFT_FROM_HALF, .outer = outer, .n = m, .inner = inner, .is_inverse = true};
  int64_t count = outer * m * inner;
  fill(x, 2 * count);
  for (int64_t i = 0; i < 2 * count; i++) {
    int64_t part = i % 2, at = i / 2, j = at / inner % m;
    wide[2 * ((at / inner / m * 2 * m + 2 * j + part) * inner + at % inner)] = x[i];
    wide[2 * ((at / inner / m * 2 * m + 2 * j + part) * inner + at % inner) + 1] = 0;
  }
  void *found = check_levels(&to_half, dtype, x);
  CHECK_OK(tsr_convert(TSR_F64, half, dtype, found, (size_t)(2 * outer * numbers_out(&to_half))));
  double bound = (dtype == TSR_F64 ? 4e-15 : 2e-6) * sqrt(2 * (double)m);
  for (int64_t k = 0; k <= m; k += 1 + m / 7) {
    double sum[2];
    trial of_all = {.n = 2 * m, .outer = outer, .inner = inner};
    sum_of(wide, &of_all, outer - 1, inner - 1, k, sum);
    const double *at = &half[2 * (((outer - 1) * (m + 1) + k) * inner + inner - 1)];
    CHECK_NEAR(at[0], sum[0], bound);
    CHECK_NEAR(at[1], sum[1], bound);
  }
  free(found);
  for (int64_t i = 0; i < outer * inner; i++) {  // not read
    half[2 * (i / inner * (m + 1) * inner + i % inner) + 1] = NAN;
    half[2 * ((i / inner * (m + 1) + m) * inner + i % inner) + 1] = NAN;
  }
  found = check_levels(&from_half, dtype, half);
  CHECK_OK(tsr_convert(TSR_F64, back, dtype, found, (size_t)(2 * count)));
  for (int64_t i = 0; i < 2 * count; i++) CHECK_NEAR(back[i], x[i], dtype == TSR_F64 ? 4e-15 : 2e-6);
  free(found);
}

TEST(halves_are_those_of_real_numbers) {
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    check_halves(i % 2 ? TSR_F64 : TSR_F32, i % 3 ? 3 : 20, lengths[i], 1);
    check_halves(i % 2 ? TSR_F32 : TSR_F64, 2, lengths[i], i % 3 == 1 ? 5 : 18);
  }
  check_halves(TSR_F32, 1, 1 << 16, 1);
}

TEST(lengths_with_large_prime_factors_are_left_to_kernels) {
  CHECK(!tsri_cpu_has_fft(&(tsri_fft_op){.outer = 1, .n = 67, .inner = 1}));
  CHECK(!tsri_cpu_has_fft(&(tsri_fft_op){.outer = 1, .n = 2 * 127, .inner = 1}));
  CHECK(tsri_cpu_has_fft(&(tsri_fft_op){.outer = 1, .n = 61 * 59, .inner = 1}));
}
