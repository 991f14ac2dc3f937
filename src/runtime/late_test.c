// SPDX-License-Identifier: MIT
// Objects that cannot be destroyed yet, and devices that cannot be closed.
#include "runtime/late.h"

#include <tessera/config.h>
#include <tessera/kernel.h>
#include <tessera/log.h>
#include <tessera/ops.h>

#include "platform/platform.h"
#include "runtime/buffer.h"
#include "support/devices.h"
#include "support/test.h"

typedef struct counted {
  tsri_late late;
  int destroyed;
} counted;

static void count(tsr_device *device, tsri_late *late) {
  (void)device;
  ((counted *)late)->destroyed++;
}

static tsr_device *open_with(const char *backend, const char *faults, uint32_t timeout_ms) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_config_set("faults", faults));
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = backend, .timeout_ms = timeout_ms}, &device));
  CHECK_OK(tsr_config_set("faults", NULL));
  return device;
}

// Opens a device and queues work that takes longer than the device's time-out.
static tsr_device *open_overdue(uint32_t timeout_ms) {
  tsr_device *device = open_with("cpu", "slow:1s", timeout_ms);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  float read[4];
  CHECK_STATUS(tsr_read(x, read, sizeof read), TSR_ERR_TIMEOUT);
  tsr_release(x);
  return device;
}

TEST(what_work_may_still_use_is_destroyed_once_a_wait_succeeds) {
  tsr_device *device = open_overdue(20);
  counted a = {.late.destroy = count}, b = {.late.destroy = count};
  uint64_t start = tsri_clock_ns();
  tsri_late_destroy(device, &a.late, "test");
  tsri_late_destroy(device, &b.late, "test");
  CHECK_EQ_INT(a.destroyed + b.destroyed, 0);
  tsr_status status = TSR_ERR_TIMEOUT;
  while (status == TSR_ERR_TIMEOUT && tsri_clock_ns() - start < UINT64_C(20000000000)) {
    status = tsr_device_synchronize(device);
  }
  CHECK_OK(status);
  CHECK_EQ_INT(a.destroyed, 1);
  CHECK_EQ_INT(b.destroyed, 1);
  tsri_late_destroy(device, &a.late, "test");  // nothing is queued: destroyed at once
  CHECK_EQ_INT(a.destroyed, 2);
  tsr_device_release(device);
}

TEST(closing_destroys_what_was_kept) {
  tsr_device *device = open_overdue(20);
  counted a = {.late.destroy = count};
  tsri_late_destroy(device, &a.late, "test");
  CHECK_EQ_INT(a.destroyed, 0);
  tsr_device_release(device);
  CHECK_EQ_INT(a.destroyed, 1);
}

static void count_release(void *user) { ++*(int *)user; }

TEST(foreign_memory_is_not_released_while_work_may_use_it) {
  static _Alignas(4096) char memory[4096];
  int released = 0;
  tsr_device *device = open_overdue(20);
  tsr_buffer *buffer = NULL;
  CHECK_OK(tsri_buffer_import(device, memory, sizeof memory, count_release, &released, &buffer));
  tsr_buffer_release(buffer);
  CHECK_EQ_INT(released, 0);
  tsr_device_release(device);
  CHECK_EQ_INT(released, 1);
}

// --- Work that never ends --------------------------------------------------------------------------------------------

static int given_up_lines, closed_lines;

static void watch(tsr_log_level level, const char *line, void *user) {
  (void)level, (void)user;
  given_up_lines += strstr(line, "the device is given up") != NULL;
  closed_lines += strstr(line, "closed a device that was given up") != NULL;
}

// Launches `text` on a device with a short time-out, releases everything while it runs, and returns how long that took. The backend is OpenCL, or the one in
// TSR_TEST_BACKEND, to test GPUs.
static double seconds_to_release(const char *text) {
  const char *backend = getenv("TSR_TEST_BACKEND");
  tsr_discovery *found = NULL;
  bool is_here = false;
  if (!backend) backend = "opencl";
  CHECK_OK(tsr_discover(&found));
  for (int i = 0; i < found->backend_count; i++) {
    is_here = is_here || (strcmp(found->backends[i].name, backend) == 0 && found->backends[i].device_count > 0);
  }
  tsr_discovery_release(found);
  if (!is_here) SKIP("there is no OpenCL device here, and other software devices end endless kernels");
  tsr_device *device = open_with(backend, NULL, 200);
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = text}, &kernel));
  tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(2));
  tsr_arg argument = tsr_arg_tensor(y);
  tsr_status status = tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, &argument, 1);
  if (status == TSR_OK) status = tsr_device_synchronize(device);
  CHECK_STATUS(status, TSR_ERR_TIMEOUT);
  uint64_t start = tsri_clock_ns();
  given_up_lines = closed_lines = 0;
  tsr_set_log(TSR_LOG_INFO, watch, NULL);
  tsr_kernel_release(kernel);
  tsr_release(y);
  tsr_device_release(device);
  CHECK_EQ_INT(given_up_lines, 1);
  return (double)(tsri_clock_ns() - start) * 1e-9;
}

TEST(an_endless_kernel_does_not_keep_its_device_from_being_released) {
  double seconds = seconds_to_release("kernel endless(inout f32 y[]) { while (y[0] == 0.0) { y[1] += 1.0; } }");
  // Without the time-out of a fifth of a second this would never return.
  CHECK(seconds < 60);
  tsr_device_release(test_open("cpu"));  // other devices still work
  CHECK_EQ_INT(closed_lines, 0);
}

TEST(a_device_that_was_given_up_is_closed_when_its_work_has_ended) {
  // Each step depends on the one before. A step takes a GPU some nanoseconds, and PoCL fifty, since it runs the items of a work-group one after the other.
  char text[160];
  snprintf(text, sizeof text,
           "kernel tall(inout f32 y[]) { f32 v = y[0]; for (u32 i = 0; i < %d; i++) { v = v * 0.5 + 1.0; } y[1] = v; }",
           getenv("TSR_TEST_BACKEND") ? 300000000 : 20000000);
  seconds_to_release(text);
  uint64_t start = tsri_clock_ns();
  while (closed_lines == 0 && tsri_clock_ns() - start < UINT64_C(200000000000)) {
    tsr_device_release(test_open("null"));  // opening any device tries to close it
    tsri_sleep_ns(20000000);
  }
  CHECK_EQ_INT(closed_lines, 1);
}
