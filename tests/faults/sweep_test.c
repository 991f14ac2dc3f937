// SPDX-License-Identifier: MIT
// Fault sweeps: a create, view, move and read scenario with the 1st, 2nd, … n-th allocation, copy, launch or wait failing.
// Each time: a status, a message, no leak (the sanitizer's and the pool's word), and the same devices work afterwards.
#include "core/alloc.h"
#include "support/devices.h"
#include "support/test.h"

enum { MOST_STEPS = 2000 };

// Everything this library version can do with tensors, on two devices. Returns the first status that is not TSR_OK.
static tsr_status scenario(tsr_device *device, tsr_device *other) {
  int32_t values[24], packed[12];
  bool is_equal = false;
  tsr_scope *scope = tsr_scope_begin(device);
  if (!scope) return tsr_last_error_status();
  tsr_tensor *base = tsr_reshape(tsr_arange(device, TSR_I32, 0, 24, 1), TSR_SHAPE(4, 6));
  tsr_tensor *view = tsr_slice(tsr_transpose(base, 0, 1), 0, 0, TSR_END, 2);
  tsr_tensor *copy = tsr_contiguous(view), *flat = tsr_reshape(view, TSR_SHAPE(12));
  tsr_tensor *moved = tsr_to(copy, other), *eye = tsr_eye(device, TSR_F16, 3, 3, 0);
  tsr_tensor *back = tsr_to(tsr_flip(moved, 0), device);
  tsr_status status = tsr_error(eye);
  if (status == TSR_OK) status = tsr_read(base, values, sizeof values);
  if (status == TSR_OK) status = tsr_read(flat, packed, sizeof packed);
  if (status == TSR_OK) status = tsr_write(view, packed, sizeof packed);
  if (status == TSR_OK) status = tsr_read(back, packed, sizeof packed);
  if (status == TSR_OK) status = tsr_equal(copy, moved, &is_equal);
  if (status == TSR_OK) CHECK(is_equal);
  if (status == TSR_OK) status = tsr_format(back, NULL, 0, NULL);
  CHECK_OK(tsr_scope_end(scope));
  return status;
}

static void check_nothing_is_in_use(tsr_device *device) {
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
}

// Fails the n-th call of `kind` for n = 1, 2, … until the scenario gets through; `recovers`: from then on the device works.
static int sweep(const char *backend, const char *kind, tsr_status wanted, bool recovers) {
  for (int n = 1; n < MOST_STEPS; n++) {
    char faults[64];
    snprintf(faults, sizeof faults, "%s:%d", kind, n);
    tsr_device *device = test_open_with_faults(backend, faults), *other = test_open("cpu");
    tsr_clear_error();
    tsr_status status = scenario(device, other);
    if (status != TSR_OK) {
      CHECK_STATUS(status, wanted);
      CHECK_LAST_ERROR_HAS("on purpose");
      if (recovers) CHECK_OK(scenario(device, other));
    }
    check_nothing_is_in_use(device);
    check_nothing_is_in_use(other);
    tsr_device_release(device);
    tsr_device_release(other);
    if (status == TSR_OK) return n - 1;
  }
  FAIL("the scenario never got through");
}

static void sweep_backend(const char *backend, bool has_native_copy) {
  CHECK(sweep(backend, "copy", TSR_ERR_INTERNAL, true) >= 5);
  CHECK(sweep(backend, "wait", TSR_ERR_TIMEOUT, true) >= 3);
  CHECK(sweep(backend, "lost", TSR_ERR_DEVICE_LOST, false) >= 8);
  CHECK_EQ_INT(sweep(backend, "launch", TSR_ERR_LAUNCH, true) > 0, has_native_copy);
}

TEST(every_copy_wait_and_launch_may_fail_on_the_cpu) { sweep_backend("cpu", true); }
TEST(every_copy_wait_and_launch_may_fail_on_the_null_device) { sweep_backend("null", false); }
TEST(every_copy_wait_and_launch_may_fail_with_metal) {
  const char *missing = test_use_metal();
  if (missing) SKIP(missing);
  sweep_backend("metal", true);
}
TEST(every_copy_wait_and_launch_may_fail_with_rocm) {
  const char *missing = test_use_rocm();
  if (missing) SKIP(missing);
  sweep_backend("rocm", true);
}

