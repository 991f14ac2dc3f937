// SPDX-License-Identifier: MIT
// The CPU's own reductions against plain loops in f64: dtypes, kinds, SIMD levels, threads, axes on either side and mixed.
#include "backends/cpu/rows/reduce.h"

#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/rows/rows_testing.h"
#include "core/alloc.h"

enum { MOST = 300000, MOST_RESULTS = 6000 };

typedef struct rig {
  cpu_device *device;
  tsri_buffer *in, *out;
  tsr_dtype dtype, result;
} rig;

static rig rig_open(int threads, const char *simd, tsr_dtype dtype, tsr_dtype result, const double *values) {
  rig r = {.device = open_device(threads, simd), .dtype = dtype, .result = result};
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r.device, MOST * sizeof(double), &r.in));
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r.device, MOST_RESULTS * sizeof(double), &r.out));
  CHECK_OK(tsr_convert(dtype, tsri_cpu_buffer_host(NULL, r.in), TSR_F64, values, MOST));
  return r;
}

static void rig_close(rig *r) {
  tsri_cpu_buffer_destroy((tsri_device *)r->device, r->in);
  tsri_cpu_buffer_destroy((tsri_device *)r->device, r->out);
  close_device(r->device);
}

static int64_t place(int rank, const int64_t *dims, const int64_t *strides, int64_t i) {
  int64_t at = 0;
  for (int axis = rank - 1; axis >= 0; i /= dims[axis], axis--) at += i % dims[axis] * strides[axis];
  return at;
}

static int64_t elements(int rank, const int64_t *dims) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= dims[i];
  return count;
}

static double joined(tsri_reduction kind, double a, double b) {
  if (kind == TSRI_REDUCTION_SUM) return a + b;
  if (isnan(a) || isnan(b)) return NAN;
  return kind == TSRI_REDUCTION_MAX ? fmax(a, b) : fmin(a, b);
}

static double nothing(tsri_reduction kind, tsr_dtype dtype) {
  if (kind == TSRI_REDUCTION_SUM) return 0;
  if (dtype == TSR_I32) return kind == TSRI_REDUCTION_MAX ? (double)INT32_MIN : (double)INT32_MAX;
  return kind == TSRI_REDUCTION_MAX ? -(double)INFINITY : (double)INFINITY;
}

// Whole numbers of small size: sums are exact, but for what bf16 and f16 round at the end.
// Elements are those of `values` from op.from.offset on.
static void check(const rig *r, tsri_reduce_op op, const double *values) {
  static double found[MOST_RESULTS];
  int64_t kept = elements(op.kept_rank, op.kept_dims), count = elements(op.reduced_rank, op.reduced_dims);
  op.from.buffer = r->in;
  op.to.buffer = r->out;
  values += op.from.offset / tsr_dtype_bytes(r->dtype);
  CHECK(tsri_cpu_has_reduce(&(tsri_native_op){.kind = TSRI_NATIVE_REDUCE, .is.reduce = op}));
  CHECK_OK(tsri_cpu_reduce(r->device, r->dtype, r->result, &op));
  CHECK_OK(tsr_convert(TSR_F64, found, r->result, tsri_cpu_buffer_host(NULL, r->out), (size_t)kept));
  for (int64_t i = 0; i < kept; i++) {
    double wanted = nothing(op.kind, r->dtype);
    int64_t base = place(op.kept_rank, op.kept_dims, op.kept_strides, i);
    for (int64_t k = 0; k < count; k++) {
      wanted = joined(op.kind, wanted, values[base + place(op.reduced_rank, op.reduced_dims, op.reduced_strides, k)]);
    }
    double bound = r->result == TSR_BF16 ? 0x1p-8 : r->result == TSR_F16 ? 0x1p-11 : 0;
    CHECK(isnan(wanted) ? isnan(found[i]) : found[i] == wanted || fabs(found[i] - wanted) <= bound * fabs(wanted));
  }
}

