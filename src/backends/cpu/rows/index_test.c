// SPDX-License-Identifier: MIT
// The CPU's own gathering and adding by index against plain loops: index dtypes, ranks, strides (0 and negative ones too), threads.
#include "backends/cpu/rows/index.h"

#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/rows/rows_testing.h"
#include "core/alloc.h"

enum { MOST = 1 << 18 };

static const tsr_dtype index_dtypes[] = {TSR_U8, TSR_I8, TSR_I16, TSR_I32, TSR_U32, TSR_I64};

// Indices from -size - 1 to size, so that some are out of range; none below 0 in dtypes that have no such numbers.
static char *make_indices(tsr_dtype dtype, int64_t count, int64_t size) {
  char *indices = malloc((size_t)count * tsr_dtype_bytes(dtype));
  CHECK(indices != NULL);
  uint32_t state = 11;
  for (int64_t i = 0; i < count; i++) {
    int64_t index = (int64_t)(random_word(&state) % (uint32_t)(2 * size + 2)) - size - 1;
    if (tsr_dtype_kind_of(dtype) == TSR_KIND_UINT && index < 0) index = -index;
    CHECK_OK(tsr_convert(dtype, indices + (size_t)i * tsr_dtype_bytes(dtype), TSR_I64, &index, 1));
  }
  return indices;
}

static int64_t index_at(const tsri_indexing *by, int64_t at) {
  int64_t index = 0;
  const char *from = by->indices + at * (int64_t)tsr_dtype_bytes(by->index_dtype);
  CHECK_OK(tsr_convert(TSR_I64, &index, by->index_dtype, from, 1));
  return index < 0 ? index + by->size : index;
}

// Place of element i by a list of strides.
static int64_t place(const tsri_indexing *by, const int64_t *strides, int64_t i) {
  int64_t at = 0;
  for (int axis = by->rank - 1; axis >= 0; axis--) {
    at += i % by->dims[axis] * strides[axis];
    i /= by->dims[axis];
  }
  return at;
}

static int64_t count_of(const tsri_indexing *by) {
  int64_t count = 1;
  for (int i = 0; i < by->rank; i++) count *= by->dims[i];
  return count;
}

#define CHECK_GATHER(bits)                                                                      \
  do {                                                                                          \
    uint##bits##_t *x = malloc(MOST * sizeof *x), *y = malloc((size_t)(count + 1) * sizeof *y); \
    CHECK(x &&y);                                                                               \
    for (int64_t i = 0; i < MOST; i++) x[i] = (uint##bits##_t)(i * 7 + 1);                      \
    y[count] = 99;                                                                              \
    tsri_cpu_gather(device, by, (char *)(x + MOST / 2), (char *)y, sizeof *y);                  \
    for (int64_t i = 0; i < count; i++) {                                                       \
      int64_t index = index_at(by, place(by, by->index_strides, i));                            \
      bool is_inside = index >= 0 && index < by->size;                                          \
      int64_t at = MOST / 2 + place(by, by->strides, i) + index * by->step;                     \
      CHECK_EQ_INT(y[i], is_inside ? x[at] : 0);                                                \
    }                                                                                           \
    CHECK(y[count] == 99);                                                                      \
    free(x);                                                                                    \
    free(y);                                                                                    \
  } while (0)

static void check_gather(const tsri_indexing *by) {
  int64_t count = count_of(by);
  for (int threads = 1; threads <= 5; threads += 4) {
    cpu_device *device = open_device(threads, NULL);
    CHECK_GATHER(8);
    CHECK_GATHER(16);
    CHECK_GATHER(32);
    CHECK_GATHER(64);
    close_device(device);
  }
}

TEST(gather_takes_any_strides_ranks_and_index_dtypes) {
  for (size_t d = 0; d < sizeof index_dtypes / sizeof index_dtypes[0]; d++) {
    char *indices = make_indices(index_dtypes[d], 4000, 20);
    const tsri_indexing trials[] = {
        {.rank = 0, .size = 20, .step = 3},
        {.rank = 1, .dims = {37}, .index_strides = {1}, .size = 20, .step = 1},
        {.rank = 1, .dims = {37}, .index_strides = {2}, .size = 20, .step = -1},
        {.rank = 2, .dims = {0, 5}, .index_strides = {5, 1}, .strides = {5, 0}, .size = 20, .step = 1},
        {.rank = 2, .dims = {13, 9}, .index_strides = {9, 1}, .strides = {20, 0}, .size = 20, .step = 1},
        {.rank = 2, .dims = {13, 9}, .index_strides = {1, 0}, .strides = {0, 1}, .size = 20, .step = 9},
        {.rank = 2, .dims = {13, 9}, .index_strides = {1, 0}, .strides = {0, -2}, .size = 20, .step = -30},
        {.rank = 3, .dims = {3, 5, 7}, .index_strides = {35, 7, 1}, .strides = {140, 0, 1}, .size = 20, .step = 7},
        {.rank = 4,
         .dims = {2, 3, 4, 5},
         .index_strides = {60, 20, 5, 1},
         .strides = {400, 0, 5, 1},
         .size = 20,
         .step = 20},
    };
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
      tsri_indexing by = trials[i];
      by.indices = indices;
      by.index_dtype = index_dtypes[d];
      check_gather(&by);
    }
    free(indices);
  }
}

