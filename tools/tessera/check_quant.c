// SPDX-License-Identifier: MIT
// Quantised weights: reference and cases. Blocks are decoded element by element, from the formats' definitions.
#include <math.h>
#include <string.h>

#include "check.h"
#include "check_reference.h"

typedef struct format {
  const char *name;
  int block, bytes;
  int scales;  // half-words of f16 among the bytes
  int scale_at[2];
} format;

static const format formats[TSR_QUANT_FORMAT_COUNT] = {
    [TSR_QUANT_Q8_0] = {"q8_0", 32, 34, 1, {0}},
    [TSR_QUANT_Q4_0] = {"q4_0", 32, 18, 1, {0}},
    [TSR_QUANT_Q4_K] = {"q4_K", 256, 144, 2, {0, 2}},
    [TSR_QUANT_Q6_K] = {"q6_K", 256, 210, 1, {208}},
};

// --- Reference --------------------------------------------------------------------------------------------------------

static double half_at(const uint8_t *bytes) { return check_decode(TSR_F16, bytes).real; }

static double q4_k_element(const uint8_t *block, int i) {
  const uint8_t *packed = block + 4;
  int sub = i / 32, scale, least;
  if (sub < 4) {
    scale = packed[sub] & 63;
    least = packed[sub + 4] & 63;
  } else {
    scale = (packed[sub + 4] & 15) | (packed[sub - 4] >> 6 << 4);
    least = (packed[sub + 4] >> 4) | (packed[sub] >> 6 << 4);
  }
  int byte = block[16 + i / 64 * 32 + i % 32], q = i % 64 < 32 ? byte & 15 : byte >> 4;
  return half_at(block) * scale * q - half_at(block + 2) * least;
}

static double q6_k_element(const uint8_t *block, int i) {
  int half = i / 128, rest = i % 128, quarter = rest / 32, l = rest % 32;
  int low = block[half * 64 + l + quarter % 2 * 32], high = block[128 + half * 32 + l] >> (quarter * 2) & 3;
  int q = (quarter < 2 ? low & 15 : low >> 4) | high << 4;
  return half_at(block + 208) * (int8_t)block[192 + i / 16] * (q - 32);
}

// Element i of a block, rounded to f32.
static double element(tsr_quant_format id, const uint8_t *block, int i) {
  switch (id) {
    case TSR_QUANT_Q8_0:
      return half_at(block) * (int8_t)block[2 + i];
    case TSR_QUANT_Q4_0:
      return half_at(block) * ((i < 16 ? block[2 + i] & 15 : block[2 + i - 16] >> 4) - 8);
    case TSR_QUANT_Q4_K:
      return (double)(float)q4_k_element(block, i);
    default:
      return (double)(float)q6_k_element(block, i);
  }
}

static double decoded(tsr_quant_format id, const uint8_t *bytes, int64_t i) {
  return element(id, bytes + i / formats[id].block * formats[id].bytes, (int)(i % formats[id].block));
}

// --- Inputs -----------------------------------------------------------------------------------------------------------

static void put_half(uint8_t *bytes, double value) {
  check_encode(TSR_F16, (check_value){.real = check_round(TSR_F16, value)}, bytes);
}

// Blocks of random bytes. Their scales are set to moderate numbers, unless any_scales.
static uint8_t *random_blocks(check_run *run, const format *f, int64_t blocks, bool any_scales) {
  uint8_t *bytes = check_alloc(run, (size_t)(blocks * f->bytes) + 1, 1);
  for (int64_t i = 0; i < blocks * f->bytes; i++) bytes[i] = (uint8_t)check_random(run, 256);
  for (int64_t i = 0; i < blocks * f->scales && !any_scales; i++) {
    double scale = (1 + (double)check_random(run, 1000)) / 4096 * (check_random(run, 2) ? 1 : -1);
    put_half(bytes + i / f->scales * f->bytes + f->scale_at[i % f->scales], scale);
  }
  return bytes;
}

static check_tensor *bytes_input(check_run *run, const uint8_t *bytes, tsr_shape shape, check_view view) {
  int64_t count = check_count(shape);
  check_value *values = check_alloc(run, (size_t)count + 1, sizeof *values);
  for (int64_t i = 0; i < count; i++) values[i].whole = bytes[i];
  return check_input_of(run, TSR_U8, shape, view, values);
}

