// SPDX-License-Identifier: MIT
// Shared by the files of the CPU backend.
#ifndef TSRI_CPU_H
#define TSRI_CPU_H

#include <stdatomic.h>

#include "backends/common/driver.h"
#include "backends/cpu/lanes/lanes.h"

// Instructions beyond AVX-512 that products use, as bits of cpu_device.units.
enum { TSRI_CPU_VNNI = 1, TSRI_CPU_BF16 = 2, TSRI_CPU_AMX = 4 };

// A device, and also a queue. The first queue of a device is the device itself, whose work is done inside the call that queues it. Each further queue is a copy
// of the record, with its own scratch memory and a thread that does the work (later.h).
typedef struct cpu_device {
  int threads;
  const char *simd;            // SIMD level in use: a result of tsri_cpu_simd_level
  uint32_t units;              // a result of tsri_cpu_units
  bool allow_sleef;            // vector maths from SLEEF
  bool allow_lapack;           // matrix factorisations from LAPACK
  bool allow_jit;              // kernels may be compiled to machine code
  uint32_t interpreted_items;  // see tsri_lanes_engine
  uint64_t timeout_ns;
  tsri_lanes_engine engine;  // see tsri_cpu_engine
  char *scratch;             // see tsri_cpu_scratch; used by one thread at a time, that of the queue
  size_t scratch_bytes;
  atomic_int queue_count;   // of a device: number of queues created
  struct cpu_later *later;  // of a queue with its own thread; NULL: it has none
} cpu_device;

// The best SIMD level of this processor, at most `wanted` (NULL: any): "avx512", "avx2", "neon" or "baseline".
const char *tsri_cpu_simd_level(const char *wanted);

// Which of the units above this processor has, at most `wanted`: "avx512_vnni", "avx512_bf16" or "amx", each of which includes those before it. NULL: those
// that are worth using. Asks the system for permission to use AMX's registers, which a process must do once.
uint32_t tsri_cpu_units(const char *wanted);

// The engine that runs the device's kernels. It is initialised at the first call, which loads SLEEF. Call it only from the queue's thread.
static inline const tsri_lanes_engine *tsri_cpu_engine(cpu_device *device) {
  if (!device->engine.isa) {
    tsri_lanes_engine_init(device->simd, device->allow_sleef, device->allow_jit, &device->engine);
    device->engine.interpreted_items = device->interpreted_items;
  }
  return &device->engine;
}

// How many threads to use for `pieces` of work, each of which is worth waking a thread. At least 1.
int tsri_cpu_threads(const cpu_device *device, uint64_t pieces);

// How many parts tsri_parallel should divide work of `pieces` into, for `threads` threads. At most `pieces`.
int tsri_cpu_parts(int threads, uint64_t pieces);
// As tsri_cpu_parts, but more and smaller parts, so that threads end at nearly the same time: for work that takes longer than copying its data, and whose parts
// need no scratch memory of their own.
int tsri_cpu_small_parts(int threads, uint64_t pieces);

// The SIMD level as people write it: "AVX-512".
const char *tsri_cpu_simd_title(const char *level);

// Whether a fused multiply-add takes much longer than a multiplication and an addition at this level.
bool tsri_cpu_simd_has_slow_fma(const char *level);

// Scratch memory of at least `bytes`, aligned to a cache line, which is valid until the next native operator. NULL: out of memory. Its contents are undefined.
char *tsri_cpu_scratch(cpu_device *device, size_t bytes);

TSRI_DECLARE_DRIVER(cpu);

// The backend table's optional entries.
tsr_status tsri_cpu_buffer_import(tsri_device *device, void *host_memory, size_t bytes, tsri_buffer **out_buffer);
void *tsri_cpu_buffer_host(tsri_device *device, tsri_buffer *buffer);
extern const tsri_native_offer tsri_cpu_native_ops[];
bool tsri_cpu_has_op(tsri_device *device, const tsri_native_op *op);
tsr_status tsri_cpu_run_op(tsri_queue *queue, const tsri_native_op *op);
// The address of the operand's first byte.
char *tsri_cpu_place(tsri_place place);

// Sums of rows of f32 or f64 (sum.c).
tsr_status tsri_cpu_sum(cpu_device *device, tsr_dtype dtype, const tsri_sum_op *op);

// Reductions, sorting, running sums and indexing (rows/). Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_rows(cpu_device *device, const tsri_native_op *op);

// Products (product/op.c). Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_product(cpu_device *device, const tsri_native_op *op);

#endif
