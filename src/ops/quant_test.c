// SPDX-License-Identifier: MIT
#include <string.h>

#include "ops/ops_testing.h"
#include "runtime/native_op.h"

enum { MOST_BYTES = 210 };

// A u8 tensor of one block.
static tsr_tensor *block_of(const uint8_t *bytes, int64_t count) {
  return tsr_from_data(dev, TSR_U8, TSR_SHAPE(count), bytes, (size_t)count);
}

static void decode_block(tsr_quant_format format, const uint8_t *bytes, int64_t count, float *out, size_t elements) {
  tsr_tensor *y = tsr_dequantize(block_of(bytes, count), format, TSR_F32);
  CHECK_OK(tsr_read(y, out, elements * sizeof *out));
}

// --- Layouts, by blocks made by hand -----------------------------------------------------------------------------------

TEST(a_block_of_q8_0_is_a_scale_and_32_whole_numbers) {
  begin();
  uint8_t bytes[34] = {0x00, 0x38};  // 0.5
  float v[32];
  bytes[2] = 1, bytes[3] = 0xFF, bytes[2 + 15] = 127, bytes[2 + 16] = 0x80, bytes[2 + 31] = 0x81;
  decode_block(TSR_QUANT_Q8_0, bytes, 34, v, 32);
  CHECK_NEAR(v[0], 0.5, 0);
  CHECK_NEAR(v[1], -0.5, 0);
  CHECK_NEAR(v[2], 0, 0);
  CHECK_NEAR(v[15], 63.5, 0);
  CHECK_NEAR(v[16], -64, 0);
  CHECK_NEAR(v[31], -63.5, 0);
  finish();
}

TEST(a_block_of_q4_0_has_its_first_16_elements_in_low_nibbles) {
  begin();
  uint8_t bytes[18] = {0x00, 0xC0};  // -2
  float v[32];
  memset(bytes + 2, 0x88, 16);
  bytes[2] = 0xF1, bytes[3] = 0x08, bytes[17] = 0x7A;
  decode_block(TSR_QUANT_Q4_0, bytes, 18, v, 32);
  CHECK_NEAR(v[0], 14, 0);    // -2 * (1 - 8)
  CHECK_NEAR(v[16], -14, 0);  // -2 * (15 - 8)
  CHECK_NEAR(v[1], 0, 0);
  CHECK_NEAR(v[17], 16, 0);  // -2 * (0 - 8)
  CHECK_NEAR(v[15], -4, 0);
  CHECK_NEAR(v[31], 2, 0);
  finish();
}

TEST(a_block_of_q4_k_has_scales_and_minimums_of_6_bits) {
  begin();
  uint8_t bytes[144] = {0x00, 0x3C, 0x00, 0x40};  // d is 1, m is 2
  float v[256];
  uint8_t *packed = bytes + 4, *q = bytes + 16;
  packed[0] = 3 | 0x80;   // scale 0 is 3; the upper bits of scale 4 are 2
  packed[4] = 5 | 0x40;   // minimum 0 is 5; the upper bits of minimum 4 are 1
  packed[8] = 0x97;       // the lower bits of scale 4 are 7, those of minimum 4 are 9
  packed[3] = 63 | 0xC0;  // scale 3 is 63, scale 7 begins with 3
  packed[7] = 1;          // minimum 3 is 1, minimum 7 begins with 0
  packed[11] = 0x2F;      // scale 7 ends with 15, minimum 7 with 2
  q[0] = 0x4B;            // element 0 has 11, element 32 has 4
  q[32 + 31] = 0xF0;      // element 64 + 63 has 15
  q[64 + 1] = 0x06;       // element 128 + 1 has 6
  q[96 + 2] = 0x90;       // element 192 + 34 has 9
  decode_block(TSR_QUANT_Q4_K, bytes, 144, v, 256);
  CHECK_NEAR(v[0], 3 * 11 - 2 * 5, 0);
  CHECK_NEAR(v[1], -2 * 5, 0);
  CHECK_NEAR(v[32], 0, 0);  // its scale and minimum are 0
  CHECK_NEAR(v[127], 63 * 15 - 2 * 1, 0);
  CHECK_NEAR(v[129], (2 * 16 + 7) * 6 - 2 * (16 + 9), 0);
  CHECK_NEAR(v[226], 63 * 9 - 2 * 2, 0);
  finish();
}

