// SPDX-License-Identifier: MIT
// Products of f32 and f16 whose elements are split into parts of bf16 for AMX. Packing and blocks need AVX-512 alone; where there is no AMX, a function in C takes the place of its instruction.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "backends/cpu/product/groups.h"
#include "core/convert.h"
#include "support/test.h"

#if TSRI_HAS_GROUPS
enum { SIDE = 16, LINES = 32, UNIT = 32 };
enum { REGISTER = 512, PART = 2 * REGISTER };  // bf16 in a register, and in a part of a block of a panel

TARGET_AVX512 static inline float widen(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

// Subnormal numbers are taken for 0 and flushed to 0.
TARGET_AVX512 static inline float flushed(float x) { return fabsf(x) < FLT_MIN ? 0 : x; }

// tdpbf16ps on registers of 16 x 16: products with even k and those with odd k are summed apart, then both are added.
TARGET_AVX512 static void dot(float *c, const uint16_t *a, const uint16_t *b) {
  for (int i = 0; i < SIDE; i++) {
    float sums[2 * SIDE] = {0};  // even and odd ones, in turns
    for (int k = 0; k < UNIT / 2; k++) {
      float x[2] = {flushed(widen(a[i * UNIT + 2 * k])), flushed(widen(a[i * UNIT + 2 * k + 1]))};
      for (int j = 0; j < 2 * SIDE; j++) sums[j] = flushed(fmaf(x[j % 2], flushed(widen(b[k * UNIT + j])), sums[j]));
    }
    for (int j = 0; j < SIDE; j++) {
      float *to = &c[i * LINES + j];
      *to = flushed(flushed(*to) + flushed(sums[2 * j] + sums[2 * j + 1]));
    }
  }
}

// As the tile of the table.
static void tile_in_c(const tsri_group_tile *t, int parts, const int (*order)[2], int products) {
  float sums[LINES * LINES] = {0}, *c = t->c;
  const uint16_t *a = t->a, *b = t->b;
  for (int64_t block = 0; block < t->k / UNIT; block++, a += parts * PART, b += parts * PART) {
    for (int p = 0; p < products * 4; p++) {
      int part_of_a = order[p / 4][0], part_of_b = order[p / 4][1], lower = p / 2 % 2, right = p % 2;
      dot(sums + lower * SIDE * LINES + right * SIDE, a + part_of_a * PART + lower * REGISTER,
          b + part_of_b * PART + right * REGISTER);
    }
  }
  for (int i = 0; i < t->rows; i++, c += t->c_step) {
    for (int j = 0; j < t->columns; j++) c[j] = t->adds ? c[j] + sums[i * LINES + j] : sums[i * LINES + j];
  }
}

static void f32_in_c(const tsri_group_tile *t) {
  static const int order[][2] = {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}};
  tile_in_c(t, 3, order, 6);
}

