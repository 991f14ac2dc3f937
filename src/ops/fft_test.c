// SPDX-License-Identifier: MIT
#include "graph/node.h"
#include "ops/fft_plan.h"
#include "ops_testing.h"
#include "runtime/native_op.h"

enum { MOST = 2 * 1400 };

static void read_all(tsr_tensor *x, double *out_values) {
  CHECK(tsr_tensor_count(x) <= MOST);
  CHECK_OK(tsr_read(tsr_cast(x, TSR_F64), out_values, (size_t)tsr_tensor_count(x) * sizeof(double)));
}

static double largest(tsr_tensor *x) {
  double value = 0;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(x), NULL, 0, false), &value));
  return value;
}

static const int64_t lengths[] = {1, 2, 3, 4, 6, 16, 30, 61, 67, 121, 127, 360, 1024, 1291};

TEST(fft_of_an_impulse_is_flat_and_of_a_constant_an_impulse) {
  begin();
  tsr_tensor *impulse = list(TSR_F32, TSR_SHAPE(3, 2), 1, 0, 0, 0, 0, 0);
  CHECK_VALUES(tsr_fft(impulse, NULL, 0), TSR_F32, TSR_SHAPE(3, 2), 0, 1, 0, 1, 0, 1, 0);
  tsr_tensor *flat = list(TSR_F32, TSR_SHAPE(4), 1, 1, 1, 1);
  CHECK_VALUES(tsr_rfft(flat, NULL, 0), TSR_F32, TSR_SHAPE(3, 2), 0, 4, 0, 0, 0, 0, 0);
  finish();
}

TEST(ifft_undoes_fft_for_any_length) {
  begin();
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(lengths[i], 2), i);
    tsr_tensor *back = tsr_ifft(tsr_fft(x, NULL, 0), NULL, 0);
    CHECK(largest(tsr_sub(back, x)) < 4e-6);
  }
  finish();
}

// Twice the transform is the sequence in reverse order, n times as large; the first element stays first.
TEST(fft_of_fft_reverses) {
  begin();
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    int64_t n = lengths[i];
    static double x[MOST], y[MOST];
    tsr_tensor *given = tsr_randn(dev, TSR_F64, TSR_SHAPE(n, 2), i);
    read_all(given, x);
    read_all(tsr_div_scalar(tsr_fft(tsr_fft(given, NULL, 0), NULL, 0), (double)n), y);
    for (int64_t k = 0; k < 2 * n; k++) CHECK_NEAR(y[k], x[(n - k / 2) % n * 2 + k % 2], 1e-13);
  }
  finish();
}

TEST(fft_keeps_the_sum_of_squares_and_is_linear) {
  begin();
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    int64_t n = lengths[i];
    tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(n, 2), i), *y = tsr_randn(dev, TSR_F64, TSR_SHAPE(n, 2), i + 99);
    tsr_tensor *fx = tsr_fft(x, NULL, 0), *fy = tsr_fft(y, NULL, 0);
    double before = 0, after = 0;
    CHECK_OK(tsr_item(tsr_norm(x, 2, NULL, 0, false), &before));
    CHECK_OK(tsr_item(tsr_norm(fx, 2, NULL, 0, false), &after));
    CHECK_NEAR(after, before * sqrt((double)n), 1e-12 * after);
    tsr_tensor *both = tsr_fft(tsr_add(x, tsr_mul_scalar(y, 3)), NULL, 0);
    CHECK(largest(tsr_sub(both, tsr_add(fx, tsr_mul_scalar(fy, 3)))) < 1e-12 * after + 1e-12);
  }
  finish();
}

TEST(irfft_undoes_rfft_for_even_and_odd_sizes) {
  begin();
  tsr_tensor *even = tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 10), 1),
             *odd = tsr_randn(dev, TSR_F32, TSR_SHAPE(6, 5, 3), 2);
  CHECK(largest(tsr_sub(tsr_irfft(tsr_rfft(even, TSR_AXES(1)), 0, TSR_AXES(1)), even)) < 1e-6);
  CHECK(largest(tsr_sub(tsr_irfft(tsr_rfft(odd, TSR_AXES(0, 2, 1)), 5, TSR_AXES(0, 2, 1)), odd)) < 1e-6);
  finish();
}

