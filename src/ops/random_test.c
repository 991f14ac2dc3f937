// SPDX-License-Identifier: MIT
#include "ops/call.h"
#include "ops/ops_testing.h"

// Known answers of Philox4x32-10 (Random123's test vectors): counter and key all 0.
TEST(the_generator_gives_the_published_words) {
  begin();
  static const uint32_t wanted[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  uint32_t words[4];
  tsr_buffer *buffer = NULL;
  CHECK_OK(tsr_buffer_create(dev, sizeof words, 0, &buffer));
  tsri_call call;
  tsri_call_init(&call, dev, "op_random", "random_words", TSRI_WITH(TSRI_CONSTANT("WG", 64)));
  tsri_call_buffer(&call, "y", buffer, TSR_U32);
  tsri_call_word(&call, "n", 4);
  tsri_call_word(&call, "kind", 0);
  tsri_call_word(&call, "key_low", 0);
  tsri_call_word(&call, "key_high", 0);
  CHECK_OK(tsri_call_items(&call, 1));
  CHECK_OK(tsr_buffer_download(buffer, 0, words, sizeof words));
  CHECK_BYTES(words, wanted, sizeof wanted);
  tsr_buffer_release(buffer);
  finish();
}

static void same_bits(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu);
  float there[1000], here[1000];
  tsr_tensor *remote = tsr_randn(device, TSR_F32, TSR_SHAPE(1000), 42);
  if (tsr_read(remote, there, sizeof there) == TSR_OK) {
    CHECK_OK(tsr_read(tsr_randn(cpu, TSR_F32, TSR_SHAPE(1000), 42), here, sizeof here));
    CHECK_BYTES(there, here, sizeof here);
    CHECK_OK(tsr_read(tsr_rand(device, TSR_F32, TSR_SHAPE(1000), 42), there, sizeof there));
    CHECK_OK(tsr_read(tsr_rand(cpu, TSR_F32, TSR_SHAPE(1000), 42), here, sizeof here));
    CHECK_BYTES(there, here, sizeof here);
  }
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}
TEST(every_device_gives_the_same_bits) { test_on_every_device(same_bits); }

TEST(uniform_numbers_stay_below_1) {
  begin();
  static const tsr_dtype dtypes[] = {TSR_F16, TSR_BF16, TSR_F32, TSR_F64};
  for (size_t i = 0; i < 4; i++) {
    tsr_tensor *x = tsr_rand(dev, dtypes[i], TSR_SHAPE(3001), 9);
    CHECK_VALUES(tsr_all(tsr_logical_and(tsr_ge_scalar(x, 0), tsr_lt_scalar(x, 1)), NULL, 0, false), TSR_BOOL,
                 TSR_SCALAR, 0, 1);
    CHECK_VALUES(tsr_mean(tsr_cast(x, TSR_F64), NULL, 0, false), TSR_F64, TSR_SCALAR, 0.03, 0.5);
  }
  finish();
}

TEST(normal_numbers_have_mean_0_and_deviation_1) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(100000), 11);
  CHECK_VALUES(tsr_mean(x, NULL, 0, false), TSR_F32, TSR_SCALAR, 0.015, 0);
  CHECK_VALUES(tsr_std(x, NULL, 0, false, 0), TSR_F32, TSR_SCALAR, 0.01, 1);
  CHECK_VALUES(tsr_mean(tsr_pow_scalar(x, 4), NULL, 0, false), TSR_F32, TSR_SCALAR, 0.15, 3);
  CHECK_VALUES(tsr_max(tsr_abs(x), NULL, 0, false), TSR_F32, TSR_SCALAR, 1.6, 5);
  finish();
}

