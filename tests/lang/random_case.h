// SPDX-License-Identifier: MIT
// A random kernel with its inputs, and what plain C makes of them: what the tests of every dialect start from.
//
// TSR_RANDOM_COUNT says how many kernels a test runs, TSR_RANDOM_SEED where the seeds begin (1).
#ifndef TESSERA_RANDOM_CASE_H
#define TESSERA_RANDOM_CASE_H

#include "lang/emit_case.h"
#include "lang/random_kernel.h"

typedef struct random_case {
  random_kernel random;
  tsri_kernel *kernel;
  unsigned char *inputs;  // all buffers as they are before a run
  unsigned char *wanted;  // and after one of plain C
  size_t bytes;
  size_t offsets[RANDOM_MAX_BUFFERS];
  uint32_t params[16];
} random_case;

uint64_t random_case_count(uint64_t otherwise);
uint64_t random_case_first_seed(void);

// `features` are random_features. The case is the caller's to deinit.
void random_case_init(random_case *c, uint64_t seed, uint32_t features);
void random_case_deinit(random_case *c);

size_t random_case_bytes(const random_case *c, uint32_t buffer);
// The launch on `memory`, laid out as the inputs are.
emit_launch random_case_launch(const random_case *c, const char *entry, unsigned char *memory);

// What a device makes of f32 numbers below 2^-126, where the language leaves it free.
typedef struct random_denormals {
  bool are_flushed;  // arithmetic and functions take them for 0 and give 0 for them; what only moves bits keeps them
  bool survive_fma;  // except fma, which is then made of integers
} random_denormals;

// Can this processor do so, too?
bool random_can_flush(void);
// Fills `wanted`, as a device would that treats denormals so.
void random_case_run_plain(random_case *c, uint32_t subgroup_size, random_denormals denormals);
// Fails the test unless buffer `index`, as `who` left it in `is`, is as wanted: as random_compare_buffer. With `flushes`, f32
// numbers below 2^-126 count as 0 in both (and are made so), as one may have moved bits and the other computed.
void random_case_compare(random_case *c, uint32_t index, const char *who, void *is, bool flushes, uint32_t slack);

#endif
