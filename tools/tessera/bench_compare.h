// SPDX-License-Identifier: MIT
// `tessera bench --compare`: the same work on every device that is found, relative to the CPU.
#ifndef TESSERA_TOOL_BENCH_COMPARE_H
#define TESSERA_TOOL_BENCH_COMPARE_H

#include <stdbool.h>
#include <tessera/tessera.h>

#include "device_choice.h"

enum { COMPARE_WORKS = 7, COMPARE_MOST_DEVICES = 16, COMPARE_MESSAGE_BYTES = 256 };

typedef struct compare_work {
  const char *name, *what;
  int64_t least, large;  // smallest and largest size; each next one is twice as large
  // Records the work for size n on tensors of the device. Returns the result, which belongs to the scope.
  tsr_tensor *(*record)(tsr_device *device, int64_t n);
} compare_work;

extern const compare_work compare_works[COMPARE_WORKS];

typedef struct compare_cell {
  tsr_status status;
  char message[COMPARE_MESSAGE_BYTES];
  int64_t n;            // the largest size that was measured; a slow device is not given larger ones
  double ns, cpu_ns;    // the device's time and the CPU's time at that size
  int64_t faster_from;  // the smallest size from which on the device is faster than the CPU; 0: never
} compare_cell;

typedef struct compare_device {
  char name[TSR_NAME_BYTES + 16];  // "cuda:0"
  char full_name[TSR_NAME_BYTES];
  bool is_software, is_cpu;
  tsr_status status;  // of opening it
  char message[COMPARE_MESSAGE_BYTES];
  tsr_device_speed speed;
  compare_cell cells[COMPARE_WORKS];
} compare_device;

typedef struct compare_result {
  compare_device devices[COMPARE_MOST_DEVICES];  // the CPU first
  int count;
} compare_result;

// Measures the devices that `wanted` takes, and the CPU. `least_ns` is how long each size is measured at least. Returns an exit code, after a message if it is not EXIT_DONE.
int compare_run(compare_result *result, const device_choice *wanted, double least_ns);

// Draws the speeds relative to the CPU. False after a message.
bool compare_draw(const compare_result *result, const char *path);

// How many times as fast as the CPU the device runs a workload; 0: unknown.
double compare_ratio(const compare_result *result, int device, int work);

#endif
