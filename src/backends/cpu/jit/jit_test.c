// SPDX-License-Identifier: MIT
// Compiled runs: what is compiled, that results have the interpreter's bits, and that kernels run where nothing can be compiled.
#include "backends/cpu/jit/jit.h"

#include <math.h>

#include "backends/cpu/lanes/lanes_testing.h"
#include "platform/code_memory.h"

static const char *const compiled_levels[] = {"avx2", "avx512", "neon"};
enum { COMPILED_LEVELS = sizeof compiled_levels / sizeof compiled_levels[0] };

static bool can_compile(const char *level) { return has_level(level); }

// The first level that this processor has; NULL: none.
static const char *first_level(void) {
  for (int i = 0; i < COMPILED_LEVELS; i++) {
    if (can_compile(compiled_levels[i])) return compiled_levels[i];
  }
  return NULL;
}

// What only the compiler for x86-64 has: sin, cos and tan, and values of 64 bits.
#define REQUIRE_X86_COMPILER() \
  if (!can_compile("avx2")) SKIP("this processor has neither AVX2 nor AVX-512")

#define REQUIRE_COMPILER() \
  if (!first_level()) SKIP("this processor has no instructions that kernels are compiled to")

// y[i] = the expression of v = x[i]
static const char *element_wise(const char *expression) {
  static char text[4096];
  snprintf(text, sizeof text,
           "kernel k<WG = 256>(in f32 x[], out f32 y[], u32 n) {\n"
           "  u32 i = global.x;\n  if (i < n) { f32 v = x[i]; y[i] = %s; }\n}\n",
           expression);
  return text;
}

static tsr_status launch(const tsri_lanes_program *program, const char *level, bool is_compiled, const float *x,
                         float *y, uint32_t n) {
  tsri_lanes_buffer buffers[2] = {{(void *)(uintptr_t)x, n * sizeof *x}, {y, n * sizeof *y}};
  tsri_lanes_launch given = {.buffers = buffers,
                             .buffer_count = 2,
                             .params = &n,
                             .params_bytes = sizeof n,
                             .groups = {(n + 255) / 256, 1, 1},
                             .threads = 1,
                             .simd = level,
                             .allow_jit = is_compiled};
  return tsri_lanes_run(program, &given);
}

// Runs the expression compiled and interpreted at every level there is; results have the same bits, NaNs aside.
static void check_same_bits(const char *expression, const float *x, uint32_t n) {
  float *wanted = malloc(n * sizeof *wanted), *is = malloc(n * sizeof *is);
  tsri_lanes_program *program = program_from(element_wise(expression), NULL, false);
  for (int i = 0; i < COMPILED_LEVELS; i++) {
    if (!can_compile(compiled_levels[i])) continue;
    CHECK_OK(launch(program, compiled_levels[i], false, x, wanted, n));
    jit_counts before = tsri_jit_counts();
    CHECK_OK(launch(program, compiled_levels[i], true, x, is, n));
    jit_counts after = tsri_jit_counts();
    CHECK(after.compiled > before.compiled);
    CHECK_EQ_UINT(after.interpreted, before.interpreted);
    check_elements(expression, TSR_F32, is, wanted, n, 0);
  }
  tsri_lanes_release(program);
  free(wanted);
  free(is);
}

// Numbers of every size and sign, with the special ones.
static float *all_kinds(uint32_t n) {
  static const uint32_t special[] = {0,          0x80000000, 1,          0x807fffff, 0x7f800000, 0xff800000,
                                     0x7fc00000, 0x7f7fffff, 0x3f800000, 0xbf800000, 0x42b17218, 0xc2cff1b5};
  float *x = malloc(n * sizeof *x);
  uint64_t seed = 7;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t bits = next_random(&seed) ^ next_random(&seed) << 1;
    if (i < sizeof special / sizeof special[0]) bits = special[i];
    memcpy(&x[i], &bits, sizeof bits);
    if (i % 2 == 0 && i >= 64) x[i] = (float)(next_random(&seed) % 20000) * 0.01f - 100.0f;
  }
  return x;
}

// Each of `count` functions of v, on numbers of all kinds.
static void check_functions(const char *const *expressions, size_t count) {
  enum { N = 50007 };
  float *x = all_kinds(N);
  for (size_t i = 0; i < count; i++) {
    char text[64];
    snprintf(text, sizeof text, "%s + 0.25 * v", expressions[i]);
    check_same_bits(text, x, N);
  }
  free(x);
}

TEST(functions_are_inlined_and_have_the_interpreters_bits) {
  REQUIRE_COMPILER();
  static const char *const expressions[] = {
      "exp(v)",  "exp2(v)", "expm1(v)",      "log(v)",         "log2(v)",           "log10(v)",     "log1p(v)",
      "sinh(v)", "cosh(v)", "tanh(v)",       "erf(v)",         "sqrt(v)",           "rsqrt(v)",     "asin(v)",
      "acos(v)", "atan(v)", "asin(v / 100)", "acos(v * 0.01)", "atan2(v, 3.0 - v)", "atan2(0.5, v)"};
  check_functions(expressions, sizeof expressions / sizeof expressions[0]);
}