TEST(whole_numbers_stay_in_their_range_and_reach_its_ends) {
  begin();
  tsr_tensor *x = tsr_randint(dev, TSR_I8, TSR_SHAPE(1000), -3, 4, 5);
  CHECK_VALUES(tsr_min(x, NULL, 0, false), TSR_I8, TSR_SCALAR, 0, -3);
  CHECK_VALUES(tsr_max(x, NULL, 0, false), TSR_I8, TSR_SCALAR, 0, 3);
  CHECK_VALUES(tsr_randint(dev, TSR_U32, TSR_SHAPE(2), 4294967295, 4294967296, 5), TSR_U32, TSR_SHAPE(2), 0,
               4294967295.0, 4294967295.0);
  CHECK_VALUES(tsr_max(tsr_abs(tsr_cast(tsr_randint(dev, TSR_I64, TSR_SHAPE(100), INT64_MIN, INT64_MAX, 1), TSR_F32)),
                       NULL, 0, false),
               TSR_F32, TSR_SCALAR, 1e18, 9e18);
  finish();
}

TEST(seeds_and_kinds_differ) {
  begin();
  bool is_equal = true;
  CHECK_OK(tsr_equal(tsr_rand(dev, TSR_F32, TSR_SHAPE(64), 1), tsr_rand(dev, TSR_F32, TSR_SHAPE(64), 1), &is_equal));
  CHECK(is_equal);
  CHECK_OK(tsr_equal(tsr_rand(dev, TSR_F32, TSR_SHAPE(64), 1),
                     tsr_rand(dev, TSR_F32, TSR_SHAPE(64), UINT64_C(1) << 32 | 1), &is_equal));
  CHECK(!is_equal);
  CHECK_EMPTY(tsr_randn(dev, TSR_F32, TSR_SHAPE(0, 5), 1), TSR_F32, TSR_SHAPE(0, 5));
  finish();
}

TEST(wrong_ranges_and_dtypes_are_refused) {
  begin();
  CHECK_FAILS(tsr_rand(dev, TSR_I32, TSR_SHAPE(2), 1), TSR_ERR_DTYPE, "rand: makes floats, not i32");
  CHECK_FAILS(tsr_randint(dev, TSR_F32, TSR_SHAPE(2), 0, 2, 1), TSR_ERR_DTYPE, "randint: makes integers, not f32");
  CHECK_FAILS(tsr_randint(dev, TSR_BOOL, TSR_SHAPE(2), 0, 2, 1), TSR_ERR_DTYPE, "not bool");
  CHECK_FAILS(tsr_randint(dev, TSR_I8, TSR_SHAPE(2), 0, 200, 1), TSR_ERR_DTYPE, "randint: i8 does not hold 0 to 199");
  CHECK_FAILS(tsr_randint(dev, TSR_I8, TSR_SHAPE(2), 3, 3, 1), TSR_ERR_INVALID_ARGUMENT, "no number from 3 to below 3");
  CHECK_FAILS(tsr_rand(NULL, TSR_F32, TSR_SHAPE(2), 1), TSR_ERR_INVALID_ARGUMENT, "rand");
  CHECK_FAILS(tsr_randn(dev, TSR_F32, TSR_SHAPE(-2), 1), TSR_ERR_SHAPE, "randn");
  finish();
}

TEST(linspace_has_both_ends) {
  begin();
  CHECK_VALUES(tsr_linspace(dev, TSR_F32, 0, 1, 5), TSR_F32, TSR_SHAPE(5), 0, 0, 0.25, 0.5, 0.75, 1);
  CHECK_VALUES(tsr_linspace(dev, TSR_I32, 5, 1, 3), TSR_I32, TSR_SHAPE(3), 0, 5, 3, 1);
  CHECK_VALUES(tsr_linspace(dev, TSR_F64, 2, 9, 1), TSR_F64, TSR_SHAPE(1), 0, 2);
  CHECK_EMPTY(tsr_linspace(dev, TSR_F32, 0, 1, 0), TSR_F32, TSR_SHAPE(0));
  CHECK_FAILS(tsr_linspace(dev, TSR_F32, 0, INFINITY, 3), TSR_ERR_INVALID_ARGUMENT, "linspace: start 0, stop inf");
  CHECK_FAILS(tsr_linspace(dev, TSR_F32, 0, 1, -1), TSR_ERR_SHAPE, "linspace");
  finish();
}
