// SPDX-License-Identifier: MIT
// Random choices: permutation, multinomial, choice.
#include "core/error.h"
#include "core/tensor.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/scan.h"

#include <tessera/ops.h>

// --- permutation -----------------------------------------------------------------------------------------------------

// Inputs: `order`, which sorts `n` upper words of random keys, and the keys: n upper words, then n lower words. Output: the order that sorts the keys.
static tsr_status run_order_equal(const tsri_kernel_run *run) {
  tsr_status status = tsri_call_check("permutation", &run->layouts[1]);
  if (status != TSR_OK || run->layouts[0].count == 0) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_random", "order_equal", NULL, 0);
  tsri_call_buffer(&call, "order", run->inputs[0], TSRI_INDEX_DTYPE);
  tsri_call_buffer(&call, "keys", run->inputs[1], TSR_U32);
  tsri_call_buffer(&call, "y", run->output, TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "n", run->layouts[0].count);
  tsri_call_word(&call, "order_at", run->layouts[0].offset);
  tsri_call_word(&call, "keys_at", run->layouts[1].offset);
  return tsri_call_items(&call, run->layouts[0].count);
}

static const tsri_op op_order_equal = {.name = "permutation", .kind = TSRI_OP_KERNEL, .run = run_order_equal};

// A random permutation of 0 .. count - 1: the order of random 64-bit keys, which are hardly ever equal. They are sorted by their upper words; the few keys whose
// upper words are equal are then put in order by a kernel of its own, which is faster than a second sort.
static tsr_tensor *shuffled(tsr_device *device, int64_t count, uint64_t seed) {
  tsr_tensor *keys = tsr_randint(device, TSR_U32, TSR_SHAPE(2, count), 0, INT64_C(1) << 32, seed);
  tsr_tensor *upper = tsr_slice(keys, 0, 0, 1, 1), *order = tsr_argsort(upper, 1, false), *result = NULL;
  tsr_status status = tsri_tensor_check("permutation", order);
  if (status == TSR_OK) {
    tsr_tensor *inputs[] = {order, keys};
    result = tsri_record_kernel(&op_order_equal, device, TSRI_INDEX_DTYPE, TSR_SHAPE(count), inputs, 2, NULL);
  }
  tsri_release_all((tsr_tensor *[]){keys, upper, order}, 3);
  return status == TSR_OK ? result : tsri_tensor_fail(status);
}

tsr_tensor *tsr_permutation(tsr_device *device, int64_t count, uint64_t seed) {
  if (count < 0 || count > INT32_MAX) {
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                                      "permutation: of %lld numbers; 0 to 2^31 - 1 are possible", (long long)count));
  }
  return tsri_tensor_named("permutation", shuffled(device, count, seed));
}

// --- multinomial -----------------------------------------------------------------------------------------------------

// The weights in `shape`, with negative weights and NaN replaced by 0.
static tsr_tensor *cleaned(tsr_tensor *weights, tsr_shape shape) {
  tsr_tensor *cast = tsr_cast(weights, TSR_F32), *flat = tsr_reshape(cast, shape), *is_above = tsr_gt_scalar(flat, 0);
  tsr_tensor *is_not = tsr_logical_not(is_above), *result = tsr_masked_fill(flat, is_not, 0);
  tsri_release_all((tsr_tensor *[]){cast, flat, is_above, is_not}, 4);
  return result;
}

// Running sums of the weights. They are corrected so that rounding never makes them grow at a weight of 0: an element with weight 0 must never be chosen.
static tsr_tensor *limits_of(tsr_tensor *weights) {
  tsr_tensor *sums = tsr_cumsum(weights, 1), *is_above = tsr_gt_scalar(weights, 0), *is_not = tsr_logical_not(is_above);
  tsr_tensor *kept = tsr_masked_fill(sums, is_not, 0), *result = NULL;
  tsr_status status = tsr_cummax(kept, 1, &result, NULL);
  tsri_release_all((tsr_tensor *[]){sums, is_above, is_not, kept}, 4);
  return status == TSR_OK ? result : tsri_tensor_fail(status);
}

// For each point, the number of limits in its row that are at most the point: the index of the chosen element.
static tsr_tensor *count_reached(tsr_tensor *limits, tsr_tensor *points) {
  if (tsr_tensor_shape(limits).dims[0] == 1) {
    tsr_tensor *list = tsr_reshape(limits, TSR_SHAPE(-1)), *result = tsr_searchsorted(list, points, true);
    return tsri_then(result, list);
  }
  tsr_tensor *across = tsr_unsqueeze(limits, 1), *down = tsr_unsqueeze(points, 2), *is_reached = tsr_le(across, down);
  tsr_tensor *result = tsr_sum(is_reached, TSR_AXES(2), false);
  tsri_release_all((tsr_tensor *[]){across, down, is_reached}, 3);
  return result;
}

