// SPDX-License-Identifier: MIT
// What the files of the CPU backend share.
#ifndef TSRI_CPU_H
#define TSRI_CPU_H

#include <stdatomic.h>

#include "backends/common/driver.h"
#include "backends/cpu/lanes/lanes.h"

// Instructions beyond AVX-512 that products use: bits of cpu_device.units.
enum { TSRI_CPU_VNNI = 1, TSRI_CPU_BF16 = 2, TSRI_CPU_AMX = 4 };

// A device, and also a queue: the first queue of a device is the device itself, whose work is done inside the call that queues it. Each further queue is a copy
// of the record, with scratch memory and a thread of its own that does the work (later.h).
typedef struct cpu_device {
  int threads;
  const char *simd;            // level in use: one of tsri_cpu_simd_level's
  uint32_t units;              // of tsri_cpu_units
  bool allow_sleef;            // vector maths from SLEEF
  bool allow_lapack;           // factors of matrices from LAPACK
  bool allow_jit;              // kernels may be compiled to machine code
  uint32_t interpreted_items;  // of tsri_lanes_engine
  uint64_t timeout_ns;
  tsri_lanes_engine engine;  // of tsri_cpu_engine
  char *scratch;             // of tsri_cpu_scratch; used by one thread at a time, the queue's
  size_t scratch_bytes;
  atomic_int queue_count;   // of a device: queues that were created
  struct cpu_later *later;  // of a queue with a thread; NULL: it has none
} cpu_device;

// The best vector instructions of this processor up to `wanted` (NULL: any): "avx512", "avx2", "neon" or "baseline".
const char *tsri_cpu_simd_level(const char *wanted);

// Which of those instructions this processor has, up to `wanted`: "avx512_vnni", "avx512_bf16", "amx", each including those before it. NULL: those that are worth using.
// Asks the system for AMX's registers, which a process has to do once.
uint32_t tsri_cpu_units(const char *wanted);

// What runs the device's kernels. Found at first need, as SLEEF is then loaded. Call as a queue's functions: one thread at a time.
static inline const tsri_lanes_engine *tsri_cpu_engine(cpu_device *device) {
  if (!device->engine.isa) {
    tsri_lanes_engine_init(device->simd, device->allow_sleef, device->allow_jit, &device->engine);
    device->engine.interpreted_items = device->interpreted_items;
  }
  return &device->engine;
}

// Threads that `pieces` of work are worth, each enough to pay for waking a thread. At least 1.
int tsri_cpu_threads(const cpu_device *device, uint64_t pieces);

// Parts in which `threads` threads take work that consists of `pieces`, for tsri_parallel. At most `pieces`.
int tsri_cpu_parts(int threads, uint64_t pieces);
// The same, smaller ones, so that threads end at nearly the same time: for work that takes longer than to copy its data, and whose parts need no memory of their own.
int tsri_cpu_small_parts(int threads, uint64_t pieces);

// As people write it: "AVX-512".
const char *tsri_cpu_simd_title(const char *level);

// Whether multiplying and adding with one rounding takes much longer than with two.
bool tsri_cpu_simd_has_slow_fma(const char *level);

// Memory for a native operator until the next one, of `bytes` or more, aligned to a cache line; NULL: there is none. Contents are undefined.
char *tsri_cpu_scratch(cpu_device *device, size_t bytes);

TSRI_DECLARE_DRIVER(cpu);

// Entries of the table that not every driver has.
tsr_status tsri_cpu_buffer_import(tsri_device *device, void *host_memory, size_t bytes, tsri_buffer **out_buffer);
void *tsri_cpu_buffer_host(tsri_device *device, tsri_buffer *buffer);
extern const tsri_native_offer tsri_cpu_native_ops[];
bool tsri_cpu_has_op(tsri_device *device, const tsri_native_op *op);
tsr_status tsri_cpu_run_op(tsri_queue *queue, const tsri_native_op *op);
// The byte that an operand begins with.
char *tsri_cpu_place(tsri_place place);

// Sums of rows of f32 or f64 (sum.c).
tsr_status tsri_cpu_sum(cpu_device *device, tsr_dtype dtype, const tsri_sum_op *op);

// Reductions, sorting, running sums and indexing (rows/). Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_rows(cpu_device *device, const tsri_native_op *op);

// Products (product/op.c). Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_product(cpu_device *device, const tsri_native_op *op);

#endif
