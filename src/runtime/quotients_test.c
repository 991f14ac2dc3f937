// SPDX-License-Identifier: MIT
#include "runtime/quotients.h"

#include <string.h>

#include "support/devices.h"
#include "support/test.h"

// Every device is measured as if it were silent about its quotients and no software. Those of the CPU are found to be exact; SwiftShader's are not.
static void check_measured(tsr_device *device) {
  tsri_limits kept = device->limits;
  bool is_software = device->info.is_software;
  if (kept.max_group_size < 64 || !device->backend->dialect || !test_device_computes(device)) return;
  device->limits.has_exact_divide = device->limits.has_exact_quotient = false;
  device->info.is_software = false;
  CHECK_OK(tsri_quotients_measure(device));
  if (strcmp(device->backend->name, "cpu") == 0) CHECK(device->limits.has_exact_quotient);
  device->limits = kept;
  device->info.is_software = is_software;
}

TEST(exact_quotients_are_found_by_dividing) { test_on_every_device(check_measured); }

// The CPU's quotients are exact, so that has_exact_quotient would become true if it were measured.
static void check_not_asked(tsr_device *device) {
  tsri_limits kept = device->limits;
  bool is_software = device->info.is_software;
  device->limits.has_exact_divide = true;
  device->limits.has_exact_quotient = false;
  device->info.is_software = false;
  CHECK_OK(tsri_quotients_measure(device));
  CHECK(!device->limits.has_exact_quotient);
  device->limits = kept;
  device->info.is_software = is_software;
}

TEST(devices_that_promise_exact_quotients_are_not_measured) { test_on_every_device(check_not_asked); }