// 300 rows of 1 to 72 bytes with valid indices, and with one that is negative and one that is too large among them.
TEST(gather_copies_short_rows_of_any_length) {
  enum { ROWS = 300, SIZE = 20 };
  for (size_t d = 0; d < sizeof index_dtypes / sizeof index_dtypes[0]; d++) {
    size_t bytes = tsr_dtype_bytes(index_dtypes[d]);
    bool has_negative = tsr_dtype_kind_of(index_dtypes[d]) != TSR_KIND_UINT;
    for (int64_t columns = 1; columns <= 9; columns++) {
      for (int is_odd = 0; is_odd <= 1; is_odd++) {
        char indices[ROWS * sizeof(int64_t)];
        for (int64_t i = 0; i < ROWS; i++) {
          int64_t index = i * 7 % SIZE;
          if (is_odd && i == 150) index = has_negative ? -2 : 3;
          if (is_odd && i == 200) index = SIZE;
          CHECK_OK(tsr_convert(index_dtypes[d], indices + (size_t)i * bytes, TSR_I64, &index, 1));
        }
        check_gather(&(tsri_indexing){.rank = 2,
                                      .dims = {ROWS, columns},
                                      .index_strides = {1, 0},
                                      .strides = {2, 1},
                                      .size = SIZE,
                                      .step = columns + 3,
                                      .indices = indices,
                                      .index_dtype = index_dtypes[d]});
      }
    }
  }
}

TEST(gather_shares_out_one_long_row) {
  enum { N = 100003, SIZE = 1000 };
  char *indices = make_indices(TSR_I32, N, SIZE);
  check_gather(&(tsri_indexing){.rank = 1,
                                .dims = {N},
                                .index_strides = {1},
                                .size = SIZE,
                                .step = 1,
                                .indices = indices,
                                .index_dtype = TSR_I32});
  free(indices);
}

TEST(an_index_far_out_of_range_overflows_nothing) {
  int64_t indices[] = {INT64_MAX, INT64_MIN, 1};
  float x[4] = {1, 2, 3, 4}, y[3] = {9, 9, 9};
  cpu_device *device = open_device(1, NULL);
  tsri_indexing by = {.rank = 1, .dims = {3}, .index_strides = {1}, .size = 2, .step = 2};
  by.indices = (const char *)indices;
  by.index_dtype = TSR_I64;
  tsri_cpu_gather(device, &by, (char *)x, (char *)y, sizeof *y);
  CHECK(y[0] == 0 && y[1] == 0 && y[2] == 3);
  CHECK_OK(tsri_cpu_scatter_add(device, &by, (char *)x, (char *)y, (char *)y, 0, TSR_F32));
  close_device(device);
}