TEST(powers_are_inlined_and_have_the_interpreters_bits) {
  REQUIRE_X86_COMPILER();
  static const char *const expressions[] = {"pow(v, 2.5)", "pow(v, floor(v * 0.5))", "pow(abs(v), v * 0.1)",
                                            "pow(1.01, v)"};
  check_functions(expressions, sizeof expressions / sizeof expressions[0]);
}

// Of huge numbers the C library's functions are taken: the run is interpreted then, in place of what the code has left.
TEST(circular_functions_are_inlined_unless_a_lane_is_beyond_their_limit) {
  REQUIRE_X86_COMPILER();
  enum { N = 20011 };
  float *x = all_kinds(N), *wanted = malloc(N * sizeof *x), *is = malloc(N * sizeof *x);
  static const char *const expressions[] = {"sin(v)", "cos(v)", "tan(v)", "sin(v) * cos(v * 0.5)"};
  for (int has_huge = 0; has_huge < 2; has_huge++) {
    for (int i = 0; !has_huge && i < N; i++) {
      if (fabsf(x[i]) > 131072.0f && fabsf(x[i]) < INFINITY) x[i] = (float)(i % 4000) * 32.7f - 65000.0f;
    }
    if (has_huge) x[N - 3] = 1e9f;
    for (size_t e = 0; e < sizeof expressions / sizeof expressions[0]; e++) {
      tsri_lanes_program *program = program_from(element_wise(expressions[e]), NULL, false);
      for (int level = 0; level < 2; level++) {
        if (!can_compile(compiled_levels[level])) continue;
        CHECK_OK(launch(program, compiled_levels[level], false, x, wanted, N));
        jit_counts before = tsri_jit_counts();
        CHECK_OK(launch(program, compiled_levels[level], true, x, is, N));
        CHECK(tsri_jit_counts().compiled > before.compiled);
        CHECK_EQ_UINT(tsri_jit_counts().interpreted, before.interpreted + (has_huge ? 1 : 0));
        check_elements(expressions[e], TSR_F32, is, wanted, N, 0);
      }
      tsri_lanes_release(program);
    }
  }
  free(x);
  free(wanted);
  free(is);
}

// In place, what the code has stored could not be computed again: such a run is interpreted from the start.
TEST(circular_functions_in_place_are_interpreted) {
  REQUIRE_COMPILER();
  enum { N = 300 };
  float x[N], wanted[N];
  for (int i = 0; i < N; i++) x[i] = (float)i * (i == 150 ? 1e6f : 0.01f);
  tsri_lanes_program *program = program_from(element_wise("sin(v) + 0.5"), NULL, false);
  CHECK_OK(launch(program, first_level(), false, x, wanted, N));
  CHECK_OK(launch(program, first_level(), true, x, x, N));
  check_elements("in place", TSR_F32, x, wanted, N, 0);
  tsri_lanes_release(program);
}

// --- Values of 64 bits --------------------------------------------------------------------------------------------------

static const char *const f64_expressions[] = {"v + w",
                                              "v - w",
                                              "v * w",
                                              "v / w",
                                              "min(v, w)",
                                              "max(v, w)",
                                              "-v",
                                              "abs(v)",
                                              "sign(v)",
                                              "floor(v)",
                                              "ceil(v)",
                                              "round(v)",
                                              "trunc(v)",
                                              "sqrt(abs(v))",
                                              "rsqrt(abs(v))",
                                              "fma(v, w, v)",
                                              "v * w + v",
                                              "v < w ? v : w",
                                              "v <= w ? w : v * 2.0",
                                              "v == w ? 1.0 : v",
                                              "isnan(v) ? w : v",
                                              "isinf(v) ? 0.5 : w",
                                              "isfinite(v) ? v : 3.0",
                                              "f64(f32(v))",
                                              "f64(i32(v))",
                                              "f64(u32(v))",
                                              "f64(i8(v)) + f64(u8(w)) + f64(i16(v))",
                                              "f64(bool(v))",
                                              "f64(u32(i32(w)))"};

static const char *const i64_expressions[] = {"v + w",
                                              "v - w",
                                              "v * w",
                                              "min(v, w)",
                                              "max(v, w)",
                                              "-v",
                                              "abs(v)",
                                              "sign(v)",
                                              "~v",
                                              "v & w",
                                              "v | w",
                                              "v ^ w",
                                              "v << u32(w)",
                                              "v >> u32(w)",
                                              "v < w ? v : w",
                                              "v <= w ? w : v",
                                              "v == w ? i64(7) : v",
                                              "v != w ? w : i64(3)",
                                              "i64(i32(v))",
                                              "i64(u32(v))",
                                              "i64(bool(v))",
                                              "i64(i32(v) / i32(w))",
                                              "i64(i32(v) % i32(w))",
                                              "i64(u32(v) / u32(w))",
                                              "i64(u32(v) % u32(w))",
                                              "i64(mulhi(u32(v), u32(w)))",
                                              "v ^ i64(f32(w) * 0.5)",
                                              "v + i64(f32(w) < f32(v))"};