TEST(a_block_of_q6_k_has_its_scale_at_the_end) {
  begin();
  uint8_t bytes[210] = {0};
  float v[256];
  for (int i = 0; i < 16; i++) bytes[192 + i] = (uint8_t)(i + 1);
  bytes[192 + 9] = 0x80;                 // -128
  bytes[208] = 0x00, bytes[209] = 0x34;  // 0.25
  bytes[0] = 0x53;                       // lower bits: 3 of element 0, 5 of element 64
  bytes[128] = 0xE4;                     // upper bits of elements 0, 32, 64 and 96: 0, 1, 2, 3
  bytes[32] = 0x1F;                      // 15 of element 32, 1 of element 96
  bytes[64 + 16] = 0x07;                 // element 128 + 16
  bytes[128 + 32 + 16] = 0x02;
  decode_block(TSR_QUANT_Q6_K, bytes, 210, v, 256);
  CHECK_NEAR(v[0], 0.25 * 1 * (3 - 32), 0);
  CHECK_NEAR(v[32], 0.25 * 3 * (16 + 15 - 32), 0);
  CHECK_NEAR(v[64], 0.25 * 5 * (32 + 5 - 32), 0);
  CHECK_NEAR(v[96], 0.25 * 7 * (48 + 1 - 32), 0);
  CHECK_NEAR(v[1], 0.25 * 1 * -32, 0);
  CHECK_NEAR(v[128 + 16], 0.25 * -128 * (32 + 7 - 32), 0);
  CHECK_NEAR(v[255], 0.25 * 16 * -32, 0);
  finish();
}

// --- Special values ----------------------------------------------------------------------------------------------------

TEST(a_nan_or_an_infinity_makes_its_block_nan_and_no_other) {
  begin();
  for (int format = 0; format < TSR_QUANT_FORMAT_COUNT; format++) {
    static float x[512], v[512];
    for (int kind = 0; kind < 3; kind++) {
      for (int i = 0; i < 512; i++) x[i] = (float)(i % 7) - 3;
      x[40] = kind == 0 ? NAN : kind == 1 ? INFINITY : -INFINITY;
      tsr_tensor *q = tsr_quantize(tsr_from_data(dev, TSR_F32, TSR_SHAPE(512), x, sizeof x), (tsr_quant_format)format);
      CHECK_OK(tsr_read(tsr_dequantize(q, (tsr_quant_format)format, TSR_F32), v, sizeof v));
      int block = format <= TSR_QUANT_Q4_0 ? 32 : 256;
      for (int i = 0; i < 512; i++) CHECK(!!isnan(v[i]) == (i / block == 40 / block));
    }
  }
  finish();
}

TEST(blocks_of_zeros_and_of_huge_and_tiny_numbers_stay_finite) {
  begin();
  static const float sizes[] = {0, 1e-30F, 1e-6F, 1e6F, 3e38F};
  for (int i = 0; i < 5 * TSR_QUANT_FORMAT_COUNT; i++) {
    static float x[256], v[256];
    float size = sizes[i / TSR_QUANT_FORMAT_COUNT];
    for (int j = 0; j < 256; j++) x[j] = j % 3 == 0 ? size : -size;
    tsr_quant_format format = (tsr_quant_format)(i % TSR_QUANT_FORMAT_COUNT);
    tsr_tensor *q = tsr_quantize(tsr_from_data(dev, TSR_F32, TSR_SHAPE(256), x, sizeof x), format);
    CHECK_OK(tsr_read(tsr_dequantize(q, format, TSR_F32), v, sizeof v));
    for (int j = 0; j < 256; j++) CHECK(isfinite(v[j]) && fabsf(v[j]) <= 1.15F * size + 1e-6F);
  }
  finish();
}

// Root of the mean of squared errors of normal numbers, which have a deviation of 1.
static double error_of(tsr_quant_format format) {
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(64, 1024), 7);
  tsr_tensor *off = tsr_sub(tsr_dequantize(tsr_quantize(x, format), format, TSR_F32), x);
  double mean = 0;
  CHECK_OK(tsr_item(tsr_mean(tsr_square(off), NULL, 0, false), &mean));
  return sqrt(mean);
}

TEST(errors_are_those_of_the_bits_that_a_format_has) {
  begin();
  CHECK(error_of(TSR_QUANT_Q8_0) < 0.006);
  CHECK(error_of(TSR_QUANT_Q6_K) < 0.02);
  CHECK(error_of(TSR_QUANT_Q4_0) < 0.1);
  CHECK(error_of(TSR_QUANT_Q4_K) < 0.08);
  CHECK(error_of(TSR_QUANT_Q4_K) < error_of(TSR_QUANT_Q4_0));
  finish();
}

// --- Products ----------------------------------------------------------------------------------------------------------