// --- scatter_add ----------------------------------------------------------------------------------------------------------------

// Sums in f32 (f64 of f64), in the order of i, as documented: whole numbers, so that it is exact but for the last rounding.
static void check_scatter(const tsri_indexing *by, int64_t count, tsr_dtype dtype, int threads) {
  int64_t n = count_of(by);
  size_t element = tsr_dtype_bytes(dtype);
  double *wide = malloc((size_t)(count + n) * sizeof *wide), *wanted = malloc((size_t)count * sizeof *wanted);
  char *x = malloc((size_t)(count + n) * element), *y = malloc((size_t)count * element),
       *right = malloc((size_t)count * element);
  CHECK(wide && wanted && x && y && right);
  for (int64_t i = 0; i < count + n; i++) wide[i] = (double)(i % 11);
  CHECK_OK(tsr_convert(dtype, x, TSR_F64, wide, (size_t)(count + n)));
  memcpy(wanted, wide, (size_t)count * sizeof *wanted);
  for (int64_t i = 0; i < n; i++) {
    int64_t index = index_at(by, i);
    if (index >= 0 && index < by->size) wanted[place(by, by->strides, i) + index * by->step] += wide[count + i];
  }
  for (int64_t i = 0; dtype == TSR_U8 && i < count; i++) wanted[i] = fmod(wanted[i], 256);  // integers wrap
  CHECK_OK(tsr_convert(dtype, right, TSR_F64, wanted, (size_t)count));
  cpu_device *device = open_device(threads, NULL);
  CHECK_OK(tsri_cpu_scatter_add(device, by, x, x + (size_t)count * element, y, count, dtype));
  CHECK(memcmp(y, right, (size_t)count * element) == 0);
  close_device(device);
  free(wide);
  free(wanted);
  free(x);
  free(y);
  free(right);
}

// Replaces indices that are negative or too large.
static void keep_inside(tsr_dtype dtype, char *indices, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; i++) {
    char *at = indices + (size_t)i * tsr_dtype_bytes(dtype);
    int64_t index = 0;
    CHECK_OK(tsr_convert(TSR_I64, &index, dtype, at, 1));
    index = (index < 0 ? -index : index) % size;
    CHECK_OK(tsr_convert(dtype, at, TSR_I64, &index, 1));
  }
}

// Each index dtype twice, the second time with valid indices only, which are checked together.
TEST(scatter_add_adds_in_order_along_any_axis) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16, TSR_F16, TSR_F64, TSR_I32, TSR_I64, TSR_U8, TSR_I16};
  enum { INDEX_DTYPES = sizeof index_dtypes / sizeof index_dtypes[0] };
  for (size_t d = 0; d < 2 * INDEX_DTYPES; d++) {
    tsr_dtype index_dtype = index_dtypes[d % INDEX_DTYPES];
    char *indices = make_indices(index_dtype, 140000, 20);
    if (d >= INDEX_DTYPES) keep_inside(index_dtype, indices, 140000, 20);
    const tsri_indexing trials[] = {
        {.rank = 1, .dims = {377}, .index_strides = {1}, .size = 20, .step = 1},
        {.rank = 1, .dims = {70000}, .index_strides = {1}, .size = 20, .step = 1},
        {.rank = 2, .dims = {13, 9}, .index_strides = {9, 1}, .strides = {20, 0}, .size = 20, .step = 1},
        {.rank = 2, .dims = {30, 9}, .index_strides = {9, 1}, .strides = {0, 1}, .size = 20, .step = 9},
        {.rank = 3, .dims = {3, 5, 7}, .index_strides = {35, 7, 1}, .strides = {140, 0, 1}, .size = 20, .step = 7},
        {.rank = 4,
         .dims = {9, 3, 4, 5},
         .index_strides = {60, 20, 5, 1},
         .strides = {400, 0, 5, 1},
         .size = 20,
         .step = 20},
        {.rank = 1, .dims = {140000}, .index_strides = {1}, .size = 20, .step = 111},  // grouped by ranges
        {.rank = 2, .dims = {13, 150}, .index_strides = {150, 1}, .strides = {20, 0}, .size = 20, .step = 1},
        {.rank = 2, .dims = {30, 150}, .index_strides = {150, 1}, .strides = {0, 1}, .size = 20, .step = 150},
    };
    static const int64_t counts[] = {20, 20, 260, 180, 420, 3600, 2200, 260, 3000};
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
      tsri_indexing by = trials[i];
      by.indices = indices;
      by.index_dtype = index_dtype;
      for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
        bool is_wide = dtypes[k] == TSR_F32 || dtypes[k] == TSR_F64 || dtypes[k] == TSR_I64;
        if (by.dims[0] > 1000 && !is_wide && (by.step == 1 || dtypes[k] == TSR_I16))
          continue;  // sums that narrow dtypes do not hold
        check_scatter(&by, counts[i], dtypes[k], i % 2 ? 1 : 5);
      }
    }
    free(indices);
  }
}