enum { WIDE_COUNT = 517 };  // results; v and w are WIDE_COUNT elements each

// Whole numbers of all sizes, then the special ones; floats between and beyond them.
static void fill_wide(int64_t *whole, double *real) {
  static const int64_t special[] = {0,
                                    1,
                                    -1,
                                    INT64_MAX,
                                    INT64_MIN,
                                    INT32_MAX,
                                    INT32_MIN,
                                    INT64_C(1) << 53,
                                    (INT64_C(1) << 53) + 1,
                                    (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1,
                                    255,
                                    4294967295};
  enum { SPECIALS = sizeof special / sizeof special[0] };
  uint64_t seed = 5;
  for (int i = 0; i < 2 * WIDE_COUNT; i++) {
    bool is_special = i % WIDE_COUNT < SPECIALS, is_second = i >= WIDE_COUNT;
    uint64_t bits = (uint64_t)next_random(&seed) << 33 ^ (uint64_t)next_random(&seed) << 16 ^ next_random(&seed);
    whole[i] = (int64_t)(bits >> (i % 7 * 9));
    if (is_special) whole[i] = special[(i % WIDE_COUNT + (is_second ? 5 : 0)) % SPECIALS];
    real[i] = i % 3 == 0 ? (double)whole[i] * 0.37 : (double)(int32_t)next_random(&seed) * 1e-7 * (i % 2 ? -1 : 1);
    if (is_special) real[i] = (double)special[i % SPECIALS] * (is_second ? 0.5 : 1.0);
  }
  real[20] = INFINITY;
  real[21] = NAN;
  real[WIDE_COUNT + 22] = -INFINITY;
  real[WIDE_COUNT + 23] = NAN;
}

// Compares one expression of v and w, whose elements have `type`, with the interpreter; all its lanes run compiled.
static void check_wide(const char *type, const char *expression, void *inputs) {
  static uint64_t results[WIDE_COUNT];
  char text[600];
  snprintf(text, sizeof text,
           "kernel k<WG = 64>(in %s x[], out %s y[], u32 n) {\n  u32 i = global.x;\n  if (i < n) {\n"
           "    %s v = x[i], w = x[n + i];\n    y[i] = %s;\n  }\n}\n",
           type, type, type, expression);
  uint32_t n = WIDE_COUNT;
  test_buffer buffers[2] = {{inputs, 2 * sizeof results}, {results, sizeof results}};
  jit_counts before = tsri_jit_counts();
  check_text(text, NULL, buffers, &n, (uint32_t[]){(WIDE_COUNT + 63) / 64, 1, 1}, 0);
  if (tsri_jit_counts().compiled == before.compiled) {
    test_fail(__FILE__, __LINE__, "%s %s: nothing ran compiled", type, expression);
  }
  CHECK_EQ_UINT(tsri_jit_counts().interpreted, before.interpreted);
}

// Every operation on 64-bit values, and on 32-bit ones by way of them, in one kernel each.
TEST(values_of_64_bits_run_compiled) {
  REQUIRE_X86_COMPILER();
  static int64_t whole[2 * WIDE_COUNT];
  static double real[2 * WIDE_COUNT];
  fill_wide(whole, real);
  for (size_t i = 0; i < sizeof f64_expressions / sizeof f64_expressions[0]; i++)
    check_wide("f64", f64_expressions[i], real);
  for (size_t i = 0; i < sizeof i64_expressions / sizeof i64_expressions[0]; i++)
    check_wide("i64", i64_expressions[i], whole);
}

TEST(chains_run_compiled_at_any_length) {
  REQUIRE_COMPILER();
  enum { MOST = 130 };
  float *x = all_kinds(MOST);
  for (uint32_t n = 1; n <= MOST; n++) {
    check_same_bits("max(v, 0.5) * min(v, 2.0) - (v < 1.0 ? floor(v) : v / 3.0)", x, n);
  }
  free(x);
}

// Forty values that are all needed at the end: more than there are registers.
// A block costs more than some hundred lanes, so code that needs no registers in memory gets large ones; also if elements turn out to be read backwards, through a register.
TEST(chains_of_many_elements_run_in_few_blocks) {
  REQUIRE_COMPILER();
  enum { N = 300007, MOST_BLOCKS = 16 };
  static const char *const places[] = {"i", "n - 1 - i"};
  float *x = all_kinds(N), *wanted = malloc(N * sizeof *x), *is = malloc(N * sizeof *x);
  for (int i = 0; i < 2; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "kernel k<WG = 256>(in f32 x[], out f32 y[], u32 n) {\n"
             "  u32 i = global.x;\n  if (i < n) { y[i] = abs(x[%s]) + 1.5; }\n}\n",
             places[i]);
    tsri_lanes_program *program = program_from(text, NULL, false);
    CHECK_OK(launch(program, first_level(), false, x, wanted, N));
    jit_counts before = tsri_jit_counts();
    CHECK_OK(launch(program, first_level(), true, x, is, N));
    jit_counts after = tsri_jit_counts();
    CHECK(after.compiled > before.compiled && after.compiled <= before.compiled + MOST_BLOCKS);
    check_elements(places[i], TSR_F32, is, wanted, N, 0);
    tsri_lanes_release(program);
  }
  free(x);
  free(wanted);
  free(is);
}

