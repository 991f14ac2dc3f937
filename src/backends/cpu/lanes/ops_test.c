// SPDX-License-Identifier: MIT
// Every operation of the language, on every type it takes, with lanes and scalars as operands, at every SIMD level.
#include "backends/cpu/lanes/lanes_testing.h"

enum { COUNT = 599 };  // no multiple of a vector

// Values that are corners for one type or another, and noise between them.
static void fill_corners(uint8_t dtype, void *memory, uint64_t seed) {
  static const double corners[] = {0.0,
                                   -0.0,
                                   1,
                                   -1,
                                   2,
                                   0.5,
                                   -0.5,
                                   1.5,
                                   2.5,
                                   -2.5,
                                   3,
                                   7,
                                   -7,
                                   31,
                                   32,
                                   33,
                                   63,
                                   64,
                                   100,
                                   127,
                                   128,
                                   -128,
                                   255,
                                   256,
                                   32767,
                                   -32768,
                                   65504,
                                   65520,
                                   1e5,
                                   16777217,
                                   2147483647,
                                   -2147483648.0,
                                   2147483648.0,
                                   4294967295.0,
                                   4294967296.0,
                                   9.2e18,
                                   -9.3e18,
                                   1e30,
                                   1e-30,
                                   1e-40,
                                   6e-8,
                                   3e-8,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   3.4e38,
                                   1e300};
  enum { CORNERS = sizeof corners / sizeof corners[0] };
  size_t bytes = tsr_dtype_bytes((tsr_dtype)dtype);
  for (size_t i = 0; i < COUNT; i++) {
    char *to = (char *)memory + i * bytes;
    uint32_t pick = next_random(&seed);
    double x = corners[pick % CORNERS];
    if (pick / 64 % 4 == 0) x = ((double)next_random(&seed) - 1e9) / 1e8;
    CHECK_OK(tsr_convert((tsr_dtype)dtype, to, TSR_F64, &x, 1));
    if (pick / 256 % 4 == 0 && (dtype == TSR_I32 || dtype == TSR_U32 || dtype == TSR_I64)) {
      uint64_t noise = (uint64_t)next_random(&seed) << 33 ^ (uint64_t)next_random(&seed) << 7;
      memcpy(to, &noise, bytes);
    }
  }
}

// "a + b", "max(a, b)", "-a"
static void spell(const tsri_ir_op_info *op, const char *const operands[3], char *text, size_t bytes) {
  if (!op->is_operator) {
    const char *separators[] = {"", ", ", ", "};
    int length = snprintf(text, bytes, "%s(", op->spelling);
    for (uint8_t i = 0; i < op->arity; i++) {
      length += snprintf(text + length, bytes - (size_t)length, "%s%s", separators[i], operands[i]);
    }
    snprintf(text + length, bytes - (size_t)length, ")");
  } else if (op->arity == 1) {
    snprintf(text, bytes, "%s%s", op->spelling, operands[0]);
  } else {
    snprintf(text, bytes, "%s %s %s", operands[0], op->spelling, operands[1]);
  }
}

// Sum of one operation's results over lanes (a[i]) and scalars (p): `pattern` has a bit per operand that is a scalar.
static void check_op(const tsri_ir_op_info *op, uint8_t type, uint32_t pattern, double ulps) {
  uint8_t types[3] = {type, op->rule == TSRI_RULE_SHIFT ? TSR_U32 : type, type};
  uint8_t result =
      op->rule == TSRI_RULE_EQUAL || op->rule == TSRI_RULE_ORDER || op->rule == TSRI_RULE_TEST ? TSR_BOOL : type;
  if (op->rule == TSRI_RULE_SELECT) types[0] = TSR_BOOL;
  static const char *const lanes[3] = {"a[i]", "b[i]", "c[i]"}, *const scalars[3] = {"p", "q", "r"};
  const char *operands[3];
  for (int i = 0; i < 3; i++) operands[i] = pattern >> i & 1 ? scalars[i] : lanes[i];
  char call[128], text[512];
  spell(op, operands, call, sizeof call);
  const char *names[3] = {tsr_dtype_name((tsr_dtype)types[0]), tsr_dtype_name((tsr_dtype)types[1]),
                          tsr_dtype_name((tsr_dtype)types[2])};
  snprintf(text, sizeof text,
           "kernel k<WG = 32>(in %s a[], in %s b[], in %s c[], out %s y[], %s p, %s q, %s r, u32 n) {\n"
           "  u32 i = global.x;\n  if (i < n) y[i] = %s;\n}\n",
           names[0], names[1], names[2], tsr_dtype_name((tsr_dtype)result), names[0], names[1], names[2], call);

  static _Alignas(8) char memory[4][COUNT * 8];
  memset(memory, 0, sizeof memory);
  test_buffer buffers[4];
  for (int i = 0; i < 3; i++) fill_corners(types[i], memory[i], (uint64_t)i * 7 + type + pattern);
  for (int i = 0; i < 4; i++) {
    uint8_t dtype = i < 3 ? types[i] : result;
    buffers[i] = (test_buffer){.memory = memory[i], .bytes = COUNT * tsr_dtype_bytes((tsr_dtype)dtype)};
  }
  tsri_kernel *kernel = kernel_of(text, NULL, false);
  for (uint32_t round = 0; round < (pattern ? 6 : 1); round++) {
    _Alignas(8) unsigned char params[64] = {0};
    for (int i = 0; i < 3; i++) {
      size_t bytes = tsr_dtype_bytes((tsr_dtype)types[i]);
      memcpy(params + kernel->params[i].offset, memory[i] + (round * 31 + 5) * bytes, bytes);
    }
    uint32_t n = COUNT;
    memcpy(params + kernel->params[3].offset, &n, sizeof n);
    check_against_reference(kernel, buffers, params, (uint32_t[]){(COUNT + 31) / 32, 1, 1}, ulps);
  }
  tsri_kernel_release(kernel);
}