TEST(fft_counts_axes_without_the_one_of_the_parts) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2, 2), 1, 0, 2, 0, 3, 0, 5, 0);
  CHECK_VALUES(tsr_fft(x, TSR_AXES(-1)), TSR_F32, TSR_SHAPE(2, 2, 2), 0, 3, 0, -1, 0, 8, 0, -2, 0);
  CHECK_VALUES(tsr_fft(x, TSR_AXES(0)), TSR_F32, TSR_SHAPE(2, 2, 2), 0, 4, 0, 7, 0, -2, 0, -3, 0);
  finish();
}

// Element k of line (o, i) of x, which is [outer, n, inner] complex numbers, by the definition.
static void sum_directly(const double *x, int64_t n, int64_t inner, int64_t o, int64_t i, int64_t k, double out[2]) {
  out[0] = out[1] = 0;
  for (int64_t j = 0; j < n; j++) {
    double turn = 2 * acos(-1.0) * (double)(j * k % n) / (double)n, c = cos(turn), s = sin(turn);
    const double *at = &x[2 * ((o * n + j) * inner + i)];
    out[0] += at[0] * c + at[1] * s;
    out[1] += at[1] * c - at[0] * s;
  }
}

// Compares some elements of the transform of [outer, n, inner] numbers along the axis of n with their sums.
static void check_by_sums(tsr_dtype dtype, int64_t outer, int64_t n, int64_t inner, double bound) {
  size_t count = (size_t)(2 * outer * n * inner);
  double *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
  CHECK(x && y);
  tsr_tensor *given = tsr_randn(dev, dtype, TSR_SHAPE(outer, n, inner, 2), (uint64_t)n);
  CHECK_OK(tsr_read(tsr_cast(given, TSR_F64), x, count * sizeof *x));
  CHECK_OK(tsr_read(tsr_cast(tsr_fft(given, TSR_AXES(1)), TSR_F64), y, count * sizeof *y));
  for (int64_t t = 0; t < 7; t++) {
    int64_t o = t % outer, i = t * 5 % inner, k = t * (n / 3 + 1) % n;
    double expected[2];
    sum_directly(x, n, inner, o, i, k, expected);
    const double *got = &y[2 * ((o * n + k) * inner + i)];
    CHECK_NEAR(got[0], expected[0], bound * sqrt((double)n));
    CHECK_NEAR(got[1], expected[1], bound * sqrt((double)n));
  }
  free(x);
  free(y);
}

// Lines that a work-group holds, of all radices and numbers of stages, next to each other and across.
TEST(fft_of_held_lines_is_the_sum) {
  static const int64_t held[] = {5,   8,   9,   11,  13,  14,  15,  27,   32,   48,   77,   100,  125,  143, 169,
                                 243, 256, 343, 486, 512, 625, 729, 1000, 1001, 1536, 2048, 2197, 2401, 3125};
  begin();
  for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
    check_by_sums(TSR_F32, 3, held[i], 1, 3e-6);
    check_by_sums(i % 2 ? TSR_F64 : TSR_F32, 2, held[i], 5, i % 2 ? 1e-12 : 3e-6);
  }
  finish();
}

// Lines with primes from 17 to 61, whose butterflies are shared by several items: one, two or three of them, alone or with small radices.
TEST(fft_of_lines_with_large_radices_is_the_sum) {
  static const int64_t held[] = {17 * 8,  19 * 11, 23 * 23, 29 * 6,  31 * 17, 37 * 4, 41 * 7,
                                 43 * 12, 47 * 62, 53 * 16, 59 * 29, 61 * 13, 4913,   3 * 17 * 31};
  begin();
  for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
    check_by_sums(TSR_F32, 3, held[i], 1, 3e-6);
    if (i % 3 == 0) check_by_sums(TSR_F64, 2, held[i], 5, 1e-12);
  }
  finish();
}