static void put_scales(check_run *run, uint8_t *packed) {
  for (int j = 0; j < 8; j++) {
    unsigned scale = j == 5 ? 63 : 1 + (unsigned)check_random(run, 63);
    unsigned least = j == 2 ? 63 : (unsigned)check_random(run, 64);
    if (j < 4) {
      packed[j] = (uint8_t)((packed[j] & 192) | scale);
      packed[j + 4] = (uint8_t)((packed[j + 4] & 192) | least);
    } else {
      packed[j + 4] = (uint8_t)((scale & 15) | (least & 15) << 4);
      packed[j - 4] = (uint8_t)((packed[j - 4] & 63) | scale >> 4 << 6);
      packed[j] = (uint8_t)((packed[j] & 63) | least >> 4 << 6);
    }
  }
}

// Changes a block of random bytes into one that quantize reproduces from the decoded elements. For that, each part must contain its extreme elements, and the
// block the largest scales.
static void make_canonical(check_run *run, tsr_quant_format id, uint8_t *block) {
  if (id == TSR_QUANT_Q8_0) {
    put_half(block, fabs(half_at(block)));
    for (int i = 0; i < 32; i++) block[2 + i] = (uint8_t)((int)check_random(run, 255) - 127);
    block[2 + check_random(run, 32)] = (uint8_t)(check_random(run, 2) ? 127 : -127);
  } else if (id == TSR_QUANT_Q4_0) {
    block[2 + check_random(run, 16)] &= 0xF0;  // an element with q = 0, which is -8 * d
  } else if (id == TSR_QUANT_Q4_K) {
    put_half(block, fabs(half_at(block)));
    put_half(block + 2, fabs(half_at(block + 2)));
    put_scales(run, block + 4);
    for (int run_of_64 = 0; run_of_64 < 4; run_of_64++) {  // both parts have a 0 and a 15
      block[16 + run_of_64 * 32 + 3] = 0x0F;
      block[16 + run_of_64 * 32 + 30] = 0xF0;
    }
  } else {
    for (int i = 0; i < 16; i++)
      block[192 + i] = (uint8_t)((check_random(run, 2) ? 1 : -1) * (1 + (int)check_random(run, 127)));
    block[192 + check_random(run, 16)] = 0x80;
    for (int i = 0; i < 256; i += 16) {  // q = 0 in each part
      int half = i / 128, quarter = i % 128 / 32, l = i % 32;
      block[half * 64 + l + quarter % 2 * 32] &= quarter < 2 ? 0xF0 : 0x0F;
      block[128 + half * 32 + l] &= (uint8_t) ~(3 << (quarter * 2));
    }
  }
}

typedef struct blocks_case {
  const char *name;
  check_weight weight;
  tsr_shape rows;  // all axes but the last
  int64_t blocks;  // of a row
  check_view view;
} blocks_case;

