// SPDX-License-Identifier: MIT
// bernoulli and dropout: compares uniform random numbers (ops/random.c) with a probability.
#include <math.h>

#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"
#include "ops/promote.h"
#include "ops/random.h"

#include <tessera/ops.h>

static tsr_status check_probability(const char *caller, double p) {
  if (p >= 0 && p <= 1) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: p is %g; it must lie between 0 and 1", caller, p);
}

// Whether each element's uniform number is below p. p is rounded to f32, as the scalar of tsr_lt_scalar is.
static tsr_tensor *is_below(tsr_device *device, tsr_shape shape, double p, uint64_t seed) {
  return tsri_random_below(device, shape, (uint64_t)ceil(ldexp((double)(float)p, TSRI_RANDOM_BITS)), seed);
}

tsr_tensor *tsr_bernoulli(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double p, uint64_t seed) {
  tsr_status status = check_probability("bernoulli", p);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *is_one = is_below(device, shape, p, seed);
  return tsri_tensor_named("bernoulli", tsri_then(tsr_cast(is_one, dtype), is_one));
}

tsr_tensor *tsr_dropout(tsr_tensor *x, double p, uint64_t seed) {
  tsr_status status = tsri_tensor_check("dropout", x);
  if (status == TSR_OK) status = check_probability("dropout", p);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *is_dropped = is_below(x->value->device, x->layout.shape, p, seed);
  tsr_tensor *cast = tsr_cast(x, tsri_promote_float(x->dtype)), *grown = tsr_mul_scalar(cast, p < 1 ? 1 / (1 - p) : 0);
  tsr_tensor *result = tsri_then(tsri_then(tsr_masked_fill(grown, is_dropped, 0), grown), cast);
  return tsri_tensor_named("dropout", tsri_then(result, is_dropped));
}
