// SPDX-License-Identifier: MIT
// What the machine can do at most, measured: the speed of memory and of multiply-adds that operators are held against.
//
// On the CPU these are plain C loops with as many threads as the device uses, over memory from the device's own pool, with the same
// number of arrays and bytes as the operator; the better of ordinary stores and stores past the caches counts. On other
// devices they are a copy within the device, and a kernel that only multiplies and adds.
#ifndef TESSERA_TOOL_BENCH_LIMIT_H
#define TESSERA_TOOL_BENCH_LIMIT_H

#include <tessera/buffer.h>
#include <tessera/device.h>
#include <tessera/kernel.h>

// name, how it is written, unit, arrays read, is one written.
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
  double best[BENCH_BOUND_COUNT];  // the highest measured so far, in GB/s or GFLOP/s; 0: not measured
  tsr_buffer *arrays[4];
  size_t array_bytes;  // of each
  tsr_tensor *sink;    // of the kernel that only computes
  tsr_kernel *kernel;
} bench_limits;

// The device is kept.
tsr_status bench_limits_init(bench_limits *limits, tsr_device *device);
void bench_limits_deinit(bench_limits *limits);

// The limit that stands for `bound` on this device: all uses of memory are held against a copy where it is not the CPU.
bench_bound bench_limit_of(const bench_limits *limits, bench_bound bound);

// Measures one limit now, with arrays of `bytes` each. The median of a few rounds; 0 where it cannot be measured. Memory is kept for the
// next call with the same size.
double bench_limit_measure(bench_limits *limits, bench_bound bound, size_t bytes);

#endif