static const blocks_case cases[] = {
    {"one", CHECK_OFTEN, {0}, 1, CHECK_PLAIN},
    {"odd", CHECK_ALWAYS, {1, {3}}, 3, CHECK_PLAIN},
    {"batch", CHECK_HEAVY, {3, {2, 1, 3}}, 2, CHECK_PLAIN},
    {"transposed", CHECK_HEAVY, {1, {5}}, 1, CHECK_TRANSPOSED},
    {"sliced", CHECK_HEAVY, {1, {2}}, 2, CHECK_SLICED},
    {"reversed", CHECK_HEAVY, {1, {3}}, 1, CHECK_REVERSED},
    {"offset", CHECK_HEAVY, {1, {3}}, 1, CHECK_OFFSET},
    {"many", CHECK_HEAVY, {1, {13}}, 19, CHECK_PLAIN},
    {"no-rows", CHECK_OFTEN, {1, {0}}, 2, CHECK_PLAIN},
    {"no-blocks", CHECK_OFTEN, {1, {3}}, 0, CHECK_PLAIN},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static tsr_shape with_last(tsr_shape rows, int64_t last) {
  rows.dims[rows.rank++] = last;
  return rows;
}

static int64_t blocks_in(const blocks_case *c) { return check_count(c->rows) * c->blocks; }

// --- quantize ---------------------------------------------------------------------------------------------------------

static void expect_bytes(check_run *run, tsr_tensor *result, const uint8_t *bytes, tsr_shape shape) {
  check_expected *wanted = check_expect(run, TSR_U8, shape);
  for (int64_t i = 0; i < wanted->count; i++) wanted->values[i].whole = bytes[i];
  check_result(run, result, wanted);
}

// Checks that quantising the decoded elements of a block gives the same block.
static void run_grid(check_run *run, tsr_quant_format id, const blocks_case *c) {
  const format *f = &formats[id];
  uint8_t *bytes = random_blocks(run, f, blocks_in(c), false);
  for (int64_t i = 0; i < blocks_in(c); i++) make_canonical(run, id, bytes + i * f->bytes);
  tsr_shape shape = with_last(c->rows, c->blocks * f->block);
  int64_t count = check_count(shape);
  check_value *values = check_alloc(run, (size_t)count + 1, sizeof *values);
  for (int64_t i = 0; i < count; i++) values[i].real = decoded(id, bytes, i);
  check_tensor *x = check_input_of(run, TSR_F32, shape, c->view, values);
  expect_bytes(run, tsr_quantize(x->tensor, id), bytes, with_last(c->rows, c->blocks * f->bytes));
}

// Checks that x of any dtype gives the same bytes as x converted to f32.
static void run_as_f32(check_run *run, tsr_quant_format id, tsr_dtype dtype, const blocks_case *c) {
  const format *f = &formats[id];
  tsr_shape shape = with_last(c->rows, c->blocks * f->block), packed = with_last(c->rows, c->blocks * f->bytes);
  check_tensor *x = check_input(run, dtype, shape, c->view, CHECK_TAME);
  check_value *values = check_alloc(run, (size_t)x->count + 1, sizeof *values);
  for (int64_t i = 0; i < x->count; i++) values[i] = check_convert(TSR_F32, dtype, x->values[i]);
  check_tensor *same = check_input_of(run, TSR_F32, shape, CHECK_PLAIN, values);
  check_waits(run);  // the expected bytes are computed by the device as well
  size_t bytes = (size_t)check_count(packed);
  uint8_t *wanted = check_alloc(run, bytes + 1, 1);
  tsr_tensor *result = tsr_quantize(same->tensor, id);
  tsr_status status = tsr_read(result, wanted, bytes);
  tsr_release(result);
  if (status != TSR_OK) check_call_failed(run, status);
  else expect_bytes(run, tsr_quantize(x->tensor, id), wanted, packed);
}

// The largest error that the contract in ops.h allows, as a part of the largest magnitude in the block.
static double worst(tsr_quant_format id) {
  static const double parts[] = {
      [TSR_QUANT_Q8_0] = 250, [TSR_QUANT_Q4_0] = 7.9, [TSR_QUANT_Q4_K] = 7, [TSR_QUANT_Q6_K] = 16};
  return 1 / parts[id];
}

// Checks that the errors of random numbers are within the contract.
static void run_errors(check_run *run, tsr_quant_format id, const blocks_case *c) {
  const format *f = &formats[id];
  tsr_shape shape = with_last(c->rows, c->blocks * f->block), packed = with_last(c->rows, c->blocks * f->bytes);
  check_tensor *x = check_input(run, TSR_F32, shape, c->view, CHECK_TAME);
  uint8_t *bytes = check_alloc(run, (size_t)check_count(packed) + 1, 1);
  check_waits(run);  // reads the bytes
  tsr_tensor *result = tsr_quantize(x->tensor, id);
  tsr_status status = tsr_read(result, bytes, (size_t)check_count(packed));
  if (status == TSR_OK) {
    for (int64_t i = 0; i < x->count; i++) {
      double largest = 0;
      const check_value *block = x->values + i / f->block * f->block;
      for (int j = 0; j < f->block; j++) largest = fmax(largest, fabs(block[j].real));
      double off = fabs(decoded(id, bytes, i) - x->values[i].real);
      if (off <= largest * worst(id)) continue;
      check_fail(run, "element %lld is %g, the block stands for %g; the largest of the block is %g", (long long)i,
                 x->values[i].real, decoded(id, bytes, i), largest);
      tsr_release(result);
      return;
    }
    expect_bytes(run, result, bytes, packed);
  } else {
    tsr_release(result);
    check_call_failed(run, status);
  }
}

void check_quantize(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < CASES * TSR_QUANT_FORMAT_COUNT; i++) {
    const blocks_case *c = &cases[i / TSR_QUANT_FORMAT_COUNT];
    tsr_quant_format id = (tsr_quant_format)(i % TSR_QUANT_FORMAT_COUNT);
    if (dtype == TSR_F32) {
      if (check_begin(run, c->weight, "%s-%s", formats[id].name, c->name)) run_grid(run, id, c);
      if (check_begin(run, c->weight, "%s-errors-%s", formats[id].name, c->name)) run_errors(run, id, c);
    } else if (check_begin(run, CHECK_HEAVY, "%s-%s", formats[id].name, c->name)) {
      run_as_f32(run, id, dtype, c);
    }
  }
  if (check_begin(run, CHECK_OFTEN, "part-of-a-block")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(2, 40), CHECK_PLAIN, CHECK_TAME);
    check_refused(run, tsr_quantize(x->tensor, TSR_QUANT_Q4_0), TSR_ERR_SHAPE);
  }
}

