// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(attention_with_one_key_returns_its_value) {
  begin();
  tsr_tensor *q = tsr_randn(dev, TSR_F32, TSR_SHAPE(1, 2, 3, 4), 1),
             *k = tsr_randn(dev, TSR_F32, TSR_SHAPE(1, 1, 1, 4), 2);
  tsr_tensor *v = list(TSR_F32, TSR_SHAPE(1, 1, 1, 2), 5, -7);
  CHECK_VALUES(tsr_attention(q, k, v, NULL, NULL), TSR_F32, TSR_SHAPE(1, 2, 3, 2), 0, 5, -7, 5, -7, 5, -7, 5, -7, 5, -7,
               5, -7);
  finish();
}

TEST(causal_attention_stands_at_the_end_of_the_keys) {
  begin();
  tsr_tensor *q = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 2, 1)), *k = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 3, 1));
  tsr_tensor *v = list(TSR_F32, TSR_SHAPE(1, 1, 3, 1), 1, 3, 8);
  tsr_attention_desc desc = {.causal = true};
  CHECK_VALUES(tsr_attention(q, k, v, NULL, &desc), TSR_F32, TSR_SHAPE(1, 1, 2, 1), 1e-6, 2, 4);
  desc.window = 2;
  CHECK_VALUES(tsr_attention(q, k, v, NULL, &desc), TSR_F32, TSR_SHAPE(1, 1, 2, 1), 1e-6, 2, 5.5);
  finish();
}

TEST(a_query_that_sees_no_key_gets_zeros) {
  begin();
  tsr_tensor *q = tsr_ones(dev, TSR_F32, TSR_SHAPE(1, 1, 2, 1)), *v = list(TSR_F32, TSR_SHAPE(1, 1, 2, 1), 4, 6);
  CHECK_VALUES(tsr_attention(q, q, v, list(TSR_BOOL, TSR_SHAPE(2, 2), 0, 0, 0, 1), NULL), TSR_F32,
               TSR_SHAPE(1, 1, 2, 1), 0, 0, 6);
  CHECK_VALUES(tsr_attention(q, q, v, list(TSR_F32, TSR_SHAPE(2, 2), -INFINITY, -INFINITY, 0, -INFINITY), NULL),
               TSR_F32, TSR_SHAPE(1, 1, 2, 1), 0, 0, 4);
  tsr_tensor *none = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 0, 1));
  CHECK_VALUES(tsr_attention(q, none, none, NULL, NULL), TSR_F32, TSR_SHAPE(1, 1, 2, 1), 0, 0, 0);
  finish();
}

TEST(attention_does_not_overflow) {
  begin();
  tsr_tensor *q = tsr_full(dev, TSR_F32, TSR_SHAPE(1, 1, 1, 1), 1e4),
             *k = list(TSR_F32, TSR_SHAPE(1, 1, 2, 1), -1e4, 1e4);
  CHECK_VALUES(tsr_attention(q, k, k, NULL, NULL), TSR_F32, TSR_SHAPE(1, 1, 1, 1), 0, 1e4);
  finish();
}

// A matrix of scores would take 64 times as much as the result.
TEST(attention_needs_no_memory_beside_its_result) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(1, 1, 512, 8), 1);
  CHECK_OK(tsr_evaluate(x));
  tsr_memory_stats before, after;
  CHECK_OK(tsr_memory_get_stats(dev, &before));
  CHECK_OK(tsr_evaluate(tsr_attention(x, x, x, NULL, NULL)));
  CHECK_OK(tsr_memory_get_stats(dev, &after));
  CHECK(after.peak_bytes <= before.peak_bytes + 2 * 512 * 8 * 4);
  finish();
}

TEST(attention_over_100000_keys_runs_within_its_inputs_and_result) {
  enum { KEYS = 100000, SIZE = 8 };
  begin();
  tsr_tensor *q = tsr_randn(dev, TSR_F32, TSR_SHAPE(1, 1, 2, SIZE), 1),
             *k = tsr_randn(dev, TSR_F32, TSR_SHAPE(1, 1, KEYS, SIZE), 2);
  CHECK_OK(tsr_evaluate(k));
  CHECK_OK(tsr_evaluate(tsr_attention(q, k, k, NULL, &(tsr_attention_desc){.causal = true})));
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(dev, &stats));
  CHECK(2 * stats.peak_bytes <= 3 * (KEYS + 4) * SIZE * sizeof(float));
  finish();
}

TEST(attention_refuses_what_does_not_fit) {
  begin();
  tsr_tensor *q = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 4, 2, 8)), *k = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 3, 5, 8));
  tsr_tensor *wide = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 4, 2, 257));
  CHECK_FAILS(tsr_attention(q, k, k, NULL, NULL), TSR_ERR_SHAPE, "the heads of k and v divide those of q");
  CHECK_FAILS(tsr_attention(q, q, wide, NULL, NULL), TSR_ERR_UNSUPPORTED, "a head has at most 256 elements");
  CHECK_FAILS(tsr_attention(q, q, q, k, NULL), TSR_ERR_SHAPE, "attention");
  CHECK_FAILS(tsr_attention(q, q, q, tsr_zeros(dev, TSR_I32, TSR_SHAPE(2, 2)), NULL), TSR_ERR_DTYPE,
              "a mask is of bool or floats");
  CHECK_FAILS(tsr_attention(q, q, q, NULL, &(tsr_attention_desc){.window = 2}), TSR_ERR_INVALID_ARGUMENT,
              "a window of 2");
  CHECK_FAILS(tsr_attention(q, q, q, NULL, &(tsr_attention_desc){.softcap = -1}), TSR_ERR_INVALID_ARGUMENT,
              "softcap is -1");
  CHECK_FAILS(tsr_attention(q, q, q, NULL, &(tsr_attention_desc){.slopes = q}), TSR_ERR_SHAPE, "there are 4 heads");
  finish();
}

