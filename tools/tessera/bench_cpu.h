// SPDX-License-Identifier: MIT
// What the processor can do, in plain C: the loops that measure its limits.
#ifndef TESSERA_TOOL_BENCH_CPU_H
#define TESSERA_TOOL_BENCH_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How an operator uses memory: `reads` arrays in, one array out or none.
typedef struct bench_traffic {
  int reads;  // 1 to 3
  bool has_write;
} bench_traffic;

// Elements at once; counts and addresses (in elements) below are multiples of it.
enum { BENCH_CPU_STEP = 64 };

// Goes once over the arrays: out = in[0], in[0] + in[1], in[0] * in[1] + in[2], or only reads in[0]. `is_streamed` stores past the
// caches where the processor can (bench_cpu_can_stream). Returns a value that depends on what was read.
float bench_cpu_pass(bench_traffic traffic, bool is_streamed, const float *const in[3], float *out, size_t count);
bool bench_cpu_can_stream(void);

// Multiplies and adds in registers, `rounds` times. Returns the number of operations done, a multiply-add being two.
double bench_cpu_fma(uint64_t rounds);

#endif
