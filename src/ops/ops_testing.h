// SPDX-License-Identifier: MIT
// Shared by tests of operators: a CPU device with a scope around each test, tensors from lists, comparison with lists.
//
//   TEST(sum_adds) {
//     begin();
//     CHECK_VALUES(tsr_sum(list(TSR_F32, TSR_SHAPE(3), 1, 2, 3), NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 6);
//     finish();
//   }
#ifndef TSRI_OPS_TESTING_H
#define TSRI_OPS_TESTING_H

#include <math.h>
#include <stdarg.h>
#include <tessera/tessera.h>

#include "graph/node.h"
#include "support/devices.h"
#include "support/test.h"

static tsr_device *dev;
static tsr_scope *test_scope;

static inline void begin(void) {
  dev = test_open("cpu");
  test_scope = tsr_scope_begin(dev);
}

static inline void finish(void) {
  tsr_scope_end(test_scope);
  tsr_device_release(dev);
}

enum { MOST_VALUES = 4096 };

static inline tsr_tensor *from_doubles(tsr_dtype dtype, tsr_shape shape, const double *values) {
  static unsigned char data[MOST_VALUES * sizeof(double)];
  int64_t count = 0;
  CHECK_OK(tsr_shape_count(shape, &count));
  CHECK(count <= MOST_VALUES);
  CHECK_OK(tsr_convert(dtype, data, TSR_F64, values, (size_t)count));
  return tsr_from_data(dev, dtype, shape, data, (size_t)count * tsr_dtype_bytes(dtype));
}

// list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 4)
#define list(dtype, shape, ...) from_doubles(dtype, shape, (const double[]){__VA_ARGS__})

// A tensor with the elements 0, 1, 2, …
static inline tsr_tensor *count_up(tsr_dtype dtype, tsr_shape shape) {
  static double values[MOST_VALUES];
  for (int i = 0; i < MOST_VALUES; i++) values[i] = i;
  return from_doubles(dtype, shape, values);
}

static inline void check_values(const char *file, int line, tsr_tensor *is, tsr_dtype dtype, tsr_shape shape,
                                double bound, const double *wanted, size_t wanted_count) {
  static double values[MOST_VALUES];
  test_check_status(file, line, "the tensor", tsr_error(is), TSR_OK);
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  test_check_str(file, line, "dtype", tsr_dtype_name(tsr_tensor_dtype(is)), tsr_dtype_name(dtype));
  test_check_str(file, line, "shape", tsr_shape_format(tsr_tensor_shape(is), a, sizeof a),
                 tsr_shape_format(shape, b, sizeof b));
  size_t count = (size_t)tsr_tensor_count(is);
  test_check_uint(file, line, "count", count, wanted_count);
  test_check_status(file, line, "read", tsr_read(tsr_cast(is, TSR_F64), values, count * sizeof(double)), TSR_OK);
  for (size_t i = 0; i < count; i++) {
    char what[32];
    snprintf(what, sizeof what, "element %zu", i);
    test_check_near(file, line, what, values[i], wanted[i], bound);
  }
}

// Checks a tensor's dtype, shape and elements, each within `bound`: CHECK_VALUES(tensor, dtype, shape, bound, values
// …).
#define CHECK_VALUES(tensor, dtype, shape, bound, ...)                                         \
  check_values(__FILE__, __LINE__, tensor, dtype, shape, bound, (const double[]){__VA_ARGS__}, \
               sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

// Empties the launch cache, for tests that change the way in which the device computes equal nodes.
static inline void forget_launches(tsr_device *device) {
  tsri_graph_state *state = NULL;
  CHECK_OK(tsri_graph_state_for(device, &state));
  state->singles.ways = (tsri_ways){.next = {0}};
}

// Ends the profile that tsr_profile_begin began. Returns how often the kernel was launched meanwhile.
static inline int end_counting(const char *kernel) {
  tsr_profile *profile = NULL;
  tsr_profile_summary summary;
  int count = 0;
  CHECK_OK(tsr_profile_end(&profile));
  CHECK_OK(tsr_profile_get_summary(profile, &summary));
  for (int i = 0; i < summary.record_count; i++) {
    tsr_profile_record record;
    CHECK_OK(tsr_profile_get_record(profile, i, &record));
    count += strcmp(record.name, kernel) == 0;
  }
  tsr_profile_release(profile);
  return count;
}

#define CHECK_EMPTY(tensor, dtype, shape) check_values(__FILE__, __LINE__, tensor, dtype, shape, 0, NULL, 0)

// Checks that a call returned a failed tensor with this status, and a message that contains `part`.
#define CHECK_FAILS(tensor, status, part)    \
  do {                                       \
    CHECK_STATUS(tsr_error(tensor), status); \
    CHECK_LAST_ERROR_HAS(part);              \
  } while (0)

#endif