// Draws a uniform number below the sum of all weights, and chooses the element whose part of the sum contains it.
static tsr_tensor *with_replacement(tsr_tensor *weights, int64_t count, uint64_t seed) {
  tsr_shape shape = tsr_tensor_shape(weights);
  tsr_tensor *limits = limits_of(weights), *total = tsr_slice(limits, 1, -1, INT64_MAX, 1);
  tsr_tensor *uniform = tsr_rand(weights->value->device, TSR_F32, TSR_SHAPE(shape.dims[0], count), seed);
  tsr_tensor *points = tsr_mul(uniform, total), *reached = count_reached(limits, points);
  tsr_tensor *result = tsr_minimum_scalar(reached, (double)(shape.dims[1] - 1));  // where no weight is above 0
  tsri_release_all((tsr_tensor *[]){limits, total, uniform, points, reached}, 5);
  return result;
}

// Draws an exponentially distributed time for each element, with its weight as the rate; the elements with the shortest
// times are chosen, in that order.
static tsr_tensor *without_replacement(tsr_tensor *weights, int64_t count, uint64_t seed) {
  tsr_tensor *waits = tsr_rand_exponential(weights->value->device, TSR_F32, tsr_tensor_shape(weights), 1, seed);
  tsr_tensor *times = tsri_then(tsr_div(waits, weights), waits), *result = NULL;
  tsr_status status = tsr_topk(times, count, 1, false, NULL, &result);
  tsr_release(times);
  return status == TSR_OK ? result : tsri_tensor_fail(status);
}

static tsr_status check_draws(const char *caller, int64_t size, int64_t count, bool replace) {
  if (count >= 0 && count <= INT32_MAX && (count == 0 || size > 0) && (replace || count <= size)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %lld of %lld elements %s replacement are not possible", caller,
                   (long long)count, (long long)size, replace ? "with" : "without");
}

static tsr_tensor *draw(const char *caller, tsr_tensor *weights, int64_t count, bool replace, uint64_t seed) {
  tsr_shape shape = weights->layout.shape;
  int last = shape.rank - 1;
  int64_t size = shape.dims[last], rows = 1;
  for (int i = 0; i < last; i++) rows *= shape.dims[i];
  tsr_status status = check_draws(caller, size, count, replace);
  if (status == TSR_OK && size > INT32_MAX) {
    status = TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %lld elements; an index is i32", caller, (long long)size);
  }
  shape.dims[last] = count;
  if (status == TSR_OK) status = tsri_shape_check(caller, shape, &(int64_t){0});
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (rows == 0 || count == 0) return tsri_record_zeros(weights->value->device, TSRI_INDEX_DTYPE, shape);
  tsr_tensor *clean = cleaned(weights, TSR_SHAPE(rows, size));
  status = tsri_tensor_check(caller, clean);
  if (status != TSR_OK) return clean;
  tsr_tensor *drawn = replace ? with_replacement(clean, count, seed) : without_replacement(clean, count, seed);
  tsr_release(clean);
  return tsri_then(tsr_reshape(drawn, shape), drawn);
}

tsr_tensor *tsr_multinomial(tsr_tensor *weights, int64_t count, bool replace, uint64_t seed) {
  tsr_status status = tsri_tensor_check("multinomial", weights);
  if (status == TSR_OK && weights->layout.shape.rank == 0) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "multinomial: weights are a list or rows of them, not a scalar");
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_tensor_named("multinomial", draw("multinomial", weights, count, replace, seed));
}

// --- choice ----------------------------------------------------------------------------------------------------------

static tsr_tensor *places(tsr_tensor *x, int64_t size, int64_t count, tsr_tensor *weights, bool replace,
                          uint64_t seed) {
  tsr_device *device = x->value->device;
  if (weights) return draw("choice", weights, count, replace, seed);
  if (count == 0) return tsri_record_zeros(device, TSRI_INDEX_DTYPE, TSR_SHAPE(0));
  if (replace) return tsr_randint(device, TSRI_INDEX_DTYPE, TSR_SHAPE(count), 0, size, seed);
  tsr_tensor *all = tsr_permutation(device, size, seed);
  return tsri_then(tsr_slice(all, 0, 0, count, 1), all);
}

tsr_tensor *tsr_choice(tsr_tensor *x, int axis, int64_t count, tsr_tensor *weights, bool replace, uint64_t seed) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("choice", x);
  if (status == TSR_OK && weights) status = tsri_tensor_check("choice", weights);
  if (status == TSR_OK) status = tsri_axis("choice", axis, x->layout.shape.rank, &axis);
  int64_t size = status == TSR_OK ? x->layout.shape.dims[axis] : 0;
  if (status == TSR_OK && weights && (weights->layout.shape.rank != 1 || weights->layout.count != size)) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "choice: weights are %s, axis %d has %lld elements",
                       tsr_shape_format(weights->layout.shape, text, sizeof text), axis, (long long)size);
  }
  if (status == TSR_OK) status = check_draws("choice", size, count, replace);
  if (status == TSR_OK && size > INT32_MAX) {
    status =
        TSRI_FAIL(TSR_ERR_UNSUPPORTED, "choice: axis %d has %lld elements; an index is i32", axis, (long long)size);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *indices = places(x, size, count, weights, replace, seed);
  return tsri_tensor_named("choice", tsri_then(tsr_index_select(x, axis, indices), indices));
}
