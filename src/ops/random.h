// SPDX-License-Identifier: MIT
// Shared by operators that create random numbers.
#ifndef TSRI_OPS_RANDOM_H
#define TSRI_OPS_RANDOM_H

#include "ops/call.h"

// Checks the arguments of a random operator. wants_float: its results must have a float dtype; otherwise an integer dtype.
tsr_status tsri_random_check(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsr_shape shape, bool wants_float);

// Gives the number of elements of the result. Fails if kernels cannot address them.
tsr_status tsri_random_count(const tsri_kernel_run *run, int64_t *out_count);

// Starts a call of a kernel of op_random.tk that stores four elements per item.
void tsri_random_init(tsri_call *call, const tsri_kernel_run *run, const char *kernel);

// Passes what every kernel of op_random.tk takes: y, n, key_low and key_high.
void tsri_random_pass(const tsri_kernel_run *run, tsri_call *call, uint64_t seed, int64_t count);

enum { TSRI_RANDOM_BITS = 24 };  // random bits of a uniform number in f32

// Bools: whether the f32 number that tsr_rand draws for each element is below limit / 2^TSRI_RANDOM_BITS. The numbers are not stored. `limit` is at most
// 2^TSRI_RANDOM_BITS.
tsr_tensor *tsri_random_below(tsr_device *device, tsr_shape shape, uint64_t limit, uint64_t seed);

// The operator of tsri_random_below: no inputs; the attributes `random` hold `seed`, and the limit as `range`.
extern const tsri_op tsri_op_random_below;

#endif
