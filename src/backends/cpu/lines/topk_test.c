// SPDX-License-Identifier: MIT
// The first few of each sorted row are those of sorting the whole row: every dtype, both directions, ties, NaN, signed zeros.
#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/lines/lines.h"
#include "backends/cpu/rows/rows_testing.h"
#include "backends/cpu/rows/sort.h"

enum { MOST = 20000 };

static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16, TSR_I32,
                                   TSR_U32, TSR_I64, TSR_I16, TSR_I8,   TSR_U8};

static void check(cpu_device *device, tsr_dtype dtype, tsri_buffer *in, tsri_buffer *out, int64_t rows, int64_t n,
                  int64_t keep) {
  static int32_t order[MOST];
  for (int descending = 0; descending < 2; descending++) {
    tsri_sort_op op = {.rows = rows, .n = n, .keep = keep, .is_descending = descending != 0, .wants_order = true};
    op.from.buffer = in;
    op.to.buffer = out;
    CHECK(tsri_cpu_has_lines(
        &(tsri_native_op){.kind = TSRI_NATIVE_SORT, .dtype = dtype, .parts = TSRI_SORT_KEEPS, .is.sort = op}));
    tsri_cpu_topk(device, dtype, &op);
    CHECK_OK(tsri_cpu_sort_rows(device, &(tsri_row_sort){.x = tsri_cpu_buffer_host(NULL, in),
                                                         .out = (char *)order,
                                                         .rows = rows,
                                                         .n = n,
                                                         .dtype = dtype,
                                                         .is_descending = descending != 0,
                                                         .wants_order = true}));
    const int32_t *found = tsri_cpu_buffer_host(NULL, out);
    for (int64_t i = 0; i < rows * keep; i++) CHECK_EQ_INT(found[i], order[i / keep * n + i % keep]);
  }
}

TEST(the_first_few_of_sorted_rows_of_every_dtype) {
  for (int threads = 1; threads <= 5; threads += 4) {
    cpu_device *device = open_device(threads, NULL);
    tsri_buffer *in, *out;
    CHECK_OK(tsri_cpu_buffer_create((tsri_device *)device, MOST * sizeof(double), &in));
    CHECK_OK(tsri_cpu_buffer_create((tsri_device *)device, MOST * sizeof(int32_t), &out));
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      fill_with_ties_and_specials(dtypes[d], tsri_cpu_buffer_host(NULL, in), MOST);
      check(device, dtypes[d], in, out, 1, MOST, 8);
      check(device, dtypes[d], in, out, 1, 2, 1);
      check(device, dtypes[d], in, out, 300, 65, 64);
      check(device, dtypes[d], in, out, 2000, 9, 5);
      check(device, dtypes[d], in, out, 2000, 9, 8);
      check(device, dtypes[d], in, out, 2500, 8, 8);
      check(device, dtypes[d], in, out, 2857, 7, 7);
      check(device, dtypes[d], in, out, 60, 257, 3);
      check(device, dtypes[d], in, out, 37, 513, 17);
    }
    tsri_cpu_buffer_destroy((tsri_device *)device, in);
    tsri_cpu_buffer_destroy((tsri_device *)device, out);
    close_device(device);
  }
}

TEST(long_lists_are_left_to_sorting) {
  CHECK(tsri_cpu_has_topk(&(tsri_sort_op){.rows = 1, .n = 100, .keep = 64, .wants_order = true}));
  CHECK(!tsri_cpu_has_topk(&(tsri_sort_op){.rows = 1, .n = 100, .keep = 65, .wants_order = true}));
  CHECK(tsri_cpu_has_topk(&(tsri_sort_op){.rows = 1, .n = 5, .keep = 5, .wants_order = true}));
  CHECK(!tsri_cpu_has_topk(&(tsri_sort_op){.rows = 1, .n = 9, .keep = 9, .wants_order = true}));
  CHECK(!tsri_cpu_has_topk(&(tsri_sort_op){.rows = 1, .n = 5, .keep = 3}));
}
