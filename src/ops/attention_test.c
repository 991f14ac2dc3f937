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