TEST(a_product_with_blocks_is_the_product_with_their_numbers) {
  begin();
  for (int i = 0; i < 3 * TSR_QUANT_FORMAT_COUNT; i++) {
    static const int64_t rows[] = {1, 6, 33};
    tsr_quant_format format = (tsr_quant_format)(i % TSR_QUANT_FORMAT_COUNT);
    tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(rows[i / TSR_QUANT_FORMAT_COUNT], 512), 1);
    tsr_tensor *w = tsr_quantize(tsr_randn(dev, TSR_F32, TSR_SHAPE(9, 512), 2), format);
    tsr_tensor *wanted = tsr_matmul(x, tsr_transpose(tsr_dequantize(w, format, TSR_F32), 0, 1));
    double off = 1;
    CHECK_OK(tsr_item(tsr_max(tsr_abs(tsr_sub(tsr_matmul_quantized(x, w, format), wanted)), NULL, 0, false), &off));
    CHECK(off < 1e-4);
  }
  finish();
}

// Weights of 64 x 256 in f32 are two pieces of what a binding holds.
TEST(many_rows_are_multiplied_by_decoded_copies_of_pieces_of_the_weights) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F16, TSR_SHAPE(2, 16, 256), 1);
  tsr_tensor *w = tsr_quantize(tsr_randn(dev, TSR_F32, TSR_SHAPE(64, 256), 2), TSR_QUANT_Q4_K);
  tsr_tensor *wide = tsr_dequantize(w, TSR_QUANT_Q4_K, TSR_F32),
             *wanted = tsr_matmul(tsr_cast(x, TSR_F32), tsr_transpose(wide, 0, 1));
  tsr_tensor *all[] = {x, w, wanted};
  for (int i = 0; i < 3; i++) CHECK_OK(tsr_evaluate(all[i]));
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(dev, &before));
  uint64_t most = dev->limits.max_binding_bytes;
  tsri_native_allow(false);
  dev->limits.max_binding_bytes = 40000;
  tsr_tensor *y = tsr_matmul_quantized(x, w, TSR_QUANT_Q4_K);
  dev->limits.max_binding_bytes = most;
  CHECK_OK(tsr_evaluate(y));
  tsri_native_allow(true);
  CHECK_OK(tsr_device_get_counters(dev, &after));
  CHECK((int)(after.launches - before.launches) >= 5);  // two copies, two products, and the results joined
  double off = 1;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(tsr_sub(y, wanted)), NULL, 0, false), &off));
  CHECK(off < 0.05);
  finish();
}

TEST(what_follows_a_product_with_blocks_is_fused_with_it) {
  begin();
  tsr_tensor *w = tsr_quantize(tsr_randn(dev, TSR_F32, TSR_SHAPE(9, 64), 2), TSR_QUANT_Q8_0);
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 64), 1), *bias = tsr_randn(dev, TSR_F32, TSR_SHAPE(9), 3);
  float product[27], y[27], b[9];
  CHECK_OK(tsr_read(tsr_matmul_quantized(x, w, TSR_QUANT_Q8_0), product, sizeof product));
  CHECK_OK(tsr_read(bias, b, sizeof b));
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(dev, &before));
  CHECK_OK(tsr_read(tsr_relu(tsr_add(tsr_matmul_quantized(x, w, TSR_QUANT_Q8_0), bias)), y, sizeof y));
  CHECK_OK(tsr_device_get_counters(dev, &after));
  CHECK_EQ_INT((int)(after.launches - before.launches), 1);
  for (int i = 0; i < 27; i++) CHECK_NEAR(y[i], fmax(0, product[i] + b[i % 9]), 1e-5);
  tsr_tensor *none = tsr_matmul_quantized(tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 0)),
                                          tsr_zeros(dev, TSR_U8, TSR_SHAPE(2, 0)), TSR_QUANT_Q4_K);
  CHECK_VALUES(tsr_add(none, list(TSR_F32, TSR_SHAPE(2), 3, -4)), TSR_F32, TSR_SHAPE(1, 2), 0, 3, -4);
  finish();
}

// A product of `rows` rows with bias, activation and residual, as one native operator, against operators on decoded weights.
static void check_native_product(tsr_quant_format format, tsr_dtype dtype, int64_t rows, double bound) {
  tsr_tensor *x = tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(rows, 512), 1), dtype);
  tsr_tensor *w = tsr_quantize(tsr_randn(dev, TSR_F32, TSR_SHAPE(37, 512), 2), format), *y = NULL, *wanted = NULL;
  tsr_tensor *bias = tsr_randn(dev, dtype, TSR_SHAPE(37), 3), *rest = tsr_randn(dev, dtype, TSR_SHAPE(rows, 37), 4);
  tsr_tensor *all[] = {x, w, bias, rest};
  for (int i = 0; i < 4; i++) CHECK_OK(tsr_evaluate(all[i]));
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(dev, &before));
  y = tsr_add(tsr_gelu(tsr_add(tsr_matmul_quantized(x, w, format), bias)), rest);
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_device_get_counters(dev, &after));
  CHECK_EQ_INT((int)(after.launches - before.launches), 1);
  tsr_tensor *weights = tsr_transpose(tsr_dequantize(w, format, TSR_F64), 0, 1);
  wanted = tsr_add(tsr_gelu(tsr_add(tsr_matmul(tsr_cast(x, TSR_F64), weights), bias)), rest);
  double off = 1;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(tsr_sub(y, wanted)), NULL, 0, false), &off));
  CHECK(off < bound);
}