static void f16_in_c(const tsri_group_tile *t) {
  static const int order[][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  tile_in_c(t, 2, order, 4);
}

// The table with the function in C, unless `has_amx`.
static tsri_product_groups table_of(tsr_dtype dtype, bool has_amx) {
  tsri_product_groups table = dtype == TSR_F32 ? tsri_product_f32_amx : tsri_product_f16_amx;
  if (has_amx) return table;
  table.begin = table.end = NULL;
  table.tile = dtype == TSR_F32 ? f32_in_c : f16_in_c;
  return table;
}

static bool has_avx512(void) { return strcmp(tsri_cpu_simd_level(NULL), "avx512") == 0; }
static bool has_amx(void) { return (tsri_cpu_units("amx") & TSRI_CPU_AMX) != 0; }

// --- Products ---------------------------------------------------------------------------------------------------------------

enum { MOST = 1 << 17 };
static float a[MOST], b[MOST], y[MOST], other[MOST];
static uint16_t a_f16[MOST], b_f16[MOST], y_f16[MOST];

typedef struct trial {
  int64_t m, n, k;
  bool is_a_turned, is_b_turned;
  int64_t step;  // elements from one neighbour to the next; 0: 1
} trial;

// Around registers of 16 lines, tiles of 32, 32 elements along k and blocks of 256 and 512.
static const trial trials[] = {
    {.m = 32, .n = 32, .k = 32},
    {.m = 65, .n = 33, .k = 257},
    {.m = 17, .n = 50, .k = 100, .is_b_turned = true},
    {.m = 49, .n = 16, .k = 300, .is_a_turned = true},
    {.m = 40, .n = 33, .k = 515, .is_a_turned = true, .is_b_turned = true},
    {.m = 33, .n = 130, .k = 31, .is_b_turned = true, .step = 2},
    {.m = 100, .n = 96, .k = 64, .is_a_turned = true, .step = 3},
    {.m = 140, .n = 40, .k = 70, .is_a_turned = true},
    {.m = 7, .n = 5, .k = 1},
};
enum { TRIALS = sizeof trials / sizeof trials[0] };

// Under a sanitizer, which makes the function in C slow, each kind of numbers has a quarter of the trials, not the same ones.
static int trial_step(void) { return test_rounds(10) < 10 ? 4 : 1; }
static int first_trial(int kind) { return kind % trial_step(); }

static tsri_product_matrix matrix(const trial *t, const void *at, int64_t rows, int64_t columns, bool is_turned) {
  int64_t step = t->step ? t->step : 1;
  return (tsri_product_matrix){
      .at = at, .row = is_turned ? step : columns * step, .column = is_turned ? rows * step : step};
}

static void run(const tsri_product_groups *groups, tsr_dtype dtype, const trial *t, int threads, const void *left,
                const void *right, void *to) {
  tsri_product p = {.kernels = tsri_product_kernels_for("avx512", TSR_F32),
                    .groups = groups,
                    .storage = &tsri_lanes_isa_for("avx512")->storage[dtype],
                    .is_narrow = dtype != TSR_F32,
                    .element = tsr_dtype_bytes(dtype),
                    .sum_bytes = sizeof(float),
                    .m = t->m,
                    .n = t->n,
                    .k = t->k,
                    .a = matrix(t, left, t->m, t->k, t->is_a_turned),
                    .b = matrix(t, right, t->k, t->n, t->is_b_turned),
                    .c = to,
                    .threads = threads};
  p.scratch = aligned_alloc(64, (tsri_product_scratch_bytes(&p) + 63) / 64 * 64);
  CHECK(p.scratch);
  tsri_product_run(&p);
  free(p.scratch);
}

static void multiply(const tsri_product_groups *groups, const trial *t, int threads, float *to) {
  run(groups, TSR_F32, t, threads, a, b, to);
}

// Fractions with random signs, or positive, times 2^e for `spread` exponents e from `exponent` on. One in eight is 0.
static void fill(float *to, uint32_t seed, int exponent, int spread, bool is_positive) {
  uint64_t state = seed;
  for (int i = 0; i < MOST; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    float x = 1 + (float)(state >> 41) * 0x1p-23f;
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint32_t bits = (uint32_t)(state >> 33);
    x = ldexpf(x, exponent + (int)(bits >> 8) % spread);
    to[i] = bits % 8 == 0 ? 0 : bits & 64 && !is_positive ? -x : x;
  }
}

// The largest error, in units of 2^-24 of the sum of magnitudes. Half of the last bit of a subnormal sum is no error.
static double error_of(const trial *t, const float *got) {
  tsri_product_matrix left = matrix(t, a, t->m, t->k, t->is_a_turned), right = matrix(t, b, t->k, t->n, t->is_b_turned);
  double worst = 0;
  for (int64_t i = 0; i < t->m * t->n; i += test_element_step()) {
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < t->k; k++) {
      double x = (double)a[i / t->n * left.row + k * left.column] * (double)b[k * right.row + i % t->n * right.column];
      sum += x;
      magnitude += fabs(x);
    }
    double error = fabs((double)got[i] - sum) - 0x1p-150 * (double)t->k;
    if (error > 0) worst = fmax(worst, error / magnitude * 0x1p24);
  }
  return worst;
}

