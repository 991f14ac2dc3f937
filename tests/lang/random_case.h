// SPDX-License-Identifier: MIT
// A random kernel with its inputs, and the results of plain C: the basis of the random tests of every dialect.
//
// TSR_RANDOM_COUNT is the number of kernels that a test runs, TSR_RANDOM_SEED the first seed. With TSR_TEST_SAMPLE=1 a test
// runs five times as many as usual.
#ifndef TESSERA_RANDOM_CASE_H
#define TESSERA_RANDOM_CASE_H

#include "lang/emit_case.h"
#include "lang/random_kernel.h"

typedef struct random_case {
  random_kernel random;
  tsri_kernel *kernel;
  unsigned char *inputs;  // all buffers before a run
  unsigned char *wanted;  // all buffers after a run of plain C
  size_t bytes;
  size_t offsets[RANDOM_MAX_BUFFERS];
  uint32_t params[16];
} random_case;

uint64_t random_case_count(uint64_t otherwise);
uint64_t random_case_first_seed(uint64_t otherwise);

// `features` are random_features. The caller calls random_case_deinit.
void random_case_init(random_case *c, uint64_t seed, uint32_t features);
void random_case_deinit(random_case *c);

size_t random_case_bytes(const random_case *c, uint32_t buffer);
// The launch on `memory`, which has the layout of the inputs.
emit_launch random_case_launch(const random_case *c, const char *entry, unsigned char *memory);

// Which f32 operations of a device flush numbers below 2^-126 to 0, as operands and as results. The language leaves this
// open; operations that only move bits keep them.
typedef struct random_denormals {
  bool in_arithmetic;  // + - * / and functions other than these:
  bool in_fma, in_sqrt;
  bool in_rounding;        // floor, ceil, round, trunc
  bool keeps_in_division;  // division is made of other operations (lang/lower/expand_divide.c), which keep denormals
} random_denormals;

static inline bool random_denormals_any(random_denormals d) {
  return d.in_arithmetic || d.in_fma || d.in_sqrt || d.in_rounding;
}

// Whether this processor can flush denormals, too.
bool random_can_flush(void);
// Fills `wanted` with the results of a device that treats denormals in this way.
void random_case_run_plain(random_case *c, uint32_t subgroup_size, random_denormals denormals);
// Fails the test unless buffer `index`, which `who` computed in `is`, has the wanted contents, as in
// random_compare_buffer. With `flushes`, f32 numbers below 2^-126 count as 0 in both (and are replaced by 0), because
// one side may have moved bits where the other computed.
void random_case_compare(random_case *c, uint32_t index, const char *who, void *is, bool flushes, uint32_t slack);

#endif