static const tsri_reduce_op trials[] = {
    {.reduced_rank = 1, .reduced_dims = {1}, .reduced_strides = {1}},
    {.reduced_rank = 1, .reduced_dims = {200003}, .reduced_strides = {1}},
    {.kept_rank = 1,
     .kept_dims = {5000},
     .kept_strides = {7},
     .reduced_rank = 1,
     .reduced_dims = {7},
     .reduced_strides = {1}},
    {.kept_rank = 1,
     .kept_dims = {301},
     .kept_strides = {70},
     .reduced_rank = 1,
     .reduced_dims = {65},
     .reduced_strides = {1}},
    {.kept_rank = 1,
     .kept_dims = {37},
     .kept_strides = {5001},
     .reduced_rank = 1,
     .reduced_dims = {5001},
     .reduced_strides = {1}},
    {.kept_rank = 1,
     .kept_dims = {7},
     .kept_strides = {1},
     .reduced_rank = 1,
     .reduced_dims = {40001},
     .reduced_strides = {7}},
    {.kept_rank = 1,
     .kept_dims = {7},
     .kept_strides = {1},
     .reduced_rank = 1,
     .reduced_dims = {3},
     .reduced_strides = {7}},
    {.kept_rank = 1,
     .kept_dims = {1500},
     .kept_strides = {1},
     .reduced_rank = 1,
     .reduced_dims = {190},
     .reduced_strides = {1501}},
    {.kept_rank = 2,
     .kept_dims = {9, 33},
     .kept_strides = {660, 1},
     .reduced_rank = 1,
     .reduced_dims = {20},
     .reduced_strides = {33}},
    {.kept_rank = 1,
     .kept_dims = {4999},
     .kept_strides = {1},
     .reduced_rank = 1,
     .reduced_dims = {7},
     .reduced_strides = {5003}},
    {.kept_rank = 2,
     .kept_dims = {9, 131},
     .kept_strides = {2200, 1},
     .reduced_rank = 1,
     .reduced_dims = {16},
     .reduced_strides = {133}},
    {.kept_rank = 1,
     .kept_dims = {3},
     .kept_strides = {11},
     .reduced_rank = 2,
     .reduced_dims = {3000, 11},
     .reduced_strides = {33, 1}},
    {.kept_rank = 1,
     .kept_dims = {2},
     .kept_strides = {150},
     .reduced_rank = 2,
     .reduced_dims = {400, 150},
     .reduced_strides = {300, 1}},
    {.kept_rank = 2,
     .kept_dims = {4, 5},
     .kept_strides = {1050, 42},
     .reduced_rank = 2,
     .reduced_dims = {5, 42},
     .reduced_strides = {210, 1}},
    {.kept_rank = 1,
     .kept_dims = {6},
     .kept_strides = {1},
     .reduced_rank = 1,
     .reduced_dims = {0},
     .reduced_strides = {6}},
    {.kept_rank = 1,
     .kept_dims = {6},
     .kept_strides = {1},
     .reduced_rank = 2,
     .reduced_dims = {0, 5},
     .reduced_strides = {30, 6}},
    {.kept_rank = 1,
     .kept_dims = {0},
     .kept_strides = {1},
     .reduced_rank = 1,
     .reduced_dims = {5},
     .reduced_strides = {1}},
    {.kept_rank = 1, .kept_dims = {50}, .kept_strides = {1}},
    // Lines with a step: along the reduced axis, long, short without gaps, of several axes; then along the kept one, few and many.
    {.reduced_rank = 1, .reduced_dims = {100001}, .reduced_strides = {2}},
    {.kept_rank = 1,
     .kept_dims = {33},
     .kept_strides = {9001},
     .reduced_rank = 1,
     .reduced_dims = {3000},
     .reduced_strides = {3}},
    {.kept_rank = 1,
     .kept_dims = {5500},
     .kept_strides = {14},
     .reduced_rank = 1,
     .reduced_dims = {7},
     .reduced_strides = {2}},
    {.kept_rank = 1,
     .kept_dims = {2},
     .kept_strides = {400},
     .reduced_rank = 2,
     .reduced_dims = {300, 190},
     .reduced_strides = {801, 2}},
    {.kept_rank = 1,
     .kept_dims = {5001},
     .kept_strides = {2},
     .reduced_rank = 1,
     .reduced_dims = {7},
     .reduced_strides = {10003}},
    {.kept_rank = 1,
     .kept_dims = {450},
     .kept_strides = {2},
     .reduced_rank = 1,
     .reduced_dims = {310},
     .reduced_strides = {901}},
    {.kept_rank = 1,
     .kept_dims = {7},
     .kept_strides = {2},
     .reduced_rank = 1,
     .reduced_dims = {20000},
     .reduced_strides = {14}},
};

static double *make_values(double nan_at) {
  double *values = malloc(MOST * sizeof *values);
  uint32_t state = 5;
  CHECK(values != NULL);
  for (int i = 0; i < MOST; i++) values[i] = (double)(random_word(&state) % 9) - 3;
  if (nan_at >= 0) values[(int)nan_at] = NAN;
  return values;
}

TEST(reductions_of_every_dtype_and_kind_over_any_axes) {
  static const tsr_dtype dtypes[][2] = {{TSR_F32, TSR_F32},  {TSR_F64, TSR_F64}, {TSR_BF16, TSR_BF16},
                                        {TSR_BF16, TSR_F32}, {TSR_F16, TSR_F32}, {TSR_F16, TSR_F16},
                                        {TSR_I32, TSR_I32}};
  double *values = make_values(-1);
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
    rig r = rig_open(d % 2 ? 1 : 5, d == 0 ? "baseline" : NULL, dtypes[d][0], dtypes[d][1], values);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
      for (int kind = 0; kind < TSRI_REDUCTIONS; kind++) {
        tsri_reduce_op op = trials[i];
        op.kind = (tsri_reduction)kind;
        bool overflows = dtypes[d][1] == TSR_F16 && kind == TSRI_REDUCTION_SUM && op.reduced_dims[0] > 30000;
        if (!overflows) check(&r, op, values);
      }
    }
    rig_close(&r);
  }
  free(values);
}

