// SPDX-License-Identifier: MIT
// Opens each device that discovery found, and tests it.
#ifndef TESSERA_TOOL_TRIAL_H
#define TESSERA_TOOL_TRIAL_H

#include <stdbool.h>
#include <tessera/device.h>

typedef struct trial {
  bool has_passed;
  tsr_status status;  // of the call that failed
  char message[512];  // what went wrong; empty if it passed
} trial;

// One result for each device, in the order of the report: backend after backend. The caller frees it; NULL if memory is
// out. A device that fails does not keep the next from being tested.
trial *trial_run_all(const tsr_discovery *found);

// Number of devices in the report.
int trial_device_count(const tsr_discovery *found);

#endif