// Compares the errors of split products and of plain multiply-adds on the same numbers. Those of split products are mostly half as large; as large only if one
// product is nearly the whole sum.
static void check_errors(bool with_amx) {
  static const struct {
    int exponent, spread;
    bool is_positive;
  } kinds[] = {{-1, 1, false}, {-1, 1, true}, {-20, 40, false}};
  tsri_product_groups table = table_of(TSR_F32, with_amx);
  for (int kind = 0; kind < 3; kind++) {
    fill(a, 1, kinds[kind].exponent, kinds[kind].spread, kinds[kind].is_positive);
    fill(b, 2, kinds[kind].exponent, kinds[kind].spread, kinds[kind].is_positive);
    for (int i = first_trial(kind); i < TRIALS; i += trial_step()) {
      multiply(&table, &trials[i], 2, y);
      multiply(NULL, &trials[i], 2, other);
      double split = error_of(&trials[i], y), plain = error_of(&trials[i], other);
      if (split <= 1.5 * fmax(plain, 1)) continue;
      printf("%d x %d x %d, kind %d: error %g, by multiply-adds %g\n", (int)trials[i].m, (int)trials[i].k,
             (int)trials[i].n, kind, split, plain);
      FAIL("a split product is less exact than multiply-adds");
    }
  }
}

TEST(split_products_are_as_exact_as_multiply_adds) {
  if (!has_avx512()) SKIP("this processor has no AVX-512");
  check_errors(false);
}

TEST(split_products_are_as_exact_as_multiply_adds_with_amx) {
  if (!has_amx()) SKIP("this processor has no AMX, or the system does not allow it");
  check_errors(true);
}

TEST(amx_gives_the_bits_of_the_function_in_c) {
  if (!has_amx()) SKIP("this processor has no AMX, or the system does not allow it");
  tsri_product_groups with_amx = table_of(TSR_F32, true), in_c = table_of(TSR_F32, false);
  fill(a, 1, -20, 40, false);
  fill(b, 2, -20, 40, false);
  for (int i = 0; i < TRIALS; i++) {
    multiply(&with_amx, &trials[i], 1, y);
    multiply(&in_c, &trials[i], 1, other);
    CHECK_BYTES(y, other, (size_t)(trials[i].m * trials[i].n) * sizeof(float));
  }
}

// Elements and sums that the instructions flush: parts of small elements by large ones, small products, subnormal elements; everywhere, or in one panel.
static void check_small(bool with_amx) {
  static const int exponents[][2] = {{-115, 60}, {60, -115},  {-70, -60}, {-149, 30},
                                     {-40, -84}, {-100, -20}, {-140, 0}};
  tsri_product_groups table = table_of(TSR_F32, with_amx);
  for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
    fill(a, 3, exponents[e][0], 3, false);
    fill(b, 4, exponents[e][1], 3, false);
    for (int i = first_trial((int)e); i < TRIALS; i += trial_step()) {
      multiply(&table, &trials[i], 2, y);
      CHECK(error_of(&trials[i], y) < 8);
    }
  }
  fill(a, 3, -3, 3, false);
  fill(b, 4, -3, 3, false);
  a[100] = 0x1p-149f;
  for (int i = 0; i < LINES; i++) b[i] *= 0x1p-110f;
  for (int i = 0; i < TRIALS; i += trial_step()) {
    multiply(&table, &trials[i], 2, y);
    CHECK(error_of(&trials[i], y) < 8);
  }
}

TEST(split_products_flush_nothing) {
  if (!has_avx512()) SKIP("this processor has no AVX-512");
  check_small(false);
}

TEST(split_products_flush_nothing_with_amx) {
  if (!has_amx()) SKIP("this processor has no AMX, or the system does not allow it");
  check_small(true);
}

// Infinities, NaN and numbers that round to infinity as bf16 have what multiply-adds give.
static void check_huge(bool with_amx) {
  static const uint32_t bits[] = {0x7F800000, 0xFF800000, 0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F7FFFFF, 0x7F7F8000};
  const trial t = {.m = 40, .n = 48, .k = 70};
  tsri_product_groups table = table_of(TSR_F32, with_amx);
  for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
    fill(a, 5, -3, 3, false);
    fill(b, 6, -3, 3, false);
    memcpy(&a[3 * t.k + 5], &bits[i], sizeof(float));
    memcpy(&b[6 * t.n + 34], &bits[i], sizeof(float));
    multiply(&table, &t, 1, y);
    multiply(NULL, &t, 1, other);
    for (int64_t j = 0; j < t.m * t.n; j++) {
      CHECK(isnan(y[j]) == isnan(other[j]) && isinf(y[j]) == isinf(other[j]));
      if (isfinite(y[j])) CHECK(fabsf(y[j] - other[j]) <= 1e-5f * fmaxf(1, fabsf(other[j])));
      else if (isinf(y[j])) CHECK(signbit(y[j]) == signbit(other[j]));
    }
  }
}