// --- dequantize -------------------------------------------------------------------------------------------------------

static void run_dequantize(check_run *run, tsr_quant_format id, tsr_dtype dtype, const blocks_case *c,
                           bool any_scales) {
  const format *f = &formats[id];
  uint8_t *bytes = random_blocks(run, f, blocks_in(c), any_scales);
  check_tensor *x = bytes_input(run, bytes, with_last(c->rows, c->blocks * f->bytes), c->view);
  check_expected *wanted = check_expect(run, dtype, with_last(c->rows, c->blocks * f->block));
  for (int64_t i = 0; i < wanted->count; i++) wanted->values[i].real = decoded(id, bytes, i);
  check_result(run, tsr_dequantize(x->tensor, id, dtype), wanted);
}

void check_dequantize(check_run *run, const check_op *op, tsr_dtype dtype) {
  bool is_taken = op->dtypes & CHECK_BIT(dtype);
  for (int i = 0; i < CASES * TSR_QUANT_FORMAT_COUNT && is_taken; i++) {
    const blocks_case *c = &cases[i / TSR_QUANT_FORMAT_COUNT];
    tsr_quant_format id = (tsr_quant_format)(i % TSR_QUANT_FORMAT_COUNT);
    check_weight weight = dtype == TSR_F32 ? c->weight : CHECK_HEAVY;
    if (check_begin(run, weight, "%s-%s", formats[id].name, c->name)) run_dequantize(run, id, dtype, c, false);
    if (check_begin(run, CHECK_HEAVY, "%s-any-%s", formats[id].name, c->name)) run_dequantize(run, id, dtype, c, true);
  }
  if (is_taken && check_begin(run, CHECK_OFTEN, "part-of-a-block")) {
    check_tensor *x = check_input(run, TSR_U8, TSR_SHAPE(2, 36), CHECK_PLAIN, CHECK_ANY);
    check_refused(run, tsr_dequantize(x->tensor, TSR_QUANT_Q8_0, dtype), TSR_ERR_SHAPE);
  }
  if (!is_taken && check_begin(run, CHECK_OFTEN, "refused")) {
    check_tensor *x = check_input(run, TSR_U8, TSR_SHAPE(2, 36), CHECK_PLAIN, CHECK_ANY);
    check_refused(run, tsr_dequantize(x->tensor, TSR_QUANT_Q4_0, dtype), TSR_ERR_DTYPE);
  }
}

// --- matmul_quantized -------------------------------------------------------------------------------------------------

typedef struct product_case {
  const char *name;
  check_weight weight;
  tsr_shape rows;  // of x, all axes but the last
  int64_t n, blocks;
  check_view x_view, w_view;
} product_case;