TEST(values_beyond_the_registers_are_spilled) {
  REQUIRE_COMPILER();
  enum { N = 1000, VALUES = 40 };
  char text[8192] =
      "kernel k<WG = 256>(in f32 x[], out f32 y[], u32 n) {\n  u32 i = global.x;\n  if (i >= n) return;\n"
      "  f32 v = x[i];\n";
  for (int i = 0; i < VALUES; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "  f32 a%d = v * %d.5 + sqrt(abs(v - %d.0));\n", i, i, i);
  }
  snprintf(text + strlen(text), sizeof text - strlen(text), "  f32 sum = v;\n");
  for (int i = VALUES; i-- > 0;) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "  sum = sum * a%d + a%d;\n", i, (i * 7) % VALUES);
  }
  snprintf(text + strlen(text), sizeof text - strlen(text), "  y[i] = sum;\n}\n");
  float *x = all_kinds(N), y[N] = {0};
  uint32_t n = N;
  test_buffer buffers[2] = {{x, N * sizeof *x}, {y, N * sizeof *y}};
  check_text(text, NULL, buffers, &n, (uint32_t[]){4, 1, 1}, 0);
  free(x);
}

TEST(long_chains_are_cut_into_runs) {
  REQUIRE_COMPILER();
  enum { N = 700, LINKS = 150 };
  char text[8192] =
      "kernel k<WG = 256>(in f32 x[], out f32 y[], u32 n) {\n  u32 i = global.x;\n  if (i >= n) return;\n"
      "  f32 v = x[i];\n";
  for (int i = 0; i < LINKS; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "  v = log1p(abs(v)) * 1.%02d;\n", i % 100);
  }
  snprintf(text + strlen(text), sizeof text - strlen(text), "  y[i] = v;\n}\n");
  tsri_lanes_program *program = program_from(text, NULL, false);
  float *x = all_kinds(N), wanted[N], is[N];
  for (int i = 0; i < COMPILED_LEVELS; i++) {
    if (!can_compile(compiled_levels[i])) continue;
    const struct lane_jit *jit = tsri_jit_for(program, compiled_levels[i]);
    CHECK(jit && jit->run_count > 1);
    for (uint32_t k = 0; k < jit->run_count; k++) CHECK(!jit->runs[k].is_left_out);
    CHECK_OK(launch(program, compiled_levels[i], false, x, wanted, N));
    CHECK_OK(launch(program, compiled_levels[i], true, x, is, N));
    check_elements("long chain", TSR_F32, is, wanted, N, 0);
  }
  tsri_lanes_release(program);
  free(x);
}

TEST(elements_of_every_narrow_type_are_loaded_and_stored) {
  REQUIRE_COMPILER();
  enum { N = 1003 };
  static const char *const types[] = {"f16", "bf16", "i16", "i8", "u8", "bool"};
  static unsigned char x[2 * N], y[2 * N];
  uint64_t seed = 3;
  for (size_t i = 0; i < sizeof x; i++) x[i] = (unsigned char)next_random(&seed);
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    char text[512];
    bool is_bool = strcmp(types[i], "bool") == 0;
    snprintf(text, sizeof text,
             "kernel k<WG = 256>(in %s x[], out %s y[], out %s z[], u32 n) {\n  u32 i = global.x;\n  if (i < n) {\n"
             "    f32 v = f32(x[i]) * 1.75 - 3.0;\n    y[i] = %s(v);\n    z[i] = %s(x[i]);\n  }\n}\n",
             types[i], types[i], is_bool ? "bool" : types[i], types[i], types[i]);
    static unsigned char z[2 * N];
    size_t bytes = is_bool || types[i][1] == '8' ? N : 2 * N;
    if (is_bool) {
      for (size_t k = 0; k < N; k++) x[k] &= 1;
    }
    uint32_t n = N;
    test_buffer buffers[3] = {{x, bytes}, {y, bytes}, {z, bytes}};
    check_text(text, NULL, buffers, &n, (uint32_t[]){4, 1, 1}, 0);
  }
}