TEST(one_nan_makes_the_largest_and_the_smallest_nan_wherever_it_is) {
  for (int at = 0; at < 70; at += 3) {
    double *values = make_values(at);
    rig r = rig_open(2, NULL, TSR_F32, TSR_F32, values);
    for (int kind = TSRI_REDUCTION_MAX; kind <= TSRI_REDUCTION_MIN; kind++) {
      for (size_t i = 2; i < 5; i++) {
        tsri_reduce_op op = trials[i];
        op.kind = (tsri_reduction)kind;
        op.kept_dims[0] = 12;
        check(&r, op, values);
      }
      check(&r,
            (tsri_reduce_op){.kind = (tsri_reduction)kind,
                             .kept_rank = 1,
                             .kept_dims = {30},
                             .kept_strides = {1},
                             .reduced_rank = 1,
                             .reduced_dims = {4},
                             .reduced_strides = {30}},
            values);
    }
    rig_close(&r);
    free(values);
  }
}

TEST(reductions_of_lines_that_lie_backwards) {
  double *values = make_values(-1);
  rig r = rig_open(2, NULL, TSR_F32, TSR_F32, values);
  tsri_reduce_op rows = {.kept_rank = 1,
                         .kept_dims = {40},
                         .kept_strides = {700},
                         .reduced_rank = 1,
                         .reduced_dims = {600},
                         .reduced_strides = {-1},
                         .from.offset = 699 * sizeof(float)};
  tsri_reduce_op columns = {.kept_rank = 1,
                            .kept_dims = {600},
                            .kept_strides = {-1},
                            .reduced_rank = 1,
                            .reduced_dims = {40},
                            .reduced_strides = {700},
                            .from.offset = 699 * sizeof(float)};
  check(&r, rows, values);
  check(&r, columns, values);
  rig_close(&r);
  free(values);
}

TEST(reductions_without_a_line_are_left_to_kernels) {
  static const tsri_reduce_op without[] = {
      {.reduced_rank = 1, .reduced_dims = {100}, .reduced_strides = {0}},  // one number, repeated
      {.kept_rank = 1, .kept_dims = {100}, .kept_strides = {0}},
      {.kept_rank = 0, .reduced_rank = 0},
      {.kept_rank = 1,
       .kept_dims = {9},
       .kept_strides = {0},
       .reduced_rank = 1,
       .reduced_dims = {0},
       .reduced_strides = {2}},
  };
  for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
    tsri_native_op op = {.kind = TSRI_NATIVE_REDUCE, .dtype = TSR_F32, .result = TSR_F32, .is.reduce = without[i]};
    CHECK(!tsri_cpu_has_reduce(&op));
  }
}

TEST(sums_have_the_same_bits_on_any_number_of_threads) {
  double *values = make_values(-1);
  for (int i = 0; i < MOST; i++) values[i] = sin(i);
  for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
    float results[2][MOST_RESULTS];
    tsri_reduce_op op = trials[i];
    size_t bytes = (size_t)elements(op.kept_rank, op.kept_dims) * sizeof(float);
    for (int k = 0; k < 2; k++) {
      rig r = rig_open(k ? 7 : 1, NULL, TSR_F32, TSR_F32, values);
      op.from.buffer = r.in;
      op.to.buffer = r.out;
      CHECK_OK(tsri_cpu_reduce(r.device, TSR_F32, TSR_F32, &op));
      memcpy(results[k], tsri_cpu_buffer_host(NULL, r.out), bytes);
      rig_close(&r);
    }
    CHECK(memcmp(results[0], results[1], bytes) == 0);
  }
  free(values);
}

TEST(a_reduction_without_memory_for_its_sums_says_so) {
  double *values = make_values(-1);
  for (int trial = 0; trial < 2; trial++) {
    rig r = rig_open(2, NULL, TSR_BF16, TSR_BF16, values);
    tsri_reduce_op op = trials[trial ? 9 : 1];  // in two steps, in parts
    op.from.buffer = r.in;
    op.to.buffer = r.out;
    for (uint64_t nth = 1; nth <= 2; nth++) {
      tsri_alloc_fail_at(nth, false);
      tsr_status status = tsri_cpu_reduce(r.device, TSR_BF16, TSR_BF16, &op);
      bool has_failed = tsri_alloc_fail_at(0, false) >= nth;
      CHECK_STATUS(status, has_failed ? TSR_ERR_OUT_OF_MEMORY : TSR_OK);
    }
    rig_close(&r);
  }
  free(values);
}
