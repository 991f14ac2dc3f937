// SPDX-License-Identifier: MIT
// Rows that go through a sorting network have the bits of rows that are sorted one by one: every dtype, SIMD level and length, ties, NaN, signed zeros.
#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/lines/lines.h"
#include "backends/cpu/rows/rows_testing.h"
#include "backends/cpu/rows/sort.h"

enum { MOST = 12000 };

static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_I32, TSR_U32, TSR_I16, TSR_I8, TSR_U8};

static void check(cpu_device *device, tsr_dtype dtype, tsri_buffer *in, tsri_buffer *out, int64_t rows, int64_t n) {
  static char wanted[MOST * sizeof(float)];
  for (int descending = 0; descending < 2; descending++) {
    tsri_sort_op op = {.rows = rows, .n = n, .is_descending = descending != 0, .from.buffer = in, .to.buffer = out};
    CHECK(tsri_cpu_has_lines(&(tsri_native_op){.kind = TSRI_NATIVE_SORT, .dtype = dtype, .is.sort = op}));
    tsri_cpu_sort_short(device, dtype, &op);
    CHECK_OK(tsri_cpu_sort_rows(device, &(tsri_row_sort){.x = tsri_cpu_buffer_host(NULL, in),
                                                         .out = wanted,
                                                         .rows = rows,
                                                         .n = n,
                                                         .dtype = dtype,
                                                         .is_descending = descending != 0}));
    CHECK_BYTES(tsri_cpu_buffer_host(NULL, out), wanted, (size_t)(rows * n) * tsr_dtype_bytes(dtype));
  }
}

TEST(short_rows_of_every_dtype_and_length_are_sorted) {
  static const char *const levels[] = {"baseline", "avx2", NULL};
  for (int l = 0; l < 3; l++) {
    cpu_device *device = open_device(l == 1 ? 1 : 5, levels[l]);
    tsri_buffer *in, *out;
    CHECK_OK(tsri_cpu_buffer_create((tsri_device *)device, MOST * sizeof(float), &in));
    CHECK_OK(tsri_cpu_buffer_create((tsri_device *)device, MOST * sizeof(float), &out));
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      fill_with_ties_and_specials(dtypes[d], tsri_cpu_buffer_host(NULL, in), MOST);
      for (int64_t n = 2; n <= 256; n += n < 40 ? 1 : 27) check(device, dtypes[d], in, out, 4 + n % 41, n);
      check(device, dtypes[d], in, out, 46, 256);
      check(device, dtypes[d], in, out, 6000, 2);
    }
    tsri_cpu_buffer_destroy((tsri_device *)device, in);
    tsri_cpu_buffer_destroy((tsri_device *)device, out);
    close_device(device);
  }
}

TEST(long_rows_few_rows_wide_elements_and_orders_are_sorted_elsewhere) {
  const tsri_sort_op short_rows = {.rows = 10, .n = 50};
  tsri_sort_op long_rows = short_rows, few = short_rows, order = short_rows;
  long_rows.n = 257;
  few.rows = 3;
  order.wants_order = true;
  CHECK(tsri_cpu_has_short_sort(TSR_F32, &short_rows));
  CHECK(!tsri_cpu_has_short_sort(TSR_F64, &short_rows));
  CHECK(!tsri_cpu_has_short_sort(TSR_F32, &long_rows));
  CHECK(!tsri_cpu_has_short_sort(TSR_F32, &few));
  CHECK(!tsri_cpu_has_short_sort(TSR_F32, &order));
}
