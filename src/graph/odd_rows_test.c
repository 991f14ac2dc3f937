// SPDX-License-Identifier: MIT
// Element-wise kernels of 16-bit numbers whose rows are not multiples of four elements, so that a quad may continue in the next row.
#include <tessera/tessera.h>

#include "support/devices.h"
#include "support/test.h"

enum { ROWS = 33, MOST = 7 };

// Element (i, j) of a tensor of ROWS x n is a + i % 8 * b + j * c: whole numbers, which bf16 holds.
static tsr_tensor *make(tsr_device *device, int64_t rows, int64_t n, int a, int b, int c) {
  float values[ROWS * MOST];
  for (int64_t i = 0; i < rows * n; i++) values[i] = (float)(a + (int)(i / n % 8) * b + (int)(i % n) * c);
  tsr_tensor *wide = tsr_from_data(device, TSR_F32, TSR_SHAPE(rows, n), values, (size_t)(rows * n) * sizeof *values);
  tsr_tensor *made = tsr_cast(wide, TSR_BF16);
  CHECK_OK(tsr_evaluate(made));
  return made;
}

// Checks rows `first` to ROWS - 1 of the tensor, of n columns, of which the first has the number `from`.
static void check(tsr_tensor *tensor, int64_t first, int64_t n, int from, int a, int b, int c) {
  float values[ROWS * MOST];
  CHECK_OK(tsr_evaluate(tensor));
  int64_t count = (ROWS - first) * n;
  CHECK_OK(tsr_read(tsr_cast(tensor, TSR_F32), values, (size_t)count * sizeof *values));
  for (int64_t i = 0; i < count; i++) {
    int row = (int)((i / n + first) % 8), column = (int)(i % n) + from;
    CHECK_NEAR((double)values[i], a + row * b + column * c, 0);
  }
}

static void odd_rows_are_right(tsr_device *device) {
  if (!test_device_computes(device)) return;
  for (int64_t n = 1; n <= MOST; n += 2) {
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_tensor *x = make(device, ROWS, n, 1, 2, 3), *row = make(device, 1, n, 4, 0, 5);
    tsr_tensor *column = make(device, ROWS, 1, 6, 7, 0);
    check(tsr_add(x, row), 0, n, 0, 5, 2, 8);
    check(tsr_add(tsr_add(column, x), row), 0, n, 0, 11, 9, 8);
    check(tsr_sub(column, row), 0, n, 0, 2, 7, -5);
    tsr_tensor *lower = tsr_slice(x, 0, 1, ROWS, 1), *inner = n > 1 ? tsr_slice(lower, 1, 1, n, 1) : lower;
    int from = n > 1;
    check(tsr_add(inner, tsr_slice(column, 0, 1, ROWS, 1)), 1, n - from, from, 7, 9, 3);
    tsr_scope_end(scope);
  }
}

TEST(rows_of_an_odd_length_are_right_on_every_device) { test_on_every_device(odd_rows_are_right); }