// Lines with a prime factor above 61: a convolution that a work-group holds, and one of two passes.
TEST(fft_of_lines_by_convolution_is_the_sum) {
  begin();
  check_by_sums(TSR_F32, 3, 67 * 2, 1, 3e-6);
  check_by_sums(TSR_F64, 2, 509, 3, 1e-12);
  check_by_sums(TSR_F32, 2, 2803, 1, 3e-6);
  check_by_sums(TSR_F32, 2, 10007, 1, 3e-6);
  check_by_sums(TSR_F32, 1, 12007, 3, 3e-6);
  finish();
}

// rfft gives the first half of fft, and irfft undoes it, whatever the radices.
TEST(rfft_of_held_lines_is_the_half_of_fft) {
  static const int64_t held[] = {4,   6,    9,    14,   32,   66,    75,        128,   221,   254,  256,
                                 509, 1001, 1536, 3162, 4096, 10007, 17 * 1021, 20000, 24565, 30375};
  begin();
  for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
    int64_t n = held[i], inner = i % 3 == 1 ? 3 : 1;
    tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(2, n, inner), i), *half = tsr_rfft(x, TSR_AXES(1));
    tsr_tensor *zero = tsr_zeros(dev, TSR_F64, TSR_SHAPE(2, n, inner));
    tsr_tensor *whole = tsr_fft(tsr_stack((tsr_tensor *[]){x, zero}, 2, 3), TSR_AXES(1));
    CHECK(largest(tsr_sub(half, tsr_slice(whole, 1, 0, n / 2 + 1, 1))) < 1e-13 * (double)n);
    CHECK(largest(tsr_sub(tsr_irfft(half, n, TSR_AXES(1)), x)) < 1e-13);
  }
  finish();
}

// The same by the kernels that GPUs take, in place of the CPU's own transform.
TEST(kernels_compute_the_sums) {
  static const int64_t held[] = {17 * 8, 19 * 11, 23 * 23, 29 * 6,  31 * 17, 37 * 4, 41 * 7, 43 * 12,
                                 47 * 6, 53 * 4,  59 * 3,  61 * 13, 4913,    130,    256,    360};
  begin();
  tsri_native_allow(false);
  for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
    check_by_sums(TSR_F32, 2, held[i], (int64_t)(i % 3 + 1), 3e-6);
  check_by_sums(TSR_F64, 1, 8 * 17 * 61 * 3, 1, 1e-12);
  check_by_sums(TSR_F32, 2, 137, 2, 3e-6);
  check_by_sums(TSR_F32, 1, 10007, 1, 3e-6);
  tsri_native_allow(true);
  finish();
}

// Transforms of real numbers, even and odd, by kernels and by the CPU's own transforms.
TEST(kernels_agree_about_real_numbers) {
  static const int64_t held[] = {128, 254, 270, 131, 153, 221, 17 * 16, 360, 1001, 10007, 15015};
  begin();
  for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
    int64_t n = held[i], inner = i % 3 == 1 ? 3 : 1;
    tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(2, n, inner), i), *half = tsr_rfft(x, TSR_AXES(1));
    tsr_tensor *back = tsr_irfft(half, n, TSR_AXES(1));
    CHECK_OK(tsr_evaluate(half));
    CHECK_OK(tsr_evaluate(back));
    tsri_native_allow(false);
    CHECK(largest(tsr_sub(tsr_rfft(x, TSR_AXES(1)), half)) < 1e-13 * (double)n);
    CHECK(largest(tsr_sub(tsr_irfft(half, n, TSR_AXES(1)), back)) < 1e-13);
    tsri_native_allow(true);
  }
  finish();
}

