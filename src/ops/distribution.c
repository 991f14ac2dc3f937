// SPDX-License-Identifier: MIT
// Random numbers of other distributions than uniform and normal: rand_exponential, rand_truncated_normal, rand_gamma by kernels; rand_poisson by a table.
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/random.h"
#include "runtime/stage.h"

#include <tessera/ops.h>

static void pass_exponential(const tsri_distribution_attributes *given, tsri_call *call) {
  tsri_call_real(call, "scale", given->scale);
}

static void pass_truncated(const tsri_distribution_attributes *given, tsri_call *call) {
  tsri_call_word(call, "first", given->first);
  tsri_call_word(call, "range", given->range);
  tsri_call_real(call, "low", given->a);
  tsri_call_real(call, "high", given->b);
}

static void pass_gamma(const tsri_distribution_attributes *given, tsri_call *call) {
  tsri_call_real(call, "d", given->a);
  tsri_call_real(call, "c", given->b);
  tsri_call_real(call, "power", given->c);
  tsri_call_real(call, "scale", given->scale);
}

static tsr_status run_kernel(const tsri_kernel_run *run, const char *kernel, int64_t each,
                             void (*pass)(const tsri_distribution_attributes *, tsri_call *)) {
  const tsri_distribution_attributes *given = TSRI_GIVEN(run->node, distribution);
  int64_t count = 0;
  tsr_status status = tsri_random_count(run, &count);
  if (status != TSR_OK) return status;
  tsri_call call;
  if (each == 4) tsri_random_init(&call, run, kernel);
  else tsri_call_init(&call, run->device, "op_random", kernel, TSRI_WITH(TSRI_TYPE("T", run->dtype)));
  tsri_random_pass(run, &call, given->seed, count);
  pass(given, &call);
  return each == 4 ? tsri_call_rounds(&call, (count + each - 1) / each)
                   : tsri_call_items(&call, (count + each - 1) / each);
}

tsr_status tsri_run_exponential(const tsri_kernel_run *run) {
  return run_kernel(run, "exponential", 4, pass_exponential);
}

tsr_status tsri_run_truncated(const tsri_kernel_run *run) { return run_kernel(run, "truncated", 4, pass_truncated); }

tsr_status tsri_run_gamma(const tsri_kernel_run *run) { return run_kernel(run, "gamma", 1, pass_gamma); }

static tsr_tensor *record(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                          tsri_distribution_attributes given) {
  tsr_status status = tsri_random_check(op, device, dtype, shape, true);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(op, device, dtype, shape, NULL, 0, TSRI_GIVE_ALL(op, distribution, &given));
}

static tsr_status check_scale(const char *caller, double scale) {
  if (scale > 0 && isfinite(scale)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: scale is %g; it must be above 0", caller, scale);
}

tsr_tensor *tsr_rand_exponential(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double scale, uint64_t seed) {
  tsr_status status = check_scale("rand_exponential", scale);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return record(TSRI_BODY(rand_exponential), device, dtype, shape,
                (tsri_distribution_attributes){.seed = seed, .scale = scale});
}

// --- Truncated normal ------------------------------------------------------------------------------------------------

// The probability that a normal number is below x, in units of 2^-32.
static double words_below(double x) { return floor(ldexp(0.5 * erfc(-x / sqrt(2)), 32)); }

tsr_tensor *tsr_rand_truncated_normal(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double low, double high,
                                      uint64_t seed) {
  enum { LEAST_WORDS = 1 << 16 };  // with fewer different probabilities, single values would be noticeable
  tsr_status status = TSR_OK;
  double first = 0, range = 0;
  if (!(low < high)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "rand_truncated_normal: from %g to %g is no range", low, high);
  } else {
    first = words_below(low);
    range = words_below(high) - first;
    if (range < LEAST_WORDS) {
      status = TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                         "rand_truncated_normal: from %g to %g lie less than 2^-16 of all normal numbers", low, high);
    }
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (range > UINT32_MAX) range = UINT32_MAX;
  return record(TSRI_BODY(rand_truncated_normal), device, dtype, shape,
                (tsri_distribution_attributes){
                    .seed = seed, .first = (int64_t)first, .range = (int64_t)range, .a = low, .b = high});
}