static const product_case products[] = {
    {"vector", CHECK_ALWAYS, {0}, 7, 2, CHECK_PLAIN, CHECK_PLAIN},
    {"odd", CHECK_HEAVY, {1, {5}}, 3, 3, CHECK_PLAIN, CHECK_PLAIN},
    {"two-rows", CHECK_HEAVY, {1, {2}}, 9, 1, CHECK_TRANSPOSED, CHECK_TRANSPOSED},
    {"offset", CHECK_HEAVY, {1, {3}}, 5, 1, CHECK_OFFSET, CHECK_OFFSET},
    {"sliced", CHECK_HEAVY, {1, {3}}, 5, 2, CHECK_SLICED, CHECK_SLICED},
    {"expanded", CHECK_HEAVY, {1, {3}}, 4, 1, CHECK_EXPANDED, CHECK_PLAIN},
    {"batch", CHECK_HEAVY, {3, {2, 3, 2}}, 5, 1, CHECK_PERMUTED, CHECK_PLAIN},
    {"rows", CHECK_HEAVY, {1, {31}}, 6, 1, CHECK_PLAIN, CHECK_PLAIN},
    {"tile", CHECK_OFTEN, {1, {33}}, 19, 1, CHECK_PLAIN, CHECK_PLAIN},
    {"tile-views", CHECK_HEAVY, {2, {3, 13}}, 5, 2, CHECK_REVERSED, CHECK_REVERSED},
    {"tile-offset", CHECK_HEAVY, {1, {32}}, 3, 1, CHECK_OFFSET, CHECK_OFFSET},
    {"tiles", CHECK_HEAVY, {1, {65}}, 67, 2, CHECK_PLAIN, CHECK_PLAIN},
    {"split", CHECK_HEAVY, {2, {3, 3}}, 37, 40, CHECK_PLAIN, CHECK_PLAIN},
    {"long", CHECK_HEAVY, {1, {1}}, 3, 17, CHECK_PLAIN, CHECK_PLAIN},
    {"row", CHECK_OFTEN, {1, {1}}, 37, 64, CHECK_PLAIN, CHECK_PLAIN},
    {"row-offset", CHECK_HEAVY, {1, {1}}, 18, 54, CHECK_OFFSET, CHECK_PLAIN},
    {"row-rounds", CHECK_HEAVY, {1, {1}}, 5, 300, CHECK_PLAIN, CHECK_PLAIN},
    {"no-rows", CHECK_OFTEN, {1, {0}}, 3, 1, CHECK_PLAIN, CHECK_PLAIN},
    {"no-columns", CHECK_OFTEN, {1, {2}}, 0, 1, CHECK_PLAIN, CHECK_PLAIN},
    {"no-blocks", CHECK_HEAVY, {1, {2}}, 3, 0, CHECK_PLAIN, CHECK_PLAIN},
};
enum { PRODUCTS = sizeof products / sizeof products[0] };

// Element `at` of x * w^T, for n rows of k weights.
static void product_element(const check_tensor *x, const double *w, int64_t n, int64_t k, int64_t at,
                            check_expected *wanted) {
  ref_sum sum = {0};
  const check_value *row = x->values + at / n * k;
  for (int64_t i = 0; i < k; i++) {
    double a = check_convert(wanted->dtype, x->dtype, row[i]).real, b = w[at % n * k + i];
    ref_sum_add_product(&sum, a, b);
    wanted->magnitudes[at] += fabs(a * b);
  }
  wanted->values[at].real = ref_sum_value(&sum);
}

static void run_product(check_run *run, tsr_quant_format id, tsr_dtype dtype, const product_case *c) {
  const format *f = &formats[id];
  int64_t k = c->blocks * f->block;
  uint8_t *bytes = random_blocks(run, f, c->n * c->blocks, false);
  double *weights = check_alloc(run, (size_t)(c->n * k) + 1, sizeof *weights);
  for (int64_t i = 0; i < c->n * k; i++) weights[i] = decoded(id, bytes, i);
  check_tensor *x = check_input(run, dtype, with_last(c->rows, k), c->x_view, CHECK_TAME);
  check_tensor *w = bytes_input(run, bytes, TSR_SHAPE(c->n, c->blocks * f->bytes), c->w_view);
  check_expected *wanted = check_expect(run, check_float(dtype), with_last(c->rows, c->n));
  wanted->terms = k;
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count + 1, sizeof(double));
  for (int64_t i = 0; i < wanted->count; i++) product_element(x, weights, c->n, k, i, wanted);
  check_result(run, tsr_matmul_quantized(x->tensor, w->tensor, id), wanted);
}

void check_matmul_quantized(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < PRODUCTS * TSR_QUANT_FORMAT_COUNT; i++) {
    const product_case *c = &products[i / TSR_QUANT_FORMAT_COUNT];
    tsr_quant_format id = (tsr_quant_format)(i % TSR_QUANT_FORMAT_COUNT);
    check_weight weight =
        dtype == TSR_F32 ? c->weight : CHECK_HEAVY;  // each dtype needs different kernels, which takes time to build
    if (check_begin(run, weight, "%s-%s", formats[id].name, c->name)) run_product(run, id, dtype, c);
  }
  if (check_begin(run, CHECK_OFTEN, "other-length")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(2, 32), CHECK_PLAIN, CHECK_TAME);
    check_tensor *w = check_input(run, TSR_U8, TSR_SHAPE(3, 36), CHECK_PLAIN, CHECK_ANY);
    check_refused(run, tsr_matmul_quantized(x->tensor, w->tensor, TSR_QUANT_Q4_0), TSR_ERR_SHAPE);
  }
}
