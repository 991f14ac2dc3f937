// SPDX-License-Identifier: MIT
// Memory estimates compared with arithmetic done by hand.
#include <tessera/estimate.h>

#include <math.h>

#include "support/test.h"

static const tsr_transformer_desc model_7b = {.hidden = 4096,
                                              .intermediate = 14336,
                                              .layers = 32,
                                              .vocabulary = 32000,
                                              .heads = 32,
                                              .kv_heads = 8,
                                              .sequence_length = 4096,
                                              .bytes_per_weight = 2,
                                              .batch = 1};

TEST(a_7b_model_needs_what_was_worked_out_by_hand) {
  // The head size is 4096 / 32 = 128; k and v are 8 x 128 = 1024 wide.
  const uint64_t embeddings = 131072000 + 131072000;             // 32000 x 4096, in and out
  const uint64_t q_and_o = 16777216 + 16777216;                  // 4096 x 4096
  const uint64_t k_and_v = 4194304 + 4194304;                    // 4096 x 1024
  const uint64_t feed_forward = 58720256 + 58720256 + 58720256;  // 4096 x 14336: gate, up, down
  const uint64_t norms = 4096 + 4096;
  const uint64_t layer = q_and_o + k_and_v + feed_forward + norms;
  CHECK_EQ_UINT(layer, 218112000);
  const uint64_t layers = UINT64_C(6979584000);  // 32 layers
  CHECK_EQ_UINT(layers / layer, 32);

  tsr_memory_estimate is = {0};
  CHECK_OK(tsr_estimate_inference(&model_7b, &is));
  CHECK_EQ_UINT(is.parameters, embeddings + layers + 4096);  // plus the last norm
  CHECK_EQ_UINT(is.parameters, UINT64_C(7241732096));
  CHECK_EQ_UINT(is.weight_bytes, UINT64_C(14483464192));
  // k and v: 1024 numbers of 2 bytes, for 4096 tokens, in 32 layers: 2 x 2048 x 131072.
  CHECK_EQ_UINT(is.kv_cache_bytes, 268435456 + 268435456);
  // Per token: residual 4096, norm 4096, gate 14336, up 14336 (attention needs only 4096 + 1024 + 1024 + 4096): 36864
  // numbers of 2 bytes, for 4096 tokens; and 32000 logits of 4 bytes.
  CHECK_EQ_UINT(4096 + 4096 + 14336 + 14336, 36864);
  CHECK_EQ_UINT(is.activation_bytes, 301989888 + 128000);
  CHECK_EQ_UINT(is.total_bytes, UINT64_C(14483464192) + 536870912 + 302117888);
}

static tsr_memory_estimate estimate_of(tsr_transformer_desc desc) {
  tsr_memory_estimate is = {0};
  CHECK_OK(tsr_estimate_inference(&desc, &is));
  return is;
}

TEST(four_bit_weights_take_half_a_byte_each) {
  tsr_transformer_desc desc = model_7b;
  desc.bytes_per_weight = 0.5;
  CHECK_EQ_UINT(estimate_of(desc).weight_bytes, UINT64_C(3620866048));
  desc.bytes_per_weight = 0.5625;  // 4.5 bits: blocks of 32 with a 16-bit scale
  CHECK_EQ_UINT(estimate_of(desc).weight_bytes, UINT64_C(4073474304));
}

TEST(broken_bytes_are_rounded_up) {
  // Parameters: 2 x (3 x 1) + (1 x (2 + 2 + 3) + 2) + 1 = 16; KV 2; activations 2 + 4 = 6.
  tsr_transformer_desc tiny = {.hidden = 1,
                               .intermediate = 1,
                               .layers = 1,
                               .vocabulary = 3,
                               .heads = 1,
                               .sequence_length = 1,
                               .bytes_per_weight = 0.3,
                               .bytes_per_kv = 0.25,
                               .bytes_per_activation = 1.5};
  tsr_memory_estimate is = estimate_of(tiny);
  CHECK_EQ_UINT(is.parameters, 16);
  CHECK_EQ_UINT(is.weight_bytes, 5);           // 4.8
  CHECK_EQ_UINT(is.kv_cache_bytes, 1);         // 0.5
  CHECK_EQ_UINT(is.activation_bytes, 9 + 12);  // 6 x 1.5, plus 3 logits
}

