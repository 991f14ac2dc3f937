// SPDX-License-Identifier: MIT
// Fault sweeps on the backends that build kernels: a small step of a network with the 1st, 2nd, … n-th allocation, copy,
// build, launch or wait failing, and with the device lost at each call. Each time: a status that says it was on
// purpose, no leak, and the same device gives the right numbers afterwards.
#include <math.h>

#include "support/devices.h"
#include "support/test.h"

enum { ROWS = 4, COLUMNS = 6, MOST_STEPS = 400 };

// The sums of softmax(relu(x w + b)), whose transpose is copied first. The arrays are static, and `out` must be, too: after a wait that failed, the device may
// still be using them.
static tsr_status step(tsr_device *device, float out[ROWS]) {
  static float x[ROWS * COLUMNS], w[COLUMNS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % 7) - 3;
  for (int i = 0; i < COLUMNS * COLUMNS; i++) w[i] = (float)(i % 5) * 0.25f;
  tsr_scope *scope = tsr_scope_begin(device);
  if (!scope) return tsr_last_error_status();
  tsr_tensor *input = tsr_from_data(device, TSR_F32, TSR_SHAPE(ROWS, COLUMNS), x, sizeof x);
  tsr_tensor *weights = tsr_from_data(device, TSR_F32, TSR_SHAPE(COLUMNS, COLUMNS), w, sizeof w);
  tsr_tensor *bias = tsr_full(device, TSR_F32, TSR_SHAPE(COLUMNS), 0.5);
  tsr_tensor *y = tsr_softmax(tsr_relu(tsr_add(tsr_matmul(input, weights), bias)), -1);
  tsr_tensor *turned = tsr_contiguous(tsr_transpose(y, 0, 1));
  tsr_status status = tsr_read(tsr_sum(turned, (int[]){0}, 1, false), out, ROWS * sizeof *out);
  CHECK_OK(tsr_scope_end(scope));
  return status;
}

static void check_right(tsr_device *device) {
  static float sums[ROWS];
  CHECK_OK(step(device, sums));
  for (int i = 0; i < ROWS; i++) CHECK(fabsf(sums[i] - 1) < 1e-5f);
}

// Fails the n-th call of `kind` for n = 1, 2, … until the step succeeds. Returns how many calls made it fail.
static int sweep(const char *backend, const char *kind, tsr_status wanted, bool recovers) {
  for (int n = 1; n < MOST_STEPS; n++) {
    static float sums[ROWS];
    char faults[64];
    tsr_memory_stats stats;
    snprintf(faults, sizeof faults, "%s:%d", kind, n);
    tsr_device *device = test_open_with_faults(backend, faults);
    tsr_clear_error();
    tsr_status status = step(device, sums);
    if (status != TSR_OK) {
      CHECK_STATUS(status, wanted);
      CHECK_LAST_ERROR_HAS("on purpose");
      if (recovers) check_right(device);
    }
    CHECK_OK(tsr_memory_get_stats(device, &stats));
    CHECK_EQ_UINT(stats.in_use_bytes, 0);
    tsr_device_release(device);
    if (status == TSR_OK) return n - 1;
  }
  FAIL("the step never got through");
}

static void sweep_backend(const char *backend) {
  tsr_device *device = NULL;
  if (tsr_device_open(&(tsr_device_desc){.backend = backend}, &device) != TSR_OK) SKIP("there is no such device here");
  check_right(device);
  tsr_device_release(device);
  CHECK(sweep(backend, "copy", TSR_ERR_INTERNAL, true) >= 3);
  CHECK(sweep(backend, "build", TSR_ERR_BUILD, true) >= 2);
  CHECK(sweep(backend, "launch", TSR_ERR_LAUNCH, true) >= 2);
  CHECK(sweep(backend, "wait", TSR_ERR_TIMEOUT, true) >= 1);
  CHECK(sweep(backend, "lost", TSR_ERR_DEVICE_LOST, false) >= 8);
  CHECK_EQ_INT(sweep(backend, "alloc", TSR_ERR_OUT_OF_MEMORY, true), 0);  // one that fails is tried again
}

TEST(every_call_may_fail_on_opencl) { sweep_backend("opencl"); }
TEST(every_call_may_fail_on_vulkan) { sweep_backend("vulkan"); }
TEST(every_call_may_fail_on_rocm) {
  const char *missing = test_use_rocm();
  if (missing) SKIP(missing);
  sweep_backend("rocm");
}
TEST(every_call_may_fail_on_metal) {
  const char *missing = test_use_metal();
  if (missing) SKIP(missing);
  sweep_backend("metal");
}
TEST(every_call_may_fail_on_webgpu) {
  const char *missing = test_use_webgpu();
  if (missing) SKIP(missing);
  sweep_backend("webgpu");
}