static bool takes(tsri_ir_rule rule, uint8_t type) {
  bool is_float = type == TSR_F32 || type == TSR_F64, is_int = type == TSR_I32 || type == TSR_U32 || type == TSR_I64;
  switch (rule) {
    case TSRI_RULE_NUMBER:
    case TSRI_RULE_ORDER:
      return is_float || is_int;
    case TSRI_RULE_SIGNED:
      return is_float || type == TSR_I32 || type == TSR_I64;
    case TSRI_RULE_FLOAT:
    case TSRI_RULE_TEST:
      return is_float;
    case TSRI_RULE_INT:
    case TSRI_RULE_SHIFT:
      return is_int;
    case TSRI_RULE_BITS:
      return is_int || type == TSR_BOOL;
    case TSRI_RULE_BOOL:
      return type == TSR_BOOL;
    case TSRI_RULE_WORD:
      return type == TSR_U32;
    case TSRI_RULE_EQUAL:
    case TSRI_RULE_SELECT:
      return is_float || is_int || type == TSR_BOOL;
    default:
      return false;
  }
}

// The functions of the math tables have tests of their own; here they need only be called rightly.
static double ulps_of(int op) { return op >= TSRI_OP_SQRT && op <= TSRI_OP_POW ? 4 : 0; }

static void check_rule(tsri_ir_rule rule) {
  static const uint8_t types[] = {TSR_BOOL, TSR_I32, TSR_U32, TSR_I64, TSR_F32, TSR_F64};
  for (int op = 0; op < TSRI_OP_COUNT; op++) {
    const tsri_ir_op_info *info = &tsri_ir_op_infos[op];
    if (info->rule != rule) continue;
    for (size_t t = 0; t < sizeof types; t++) {
      if (!takes(rule, types[t])) continue;
      for (uint32_t pattern = 0; pattern < 1u << info->arity; pattern++) check_op(info, types[t], pattern, ulps_of(op));
    }
  }
}

TEST(number_operations_agree_with_plain_c) { check_rule(TSRI_RULE_NUMBER); }
TEST(signed_operations_agree_with_plain_c) { check_rule(TSRI_RULE_SIGNED); }
TEST(float_functions_agree_with_plain_c) { check_rule(TSRI_RULE_FLOAT); }
TEST(float_tests_agree_with_plain_c) { check_rule(TSRI_RULE_TEST); }
TEST(integer_operations_agree_with_plain_c) {
  check_rule(TSRI_RULE_INT);
  check_rule(TSRI_RULE_WORD);
}
TEST(bit_operations_agree_with_plain_c) {
  check_rule(TSRI_RULE_BITS);
  check_rule(TSRI_RULE_BOOL);
}
TEST(shifts_agree_with_plain_c) { check_rule(TSRI_RULE_SHIFT); }
TEST(comparisons_agree_with_plain_c) {
  check_rule(TSRI_RULE_EQUAL);
  check_rule(TSRI_RULE_ORDER);
}
TEST(select_agrees_with_plain_c) { check_rule(TSRI_RULE_SELECT); }

// --- Conversions and storage ---