TEST(zero_fields_take_their_defaults) {
  tsr_transformer_desc given = model_7b, left = model_7b;
  left.bytes_per_weight = 0, left.batch = 0, left.kv_heads = 0;
  given.kv_heads = 32, given.bytes_per_kv = 2, given.bytes_per_activation = 2;
  tsr_memory_estimate a = estimate_of(given), b = estimate_of(left);
  CHECK_BYTES(&a, &b, sizeof a);
}

TEST(tied_embeddings_are_counted_once) {
  tsr_transformer_desc desc = model_7b;
  desc.tied_embeddings = 1;
  CHECK_EQ_UINT(estimate_of(desc).parameters, UINT64_C(7241732096) - 131072000);
}

TEST(a_batch_multiplies_cache_and_activations_but_no_weights) {
  tsr_transformer_desc desc = model_7b;
  desc.batch = 3;
  tsr_memory_estimate one = estimate_of(model_7b), three = estimate_of(desc);
  CHECK_EQ_UINT(three.weight_bytes, one.weight_bytes);
  CHECK_EQ_UINT(three.kv_cache_bytes, one.kv_cache_bytes * 3);
  CHECK_EQ_UINT(three.activation_bytes, one.activation_bytes * 3);
}

TEST(a_narrow_feed_forward_leaves_attention_as_the_widest) {
  tsr_transformer_desc desc = model_7b;
  desc.intermediate = 1024;  // gate and up are 2048 wide, q, k, v and output 10240
  CHECK_EQ_UINT(estimate_of(desc).activation_bytes, UINT64_C(18432) * 4096 * 2 + 128000);
}

static void check_refused(tsr_transformer_desc desc, const char *text) {
  tsr_memory_estimate is = {.parameters = 7}, before = is;
  CHECK_STATUS(tsr_estimate_inference(&desc, &is), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS(text);
  CHECK_BYTES(&is, &before, sizeof is);
}

#define REFUSED(field, wrong, text)       \
  do {                                    \
    tsr_transformer_desc desc = model_7b; \
    desc.field = (wrong);                 \
    check_refused(desc, text);            \
  } while (0)

TEST(a_size_of_zero_is_refused_by_name) {
  REFUSED(hidden, 0, "hidden is 0");
  REFUSED(intermediate, 0, "intermediate is 0");
  REFUSED(layers, 0, "layers is 0");
  REFUSED(vocabulary, 0, "vocabulary is 0");
  REFUSED(heads, 0, "heads is 0");
  REFUSED(sequence_length, 0, "sequence_length is 0");
}

TEST(heads_that_do_not_divide_are_refused_with_both_numbers) {
  REFUSED(heads, 24, "heads is 24, which does not divide hidden, 4096");
  REFUSED(kv_heads, 5, "kv_heads is 5, which does not divide heads, 32");
  REFUSED(kv_heads, 64, "kv_heads is 64, which does not divide heads, 32");
}

TEST(bytes_that_are_no_size_are_refused_by_name) {
  REFUSED(bytes_per_weight, -1, "bytes_per_weight is -1");
  REFUSED(bytes_per_weight, (double)NAN, "bytes_per_weight is ");
  REFUSED(bytes_per_kv, (double)INFINITY, "bytes_per_kv is inf");
  REFUSED(bytes_per_activation, -0.5, "bytes_per_activation is -0.5");
}

TEST(results_that_do_not_fit_are_refused_by_name) {
  REFUSED(layers, UINT64_MAX, "parameters would be 2^63 or more");
  REFUSED(vocabulary, UINT64_C(1) << 50, "parameters would be 2^63 or more");
  REFUSED(bytes_per_weight, 1e300, "weight_bytes would be 2^63 or more");
  REFUSED(bytes_per_weight, 2e9, "weight_bytes would be 2^63 or more");
  REFUSED(sequence_length, UINT64_C(1) << 47, "kv_cache_bytes would be 2^63 or more");
  REFUSED(bytes_per_kv, 1e18, "kv_cache_bytes would be 2^63 or more");
  REFUSED(bytes_per_activation, 1e12, "activation_bytes would be 2^63 or more");
  // 7.2e18 bytes of weights and 2.9e18 of cache are allowed separately, but not together.
  tsr_transformer_desc desc = model_7b;
  desc.bytes_per_weight = 1e9, desc.bytes_per_kv = 1.1e10;
  check_refused(desc, "total_bytes would be 2^63 or more");
}

TEST(null_is_refused_by_name) {
  tsr_memory_estimate is;
  CHECK_STATUS(tsr_estimate_inference(NULL, &is), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("desc is NULL");
  CHECK_STATUS(tsr_estimate_inference(&model_7b, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("out_estimate is NULL");
}