// One token after the other, written into the cache in place, against all at once.
TEST(decoding_with_a_cache_gives_what_a_whole_sequence_gives) {
  enum { STEPS = 5 };
  begin();
  tsr_shape shape = TSR_SHAPE(1, 2, STEPS, 4);
  tsr_tensor *q = tsr_randn(dev, TSR_F32, shape, 1), *k = tsr_randn(dev, TSR_F32, shape, 2),
             *v = tsr_randn(dev, TSR_F32, shape, 3);
  tsr_tensor *keys = tsr_zeros(dev, TSR_F32, shape), *values = tsr_zeros(dev, TSR_F32, shape), *rows[STEPS];
  tsr_attention_desc desc = {.causal = true};
  for (int i = 0; i < STEPS; i++) {
    CHECK_OK(tsr_assign(tsr_slice(keys, 2, i, i + 1, 1), tsr_slice(k, 2, i, i + 1, 1)));
    CHECK_OK(tsr_assign(tsr_slice(values, 2, i, i + 1, 1), tsr_slice(v, 2, i, i + 1, 1)));
    rows[i] = tsr_attention(tsr_slice(q, 2, i, i + 1, 1), tsr_slice(keys, 2, 0, i + 1, 1),
                            tsr_slice(values, 2, 0, i + 1, 1), NULL, &desc);
  }
  bool is_equal = false;
  CHECK_OK(tsr_equal(tsr_concat(rows, STEPS, 2), tsr_attention(q, k, v, NULL, &desc), &is_equal));
  CHECK(is_equal);
  finish();
}

TEST(attention_is_the_weighted_sum_of_its_scores) {
  begin();
  tsr_tensor *q = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 4, 3, 8), 1);
  tsr_tensor *k = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 2, 7, 8), 2),
             *v = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 2, 7, 5), 3);
  tsr_attention_desc desc = {.causal = true, .window = 4, .softcap = 2, .slopes = tsr_ones(dev, TSR_F32, TSR_SHAPE(4))};
  tsr_tensor *shares = tsr_softmax(tsr_attention_scores(q, k, NULL, &desc), -1);
  tsr_tensor *difference = tsr_sub(tsr_weighted_sum_rows(shares, v), tsr_attention(q, k, v, NULL, &desc));
  double worst = 1;
  CHECK_OK(tsr_item(tsr_norm(difference, INFINITY, NULL, 0, false), &worst));
  CHECK(worst < 1e-5);
  finish();
}

// Blocks 2 and 0 hold a sequence of 3 keys; what else is there is not read.
TEST(a_paged_cache_is_read_through_its_table) {
  begin();
  tsr_tensor *q = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 1, 1)), *k = tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 1, 2, 1));
  tsr_tensor *v = list(TSR_F32, TSR_SHAPE(3, 1, 2, 1), 9, NAN, NAN, NAN, 1, 2);
  tsr_attention_desc desc = {.blocks = list(TSR_I32, TSR_SHAPE(1, 2), 2, 0), .lengths = list(TSR_I32, TSR_SHAPE(1), 3)};
  CHECK_VALUES(tsr_attention(q, k, v, NULL, &desc), TSR_F32, TSR_SHAPE(1, 1, 1, 1), 1e-6, 4);
  desc.blocks = list(TSR_I64, TSR_SHAPE(1, 2), 77, 2);  // there is no block 77
  desc.lengths = NULL;
  CHECK_VALUES(tsr_attention(q, k, v, NULL, &desc), TSR_F32, TSR_SHAPE(1, 1, 1, 1), 1e-6, 1.5);
  finish();
}

TEST(attention_refuses_tables_that_do_not_fit) {
  begin();
  tsr_tensor *q = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 1, 1, 4)), *k = tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 1, 2, 4));
  tsr_tensor *one = tsr_zeros(dev, TSR_I32, TSR_SHAPE(1)), *flat = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 2));
  CHECK_FAILS(tsr_attention(q, k, k, NULL, NULL), TSR_ERR_SHAPE, "q is 2x1x1x4, k is 3x1x2x4");
  CHECK_FAILS(tsr_attention(q, k, k, NULL, &(tsr_attention_desc){.blocks = one}), TSR_ERR_SHAPE, "blocks are [1]");
  CHECK_FAILS(tsr_attention(q, k, k, NULL, &(tsr_attention_desc){.blocks = flat}), TSR_ERR_DTYPE,
              "blocks are integers, not f32");
  CHECK_FAILS(tsr_attention(q, q, q, NULL, &(tsr_attention_desc){.lengths = one}), TSR_ERR_SHAPE,
              "there are 2 sequences");
  CHECK_FAILS(tsr_attention(q, q, q, tsr_ones(dev, TSR_BOOL, TSR_SHAPE(5)), NULL), TSR_ERR_SHAPE,
              "the mask is [5], which is not broadcast to the scores, 2x1x1x1");
  CHECK_FAILS(tsr_weighted_sum_rows(q, k), TSR_ERR_SHAPE, "weighted_sum_rows: weights are 2x1x1x4, v is 3x1x2x4");
  finish();
}