// Comparisons that are stored, selected by and combined; more of them at once than there are mask registers.
TEST(truth_values_are_stored_as_bytes) {
  REQUIRE_COMPILER();
  enum { N = 1003 };
  static const char *const text =
      "kernel k<WG = 256>(in f32 x[], out bool y[], out bool z[], out f32 w[], u32 n) {\n  u32 i = global.x;\n"
      "  if (i < n) {\n    f32 v = x[i];\n"
      "    bool a = v < 0.5, b = v > -0.5, c = v < 0.25, d = v > 0.75, e = v < -0.75, f = v > 0.1, g = v < 0.9, h = v "
      "> -0.1;\n"
      "    y[i] = a;\n    z[i] = (a && b) || (c != d);\n"
      "    w[i] = select(a, 1.0, 0.0) + select(b, 2.0, 0.0) + select(c, 4.0, 0.0) + select(d, 8.0, 0.0) +\n"
      "           select(e, 16.0, 0.0) + select(f, 32.0, 0.0) + select(g, 64.0, 0.0) + select(h, 128.0, 0.0);\n  "
      "}\n}\n";
  static float x[N], w[N];
  static unsigned char y[N], z[N];
  for (int i = 0; i < N; i++) x[i] = i % 50 == 7 ? NAN : (float)(i % 41) / 20.0f - 1.0f;
  uint32_t n = N;
  test_buffer buffers[4] = {{x, sizeof x}, {y, sizeof y}, {z, sizeof z}, {w, sizeof w}};
  check_text(text, NULL, buffers, &n, (uint32_t[]){4, 1, 1}, 0);
}

// Every bf16 that is no NaN, through operations whose result needs no rounding, and through one whose result does.
TEST(bf16_numbers_that_are_only_chosen_keep_their_bits) {
  REQUIRE_COMPILER();
  enum { N = 65536 };
  static const char *const text =
      "kernel k<WG = 256>(in bf16 x[], out bf16 y[], out bf16 z[], u32 n) {\n  u32 i = global.x;\n"
      "  if (i < n) {\n    f32 v = f32(x[i]);\n"
      "    y[i] = bf16(select(v < 3.0, -abs(v), max(min(v, 100.0), -0.5)));\n    z[i] = bf16(max(v, 0.1));\n  }\n}\n";
  static uint16_t x[N], y[N], z[N];
  for (uint32_t i = 0; i < N; i++) x[i] = (uint16_t)((i & 0x7fffu) > 0x7f80u ? i & 0x807fu : i);
  uint32_t n = N;
  test_buffer buffers[3] = {{x, sizeof x}, {y, sizeof y}, {z, sizeof z}};
  check_text(text, NULL, buffers, &n, (uint32_t[]){256, 1, 1}, 0);
}

// Large enough that stores go past the caches, whose addresses must then be aligned.
TEST(stores_past_the_caches_leave_the_same_bits) {
  REQUIRE_COMPILER();
  enum { N = 6400003, SHIFT = 3 };
  float *x = malloc((N + SHIFT) * sizeof *x), *wanted = malloc((N + SHIFT) * sizeof *x),
        *is = malloc((N + SHIFT) * sizeof *x);
  for (int i = 0; i < N + SHIFT; i++) x[i] = (float)(i % 1237) * 0.125f - 70.0f;
  tsri_lanes_program *program = program_from(element_wise("v * 0.5 + 1.0"), NULL, false);
  for (int i = 0; i < COMPILED_LEVELS; i++) {
    if (!can_compile(compiled_levels[i])) continue;
    CHECK_OK(launch(program, compiled_levels[i], false, x, wanted + SHIFT, N));
    CHECK_OK(launch(program, compiled_levels[i], true, x, is + SHIFT, N));
    CHECK_BYTES(is + SHIFT, wanted + SHIFT, N * sizeof *is);
  }
  tsri_lanes_release(program);
  free(x);
  free(wanted);
  free(is);
}

// Rows of several lengths, each by one group: the loops' rounds are done by compiled code, with and without stores.
TEST(loops_of_like_rounds_run_compiled) {
  REQUIRE_COMPILER();
  static const char *const text =
      "kernel k<WG = 64>(in f32 x[], out f32 y[], u32 n) {\n"
      "  u32 base = group.x * n;\n  f32 sum = 0;\n"
      "  for (u32 i = local.x; i < n; i += WG) sum += exp(x[base + i] * 0.1) * 0.5;\n"
      "  sum = group_sum(sum);\n"
      "  for (u32 i = local.x; i < n; i += WG) y[base + i] = exp(x[base + i] * 0.1) / sum;\n}\n";
  enum { MOST = 1000, ROWS = 3 };
  static const uint32_t lengths[] = {1, 63, 64, 129, 256, 640, 1000};
  float x[ROWS * MOST], wanted[ROWS * MOST], is[ROWS * MOST];
  for (int i = 0; i < ROWS * MOST; i++) x[i] = (float)(i % 77) - 30.0f;
  tsri_lanes_program *program = program_from(text, NULL, false);
  for (size_t k = 0; k < COMPILED_LEVELS * sizeof lengths / sizeof lengths[0]; k++) {
    uint32_t n = lengths[k / COMPILED_LEVELS];
    if (!can_compile(compiled_levels[k % COMPILED_LEVELS])) continue;
    tsri_lanes_buffer buffers[2] = {{x, ROWS * n * sizeof *x}, {wanted, ROWS * n * sizeof *x}};
    tsri_lanes_launch given = {.buffers = buffers,
                               .buffer_count = 2,
                               .params = &n,
                               .params_bytes = sizeof n,
                               .groups = {ROWS, 1, 1},
                               .simd = compiled_levels[k % COMPILED_LEVELS]};
    CHECK_OK(tsri_lanes_run(program, &given));
    buffers[1].memory = is;
    given.allow_jit = true;
    jit_counts before = tsri_jit_counts();
    CHECK_OK(tsri_lanes_run(program, &given));
    CHECK(tsri_jit_counts().compiled >= before.compiled + 2 * ROWS);
    check_elements("rows", TSR_F32, is, wanted, ROWS * n, 0);
  }
  tsri_lanes_release(program);
}

