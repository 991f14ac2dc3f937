// SPDX-License-Identifier: MIT
#include <tessera/tessera.h>

#include "support/devices.h"
#include "support/test.h"

// Stops a run once it has been asked `*user` times.
static bool stop_after(void *user) { return (*(int *)user)-- == 0; }

// A matrix of 2, multiplied `times` times by one that halves and adds: each product is a kernel of its own.
static tsr_tensor *products(tsr_device *device, int times) {
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(2, 2), 1),
             *half = tsr_full(device, TSR_F32, TSR_SHAPE(2, 2), 0.5);
  for (int i = 0; i < times; i++) {
    tsr_tensor *next = tsr_matmul(x, half);
    tsr_release(x);
    x = next;
  }
  tsr_release(half);
  return x;
}

TEST(interrupted_runs_keep_what_they_computed_and_go_on_later) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = products(device, 8);
  int left = 3;
  tsr_set_interrupt(stop_after, &left);
  CHECK_STATUS(tsr_evaluate(x), TSR_ERR_TIMEOUT);
  CHECK_LAST_ERROR_HAS("interrupted");
  tsr_set_interrupt(NULL, NULL);

  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(device, &before));
  float found[4] = {0};
  CHECK_OK(tsr_read(x, found, sizeof found));
  CHECK_OK(tsr_device_get_counters(device, &after));
  CHECK(found[0] == 1 && found[3] == 1);
  CHECK(after.launches - before.launches < 8);
  tsr_release(x);
  tsr_device_release(device);
}

TEST(runs_that_nobody_interrupts_ask_before_each_kernel) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = products(device, 4);
  int left = 1000;
  tsr_set_interrupt(stop_after, &left);
  CHECK_OK(tsr_evaluate(x));
  tsr_set_interrupt(NULL, NULL);
  CHECK(left <= 996);
  tsr_release(x);
  tsr_device_release(device);
}