// Rows that are fewer than threads: additions are grouped by ranges of the result (index_ranges.h). Numbers of different size, so that sums depend on the order.
TEST(scatter_add_to_few_rows_keeps_the_order_on_any_number_of_threads) {
  enum { N = (5 << 19) + 7, SIZE = 5003 };  // more additions than are moved at a time
  for (int rows = 1; rows <= 2; rows++) {
    char *indices = make_indices(TSR_I16, (int64_t)rows * N, SIZE);
    tsri_indexing by = {
        .rank = 2, .dims = {rows, N}, .index_strides = {N, 1}, .strides = {SIZE, 0}, .size = SIZE, .step = 1};
    by.indices = indices;
    by.index_dtype = TSR_I16;
    float *x = calloc((size_t)rows * SIZE, sizeof *x), *source = malloc((size_t)rows * N * sizeof *source);
    float *one = malloc((size_t)rows * SIZE * sizeof *one), *many = malloc((size_t)rows * SIZE * sizeof *many);
    CHECK(x && source && one && many);
    uint32_t state = 5;
    for (int64_t i = 0; i < rows * N; i++) source[i] = ldexpf((float)(random_word(&state) % 1000), (int)(i % 20));
    cpu_device *single = open_device(1, NULL), *several = open_device(5, NULL);
    CHECK_OK(tsri_cpu_scatter_add(single, &by, (char *)x, (char *)source, (char *)one, rows * SIZE, TSR_F32));
    CHECK_OK(tsri_cpu_scatter_add(several, &by, (char *)x, (char *)source, (char *)many, rows * SIZE, TSR_F32));
    CHECK(memcmp(one, many, (size_t)rows * SIZE * sizeof *one) == 0);
    close_device(single);
    close_device(several);
    free(indices);
    free(x);
    free(source);
    free(one);
    free(many);
  }
}

TEST(scatter_add_keeps_the_bits_of_what_it_does_not_touch) {
  uint16_t x[2] = {0x7F81, 0x3F80}, source[1] = {0x3F80}, y[2] = {0};  // a signalling NaN, 1; 1
  int32_t indices[1] = {1};
  cpu_device *device = open_device(1, NULL);
  tsri_indexing by = {.rank = 1, .dims = {1}, .index_strides = {1}, .size = 2, .step = 1, .index_dtype = TSR_I32};
  by.indices = (const char *)indices;
  tsri_alloc_fail_at(1, false);
  CHECK_STATUS(tsri_cpu_scatter_add(device, &by, (char *)x, (char *)source, (char *)y, 2, TSR_BF16),
               TSR_ERR_OUT_OF_MEMORY);
  tsri_alloc_fail_at(0, false);
  CHECK_OK(tsri_cpu_scatter_add(device, &by, (char *)x, (char *)source, (char *)y, 2, TSR_BF16));
  CHECK_EQ_INT(y[0], 0x7F81);
  CHECK_EQ_INT(y[1], 0x4000);
  close_device(device);
}