// Rows shorter than a work-group, rows of exactly one round, and rows whose last round has inactive lanes: each loop is one call of compiled code.
TEST(loops_with_a_short_last_round_run_compiled) {
  REQUIRE_COMPILER();
  static const char *const text =
      "kernel k<WG = 64>(in bf16 x[], out f32 y[], u32 n) {\n"
      "  u32 base = group.x * n;\n  f32 top = -INFINITY;\n"
      "  for (u32 i = local.x; i < n; i += WG) top = max(top, f32(x[base + i]));\n"
      "  top = group_max(top);\n"
      "  for (u32 i = local.x; i < n; i += WG) y[base + i] = exp(f32(x[base + i]) - top);\n}\n";
  enum { MOST = 200, ROWS = 3 };
  uint16_t x[ROWS * MOST];
  float wanted[ROWS * MOST], is[ROWS * MOST];
  for (int i = 0; i < ROWS * MOST; i++) x[i] = (uint16_t)(0x3f80 + i % 100 * (i % 2 ? 1 : 400));
  tsri_lanes_program *program = program_from(text, NULL, false);
  for (uint32_t n = 1; n < MOST; n += n < 70 ? 1 : 13) {
    for (int level = 0; level < COMPILED_LEVELS; level++) {
      if (!can_compile(compiled_levels[level])) continue;
      tsri_lanes_buffer buffers[2] = {{x, ROWS * n * sizeof *x}, {wanted, ROWS * n * sizeof *is}};
      tsri_lanes_launch given = {.buffers = buffers,
                                 .buffer_count = 2,
                                 .params = &n,
                                 .params_bytes = sizeof n,
                                 .groups = {ROWS, 1, 1},
                                 .threads = 1,
                                 .simd = compiled_levels[level]};
      CHECK_OK(tsri_lanes_run(program, &given));
      buffers[1].memory = is;
      given.allow_jit = true;
      jit_counts before = tsri_jit_counts();
      CHECK_OK(tsri_lanes_run(program, &given));
      CHECK_EQ_UINT(tsri_jit_counts().compiled, before.compiled + 2 * ROWS);
      check_elements("short rows", TSR_F32, is, wanted, ROWS * n, 0);
    }
  }
  tsri_lanes_release(program);
}

// The run contains the whole body of a loop over rows, in which scalars are computed from the loop counter before the store. If the stored elements are not
// contiguous (apart = 2), the run is interpreted instead, after the scalars got their old values back.
TEST(scalars_that_a_run_reads_and_changes_are_put_back) {
  REQUIRE_COMPILER();
  static const char *const text =
      "kernel k<WG = 64>(in f32 x[], in f32 w[], out f32 y[], u32 rows, u32 columns, u32 apart) {\n"
      "  u32 c = global.x;\n"
      "  for (u32 row = 0; row < rows; row++) {\n"
      "    if (c < columns) {\n      f32 v = x[row * columns + c] + w[row] * w[row + 1];\n"
      "      y[row * columns * apart + c * apart] = v * 2.0;\n    }\n  }\n}\n";
  enum { ROWS = 3, COLUMNS = 50 };
  float x[ROWS * COLUMNS], w[COLUMNS], y[2 * ROWS * COLUMNS] = {0};
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)i;
  for (int i = 0; i < COLUMNS; i++) w[i] = (float)i * 0.25f;
  for (uint32_t apart = 1; apart <= 2; apart++) {
    uint32_t params[3] = {ROWS, COLUMNS, apart};
    test_buffer buffers[3] = {{x, sizeof x}, {w, sizeof w}, {y, sizeof y}};
    jit_counts before = tsri_jit_counts();
    check_text(text, NULL, buffers, params, (uint32_t[]){1, 1, 1}, 0);
    jit_counts after = tsri_jit_counts();
    if (apart == 1) CHECK_EQ_UINT(after.interpreted, before.interpreted);
    else CHECK(after.interpreted > before.interpreted);
    if (apart == 1) CHECK(after.compiled > before.compiled);
  }
}