static void check_conversion(uint8_t from, uint8_t to) {
  char text[512];
  const char *source = tsr_dtype_name((tsr_dtype)from), *target = tsr_dtype_name((tsr_dtype)to);
  // Converted and stored; converted, used and stored; from a scalar.
  snprintf(text, sizeof text,
           "kernel k<WG = 64>(in %s a[], out %s y[], out %s z[], %s p, u32 n) {\n  u32 i = global.x;\n  if (i < n) {\n"
           "    y[i] = %s(a[i]);\n    z[i] = i %% 2 == 0 ? %s(p) : %s(a[n - 1 - i]);\n  }\n}\n",
           source, target, target, source, target, target, target);
  static _Alignas(8) char memory[3][COUNT * 8];
  memset(memory, 0, sizeof memory);
  fill_corners(from, memory[0], from * 16u + to);
  size_t bytes[2] = {tsr_dtype_bytes((tsr_dtype)from), tsr_dtype_bytes((tsr_dtype)to)};
  test_buffer buffers[3] = {
      {memory[0], COUNT * bytes[0]}, {memory[1], COUNT * bytes[1]}, {memory[2], COUNT * bytes[1]}};
  tsri_kernel *kernel = kernel_of(text, NULL, false);
  _Alignas(8) unsigned char params[16] = {0};
  uint32_t n = COUNT;
  uint64_t scalar = 0;
  tsr_dtype wide = tsri_ir_compute_dtype((tsr_dtype)from);
  CHECK_OK(tsr_convert(wide, &scalar, (tsr_dtype)from, memory[0] + 3 * bytes[0], 1));
  memcpy(params + kernel->params[0].offset, &scalar, wide == TSR_I64 || wide == TSR_F64 ? 8 : 4);
  memcpy(params + kernel->params[1].offset, &n, sizeof n);
  check_against_reference(kernel, buffers, params, (uint32_t[]){(COUNT + 63) / 64, 1, 1}, 0);
  tsri_kernel_release(kernel);
}

TEST(conversions_agree_with_tsr_convert) {
  for (uint8_t from = 0; from < TSR_DTYPE_COUNT; from++) {
    for (uint8_t to = 0; to < TSR_DTYPE_COUNT; to++) check_conversion(from, to);
  }
}

// All 65536 patterns of f16 and bf16, both ways.
TEST(half_floats_widen_and_round_as_tsr_convert) {
  enum { HALVES = 65536 };
  uint16_t *halves = malloc(HALVES * sizeof *halves);
  float *wide = malloc(HALVES * sizeof *wide), *wanted = malloc(HALVES * sizeof *wanted);
  const uint8_t dtypes[] = {TSR_F16, TSR_BF16};
  for (int t = 0; t < 2; t++) {
    const char *args = t == 0 ? "T=f16" : "T=bf16";
    tsri_lanes_program *widen =
        program_from("kernel k<T: float, WG = 256>(in T x[], out f32 y[]) { y[global.x] = x[global.x]; }", args, false);
    for (int i = 0; i < HALVES; i++) halves[i] = (uint16_t)i;
    CHECK_OK(tsr_convert(TSR_F32, wanted, (tsr_dtype)dtypes[t], halves, HALVES));
    for (int level = 0; level < SIMD_LEVELS; level++) {
      if (!has_level(simd_levels[level])) continue;
      tsri_lanes_buffer buffers[2] = {{halves, HALVES * 2}, {wide, HALVES * 4}};
      CHECK_OK(tsri_lanes_run(
          widen, &(tsri_lanes_launch){
                     .buffers = buffers, .buffer_count = 2, .groups = {256, 1, 1}, .simd = simd_levels[level]}));
      check_elements(simd_levels[level], TSR_F32, wide, wanted, HALVES, 0);
    }
    tsri_lanes_release(widen);
  }
  free(halves);
  free(wide);
  free(wanted);
}

