// SPDX-License-Identifier: MIT
// Opens and tests each device that discovery found.
#ifndef TESSERA_TOOL_TRIAL_H
#define TESSERA_TOOL_TRIAL_H

#include <stdbool.h>
#include <tessera/device.h>

typedef struct trial {
  bool has_passed;
  tsr_status status;  // of the call that failed
  char message[512];  // the error message; empty if it passed
} trial;

// Returns one result per device, in the order of the report: backend after backend. A device that fails does not
// prevent the next from being tested. The caller frees the results; NULL if memory is out.
trial *trial_run_all(const tsr_discovery *found);

// Number of devices in the report.
int trial_device_count(const tsr_discovery *found);

#endif
