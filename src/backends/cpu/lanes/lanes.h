// SPDX-License-Identifier: MIT
// Runs lane bytecode (lang/lanes_code.h) on the CPU.
//
//   tsri_lanes_program *program = NULL;
//   tsri_lanes_prepare(words, bytes, &program);
//   tsri_lanes_run(program, &(tsri_lanes_launch){.buffers = buffers, .buffer_count = 2, .params = params,
//                                                .params_bytes = 8, .groups = {n, 1, 1}, .threads = 2});
//   tsri_lanes_release(program);
#ifndef TSRI_CPU_LANES_H
#define TSRI_CPU_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/status.h>

// A program that was checked and is ready to run. Immutable: several threads may run it at the same time.
typedef struct tsri_lanes_program tsri_lanes_program;

typedef struct tsri_lanes_buffer {
  void *memory;  // aligned to its element size
  size_t bytes;  // a partial element at the end is ignored
} tsri_lanes_buffer;

struct tsri_lanes_isa;
struct tsri_lane_math;

// The functions of one SIMD level that execute launches. A device finds them once, because that compares names and opens SLEEF.
typedef struct tsri_lanes_engine {
  const struct tsri_lanes_isa *isa;
  const struct tsri_lane_math *math;
  int jit_slot;  // -1: everything is interpreted
  // A kernel without loops is compiled when its launches together have more work items than this: for fewer, compiling takes longer than
  // interpreting all of them. 0: compiled at its first launch.
  uint32_t interpreted_items;
} tsri_lanes_engine;

// `simd`: a level that the processor has (tsri_cpu_simd_level); NULL: "baseline". `allow_sleef`: use SLEEF's mathematical functions if they are faster.
// `allow_jit`: use machine code if the level and the program support it (jit/jit.h).
void tsri_lanes_engine_init(const char *simd, bool allow_sleef, bool allow_jit, tsri_lanes_engine *out_engine);

typedef struct tsri_lanes_launch {
  const tsri_lanes_buffer *buffers;
  uint32_t buffer_count;
  const void *params;  // 32-bit words
  uint32_t params_bytes;
  uint32_t groups[3];               // nothing runs if one of them is 0
  int threads;                      // at most; 0 or 1: only the calling thread
  const tsri_lanes_engine *engine;  // NULL: made for this launch from the next three
  const char *simd;
  bool allow_sleef, allow_jit;
  uint64_t timeout_ns;  // 0: none
} tsri_lanes_launch;

// Copies and checks a program. `words` may be anything: a program that is accepted cannot access a register or an array, or jump to an instruction, that does
// not exist. A program with TSRI_LANE_CHECKED cannot access memory outside its buffers either; others trust their indices.
//
// Ownership: caller releases `*out_program`.
// Errors:    TSR_ERR_BUILD (not lane bytecode, another version, damaged), TSR_ERR_OUT_OF_MEMORY. Then it is NULL.
tsr_status tsri_lanes_prepare(const void *words, size_t bytes, tsri_lanes_program **out_program);
void tsri_lanes_release(tsri_lanes_program *program);  // accepts NULL; no launch of it may be running

// Runs all groups and returns when they are done.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (count of buffers or size of parameters, a buffer that is not aligned),
//         TSR_ERR_LAUNCH (checked mode: an index out of range), TSR_ERR_TIMEOUT, TSR_ERR_OUT_OF_MEMORY. Buffers then
//         hold whatever was written so far.
tsr_status tsri_lanes_run(const tsri_lanes_program *program, const tsri_lanes_launch *launch);

#endif
