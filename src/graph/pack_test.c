// SPDX-License-Identifier: MIT
// Element-wise kernels on short rows: inputs that are broadcast or transposed are packed first on the CPU. Results must equal those of plain C loops.
#include <tessera/tessera.h>

#include "runtime/device.h"
#include "support/devices.h"
#include "support/test.h"

enum { MOST = 1 << 14 };

// The elements of a tensor of m x n whose element (i, j) is a + i * b + j * c.
typedef struct plane {
  float a, b, c;
} plane;

static void check_plane(tsr_tensor *tensor, int64_t m, int64_t n, plane p) {
  static float values[MOST];
  CHECK_OK(tsr_read(tensor, values, (size_t)(m * n) * sizeof *values));
  for (int64_t i = 0; i < m * n; i++) CHECK_NEAR(values[i], p.a + (float)(i / n) * p.b + (float)(i % n) * p.c, 0);
}

static tsr_tensor *make(tsr_device *device, int64_t m, int64_t n, plane p) {
  static float values[MOST];
  for (int64_t i = 0; i < m * n; i++) values[i] = p.a + (float)(i / n) * p.b + (float)(i % n) * p.c;
  return tsr_from_data(device, TSR_F32, TSR_SHAPE(m, n), values, (size_t)(m * n) * sizeof *values);
}

static uint64_t launches(const tsr_device *device) { return atomic_load(&device->counters.launches); }

TEST(short_rows_with_repeated_and_transposed_inputs_are_right) {
  static const int64_t sizes[][2] = {{40, 7}, {300, 3}, {7, 300}, {17, 64}, {64, 200}, {5, 5}, {16, 600}};
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    int64_t m = sizes[i][0], n = sizes[i][1];
    tsr_tensor *x = make(device, m, n, (plane){1, 2, 3}), *row = make(device, 1, n, (plane){0, 0, 5});
    tsr_tensor *column = make(device, m, 1, (plane){4, 7, 0}), *one = make(device, 1, 1, (plane){9, 0, 0});
    tsr_tensor *turned = tsr_transpose(make(device, n, m, (plane){2, 1, 4}), 0, 1);
    tsr_tensor *every_other = tsr_slice(make(device, m / 2 * 2, n, (plane){1, 2, 3}), 0, 0, m / 2 * 2, 2);
    check_plane(tsr_add(x, row), m, n, (plane){1, 2, 8});
    check_plane(tsr_add(x, column), m, n, (plane){5, 9, 3});
    check_plane(tsr_add(column, row), m, n, (plane){4, 7, 5});
    check_plane(tsr_add(turned, row), m, n, (plane){2, 4, 6});
    check_plane(tsr_add(x, turned), m, n, (plane){3, 6, 4});
    check_plane(tsr_add(tsr_add(x, one), tsr_add(turned, column)), m, n, (plane){16, 13, 4});
    check_plane(tsr_add(every_other, row), m / 2, n, (plane){1, 4, 8});
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_short_row_is_packed_and_a_long_one_is_not) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *tall = make(device, 100, 9, (plane){1, 0, 0}), *few = make(device, 1, 9, (plane){2, 0, 0});
  tsr_tensor *wide = make(device, 9, 1000, (plane){1, 0, 0}), *many = make(device, 1, 1000, (plane){2, 0, 0});
  uint64_t before = launches(device);
  CHECK_OK(tsr_evaluate(tsr_add(tall, few)));
  CHECK_EQ_INT(launches(device) - before, 2);
  CHECK_OK(tsr_evaluate(tsr_add(wide, many)));
  CHECK_EQ_INT(launches(device) - before, 3);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}