TEST(split_products_keep_infinities_and_nan_in_their_rows_and_columns) {
  if (!has_avx512()) SKIP("this processor has no AVX-512");
  check_huge(false);
  if (has_amx()) check_huge(true);
}

// Also if some tiles are computed by multiply-adds.
TEST(split_products_have_the_same_bits_on_any_number_of_threads) {
  const trial t = {.m = 140, .n = 70, .k = 100};
  if (!has_avx512()) SKIP("this processor has no AVX-512");
  tsri_product_groups table = table_of(TSR_F32, has_amx());
  fill(a, 7, -3, 3, false);
  fill(b, 8, -3, 3, false);
  b[40] = 0x1p-140f;
  multiply(&table, &t, 1, other);
  for (int threads = 2; threads <= 5; threads++) {
    multiply(&table, &t, threads, y);
    CHECK_BYTES(y, other, (size_t)(t.m * t.n) * sizeof(float));
  }
}

// --- f16 --------------------------------------------------------------------------------------------------------------------

static void fill_f16(float *to, uint16_t *narrow, uint32_t seed, int exponent, int spread) {
  fill(to, seed, exponent, spread, false);
  for (int i = 0; i < MOST; i++) {
    narrow[i] = tsri_f32_to_f16(to[i]);
    to[i] = tsri_f16_to_f32(narrow[i]);
  }
}

// Within the error of k roundings of f32 and one of f16.
static void check_f16(bool with_amx, int exponent, int spread) {
  tsri_product_groups table = table_of(TSR_F16, with_amx);
  fill_f16(a, a_f16, 9, exponent, spread);
  fill_f16(b, b_f16, 10, exponent, spread);
  a_f16[70] = 0x7C00;  // infinite
  a[70] = INFINITY;
  for (int i = first_trial(spread); i < TRIALS; i += trial_step()) {
    const trial *t = &trials[i];
    run(&table, TSR_F16, t, 2, a_f16, b_f16, y_f16);
    multiply(NULL, t, 2, other);
    for (int64_t j = 0; j < t->m * t->n; j++) {
      float got = tsri_f16_to_f32(y_f16[j]), wanted = tsri_f16_to_f32(tsri_f32_to_f16(other[j]));
      CHECK(isnan(got) == isnan(wanted) && isinf(got) == isinf(wanted));
      double bound = 0x1p-10 * fabs((double)wanted) + 0x1p-24 + (double)t->k * ldexp(0x1p-23, 2 * (exponent + spread));
      if (isfinite(wanted)) CHECK(fabs((double)got - (double)wanted) <= bound);
    }
  }
}

TEST(split_products_of_f16_are_those_of_f32) {
  if (!has_avx512()) SKIP("this processor has no AVX-512");
  check_f16(false, -3, 4);
  check_f16(false, -24, 14);  // subnormal f16, too
  if (has_amx()) check_f16(true, -3, 4);
  if (has_amx()) check_f16(true, -24, 14);
}

// --- The choice -------------------------------------------------------------------------------------------------------------

TEST(small_products_are_not_split) {
  tsri_product p = {.element = 4, .sum_bytes = sizeof(float), .m = 2048, .n = 2048, .k = 1024};
  CHECK(tsri_product_split_for(TSRI_CPU_AMX, &p) == &tsri_product_f32_amx);
  CHECK(tsri_product_split_for(TSRI_CPU_VNNI | TSRI_CPU_BF16, &p) == NULL);
  p.m = 2047;
  CHECK(tsri_product_split_for(TSRI_CPU_AMX, &p) == NULL);
  p.m = 64;  // few rows, although the work is as much
  p.n = p.k = 1 << 13;
  CHECK(tsri_product_split_for(TSRI_CPU_AMX, &p) == NULL);
  p.m = p.n = 1 << 13;
  p.k = 255;
  CHECK(tsri_product_split_for(TSRI_CPU_AMX, &p) == NULL);
  p.m = p.n = p.k = 1024;
  p.is_narrow = true;
  p.element = 2;
  CHECK(tsri_product_split_for(TSRI_CPU_AMX, &p) == &tsri_product_f16_amx);
  p.is_bf16 = true;
  CHECK(tsri_product_split_for(TSRI_CPU_AMX, &p) == NULL);
}
#endif
