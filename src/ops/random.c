// SPDX-License-Identifier: MIT
// Random tensors: Philox, a counter-based generator (kernels/op_random.tk), so that the same seed gives the same bits
// on every device.
#include "ops/random.h"
#include "core/error.h"
#include "graph/epilogue.h"
#include "ops/call.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

void tsri_random_init(tsri_call *call, const tsri_kernel_run *run, const char *kernel) {
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  tsri_call_init(call, run->device, "op_random", kernel,
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_CONSTANT("WIDE", tuning->reduce_wide != 0),
                           TSRI_CONSTANT("ROUNDS", tuning->item_rounds), TSRI_CONSTANT("WG", tuning->item_group)));
}

static void pass_words(const tsri_kernel_run *run, tsri_call *call, uint64_t seed, int64_t count, tsr_dtype dtype) {
  tsri_call_buffer(call, "y", run->output, dtype);
  tsri_call_word(call, "n", count);
  tsri_call_word(call, "key_low", (int64_t)(seed & UINT32_MAX));
  tsri_call_word(call, "key_high", (int64_t)(seed >> 32));
}

void tsri_random_pass(const tsri_kernel_run *run, tsri_call *call, uint64_t seed, int64_t count) {
  pass_words(run, call, seed, count, run->dtype);
}

tsr_status tsri_random_count(const tsri_kernel_run *run, int64_t *out_count) {
  const char *caller = run->node->op->name;
  tsri_layout layout;
  tsr_status status = tsri_layout_init(caller, run->shape, run->dtype, &layout, NULL);
  *out_count = layout.count;
  return status == TSR_OK ? tsri_call_check(caller, &layout) : status;
}

tsr_status tsri_run_rand(const tsri_kernel_run *run) {
  int64_t count = 0;
  tsr_status status = tsri_random_count(run, &count);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_random_init(&call, run, "uniform");
  tsri_random_pass(run, &call, TSRI_GIVEN(run->node, random)->seed, count);
  int64_t each = run->dtype == TSR_F64 ? 2 : 4;
  return tsri_call_rounds(&call, (count + each - 1) / each);
}

static tsr_status run_below(const tsri_kernel_run *run) {
  int64_t count = 0;
  tsr_status status = tsri_random_count(run, &count);
  if (status != TSR_OK) return status;
  const tsri_random_attributes *given = TSRI_GIVEN(run->node, random);
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  tsr_dtype result = tsri_epilogue_dtype(run);
  int64_t row = run->shape.rank ? run->shape.dims[run->shape.rank - 1] : 1;
  bool is_truth = result == TSR_BOOL,
       is_wide = tuning->reduce_wide && (row % 4 == 0 || !tsri_epilogue_reads_columns(run));
  tsri_call call;
  tsri_call_init_hooked(
      &call, run, "op_random", "uniform_below",
      TSRI_WITH(TSRI_TYPE("Y", is_truth ? TSR_U8 : result),
                TSRI_TYPE("A", is_truth ? TSR_U8 : tsri_accumulator(result)), TSRI_CONSTANT("WIDE_Y", is_wide),
                TSRI_CONSTANT("ROUNDS", tuning->item_rounds), TSRI_CONSTANT("WG", tuning->item_group)));
  pass_words(run, &call, given->seed, count, result);
  tsri_call_word(&call, "limit", (int64_t)given->range);
  tsri_call_word(&call, "row", row);
  return tsri_call_rounds(&call, (count + 3) / 4);
}

const tsri_op tsri_op_random_below = {.name = "bernoulli",
                                      .kind = TSRI_OP_KERNEL,
                                      .run = run_below,
                                      .has_wide_hook = true,
                                      .attribute_set = TSRI_SET_random,
                                      .attribute_bytes = sizeof(tsri_random_attributes)};

tsr_status tsri_run_randn(const tsri_kernel_run *run) {
  int64_t count = 0;
  tsr_status status = tsri_random_count(run, &count);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_random_init(&call, run, "gaussian");
  tsri_random_pass(run, &call, TSRI_GIVEN(run->node, random)->seed, count);
  return tsri_call_rounds(&call, (count + 3) / 4);
}

