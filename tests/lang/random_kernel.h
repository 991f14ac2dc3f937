// SPDX-License-Identifier: MIT
// Random valid kernels, as text in the kernel language.
//
// The "exact" outputs of a kernel do not depend on the device: they come from integer arithmetic, IEEE + - * / sqrt
// fma, conversions, control flow, local and shared arrays, barriers, reductions whose order does not matter, and
// commutative atomics. Functions that are only accurate have separate outputs, which are compared within a bound.
#ifndef TESSERA_RANDOM_KERNEL_H
#define TESSERA_RANDOM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <tessera/dtype.h>

#define RANDOM_MATH_SLOTS  4  // per item, for f32 and for f64
#define RANDOM_FLOAT_SLOTS 4

typedef enum random_features {
  RANDOM_F64 = 1,
  RANDOM_SUBGROUPS = 2  // results then depend on the subgroup size
} random_features;

// How an element of an output is compared.
typedef enum random_compare { RANDOM_INPUT, RANDOM_EXACT, RANDOM_MATH } random_compare;

typedef struct random_buffer {
  const char *name;
  tsr_dtype dtype;
  uint32_t count;
  random_compare compare;
} random_buffer;

#define RANDOM_MAX_BUFFERS 28

typedef struct random_kernel {
  uint64_t seed;
  char name[32];
  char *text;  // freed by random_kernel_deinit
  uint32_t groups, items;
  uint32_t buffer_count;
  random_buffer buffers[RANDOM_MAX_BUFFERS];
  uint32_t math_bounds[2][RANDOM_MATH_SLOTS];  // in ULP, for f32 and f64
} random_kernel;

void random_kernel_init(random_kernel *kernel, uint64_t seed, uint32_t features);
void random_kernel_deinit(random_kernel *kernel);

// A stream of random numbers that is the same on all machines.
uint32_t random_below(uint64_t *state, uint32_t limit);

// Fills an input with small and large numbers, zeros, infinities, NaN and random bits.
void random_fill(uint64_t *state, tsr_dtype dtype, void *memory, uint32_t count);

// Fails the test unless output `index`, written by `who`, equals what plain C wrote: bit for bit or, if it depends on
// functions that are only accurate, within `slack` times the kernel's bound.
void random_compare_buffer(const random_kernel *kernel, uint32_t index, const char *who, const void *is,
                           const void *wanted, uint32_t slack);

#endif
