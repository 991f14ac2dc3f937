// SPDX-License-Identifier: MIT
#include "runtime/own_functions.h"

#include <string.h>

#include "support/devices.h"
#include "support/test.h"

// Measures the device as if it were no software and silent about its functions. `fuses`: as if its fma rounded once.
static tsri_limits measure_as_hardware(tsr_device *device, bool fuses) {
  tsri_limits kept = device->limits;
  bool is_software = device->info.is_software;
  device->limits.has_exact_divide = device->limits.has_exact_quotient = false;
  device->limits.has_exact_fma |= fuses;
  device->info.is_software = false;
  CHECK_OK(tsri_own_functions_measure(device));
  tsri_limits measured = device->limits;
  device->limits = kept;
  device->info.is_software = is_software;
  return measured;
}

static bool is_measurable(tsr_device *device) {
  return device->limits.max_group_size >= 64 && device->backend->dialect && test_device_computes(device);
}

// Those of the CPU are found to be exact; SwiftShader's quotients are not.
static void check_measured(tsr_device *device) {
  if (!is_measurable(device)) return;
  tsri_limits measured = measure_as_hardware(device, false);
  if (strcmp(device->backend->name, "cpu") != 0) return;
  CHECK(measured.has_exact_quotient && measured.has_near_exp2 && measured.has_near_root && measured.has_exact_products);
}

TEST(exact_quotients_and_accurate_functions_are_found_by_computing_them) { test_on_every_device(check_measured); }

// exp needs the fraction of x log2(e), and sqrt the difference of x and the square of its root; both need an fma that rounds once. The fma of lavapipe and
// SwiftShader rounds twice, so the test must find exp and roots wrong.
static void check_refused(tsr_device *device) {
  bool has_expansions = strcmp(device->backend->name, "vulkan") == 0 || strcmp(device->backend->name, "webgpu") == 0;
  if (!is_measurable(device) || !has_expansions || device->limits.has_exact_fma) return;
  tsri_limits measured = measure_as_hardware(device, true);
  CHECK(!measured.has_near_exp2 && !measured.has_near_root && !measured.has_near_quotient);
}

TEST(functions_that_are_not_accurate_are_not_used) { test_on_every_device(check_refused); }

// The CPU's functions are accurate, so that all would become true if they were measured.
static void check_not_asked(tsr_device *device) {
  tsri_limits kept = device->limits;
  bool is_software = device->info.is_software;
  device->limits.has_exact_divide = true;
  device->limits.has_exact_quotient = device->limits.has_near_exp2 = device->limits.has_near_root = false;
  device->limits.has_exact_products = false;
  device->info.is_software = false;
  CHECK_OK(tsri_own_functions_measure(device));
  CHECK(!device->limits.has_exact_quotient && !device->limits.has_near_exp2 && !device->limits.has_near_root);
  CHECK(!device->limits.has_exact_products);
  device->limits = kept;
  device->info.is_software = is_software;
}

TEST(devices_that_promise_exact_quotients_are_not_measured) { test_on_every_device(check_not_asked); }
