// SPDX-License-Identifier: MIT
// argmax and argmin against plain loops: dtypes, SIMD levels, threads, axes, ties, NaN, signed zeros.
#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/lines/lines.h"
#include "backends/cpu/rows/rows_testing.h"
#include "core/alloc.h"

enum { MOST = 120000, MOST_RESULTS = 6000 };

typedef struct rig {
  cpu_device *device;
  tsri_buffer *in, *out;
} rig;

static rig rig_open(int threads, const char *simd, tsr_dtype dtype, const double *values) {
  rig r = {.device = open_device(threads, simd)};
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r.device, MOST * sizeof(double), &r.in));
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r.device, MOST_RESULTS * sizeof(int32_t), &r.out));
  CHECK_OK(tsr_convert(dtype, tsri_cpu_buffer_host(NULL, r.in), TSR_F64, values, MOST));
  return r;
}

static void rig_close(rig *r) {
  tsri_cpu_buffer_destroy((tsri_device *)r->device, r->in);
  tsri_cpu_buffer_destroy((tsri_device *)r->device, r->out);
  close_device(r->device);
}

// A matrix or a tensor of rank 3 in which one axis is searched.
typedef struct trial {
  int64_t outer, outer_step, n, step, inner, inner_step;
} trial;

static tsri_reduce_op op_of(const trial *t, tsri_reduction kind) {
  return (tsri_reduce_op){.kind = kind,
                          .kept_rank = 2,
                          .kept_dims = {t->outer, t->inner},
                          .kept_strides = {t->outer_step, t->inner_step},
                          .reduced_rank = 1,
                          .reduced_dims = {t->n},
                          .reduced_strides = {t->step}};
}

static bool is_better(tsri_reduction kind, double x, double y) {
  if (isnan(y)) return false;
  return isnan(x) || (kind == TSRI_REDUCTION_MAX ? x > y : x < y);
}

static void check(const rig *r, tsr_dtype dtype, const trial *t, const double *values) {
  for (int kind = TSRI_REDUCTION_MAX; kind <= TSRI_REDUCTION_MIN; kind++) {
    tsri_reduce_op op = op_of(t, (tsri_reduction)kind);
    op.from.buffer = r->in;
    op.to.buffer = r->out;
    CHECK(tsri_cpu_has_arg(&op));
    CHECK_OK(tsri_cpu_arg(r->device, dtype, &op));
    const int32_t *found = tsri_cpu_buffer_host(NULL, r->out);
    for (int64_t i = 0; i < t->outer * t->inner; i++) {
      const double *line = values + i / t->inner * t->outer_step + i % t->inner * t->inner_step;
      int64_t best = 0;
      for (int64_t k = 1; k < t->n; k++) {
        if (is_better((tsri_reduction)kind, line[k * t->step], line[best * t->step])) best = k;
      }
      CHECK_EQ_INT(found[i], best);
    }
  }
}

static const trial trials[] = {
    {1, 0, 1, 1, 1, 0},        {1, 0, 100003, 1, 1, 0},      {5000, 7, 7, 1, 1, 0},  {301, 70, 65, 1, 1, 0},
    {37, 2100, 2049, 1, 1, 0}, {2, 50000, 4100, 1, 3, 5000}, {1, 0, 40001, 2, 1, 1}, {1, 0, 400, 7, 7, 1},
    {1, 0, 70, 1500, 1500, 1}, {9, 660, 20, 33, 33, 1},      {3, 0, 17, 1, 2, 40},   {1, 0, 1, 0, 50, 1},
    {1, 0, 30000, 3, 3, 1},    {1, 0, 7, 3001, 3001, 1},
};

static double *make_values(void) {
  double *values = malloc(MOST * sizeof *values);
  uint32_t state = 5;
  CHECK(values != NULL);
  for (int i = 0; i < MOST; i++) values[i] = (double)(random_word(&state) % 90);
  return values;
}

TEST(the_first_of_the_best_is_found_in_every_dtype_along_any_axis) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16, TSR_I32,
                                     TSR_U32, TSR_I64, TSR_I16, TSR_I8,   TSR_U8};
  static const char *const levels[] = {"baseline", "avx2", NULL};
  double *values = make_values();
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
    bool is_signed = tsr_dtype_kind_of(dtypes[d]) != TSR_KIND_UINT;
    for (int i = 0; i < MOST; i++) values[i] = fabs(values[i]) - (is_signed ? 45 : 0);
    for (int l = 0; l < 3; l++) {
      rig r = rig_open(l == 1 ? 1 : 5, levels[l], dtypes[d], values);
      for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) check(&r, dtypes[d], &trials[i], values);
      rig_close(&r);
    }
    for (int i = 0; i < MOST && is_signed; i++) values[i] += 45;
  }
  free(values);
}

TEST(the_first_nan_is_the_best_and_signed_zeros_are_equal) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
    double *values = make_values();
    for (int i = 0; i < MOST; i++) values[i] = i % 3 == 0 ? -0.0 : i % 5 == 0 ? -(double)INFINITY : 0;
    rig zeros = rig_open(2, NULL, dtypes[d], values);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) check(&zeros, dtypes[d], &trials[i], values);
    rig_close(&zeros);
    for (int i = 11; i < MOST; i += 97) values[i] = i % 2 ? NAN : (double)INFINITY;
    rig nans = rig_open(2, NULL, dtypes[d], values);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) check(&nans, dtypes[d], &trials[i], values);
    rig_close(&nans);
    free(values);
  }
}

TEST(the_ends_of_the_integers_are_found) {
  int32_t x[3] = {INT32_MIN, INT32_MIN, INT32_MAX};
  rig r = {.device = open_device(1, NULL)};
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r.device, sizeof x, &r.in));
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r.device, sizeof x, &r.out));
  memcpy(tsri_cpu_buffer_host(NULL, r.in), x, sizeof x);
  for (int64_t n = 2; n <= 3; n++) {
    tsri_reduce_op op = op_of(&(trial){1, 0, n, 1, 1, 0}, TSRI_REDUCTION_MAX);
    op.from.buffer = r.in;
    op.to.buffer = r.out;
    CHECK_OK(tsri_cpu_arg(r.device, TSR_I32, &op));
    CHECK_EQ_INT(*(const int32_t *)tsri_cpu_buffer_host(NULL, r.out), n == 2 ? 0 : 2);
  }
  rig_close(&r);
}

TEST(axes_of_which_no_elements_lie_side_by_side_are_left_to_a_kernel) {
  tsri_reduce_op op = op_of(&(trial){1, 0, 5, 2, 3, 10}, TSRI_REDUCTION_MAX);
  CHECK(!tsri_cpu_has_arg(&op));
}

TEST(a_search_without_memory_for_its_parts_says_so) {
  double *values = make_values();
  rig r = rig_open(2, NULL, TSR_F32, values);
  tsri_reduce_op op = op_of(&trials[1], TSRI_REDUCTION_MAX);
  op.from.buffer = r.in;
  op.to.buffer = r.out;
  tsri_alloc_fail_at(1, false);
  CHECK_STATUS(tsri_cpu_arg(r.device, TSR_F32, &op), TSR_ERR_OUT_OF_MEMORY);
  tsri_alloc_fail_at(0, false);
  CHECK_OK(tsri_cpu_arg(r.device, TSR_F32, &op));
  rig_close(&r);
  free(values);
}
