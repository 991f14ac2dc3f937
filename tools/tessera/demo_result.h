// SPDX-License-Identifier: MIT
// Everything that a run of `tessera demo` has found out, and the same as JSON and as tables.
#ifndef TESSERA_TOOL_DEMO_RESULT_H
#define TESSERA_TOOL_DEMO_RESULT_H

#include "demo_devices.h"
#include "demo_train.h"

typedef struct demo_result {
  const tsr_discovery *found;
  demo_visit *visits;  // the selected devices, in the order of the report
  int visit_count;
  demo_training *attempts;  // to train, one per device that was tried; only the last one can have succeeded
  int *attempt_visits;      // the device of each: an index into visits
  int attempt_count;
  const demo_digits *digits;
  const char *image;  // the file that was written; NULL: none
  uint64_t seed;
  double seconds;  // the whole run took
} demo_result;

// The training that succeeded, perhaps cut short; NULL if none did. The device it ran on.
const demo_training *demo_result_training(const demo_result *result);
const demo_visit *demo_result_trained_on(const demo_result *result);

// Writes all of it to standard output.
void demo_result_write_json(const demo_result *result);

// Prints what both networks did on each device. Returns an exit code.
int demo_result_print_visits(const demo_result *result);

#endif