// Items of a group that exchange elements through shared memory: a store and a load of one array are never in one run, and loads
// that would see a neighbour's new element are done before it.
TEST(neighbours_see_stores_after_a_barrier_and_not_before) {
  REQUIRE_COMPILER();
  static const char *const text =
      "kernel k<WG = 256>(in f32 x[], out f32 y[], u32 n) {\n"
      "  shared f32 s[257];\n  u32 i = global.x, l = local.x;\n"
      "  s[l] = x[i] * 2.0;\n  barrier();\n  f32 a = s[l + 1] + 1.0;\n  barrier();\n"
      "  s[l] = a * 3.0;\n  barrier();\n  f32 b = l > 0 ? s[l - 1] : 0.0;\n  barrier();\n  s[l + 1] = b + a;\n  "
      "barrier();\n"
      "  y[i] = s[l] * b - a;\n}\n";
  enum { N = 512 };
  float x[N], y[N] = {0}, wanted[N] = {0};
  for (int i = 0; i < N; i++) x[i] = (float)i;
  tsri_lanes_program *program = program_from(text, NULL, false);
  for (int i = 0; i < COMPILED_LEVELS; i++) {
    if (!can_compile(compiled_levels[i])) continue;
    CHECK_OK(launch(program, compiled_levels[i], false, x, wanted, N));
    CHECK_OK(launch(program, compiled_levels[i], true, x, y, N));
    for (int k = 0; k < N; k++) {
      if (k % 256 != 255) CHECK_NEAR(y[k], wanted[k], 0);  // the last one's neighbour was never stored
    }
  }
  tsri_lanes_release(program);
}

// Every second element is stored, which no run does: it is interpreted after its scalars were computed once.
TEST(scalars_computed_from_themselves_are_computed_once) {
  REQUIRE_COMPILER();
  enum { N = 64 };
  uint32_t x[N], y[2 * N] = {0};
  for (uint32_t i = 0; i < N; i++) x[i] = i * 3;
  test_buffer buffers[2] = {{x, sizeof x}, {y, sizeof y}};
  check_text("kernel k<WG = 64>(in u32 x[], out u32 y[]) { u8 m[8]; y[global.x * 2] = (~u32(m[2])) ^ x[global.x]; }",
             NULL, buffers, NULL, (uint32_t[]){1, 1, 1}, 0);
}

// A register may stand for shared memory that is stored to next: no lane sees what another stored.
TEST(what_was_read_from_shared_memory_outlives_a_store_there) {
  REQUIRE_COMPILER();
  enum { N = 96 };
  float x[N], y[N] = {0}, wanted[N] = {0};
  for (int i = 0; i < N; i++) x[i] = (float)(i * 3);
  for (int shift = 0; shift < 3; shift++) {
    char text[512];
    snprintf(text, sizeof text,
             "kernel k<WG = 24>(in f32 x[], out f32 y[], u32 n) {\n  shared f32 s[26];\n  f32 v = x[global.x];\n"
             "  s[local.x + 1] = v * 2.0;\n  barrier();\n  f32 a = s[(local.x + %d) %% 26];\n  barrier();\n"
             "  s[local.x + 1] = v - 7.0;\n  barrier();\n  y[global.x] = a * 0.5 + s[local.x + 1];\n}\n",
             shift);
    tsri_lanes_program *program = program_from(text, NULL, false);
    for (int i = 0; i < COMPILED_LEVELS; i++) {
      if (!can_compile(compiled_levels[i])) continue;
      uint32_t n = N;
      tsri_lanes_buffer buffers[2] = {{x, sizeof x}, {wanted, sizeof wanted}};
      tsri_lanes_launch given = {.buffers = buffers,
                                 .buffer_count = 2,
                                 .params = &n,
                                 .params_bytes = sizeof n,
                                 .groups = {N / 24, 1, 1},
                                 .simd = compiled_levels[i]};
      CHECK_OK(tsri_lanes_run(program, &given));
      buffers[1].memory = y;
      given.allow_jit = true;
      CHECK_OK(tsri_lanes_run(program, &given));
      for (int k = 0; k < N; k++) {
        bool is_defined = shift == 1 || (shift == 0 ? k % 24 != 0 : k % 24 != 23);
        if (is_defined) CHECK_NEAR(y[k], wanted[k], 0);
      }
    }
    tsri_lanes_release(program);
  }
}

TEST(programs_are_interpreted_where_executable_memory_is_forbidden) {
  REQUIRE_COMPILER();
  enum { N = 100 };
  float *x = all_kinds(N), wanted[N], is[N];
  tsri_lanes_program *program = program_from(element_wise("exp(v) * 2.0"), NULL, false);
  CHECK_OK(launch(program, first_level(), false, x, wanted, N));
  tsri_code_memory_forbid(true);
  jit_counts before = tsri_jit_counts();
  CHECK_OK(launch(program, first_level(), true, x, is, N));
  CHECK_EQ_UINT(tsri_jit_counts().compiled, before.compiled);
  tsri_code_memory_forbid(false);
  check_elements("forbidden", TSR_F32, is, wanted, N, 0);
  tsri_lanes_release(program);
  free(x);
}

TEST(lack_of_memory_while_compiling_falls_back_on_the_interpreter) {
  REQUIRE_COMPILER();
  enum { N = 100, MOST_ALLOCATIONS = 100 };
  float *x = all_kinds(N), wanted[N], is[N];
  int compiled = 0, refused = 0;
  for (int nth = 1; nth <= MOST_ALLOCATIONS && compiled == 0; nth++) {
    tsri_lanes_program *program = program_from(element_wise("exp(v) * 2.0"), NULL, false);
    CHECK_OK(launch(program, first_level(), false, x, wanted, N));
    tsri_alloc_fail_at((uint64_t)nth, false);
    struct lane_jit *jit = tsri_jit_for(program, first_level());
    tsri_alloc_fail_at(0, false);
    compiled += jit != NULL;
    refused += jit == NULL;
    CHECK_OK(launch(program, first_level(), true, x, is, N));
    check_elements("without memory", TSR_F32, is, wanted, N, 0);
    tsri_lanes_release(program);
  }
  CHECK(compiled == 1 && refused > 3);
  free(x);
}

