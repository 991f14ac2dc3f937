// SPDX-License-Identifier: MIT
// How f32 becomes bf16 when it is stored: by products where those of the device are exact, and joined from upper halves of words.
#include "lang/emit/spirv/names.h"
#include "lang/emit/spirv/spirv_testing.h"

static tsri_emit_options gpu_options(void) {
  tsri_emit_options o = *tsri_emitter_find("spirv")->defaults;
  o.storage16 = o.i16 = o.exact_products = true;
  o.keeps_nan = 2;
  return o;
}

// Multiplications by the constants of a rounding (two), shifts of words, and shuffles of 16-bit vectors.
typedef struct rounding_counts {
  int products, shifts, shuffles;
} rounding_counts;

static rounding_counts count_in(const char *text, const char *args, const tsri_emit_options *options) {
  tsri_emitted code = emit_spirv(text, args, options);
  const uint32_t *words = code.data;
  rounding_counts counts = {0};
  for (size_t i = 5; i < code.data_bytes / 4; i += words[i] >> 16) {
    uint32_t op = words[i] & 0xffff;
    counts.products += op == SPV_OP_F_MUL;
    counts.shifts += op == SPV_OP_SHIFT_RIGHT_LOGICAL;
    counts.shuffles += op == SPV_OP_VECTOR_SHUFFLE;
  }
  tsri_emitted_deinit(&code);
  return counts;
}

static void check_counts(rounding_counts is, int products, int shifts, int shuffles) {
  CHECK_EQ_INT(is.products, products);
  CHECK_EQ_INT(is.shifts, shifts);
  CHECK_EQ_INT(is.shuffles, shuffles);
}

static const char one[] = "kernel k<T, WG = 32>(in f32 x[], out T y[]) {\n  y[global.x] = T(x[global.x]);\n}\n";
static const char four[] = "kernel k<T, WG = 32>(in f32 x[], out T y[]) {\n  store4(y, 0, Tx4(load4(x, 0)));\n}\n";
static const char two[] = "kernel k<T, WG = 32>(in f32 x[], out T y[]) {\n  store2(y, 0, Tx2(load2(x, 0)));\n}\n";

TEST(stores_to_bf16_round_by_products_and_join_upper_halves) {
  const tsri_emit_options options = gpu_options();
  check_counts(count_in(one, "T=bf16", &options), 2, 0, 0);
  check_counts(count_in(two, "T=bf16", &options), 2, 2, 1);  // the shifts are for the indices of pairs
  check_counts(count_in(four, "T=bf16", &options), 2, 2, 3);
  check_counts(count_in(four, "T=f32", &options), 0, 2, 0);
}

// Products may be flushed or rounded otherwise, or the choice between them compared wrongly.
TEST(stores_to_bf16_round_by_integers_unless_arithmetic_is_exact) {
  for (int i = 0; i < 3; i++) {
    tsri_emit_options options = gpu_options();
    if (i == 0) options.exact_products = false;
    if (i == 1) options.keeps_nan = 5;
    if (i == 2) options.quirks = true;
    check_counts(count_in(one, "T=bf16", &options), 0, 1, 0);
  }
}

TEST(devices_without_integers_of_16_bits_shift_words) {
  tsri_emit_options options = gpu_options();
  options.i16 = false;
  check_counts(count_in(one, "T=bf16", &options), 2, 1, 0);
}
