// SPDX-License-Identifier: MIT
// Measures the limits of the machine: the memory bandwidth and the multiply-add rate that operators are compared with.
//
// On the CPU these are plain C loops with as many threads as the device uses, over memory from the device's own pool,
// with as many arrays and bytes as the operator has. The better of ordinary stores and stores that bypass the caches
// counts. On other devices the limits are a copy within the device, and a kernel that only computes multiply-adds.
#ifndef TESSERA_TOOL_BENCH_LIMIT_H
#define TESSERA_TOOL_BENCH_LIMIT_H

#include <tessera/buffer.h>
#include <tessera/device.h>
#include <tessera/kernel.h>

// Columns: name, spelling, unit, number of arrays read, whether one is written.
#define BENCH_BOUNDS(X)                                \
  X(NONE, "none", "", 0, false)                        \
  X(READ, "read", "GB/s", 1, false)                    \
  X(COPY, "copy", "GB/s", 1, true)                     \
  X(READ2, "two reads and a write", "GB/s", 2, true)   \
  X(READ3, "three reads and a write", "GB/s", 3, true) \
  X(FMA, "f32 multiply-add", "GFLOP/s", 0, false)

typedef enum bench_bound {
#define BENCH_X(name, text, unit, reads, has_write) BENCH_##name,
  BENCH_BOUNDS(BENCH_X)
#undef BENCH_X
      BENCH_BOUND_COUNT
} bench_bound;

const char *bench_bound_name(bench_bound bound);
const char *bench_bound_unit(bench_bound bound);

typedef struct bench_limits {
  tsr_device *device;
  bool is_cpu;
  int threads;                     // of the CPU device; 0 for others
  double best[BENCH_BOUND_COUNT];  // the highest value measured so far, in GB/s or GFLOP/s; 0: not measured
  tsr_buffer *arrays[4];
  size_t array_bytes;  // size of each array
  tsr_tensor *sink;    // output of the kernel that only computes
  tsr_kernel *kernel;
} bench_limits;

// Retains the device.
tsr_status bench_limits_init(bench_limits *limits, tsr_device *device);
void bench_limits_deinit(bench_limits *limits);

// The limit to use for `bound` on this device: other devices than the CPU compare all memory accesses with a copy.
bench_bound bench_limit_of(const bench_limits *limits, bench_bound bound);

// Measures one limit now, with arrays of `bytes` each. Returns the median of a few rounds, or 0 if it cannot be
// measured. The memory is kept for the next call with the same size.
double bench_limit_measure(bench_limits *limits, bench_bound bound, size_t bytes);

#endif