TEST(the_cpu_multiplies_blocks_with_what_follows_at_every_simd_level) {
  static const char *const levels[] = {"baseline", "avx2", "avx512"};
  static const int64_t rows[] = {1, 5, 19};
  for (int level = 0; level < 3; level++) {
    CHECK_OK(tsr_config_set("simd", levels[level]));
    if (tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &dev) != TSR_OK) continue;  // the processor lacks it
    test_scope = tsr_scope_begin(dev);
    for (int i = 0; i < 3 * TSR_QUANT_FORMAT_COUNT; i++) {
      tsr_quant_format format = (tsr_quant_format)(i % TSR_QUANT_FORMAT_COUNT);
      check_native_product(format, TSR_F32, rows[i / TSR_QUANT_FORMAT_COUNT], 1e-3);
      check_native_product(format, TSR_F16, rows[i / TSR_QUANT_FORMAT_COUNT], 0.1);
    }
    finish();
  }
  CHECK_OK(tsr_config_set("simd", NULL));
}

TEST(blocks_that_begin_at_an_odd_byte_are_read_as_they_lie) {
  begin();
  static uint8_t bytes[1 + 2 * 18];
  for (int i = 0; i < 37; i++) bytes[i] = (uint8_t)(i * 37);
  bytes[1] = bytes[19] = 0, bytes[2] = bytes[20] = 0x3C;
  tsr_tensor *all = tsr_from_data(dev, TSR_U8, TSR_SHAPE(37), bytes, sizeof bytes);
  tsr_tensor *odd = tsr_reshape(tsr_slice(all, 0, 1, 37, 1), TSR_SHAPE(2, 18));
  tsr_tensor *even = tsr_from_data(dev, TSR_U8, TSR_SHAPE(2, 18), bytes + 1, 36);
  float a[64], b[64], p[2], q[2];
  CHECK_OK(tsr_read(tsr_dequantize(odd, TSR_QUANT_Q4_0, TSR_F32), a, sizeof a));
  CHECK_OK(tsr_read(tsr_dequantize(even, TSR_QUANT_Q4_0, TSR_F32), b, sizeof b));
  CHECK(memcmp(a, b, sizeof a) == 0);
  tsr_tensor *x = tsr_ones(dev, TSR_F32, TSR_SHAPE(32));
  CHECK_OK(tsr_read(tsr_matmul_quantized(x, odd, TSR_QUANT_Q4_0), p, sizeof p));
  CHECK_OK(tsr_read(tsr_matmul_quantized(x, even, TSR_QUANT_Q4_0), q, sizeof q));
  CHECK(memcmp(p, q, sizeof p) == 0);
  finish();
}

TEST(wrong_blocks_are_refused_with_their_sizes) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 40)), *w = tsr_zeros(dev, TSR_U8, TSR_SHAPE(3, 35));
  CHECK_FAILS(tsr_quantize(x, TSR_QUANT_Q4_0), TSR_ERR_SHAPE,
              "quantize: x is 2x40, its last axis is no whole number of q4_0 blocks, which are 32 elements");
  CHECK_FAILS(tsr_quantize(tsr_zeros(dev, TSR_F32, TSR_SCALAR), TSR_QUANT_Q4_0), TSR_ERR_SHAPE, "no whole number");
  CHECK_FAILS(tsr_dequantize(w, TSR_QUANT_Q8_0, TSR_F32), TSR_ERR_SHAPE, "q8_0 blocks, which are 34 bytes");
  CHECK_FAILS(tsr_dequantize(x, TSR_QUANT_Q8_0, TSR_F32), TSR_ERR_DTYPE, "blocks of q8_0 are u8, not f32");
  CHECK_FAILS(tsr_quantize(x, (tsr_quant_format)9), TSR_ERR_INVALID_ARGUMENT, "9 is no format");
  tsr_tensor *rows = tsr_zeros(dev, TSR_U8, TSR_SHAPE(3, 34));
  CHECK_FAILS(tsr_matmul_quantized(x, rows, TSR_QUANT_Q8_0), TSR_ERR_SHAPE, "rows of 32 elements");
  finish();
}
