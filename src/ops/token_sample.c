// SPDX-License-Identifier: MIT
// sample and repetition_penalty: chooses a class by its logits, composed of topk, softmax, running sums and a random number per row.
#include <math.h>

#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"
#include "ops/promote.h"

#include <tessera/ops.h>

// --- sample ----------------------------------------------------------------------------------------------------------

static tsr_status check_sample(const tsr_tensor *logits, const tsr_sample_desc *desc) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = logits->layout.shape;
  if (shape.rank < 1 || shape.dims[shape.rank - 1] == 0) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "sample: logits are %s; their last axis are classes, at least one",
                     tsr_shape_format(shape, text, sizeof text));
  }
  if (desc->temperature >= 0 && isfinite(desc->temperature) && desc->top_k >= 0 && desc->top_p >= 0 &&
      desc->top_p <= 1 && desc->min_p >= 0 && desc->min_p <= 1)
    return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                   "sample: temperature %g, top_k %lld, top_p %g, min_p %g; none is negative, and p is at most 1",
                   desc->temperature, (long long)desc->top_k, desc->top_p, desc->min_p);
}

// 1 for the classes that may be chosen; classes are sorted by descending probability. The first class always may.
static tsr_tensor *allowed(tsr_tensor *probabilities, const tsr_sample_desc *desc) {
  tsr_tensor *top = tsr_slice(probabilities, -1, 0, 1, 1), *least = tsr_mul_scalar(top, desc->min_p);
  tsr_tensor *is_allowed = tsri_then(tsri_then(tsr_ge(probabilities, least), least), top);
  if (desc->top_p == 0 || desc->top_p == 1) return is_allowed;
  tsr_tensor *through = tsr_cumsum(probabilities, -1), *before = tsri_then(tsr_sub(through, probabilities), through);
  tsr_tensor *is_within = tsri_then(tsr_lt_scalar(before, desc->top_p), before);
  return tsri_then(tsri_then(tsr_logical_and(is_allowed, is_within), is_allowed), is_within);
}

// How many classes along the last axis satisfy the condition `is`; the axis then has size 1. Releases `is`.
static tsr_tensor *count_true(tsr_tensor *is) {
  tsr_tensor *whole = tsri_then(tsr_cast(is, TSR_I32), is);
  return tsri_then(tsr_sum(whole, TSR_AXES(-1), true), whole);
}

// The position, among the classes sorted by descending probability, that a random number selects: the number of classes whose running sum of probabilities does
// not exceed it.
static tsr_tensor *chosen_place(tsr_tensor *values, uint64_t seed, const tsr_sample_desc *desc) {
  tsr_shape each = tsr_tensor_shape(values);
  each.dims[each.rank - 1] = 1;
  tsr_tensor *probabilities = tsr_softmax(values, -1), *is_allowed = allowed(probabilities, desc);
  tsr_tensor *kept = tsr_mul(probabilities, is_allowed), *through = tsr_cumsum(kept, -1);
  tsr_tensor *total = tsr_slice(through, -1, -1, INT64_MAX, 1);
  tsr_tensor *random = tsr_rand(values->value->device, TSR_F32, each, seed), *threshold = tsr_mul(random, total);
  tsr_tensor *place = count_true(tsr_le(through, threshold));
  // Due to rounding, the number may equal the total, which would select a position after the last class.
  tsr_tensor *count = count_true(tsr_retain(is_allowed)), *last = tsr_sub_scalar(count, 1);
  tsr_tensor *bounded = tsr_minimum(place, last), *result = tsr_maximum_scalar(bounded, 0);
  tsr_tensor *const done[] = {probabilities, is_allowed, kept,  through, total,  random,
                              threshold,     place,      count, last,    bounded};
  tsri_release_all(done, 11);
  return result;
}

tsr_tensor *tsr_sample(tsr_tensor *logits, uint64_t seed, const tsr_sample_desc *desc) {
  static const tsr_sample_desc usual;
  if (!desc) desc = &usual;
  tsr_status status = tsri_tensor_check("sample", logits);
  if (status == TSR_OK) status = check_sample(logits, desc);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int64_t classes = logits->layout.shape.dims[logits->layout.shape.rank - 1];
  int64_t most = desc->top_k > 0 && desc->top_k < classes ? desc->top_k : classes;
  tsr_tensor *x = tsr_cast(logits, TSR_F32), *values = NULL, *indices = NULL;
  if (desc->temperature != 0) x = tsri_then(tsr_div_scalar(x, desc->temperature), x);
  status = tsr_topk(x, most, -1, true, &values, &indices);
  tsr_release(x);
  if (status != TSR_OK) return tsri_tensor_fail(tsri_fail_as("sample", status));
  tsr_tensor *place = chosen_place(values, seed, desc), *chosen = tsr_gather(indices, -1, place);
  tsr_tensor *const done[] = {values, indices, place};
  tsri_release_all(done, 3);
  return tsri_tensor_named("sample", tsri_then(tsr_squeeze(chosen, -1), chosen));
}

// --- repetition_penalty ----------------------------------------------------------------------------------------------

tsr_tensor *tsr_repetition_penalty(tsr_tensor *logits, tsr_tensor *tokens, double penalty) {
  static const char name[] = "repetition_penalty";
  tsr_status status = tsri_tensor_check(name, logits);
  if (status == TSR_OK) status = tsri_tensor_check(name, tokens);
  if (status == TSR_OK && !(penalty > 0 && isfinite(penalty))) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: a penalty of %g; it is above 0", name, penalty);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *x = tsr_cast(logits, tsri_promote_float(logits->dtype)), *seen = tsr_gather(x, -1, tokens);
  tsr_tensor *is_negative = tsr_lt_scalar(seen, 0), *grown = tsr_mul_scalar(seen, penalty);
  tsr_tensor *shrunk = tsr_div_scalar(seen, penalty), *changed = tsr_where(is_negative, grown, shrunk);
  tsr_tensor *result = tsr_scatter(x, -1, tokens, changed);
  tsr_tensor *const done[] = {x, seen, is_negative, grown, shrunk, changed};
  tsri_release_all(done, 6);
  return tsri_tensor_named(name, result);
}
