// SPDX-License-Identifier: MIT
// The memory a transformer needs for inference. <tessera/estimate.h> documents the formulas.
//
// Sums and products saturate at TOO_LARGE instead of wrapping around, and no factor is 0, so checking each result finds
// any overflow on the way to it.
#include <tessera/estimate.h>

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "core/error.h"

#define TOO_LARGE UINT64_MAX
#define LARGEST   ((uint64_t)INT64_MAX)

static uint64_t product(uint64_t a, uint64_t b) { return b > TOO_LARGE / a ? TOO_LARGE : a * b; }

static uint64_t sum(uint64_t a, uint64_t b) { return b > TOO_LARGE - a ? TOO_LARGE : a + b; }

// count * bytes_each, rounded up. The integer and the fractional part are multiplied separately, because a double would
// lose the last bytes of a large product.
static uint64_t bytes_of(uint64_t count, double bytes_each) {
  if (count > LARGEST || bytes_each >= 0x1p63) return TOO_LARGE;
  uint64_t whole = (uint64_t)bytes_each;
  double rest = (double)count * (bytes_each - (double)whole);
  uint64_t rest_bytes = (uint64_t)rest;
  if ((double)rest_bytes < rest) rest_bytes++;
  return sum(whole == 0 ? 0 : product(count, whole), rest_bytes);
}

// --- The formulas; defaults have been filled in ----------------------------------------------------------------------

static uint64_t kv_width(const tsr_transformer_desc *d) { return product(d->kv_heads, d->hidden / d->heads); }

static uint64_t layer_parameters(const tsr_transformer_desc *d) {
  uint64_t attention = sum(product(2, d->hidden), product(2, kv_width(d)));
  uint64_t columns = sum(attention, product(3, d->intermediate));
  uint64_t norms = product(2, d->hidden);
  return sum(product(d->hidden, columns), norms);
}

static uint64_t parameter_count(const tsr_transformer_desc *d) {
  uint64_t embedding = product(d->vocabulary, d->hidden);
  uint64_t embeddings = d->tied_embeddings ? embedding : product(2, embedding);
  return sum(sum(embeddings, product(d->layers, layer_parameters(d))), d->hidden);
}

static uint64_t token_count(const tsr_transformer_desc *d) { return product(d->batch, d->sequence_length); }

static uint64_t kv_cache_count(const tsr_transformer_desc *d) {
  return product(product(product(2, d->layers), token_count(d)), kv_width(d));
}

static uint64_t activation_count(const tsr_transformer_desc *d) {
  uint64_t attention = sum(product(2, d->hidden), product(2, kv_width(d)));
  uint64_t feed_forward = product(2, d->intermediate);
  uint64_t widest = attention > feed_forward ? attention : feed_forward;
  return product(token_count(d), sum(product(2, d->hidden), widest));
}

static uint64_t logit_bytes(const tsr_transformer_desc *d) {
  return product(product(d->batch, d->vocabulary), sizeof(float));
}

// --- Checking --------------------------------------------------------------------------------------------------------

static void fill_defaults(tsr_transformer_desc *d) {
  if (d->kv_heads == 0) d->kv_heads = d->heads;
  if (d->batch == 0) d->batch = 1;
  if (d->bytes_per_weight == 0) d->bytes_per_weight = 2;
  if (d->bytes_per_kv == 0) d->bytes_per_kv = 2;
  if (d->bytes_per_activation == 0) d->bytes_per_activation = 2;
}

static tsr_status check_sizes(const tsr_transformer_desc *d) {
  const struct {
    const char *name;
    uint64_t value;
  } sizes[] = {{"hidden", d->hidden}, {"intermediate", d->intermediate},
               {"layers", d->layers}, {"vocabulary", d->vocabulary},
               {"heads", d->heads},   {"sequence_length", d->sequence_length}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    if (sizes[i].value == 0) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "estimate: %s is 0", sizes[i].name);
  }
  return TSR_OK;
}

static tsr_status check_heads(const tsr_transformer_desc *d) {
  if (d->hidden % d->heads != 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "estimate: heads is %" PRIu64 ", which does not divide hidden, %" PRIu64,
                     d->heads, d->hidden);
  }
  if (d->heads % d->kv_heads != 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "estimate: kv_heads is %" PRIu64 ", which does not divide heads, %" PRIu64, d->kv_heads, d->heads);
  }
  return TSR_OK;
}

static tsr_status check_widths(const tsr_transformer_desc *d) {
  const struct {
    const char *name;
    double value;
  } widths[] = {{"bytes_per_weight", d->bytes_per_weight},
                {"bytes_per_kv", d->bytes_per_kv},
                {"bytes_per_activation", d->bytes_per_activation}};
  for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
    if (isfinite(widths[i].value) && widths[i].value > 0) continue;
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "estimate: %s is %g; it may be any number above 0, or 0 for 2",
                     widths[i].name, widths[i].value);
  }
  return TSR_OK;
}

static tsr_status check_results(const tsr_memory_estimate *estimate) {
  const struct {
    const char *name;
    uint64_t value;
  } results[] = {{"parameters", estimate->parameters},
                 {"weight_bytes", estimate->weight_bytes},
                 {"kv_cache_bytes", estimate->kv_cache_bytes},
                 {"activation_bytes", estimate->activation_bytes},
                 {"total_bytes", estimate->total_bytes}};
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    if (results[i].value <= LARGEST) continue;
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "estimate: %s would be 2^63 or more", results[i].name);
  }
  return TSR_OK;
}

tsr_status tsr_estimate_inference(const tsr_transformer_desc *desc, tsr_memory_estimate *out_estimate) {
  if (!desc || !out_estimate) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "estimate: %s is NULL", desc ? "out_estimate" : "desc");
  }
  tsr_transformer_desc d = *desc;
  fill_defaults(&d);
  tsr_status status = check_sizes(&d);
  if (status == TSR_OK) status = check_heads(&d);
  if (status == TSR_OK) status = check_widths(&d);
  if (status != TSR_OK) return status;

  tsr_memory_estimate estimate = {.parameters = parameter_count(&d)};
  estimate.weight_bytes = bytes_of(estimate.parameters, d.bytes_per_weight);
  estimate.kv_cache_bytes = bytes_of(kv_cache_count(&d), d.bytes_per_kv);
  estimate.activation_bytes = sum(bytes_of(activation_count(&d), d.bytes_per_activation), logit_bytes(&d));
  estimate.total_bytes = sum(sum(estimate.weight_bytes, estimate.kv_cache_bytes), estimate.activation_bytes);
  status = check_results(&estimate);
  if (status == TSR_OK) *out_estimate = estimate;
  return status;
}
