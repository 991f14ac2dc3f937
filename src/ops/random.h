// SPDX-License-Identifier: MIT
// What operators that make random numbers share.
#ifndef TSRI_OPS_RANDOM_H
#define TSRI_OPS_RANDOM_H

#include "ops/call.h"

// Checks the arguments of such an operator: it makes floats, or integers if `wants_float` is false.
tsr_status tsri_random_check(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsr_shape shape, bool wants_float);

// The number of elements of the result, which kernels can address.
tsr_status tsri_random_count(const tsri_kernel_run *run, int64_t *out_count);

// Begins a call of a kernel of op_random.tk that stores four elements per item.
void tsri_random_init(tsri_call *call, const tsri_kernel_run *run, const char *kernel);

// Passes what every kernel of op_random.tk takes: y, n, key_low and key_high.
void tsri_random_pass(const tsri_kernel_run *run, tsri_call *call, uint64_t seed, int64_t count);

enum { TSRI_RANDOM_BITS = 24 };  // of a uniform number in f32

// Whether the number that tsr_rand gives each element in f32 is below limit / 2^TSRI_RANDOM_BITS (bool), without storing the numbers. `limit` is at most
// 2^TSRI_RANDOM_BITS.
tsr_tensor *tsri_random_below(tsr_device *device, tsr_shape shape, uint64_t limit, uint64_t seed);

// Its node: no inputs, `seed` and `range` (the limit) of the attributes `random`.
extern const tsri_op tsri_op_random_below;

#endif