// Launches of a device: kernels without loops are interpreted for their first items. Registers of the first launches are too few for the last.
TEST(a_kernel_is_compiled_when_its_launches_have_enough_work_items) {
  REQUIRE_COMPILER();
  enum { FEW = 100, MANY = 5000, ITEMS = 1024, GROUP = 256 };
  float *x = all_kinds(MANY), *is = malloc(MANY * sizeof *is), *wanted = malloc(MANY * sizeof *wanted);
  static const char loop[] =
      "kernel k<WG = 256>(in f32 x[], out f32 y[], u32 n) {\n"
      "  f32 sum = 0;\n  for (u32 i = 0; i < n; i++) { sum = sum * 0.5 + x[global.x + i]; }\n  y[global.x] = sum * 2.0 "
      "+ 1.0;\n}\n";
  tsri_lanes_program *plain = program_from(element_wise("v * 2.0 + 1.0"), NULL, false);
  tsri_lanes_program *looping = program_from(loop, NULL, false);
  CHECK_OK(launch(plain, "baseline", false, x, wanted, MANY));
  tsri_lanes_engine engine;
  tsri_lanes_engine_init(first_level(), false, true, &engine);
  engine.interpreted_items = ITEMS;
  uint32_t n = FEW;
  tsri_lanes_buffer buffers[2] = {{x, MANY * sizeof *x}, {is, MANY * sizeof *is}};
  tsri_lanes_launch given = {.buffers = buffers,
                             .buffer_count = 2,
                             .params = &n,
                             .params_bytes = sizeof n,
                             .groups = {1, 1, 1},
                             .threads = 1,
                             .engine = &engine};
  jit_counts before = tsri_jit_counts();
  for (int i = 0; i < ITEMS / GROUP; i++) CHECK_OK(tsri_lanes_run(plain, &given));
  CHECK_EQ_UINT(tsri_jit_counts().compiled, before.compiled);
  check_elements("interpreted", TSR_F32, is, wanted, FEW, 0);
  n = MANY;
  given.groups[0] = (MANY + GROUP - 1) / GROUP;
  CHECK_OK(tsri_lanes_run(plain, &given));
  jit_counts after = tsri_jit_counts();
  CHECK(after.compiled > before.compiled);
  check_elements("compiled", TSR_F32, is, wanted, MANY, 0);
  n = FEW;
  given.groups[0] = 1;
  CHECK_OK(tsri_lanes_run(looping, &given));
  CHECK(tsri_jit_counts().compiled > after.compiled);  // how long a loop takes is not known before
  tsri_lanes_release(looping);
  tsri_lanes_release(plain);
  free(x), free(is), free(wanted);
}

TEST(nothing_is_compiled_in_checked_mode_or_for_the_baseline) {
  tsri_lanes_program *plain = program_from(element_wise("v * 2.0"), NULL, false);
  tsri_lanes_program *checked = program_from(element_wise("v * 2.0"), NULL, true);
  CHECK(!tsri_jit_for(plain, "baseline"));
  CHECK(!tsri_jit_for(plain, NULL));
  CHECK(!tsri_jit_for(checked, first_level()));
  if (first_level()) CHECK(tsri_jit_for(plain, first_level()));  // whatever was asked for before
  tsri_lanes_release(plain);
  tsri_lanes_release(checked);
}

// On any processor, whatever it is.
TEST(the_instructions_can_be_listed) {
  static const struct {
    const char *level, *parts[3];
  } wanted[] = {
      {"avx2", {"loop:\n  vmovups ymm0, [r10+r9*4]\n", "vmulps ymm", "jb loop\n"}},
      {"avx512", {"loop:\n  vmovups zmm0, [r10+r9*4]\n", "vmulps zmm", "jb loop\n"}},
      {"neon", {"loop:\n  add x6, x8, x5, lsl #2\n  ldr q0, [x6, #0]\n", "fmul v0.4s, v0.4s, v", "b.lo loop\n"}},
  };
  tsri_lanes_program *program = program_from(element_wise("v * 2.0 + 1.0"), NULL, false);
  tsri_code_memory_forbid(true);
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    tsri_builder listing = {0};
    struct lane_jit *jit = tsri_jit_compile(program, wanted[i].level, &listing);
    CHECK(jit);
    for (int k = 0; k < 3; k++) CHECK_STR_HAS(listing.text, wanted[i].parts[k]);
    tsri_jit_release(jit);
    tsri_builder_deinit(&listing);
  }
  tsri_code_memory_forbid(false);
  tsri_lanes_release(program);
}