// --- Gamma -----------------------------------------------------------------------------------------------------------

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; d and c are named as there. For alpha < 1, numbers are drawn for alpha + 1 and
// multiplied by a uniform number to the power of 1 / alpha.
tsr_tensor *tsr_rand_gamma(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double alpha, double scale,
                           uint64_t seed) {
  const double least = 1e-3, most = 1e6;
  tsr_status status = check_scale("rand_gamma", scale);
  if (status == TSR_OK && !(alpha >= least && alpha <= most)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "rand_gamma: alpha is %g; %g to %g are possible", alpha, least, most);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  bool is_small = alpha < 1;
  double d = alpha + (is_small ? 1 : 0) - 1.0 / 3;
  return record(TSRI_BODY(rand_gamma), device, dtype, shape,
                (tsri_distribution_attributes){
                    .seed = seed, .a = d, .b = 1 / sqrt(9 * d), .c = is_small ? 1 / alpha : 0, .scale = scale});
}

// --- Poisson ---------------------------------------------------------------------------------------------------------

// The probabilities of the numbers `first`, first + 1, … The numbers outside of the table have a probability of less than 2^-40 in total.
typedef struct poisson_table {
  int64_t first, count;
  double *shares;
} poisson_table;

// Fills in probabilities relative to that of the most frequent number. They are computed as products of quotients of neighbours, without calling functions
// (such as lgamma) whose rounding differs between systems.
static void fill_shares(const poisson_table *table, double rate) {
  int64_t middle = (int64_t)rate - table->first;
  table->shares[middle] = 1;
  for (int64_t i = middle; i + 1 < table->count; i++)
    table->shares[i + 1] = table->shares[i] * (rate / (double)(table->first + i + 1));
  for (int64_t i = middle; i > 0; i--) table->shares[i - 1] = table->shares[i] * ((double)(table->first + i) / rate);
}

// Turns probabilities into cumulative limits: a random word >= limits[i] stands for a number larger than the table's i-th. Returns how many limits a 32-bit
// word can reach.
static int64_t make_limits(const poisson_table *table, uint32_t *limits) {
  double sum = 0, below = 0;
  for (int64_t i = 0; i < table->count; i++) sum += table->shares[i];
  int64_t used = 0;
  for (; used < table->count; used++) {
    below += table->shares[used];
    double limit = floor(ldexp(below / sum, 32));
    if (limit > UINT32_MAX) break;
    limits[used] = (uint32_t)limit;
  }
  return used;
}

static tsr_tensor *upload_limits(tsr_device *device, double rate, int64_t *out_first) {
  double width = 9 * sqrt(rate) + 30;
  poisson_table table = {.first = rate > width ? (int64_t)(rate - width) : 0};
  table.count = (int64_t)(rate + width) - table.first + 1;
  table.shares = tsri_calloc((size_t)table.count, sizeof *table.shares);
  uint32_t *limits = tsri_stage_create((size_t)table.count * sizeof *limits);
  tsr_tensor *result = NULL;
  if (table.shares && limits) {
    fill_shares(&table, rate);
    int64_t used = make_limits(&table, limits);
    result = tsr_from_data(device, TSR_U32, TSR_SHAPE(used), limits, (size_t)used * sizeof *limits);
  } else {
    result = tsri_tensor_fail(TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "rand_poisson: no host memory for a table"));
  }
  tsri_free(table.shares);
  tsri_stage_release(device, limits, result->status);
  *out_first = table.first;
  return result;
}

tsr_tensor *tsr_rand_poisson(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double rate, uint64_t seed) {
  const tsri_op *op = TSRI_BODY(rand_poisson);
  const double most = 1e8;
  bool is_float = tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT;
  tsr_status status = tsri_random_check(op, device, dtype, shape, is_float);
  if (status == TSR_OK && !(rate >= 0 && rate <= most)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "rand_poisson: rate is %g; 0 to %g are possible", rate, most);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int64_t first = 0;
  tsr_tensor *limits = upload_limits(device, rate, &first);
  tsr_tensor *words = tsr_randint(device, TSR_U32, shape, 0, INT64_C(1) << 32, seed);
  tsr_tensor *above = tsr_searchsorted(limits, words, true), *number = tsr_add_scalar(above, (double)first);
  tsr_tensor *result = tsr_cast(number, dtype);
  tsri_release_all((tsr_tensor *[]){limits, words, above, number}, 4);
  return tsri_tensor_named(op->name, result);
}
