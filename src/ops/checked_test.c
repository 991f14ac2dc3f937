// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

static void begin_checked(const char *backend) {
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = backend, .checked = TSR_ON}, &dev));
  test_scope = tsr_scope_begin(dev);
}

static void check_outside(tsr_tensor *result, const char *message) {
  CHECK_OK(tsr_error(result));
  CHECK_STATUS(tsr_evaluate(result), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS(message);
}

static void check_every_operator(void) {
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(3, 4)), *good = list(TSR_I32, TSR_SHAPE(2, 2), 0, -3, 2, 1);
  tsr_tensor *wrong = list(TSR_I64, TSR_SHAPE(2, 2), 0, 2, -4, 3), *row = list(TSR_I16, TSR_SHAPE(3), 1, 9, 4);
  CHECK_VALUES(tsr_gather(x, 0, good), TSR_F32, TSR_SHAPE(2, 2), 0, 0, 1, 8, 5);
  check_outside(tsr_gather(x, 0, wrong), "gather: indices[1, 0] is -4, outside axis 0 of 3 elements");
  check_outside(tsr_gather(x, 0, tsr_transpose(wrong, 0, 1)),
                "gather: indices[0, 1] is -4, outside axis 0 of 3 elements");
  check_outside(tsr_index_select(x, 1, row), "index_select: indices[1] is 9, outside axis 1 of 4 elements");
  check_outside(tsr_take(x, list(TSR_U32, TSR_SHAPE(2), 11, 12)),
                "take: indices[1] is 12, outside the tensor of 12 elements");
  tsr_tensor *source = tsr_ones(dev, TSR_F32, TSR_SHAPE(2, 2));
  check_outside(tsr_scatter(x, 0, wrong, source), "scatter: indices[1, 0] is -4, outside axis 0 of 3 elements");
  check_outside(tsr_scatter_add(x, 0, wrong, source), "scatter_add: indices[1, 0] is -4, outside axis 0 of 3 elements");
  check_outside(tsr_take(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), list(TSR_I32, TSR_SHAPE(1), 0)), "of 0 elements");
  CHECK_VALUES(tsr_one_hot(list(TSR_I32, TSR_SHAPE(1), -1), 2, TSR_F32), TSR_F32, TSR_SHAPE(1, 2), 0, 0, 0);
}

TEST(checked_mode_names_operator_index_and_size) {
  begin_checked("cpu");
  check_every_operator();
  finish();
}

TEST(checked_mode_works_on_every_device) {
  int devices = 0;
  for (int i = 0; i < 2; i++) {
    const char *backend = i == 0 ? "opencl" : "vulkan";
    tsr_device *other = NULL;
    if (tsr_device_open(&(tsr_device_desc){.backend = backend}, &other) != TSR_OK) continue;
    tsr_device_release(other);
    devices++;
    begin_checked(backend);
    check_every_operator();
    finish();
  }
  if (devices == 0) SKIP("no OpenCL or Vulkan device here");
}

TEST(an_unchecked_device_reads_0_out_of_range) {
  begin();
  CHECK_VALUES(tsr_take(count_up(TSR_F32, TSR_SHAPE(3)), list(TSR_I32, TSR_SHAPE(2), 5, 1)), TSR_F32, TSR_SHAPE(2), 0,
               0, 1);
  finish();
}

TEST(a_capture_refuses_index_operators_in_checked_mode) {
  begin_checked("cpu");
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(3)), *at = list(TSR_I32, TSR_SHAPE(1), 1);
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_capture_begin(dev));
  tsr_tensor *y = tsr_take(x, at);
  CHECK_STATUS(tsr_capture_end(&y, 1, &capture), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("checked mode");
  finish();
}
