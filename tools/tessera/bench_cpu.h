// SPDX-License-Identifier: MIT
// Loops in plain C that measure the limits of the processor.
#ifndef TESSERA_TOOL_BENCH_CPU_H
#define TESSERA_TOOL_BENCH_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The memory accesses of an operator: `reads` input arrays, and one output array or none.
typedef struct bench_traffic {
  int reads;  // 1 to 3
  bool has_write;
} bench_traffic;

// The loops work on this many elements at once; counts and addresses (in elements) below are multiples of it.
enum { BENCH_CPU_STEP = 64 };

// Goes once over the arrays: out = in[0], in[0] + in[1], in[0] * in[1] + in[2], or only reads in[0]. is_streamed:
// stores bypass the caches if the processor can do that (bench_cpu_can_stream). Returns a value that depends on what
// was read.
float bench_cpu_pass(bench_traffic traffic, bool is_streamed, const float *const in[3], float *out, size_t count);
bool bench_cpu_can_stream(void);

// Computes multiply-adds in registers, `rounds` times. Returns the number of operations; a multiply-add counts as two.
double bench_cpu_fma(uint64_t rounds);

#endif