TEST(an_allocation_that_fails_once_is_tried_again_after_trimming) {
  tsr_device *device = test_open_with_faults("cpu", "alloc:1"), *other = test_open("cpu");
  CHECK_OK(tsr_memory_trim(device, NULL));  // what the self-test left would serve without a new allocation
  CHECK_OK(scenario(device, other));
  tsr_device_release(device);
  tsr_device_release(other);
}

TEST(allocations_that_keep_failing_are_a_status_with_figures) {
  tsr_device *device = test_open_with_faults("null", "alloc:1+"), *other = test_open("cpu");
  CHECK_OK(tsr_memory_trim(device, NULL));
  CHECK_STATUS(scenario(device, other), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("asked");
  CHECK_LAST_ERROR_HAS("on purpose");
  check_nothing_is_in_use(device);
  tsr_device_release(device);
  tsr_device_release(other);
}

TEST(every_host_allocation_may_fail) {
  int failures = 0;
  for (uint64_t n = 1; n < MOST_STEPS; n++) {
    tsr_device *device = NULL, *other = NULL;
    tsri_alloc_fail_at(n, false);
    tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = "null"}, &device);
    if (status == TSR_OK) status = tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &other);
    if (status == TSR_OK) status = scenario(device, other);
    uint64_t made = tsri_alloc_fail_at(0, false);
    if (status != TSR_OK) {
      CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
      failures++;
    }
    if (device) check_nothing_is_in_use(device);
    if (other) check_nothing_is_in_use(other);
    tsr_device_release(device);
    tsr_device_release(other);
    if (made < n) {
      CHECK(failures >= 20);
      return;
    }
  }
  FAIL("the scenario never got through");
}

TEST(every_host_allocation_of_discovery_may_fail) {
  for (uint64_t n = 1; n < MOST_STEPS; n++) {
    tsr_discovery *found = NULL;
    tsri_alloc_fail_at(n, false);
    tsr_status status = tsr_discover(&found);
    uint64_t made = tsri_alloc_fail_at(0, false);
    CHECK((status == TSR_OK) == (found != NULL));
    if (status != TSR_OK) CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    tsr_discovery_release(found);
    if (made < n) return;
  }
  FAIL("discovery never got through");
}

TEST(slow_work_runs_into_the_time_out_and_finishes_later) {
  CHECK_OK(tsr_config_set("faults", "slow:80ms"));
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "null", .timeout_ms = 20}, &device));
  CHECK_OK(tsr_config_set("faults", NULL));
  tsr_buffer *buffer = NULL;
  CHECK_OK(tsr_buffer_create(device, 16, 0, &buffer));
  CHECK_STATUS(tsr_buffer_upload(buffer, 0, "0123456789abcdef", 16), TSR_ERR_TIMEOUT);
  tsr_status status = TSR_ERR_TIMEOUT;
  for (int i = 0; i < 50 && status == TSR_ERR_TIMEOUT; i++) status = tsr_device_synchronize(device);
  CHECK_OK(status);
  tsr_buffer_release(buffer);
  tsr_device_release(device);
}

TEST(a_lost_device_does_not_harm_the_others) {
  tsr_device *lost = test_open_with_faults("null", "lost:1"), *other = test_open("cpu");
  tsr_tensor *gone = tsr_ones(lost, TSR_F32, TSR_SHAPE(4)), *good = tsr_ones(other, TSR_F32, TSR_SHAPE(4));
  float values[4];
  CHECK_STATUS(tsr_read(gone, values, sizeof values), TSR_ERR_DEVICE_LOST);
  CHECK_OK(tsr_read(good, values, sizeof values));
  CHECK_STATUS(tsr_device_synchronize(lost), TSR_ERR_DEVICE_LOST);
  tsr_release(gone);
  tsr_release(good);
  tsr_device_release(lost);
  tsr_device_release(other);
}