// Values around every point where rounding changes its mind.
TEST(rounding_to_half_floats_is_as_tsr_convert) {
  enum { VALUES = 3 * 65536 };
  float *x = malloc(VALUES * sizeof *x);
  uint16_t *y = malloc(VALUES * sizeof *y), *wanted = malloc(VALUES * sizeof *wanted);
  for (int t = 0; t < 2; t++) {
    tsr_dtype dtype = t == 0 ? TSR_F16 : TSR_BF16;
    for (uint32_t i = 0; i < 65536; i++) {
      uint16_t half = (uint16_t)i, next = (uint16_t)(i + 1);
      float low, high;
      CHECK_OK(tsr_convert(TSR_F32, &low, dtype, &half, 1));
      CHECK_OK(tsr_convert(TSR_F32, &high, dtype, &next, 1));
      float middle = (float)(((double)low + (double)high) / 2);
      x[3 * i] = middle;
      x[3 * i + 1] = nextafterf(middle, INFINITY);
      x[3 * i + 2] = nextafterf(middle, -INFINITY);
    }
    CHECK_OK(tsr_convert(dtype, wanted, TSR_F32, x, VALUES));
    tsri_lanes_program *narrow =
        program_from("kernel k<T: float, WG = 256>(in f32 x[], out T y[]) { y[global.x] = T(x[global.x]); }",
                     t == 0 ? "T=f16" : "T=bf16", false);
    for (int level = 0; level < SIMD_LEVELS; level++) {
      if (!has_level(simd_levels[level])) continue;
      tsri_lanes_buffer buffers[2] = {{x, VALUES * 4}, {y, VALUES * 2}};
      CHECK_OK(tsri_lanes_run(
          narrow, &(tsri_lanes_launch){
                      .buffers = buffers, .buffer_count = 2, .groups = {768, 1, 1}, .simd = simd_levels[level]}));
      check_elements(simd_levels[level], (uint8_t)dtype, y, wanted, VALUES, 0);
    }
    tsri_lanes_release(narrow);
  }
  free(x);
  free(y);
  free(wanted);
}

TEST(product_and_sum_round_twice_and_fma_once) {
  const char *text =
      "kernel k(in f32 a[], in f32 b[], in f32 c[], out f32 y[], out f32 z[]) {\n  u32 i = global.x;\n"
      "  y[i] = a[i] * b[i] + c[i];\n  z[i] = fma(a[i], b[i], c[i]);\n}";
  float a[64], b[64], c[64], zero[64] = {0};
  for (int i = 0; i < 64; i++) {
    a[i] = 1.0f + (float)i * 0x1p-12f;
    b[i] = 1.0f + (float)(i * 3) * 0x1p-13f;
    c[i] = -a[i] * b[i];
  }
  test_buffer buffers[5] = {{a, sizeof a}, {b, sizeof b}, {c, sizeof c}, {zero, sizeof zero}, {zero, sizeof zero}};
  check_text(text, NULL, buffers, NULL, (uint32_t[]){1, 1, 1}, 0);
}

// Long runs of float operators are done a few vectors at a time, some straight to memory; values that are wanted again
// later, several outputs and one that is read as well must come out the same.
TEST(chains_of_float_operators_agree_with_plain_c) {
  static const char *const bodies[] = {
      "y[i] = max(a[i] * b[i] + c[i], 0);",
      "y[i] = min(a[i] - s, b[i]) * (s + c[i]); z[i] = fma(a[i], s, b[i]) + y[i];",
      "f32 t = a[i] + b[i]; y[i] = t; z[i] = t * t - c[i] * s;",
      "z[i] = z[i] * s + a[i]; z[i] = max(z[i], b[i]); y[i] = z[i] - 1;",
      "f32 t = a[i] * s; f32 v = t + b[i]; y[i] = v - t; if (a[i] > 0) z[i] = v; else z[i] = t;",
      "f32 t = 2 * a[i] - 3; for (u32 k = 0; k < 3; k++) { t = t * s + b[i]; y[i] = t; } z[i] = exp(c[i]); y[i] = t;",
      "y[i] = a[i]; z[i] = s;",
      "y[i] = 1 - a[i] / b[i]; z[i] = s - min(s, a[i]) + max(s, b[i]);",
  };
  enum { ITEMS = 9001 };
  static float arrays[5][ITEMS + 1];
  for (size_t k = 0; k < sizeof bodies / sizeof bodies[0]; k++) {
    char text[512];
    snprintf(text, sizeof text,
             "kernel k(in f32 a[], in f32 b[], in f32 c[], inout f32 y[], inout f32 z[], f32 s, u32 n) {\n"
             "  u32 i = global.x;\n  if (i < n) { %s }\n}",
             bodies[k]);
    uint64_t seed = k + 1;
    test_buffer buffers[5];
    for (int m = 0; m < 5; m++) {
      for (int i = 0; i < ITEMS; i++) arrays[m][i] = (float)next_random(&seed) / 1e8f - 10;
      for (int i = 0; i < 40; i++)
        arrays[m][next_random(&seed) % ITEMS] = i % 4 == 0 ? NAN : i % 4 == 1 ? INFINITY : -0.0f;
      buffers[m] = (test_buffer){.memory = arrays[m], .bytes = ITEMS * sizeof(float)};
    }
    struct {
      float s;
      uint32_t n;
    } params = {1.25f, ITEMS - 7};
    check_text(text, NULL, buffers, &params, (uint32_t[]){(ITEMS + 63) / 64, 1, 1}, k == 5 ? 4 : 0);
  }
}
