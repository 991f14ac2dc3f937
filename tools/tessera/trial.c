// SPDX-License-Identifier: MIT
// Opens and tests each device that discovery found.
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>

#include "device_choice.h"

static bool fail_with_last_error(trial *result) {
  result->status = tsr_last_error_status();
  snprintf(result->message, sizeof result->message, "%s", tsr_last_error());
  return false;
}

// Opens the device and checks that it is the same one: the backend's devices may have changed since discovery (one may
// have been unplugged).
static bool open_device(const char *backend, int index, tsr_device **out_device, trial *result) {
  tsr_device_info info;
  if (device_open_exactly(backend, index, out_device) != TSR_OK) return fail_with_last_error(result);
  if (tsr_device_get_info(*out_device, &info) != TSR_OK) return fail_with_last_error(result);
  if (info.index == index) return true;
  result->status = TSR_ERR_INTERNAL;
  snprintf(result->message, sizeof result->message, "device %d was opened in place of %d", info.index, index);
  return false;
}

static trial run_one(const char *backend, int index) {
  trial result = {.has_passed = false};
  tsr_device *device = NULL;
  if (open_device(backend, index, &device, &result)) {
    result.has_passed = tsr_device_test(device) == TSR_OK || fail_with_last_error(&result);
  }
  tsr_device_release(device);
  return result;
}

int trial_device_count(const tsr_discovery *found) {
  int count = 0;
  for (int b = 0; b < found->backend_count; b++) count += found->backends[b].device_count;
  return count;
}

trial *trial_run_all(const tsr_discovery *found) {
  trial *results = calloc((size_t)trial_device_count(found) + 1, sizeof *results);
  if (!results) return NULL;
  trial *next = results;
  for (int b = 0; b < found->backend_count; b++) {
    const tsr_backend_report *backend = &found->backends[b];
    for (int d = 0; d < backend->device_count; d++) {
      *next++ = run_one(backend->name, backend->devices[d].index);
    }
  }
  return results;
}