tsr_status tsri_run_randint(const tsri_kernel_run *run) {
  int64_t count = 0;
  tsr_status status = tsri_random_count(run, &count);
  if (status != TSR_OK) return status;
  const tsri_random_attributes *given = TSRI_GIVEN(run->node, random);
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  // 64-bit integers are stored as pairs, four words at a time; two stores of 64 bits would leave gaps between what neighbouring items store.
  bool is_pairs = tuning->reduce_wide && (run->dtype == TSR_I64 || run->dtype == TSR_U64);
  tsri_lang_arg args[] = {TSRI_CONSTANT("SHORT", given->range <= UINT32_MAX),
                          TSRI_CONSTANT("ROUNDS", tuning->item_rounds), TSRI_CONSTANT("WG", tuning->item_group),
                          TSRI_TYPE("T", run->dtype), TSRI_TYPE("V", tsri_accumulator(run->dtype))};
  tsri_call call;
  tsri_call_init(&call, run->device, "op_random", is_pairs ? "whole_pairs" : "whole", args, is_pairs ? 3 : 5);
  pass_words(run, &call, given->seed, count, is_pairs ? TSR_U32 : run->dtype);
  tsri_call_word(&call, "range_low", (int64_t)(given->range & UINT32_MAX));
  tsri_call_word(&call, "range_high", (int64_t)(given->range >> 32));
  if (is_pairs) {
    tsri_call_word(&call, "least_low", (int64_t)((uint64_t)given->least & UINT32_MAX));
    tsri_call_word(&call, "least_high", (int64_t)((uint64_t)given->least >> 32));
  } else {
    tsri_call_word(&call, "least", given->least);
  }
  return tsri_call_rounds(&call, (count + 1) / 2);
}

static tsr_status check_dtype(const tsri_op *op, tsr_dtype dtype, bool wants_float) {
  tsr_status status = tsri_dtype_check(op->name, dtype);
  if (status != TSR_OK) return status;
  if (tsri_dtype_is_float(dtype) == wants_float && dtype != TSR_BOOL) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DTYPE, "%s: makes %s, not %s", op->name, wants_float ? "floats" : "integers",
                   tsr_dtype_name(dtype));
}

tsr_status tsri_random_check(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                             bool wants_float) {
  tsr_status status = tsri_device_check(op->name, device);
  if (status == TSR_OK) status = check_dtype(op, dtype, wants_float);
  if (status == TSR_OK) status = tsri_shape_check(op->name, shape, &(int64_t){0});
  return status;
}

static tsr_tensor *record(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                          tsri_random_attributes given) {
  tsr_status status = tsri_random_check(op, device, dtype, shape, op != TSRI_BODY(randint));
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(op, device, dtype, shape, NULL, 0, TSRI_GIVE_ALL(op, random, &given));
}

tsr_tensor *tsr_rand(tsr_device *device, tsr_dtype dtype, tsr_shape shape, uint64_t seed) {
  return record(TSRI_BODY(rand), device, dtype, shape, (tsri_random_attributes){.seed = seed});
}

tsr_tensor *tsr_randn(tsr_device *device, tsr_dtype dtype, tsr_shape shape, uint64_t seed) {
  return record(TSRI_BODY(randn), device, dtype, shape, (tsri_random_attributes){.seed = seed});
}

tsr_tensor *tsri_random_below(tsr_device *device, tsr_shape shape, uint64_t limit, uint64_t seed) {
  const tsri_op *op = &tsri_op_random_below;
  tsr_status status = tsri_device_check(op->name, device);
  if (status == TSR_OK) status = tsri_shape_check(op->name, shape, &(int64_t){0});
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_random_attributes given = {.seed = seed, .range = limit};
  return tsri_record_kernel(op, device, TSR_BOOL, shape, NULL, 0, TSRI_GIVE_ALL(op, random, &given));
}

// Whether the dtype can hold the number exactly.
static bool holds(tsr_dtype dtype, int64_t value) {
  unsigned char stored[8];
  int64_t back = 0;
  return tsr_convert(dtype, stored, TSR_I64, &value, 1) == TSR_OK &&
         tsr_convert(TSR_I64, &back, dtype, stored, 1) == TSR_OK && back == value;
}

tsr_tensor *tsr_randint(tsr_device *device, tsr_dtype dtype, tsr_shape shape, int64_t low, int64_t high,
                        uint64_t seed) {
  tsr_status status = check_dtype(TSRI_BODY(randint), dtype, false);
  if (status == TSR_OK && low >= high) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "randint: there is no number from %lld to below %lld", (long long)low,
                       (long long)high);
  }
  if (status == TSR_OK && !(holds(dtype, low) && holds(dtype, high - 1))) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "randint: %s does not hold %lld to %lld", tsr_dtype_name(dtype), (long long)low,
                       (long long)(high - 1));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return record(TSRI_BODY(randint), device, dtype, shape,
                (tsri_random_attributes){.seed = seed, .least = low, .range = (uint64_t)high - (uint64_t)low});
}