// Lines that are transformed in two parts, or three.
TEST(fft_of_long_lines_is_the_sum) {
  begin();
  check_by_sums(TSR_F32, 2, 8192, 2, 3e-6);
  check_by_sums(TSR_F64, 1, 24576, 1, 1e-12);
  check_by_sums(TSR_F32, 1, 30030, 3, 3e-6);
  check_by_sums(TSR_F32, 1, 1 << 17, 1, 3e-6);
  finish();
}

// The error stays within a few roundings per pass.
TEST(fft_of_many_elements_is_accurate) {
  begin();
  int64_t n = 1 << 18;
  tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(n, 2), 7);
  tsr_tensor *exact = tsr_fft(x, NULL, 0), *got = tsr_fft(tsr_cast(x, TSR_F32), NULL, 0);
  double error = 0, size = 0;
  CHECK_OK(tsr_item(tsr_norm(tsr_sub(tsr_cast(got, TSR_F64), exact), 2, NULL, 0, false), &error));
  CHECK_OK(tsr_item(tsr_norm(exact, 2, NULL, 0, false), &size));
  CHECK(error < 4e-7 * size);
  finish();
}

// A driver may run kernels with many registers only in small work-groups. Lines that need more items are transformed in two parts.
TEST(plans_keep_to_the_largest_work_group_for_kernels_with_many_registers) {
  begin();
  tsri_graph_state *state = NULL;
  CHECK_OK(tsri_graph_state_for(dev, &state));
  for (int64_t n = 2; n <= 16384; n += n < 64 ? 1 : n / 16) {
    for (int is_across = 0; is_across < 2; is_across++) {
      tsri_fft_plan plan;
      if (!tsri_fft_plan_init(dev, TSR_F32, n, is_across, &plan)) continue;
      CHECK(plan.team * plan.lines <= state->tuning.row_group);
    }
  }
  tsri_fft_plan plan;
  CHECK(state->tuning.row_group == 256);
  CHECK(!tsri_fft_plan_init(dev, TSR_F32, 10000, false, &plan));
  CHECK(tsri_fft_plan_split(dev, TSR_F32, 10000, &plan));
  finish();
}

TEST(fft_of_nothing_is_empty) {
  begin();
  CHECK_EMPTY(tsr_fft(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 6, 2)), TSR_AXES(1)), TSR_F32, TSR_SHAPE(0, 6, 2));
  CHECK_EMPTY(tsr_fft(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 2)), NULL, 0), TSR_F32, TSR_SHAPE(0, 2));
  CHECK_EMPTY(tsr_rfft(tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 0)), TSR_AXES(1)), TSR_F32, TSR_SHAPE(3, 0, 2));
  finish();
}

TEST(fft_refuses_what_has_no_parts_and_sizes_that_do_not_fit) {
  begin();
  CHECK_FAILS(tsr_fft(count_up(TSR_F32, TSR_SHAPE(4, 3)), NULL, 0), TSR_ERR_SHAPE, "x is 4x3; its last axis");
  CHECK_FAILS(tsr_ifft(tsr_zeros(dev, TSR_F32, TSR_SCALAR), NULL, 0), TSR_ERR_SHAPE, "ifft: ");
  CHECK_FAILS(tsr_fft(count_up(TSR_F32, TSR_SHAPE(4, 2)), TSR_AXES(1)), TSR_ERR_SHAPE, "fft");
  CHECK_FAILS(tsr_irfft(count_up(TSR_F32, TSR_SHAPE(5, 2)), 7, NULL, 0), TSR_ERR_SHAPE,
              "axis 0 has 5 elements, a result of 7 takes 4");
  CHECK_FAILS(tsr_irfft(count_up(TSR_F32, TSR_SHAPE(1, 2)), 0, NULL, 0), TSR_ERR_SHAPE, "axis 0 has 1 elements");
  CHECK_FAILS(tsr_rfft(NULL, NULL, 0), TSR_ERR_INVALID_ARGUMENT, "rfft");
  finish();
}
