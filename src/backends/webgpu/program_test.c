// SPDX-License-Identifier: MIT
// Runs emitted WGSL on a device: all our kernels compile, and small storage types, 64-bit integers, NaN, folded
// work-groups, buffers bound twice, conditions around barriers and checked mode behave as the language says.
#include <math.h>
#include <stdlib.h>

#include "backends/webgpu/fixture.h"
#include "backends/webgpu/native.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/emit_case.h"

// --- Every kernel that ships ----------------------------------------------------------------------------------------

typedef struct compiled {
  fixture *f;
  emit_sample sample;
  uint32_t emitted, built, refused;
} compiled;

static void compile_one(const tsri_kernel *kernel, compiled *c, const tsri_emitted *emitted) {
  tsri_program *program = NULL;
  tsri_code code = {.form = TSRI_CODE_TEXT,
                    .name = emitted->entry,
                    .data = emitted->data,
                    .data_bytes = emitted->data_bytes,
                    .buffer_count = emitted->buffer_count,
                    .params_bytes = emitted->params_bytes,
                    .options = emitted->build_options,
                    .shared_bytes = emitted->shared_bytes};
  memcpy(code.local, emitted->local, sizeof code.local);
  if (c->f->backend->program_create(c->f->device, &code, &program) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "%s: %s\n%s", kernel->variant, tsr_last_error(), (const char *)emitted->data);
  }
  c->f->backend->program_destroy(c->f->device, program);
  c->built++;
}

// Kernels are divided into quarters by a hash of their text, so that a new kernel does not move others to another quarter. QUICK_QUARTER: the quarter without
// slow kernels.
enum { QUICK_QUARTER = 3 };

static uint32_t hash_of(const char *text) {
  uint32_t hash = 2166136261u;
  for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 16777619u;
  return hash >> 8;
}

static void emit_one(const tsri_kernel *kernel, void *context) {
  compiled *c = context;
  tsri_emitted emitted;
  if (kernel->needs & TSRI_NEEDS_F64) {
    CHECK_STATUS(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, &c->f->emit, &emitted), TSR_ERR_UNSUPPORTED);
    c->refused++;
    return;
  }
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, &c->f->emit, &emitted));
  // Building a pipeline takes SwiftShader a third of a second, and half a minute for a few; Dawn's null backend reads the texts of all kernels below.
  if (emit_sample_takes(&c->sample, kernel) && (hash_of(kernel->variant) + QUICK_QUARTER) % test_sample(4) == 0)
    compile_one(kernel, c, &emitted);
  tsri_emitted_deinit(&emitted);
  c->emitted++;
}

static void compile_all(fixture *f) {
  compiled c = {.f = f};
  uint32_t count = emit_each_kernel(emit_one, &c);
  printf("  %u kernels, %u of them compiled; %u refused for want of f64\n", c.emitted, c.built, c.refused);
  CHECK_EQ_UINT(c.emitted + c.refused, count);
  CHECK(c.built >= 40);
}

TEST(every_kernel_compiles_as_wgsl) {
  fixture f = fixture_open();
  compile_all(&f);
  fixture_close(&f);
}

// --- For devices that are not here ----------------------------------------------------------------------------------

typedef struct null_compiler {
  tsri_wgpu_device *device;
  tsri_emit_options options;
  emit_sample sample;
  uint32_t built, halves, shuffles;
} null_compiler;

static void compile_for_null(const tsri_kernel *kernel, void *context) {
  null_compiler *c = context;
  tsri_emitted code;
  tsri_wgpu_program *program = NULL;
  if (!emit_sample_takes(&c->sample, kernel) || kernel->needs & TSRI_NEEDS_F64) return;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, &c->options, &code));
  uint64_t bits = strtoull(code.build_options + strlen("read_only="), NULL, 16);
  uint32_t uniform_bytes = (TSRI_WGSL_SYSTEM_WORDS * 4 + code.params_bytes + 15) / 16 * 16;
  tsr_status status =
      tsri_wgpu.program_create(c->device, code.data, code.data_bytes, code.entry, code.buffer_count,
                               (uint32_t[]){(uint32_t)bits, (uint32_t)(bits >> 32)}, uniform_bytes, &program);
  if (status != TSR_OK) {
    char words[1200];
    tsri_wgpu.error_text(words, sizeof words);
    test_fail(__FILE__, __LINE__, "%s: %s\n%s", kernel->variant, words, (const char *)code.data);
  }
  c->built++;
  c->halves += strncmp(code.data, "enable f16;", 11) == 0;
  c->shuffles += strstr(code.data, "enable subgroups;") != NULL;
  tsri_wgpu.program_destroy(c->device, program);
  tsri_emitted_deinit(&code);
}

// Dawn's null backend compiles without a GPU, also with f16 and subgroups. A sample of each kernel's types, since Dawn takes 27 s for all of them.
TEST(every_kernel_compiles_as_wgsl_with_f16_and_subgroups) {
  fixture f = fixture_open();
  null_compiler c = {.options = f.emit, .sample.visited = 6};  // other variants than every_kernel_compiles_as_wgsl
  tsr_status status = tsri_wgpu.device_open(WGPU_NULL_INDEX, false, 10000, &c.device);
  fixture_close(&f);
  if (status != TSR_OK) SKIP("the WebGPU library has no null backend");
  c.options.f16 = c.options.subgroups = c.options.subgroup_shuffle = true;
  c.options.exact_fma = !c.options.exact_fma;
  c.options.exact_divide = !c.options.exact_divide;
  (void)emit_each_kernel(compile_for_null, &c);
  printf("  %u kernels, %u of them with f16, %u with subgroups\n", c.built, c.halves, c.shuffles);
  CHECK(c.built >= 100 && c.halves >= 10 && c.shuffles >= 10);
  tsri_wgpu.device_close(c.device);
}

// --- Small kernels --------------------------------------------------------------------------------------------------

enum { MOST_BUFFERS = 8 };

typedef struct small {
  const char *text;
  uint32_t groups[3];
  const void *params;
  void *data[MOST_BUFFERS];  // host memory: uploaded before the launch, downloaded after it
  size_t bytes[MOST_BUFFERS];
  bool checked;
} small;

static void run_small(const fixture *f, const small *s) {
  fixture_kernel k = fixture_compile(f, s->text, NULL, "", s->checked);
  fixture_bound bound[MOST_BUFFERS] = {{0}};
  for (uint32_t i = 0; i < k.code.buffer_count; i++) {
    bound[i] = (fixture_bound){fixture_buffer(f, s->bytes[i], s->data[i]), s->bytes[i], 0};
  }
  uint32_t x = s->groups[0] ? s->groups[0] : 1, y = s->groups[1] ? s->groups[1] : 1,
           z = s->groups[2] ? s->groups[2] : 1;
  fixture_launch(f, &k, x, y, z, bound, s->params);
  for (uint32_t i = 0; i < k.code.buffer_count; i++) fixture_read(f, bound[i].buffer, 0, s->data[i], s->bytes[i]);
  for (uint32_t i = 0; i < k.code.buffer_count; i++) f->backend->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
}

// Neighbouring elements share a word: every second item writes, and the bytes of the others must not change.
TEST(parts_of_words_are_written_side_by_side) {
  fixture f = fixture_open();
  enum { N = 256 };
  unsigned char bytes[N], flags[N];
  int16_t shorts[N];
  uint16_t halves[N], brains[N];
  for (int i = 0; i < N; i++) {
    bytes[i] = flags[i] = 1;
    shorts[i] = -7;
    halves[i] = 0x3c00;
    brains[i] = 0x3f80;
  }
  run_small(&f,
            &(small){.text = "kernel k<WG = 64>(out u8 a[], out bool b[], out i16 c[], out f16 d[], out bf16 e[]) {\n"
                             "  u32 i = global.x;\n  if (i % 2 == 1) {\n    a[i] = u8(i * 3);\n    b[i] = false;\n"
                             "    c[i] = i16(-i32(i));\n    d[i] = f16(-0.5);\n    e[i] = bf16(2.0);\n  }\n}\n",
                     .groups = {N / 64},
                     .data = {bytes, flags, shorts, halves, brains},
                     .bytes = {sizeof bytes, sizeof flags, sizeof shorts, sizeof halves, sizeof brains}});
  for (int i = 0; i < N; i++) {
    bool odd = i % 2 == 1;
    CHECK_EQ_INT(bytes[i], odd ? (unsigned char)(i * 3) : 1);
    CHECK_EQ_INT(flags[i], odd ? 0 : 1);
    CHECK_EQ_INT(shorts[i], odd ? -i : -7);
    CHECK_EQ_INT(halves[i], odd ? 0xb800 : 0x3c00);
    CHECK_EQ_INT(brains[i], odd ? 0x4000 : 0x3f80);
  }
  fixture_close(&f);
}

TEST(sixty_four_bit_integers_are_made_of_words) {
  fixture f = fixture_open();
  static const int64_t edges[] = {
      0,         1,          -1,         2,          7,         -7,           INT32_MAX,
      INT32_MIN, INT64_MAX,  INT64_MIN,  UINT32_MAX, 1LL << 32, -(1LL << 40), 0x123456789abcdef,
      63,        1000000007, -999999937, 1LL << 62};
  enum { EDGES = sizeof edges / sizeof *edges, N = 320, RESULTS = 12 };
  static int64_t a[N], b[N], r[N * RESULTS];
  for (int i = 0; i < N; i++) {
    a[i] = edges[i % EDGES];
    b[i] = edges[i / EDGES % EDGES];
  }
  run_small(&f,
            &(small){.text = "kernel k<WG = 64>(in i64 a[], in i64 b[], out i64 r[]) {\n"
                             "  u32 g = global.x * 12;\n  i64 x = a[global.x], y = b[global.x];\n"
                             "  r[g] = x + y; r[g + 1] = x - y; r[g + 2] = x * y; r[g + 3] = x / y; r[g + 4] = x % y;\n"
                             "  r[g + 5] = x << u32(y); r[g + 6] = x >> u32(y); r[g + 7] = popcount(x);\n"
                             "  r[g + 8] = clz(x); r[g + 9] = ctz(x); r[g + 10] = min(x, y) ^ max(x, y);\n"
                             "  r[g + 11] = i64(x < y) + i64(x <= y) * 2 + i64(x == y) * 4 + sign(x) * 8 + abs(y);\n"
                             "}\n",
                     .groups = {N / 64},
                     .data = {a, b, r},
                     .bytes = {sizeof a, sizeof b, sizeof r}});
  for (int i = 0; i < N; i++) {
    int64_t x = a[i], y = b[i], *is = &r[i * RESULTS];
    uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
    CHECK_EQ_INT(is[0], (int64_t)(ux + uy));
    CHECK_EQ_INT(is[1], (int64_t)(ux - uy));
    CHECK_EQ_INT(is[2], (int64_t)(ux * uy));
    CHECK_EQ_INT(is[3], y == 0 ? x : y == -1 ? (int64_t)(0 - ux) : x / y);
    CHECK_EQ_INT(is[4], y == 0 || y == -1 ? 0 : x % y);
    CHECK_EQ_INT(is[5], (int64_t)(ux << (uy & 63)));
    CHECK_EQ_INT(is[6], x >> (uy & 63));
    CHECK_EQ_INT(is[7], __builtin_popcountll(ux));
    CHECK_EQ_INT(is[8], x ? __builtin_clzll(ux) : 64);
    CHECK_EQ_INT(is[9], x ? __builtin_ctzll(ux) : 64);
    CHECK_EQ_INT(is[10], x ^ y);
    int64_t magnitude = y < 0 ? (int64_t)(0 - uy) : y, sign = x > 0 ? 1 : x < 0 ? -1 : 0;
    CHECK_EQ_INT(is[11], (int64_t)((uint64_t)((x < y) + (x <= y) * 2 + (x == y) * 4 + sign * 8) + (uint64_t)magnitude));
  }
  fixture_close(&f);
}

TEST(nan_and_infinity_survive) {
  fixture f = fixture_open();
  const float inf = INFINITY, nan = NAN, one = 1;
  float a[64] = {nan, one, inf, -inf, inf, nan, -0.0f, 0}, b[64] = {one, nan, inf, one, -inf, nan, 0.0f, inf};
  float r[64 * 4] = {0};
  uint32_t bits[64] = {0};
  run_small(&f, &(small){.text = "kernel k<WG = 64>(in f32 a[], in f32 b[], out f32 r[], out u32 t[]) {\n"
                                 "  u32 i = global.x;\n  f32 x = a[i], y = b[i];\n"
                                 "  r[i * 4] = min(x, y);\n  r[i * 4 + 1] = max(x, y);\n  r[i * 4 + 2] = x - y;\n"
                                 "  r[i * 4 + 3] = x * y;\n"
                                 "  t[i] = u32(x == y) | u32(x != y) << 1 | u32(x < y) << 2 | u32(x <= y) << 3 | "
                                 "u32(x > y) << 4 | u32(x >= y) << 5 | u32(isnan(x)) << 6 | u32(isinf(x)) << 7 | "
                                 "u32(isfinite(x)) << 8 | u32(x != x) << 9;\n}\n",
                         .data = {a, b, r, bits},
                         .bytes = {sizeof a, sizeof b, sizeof r, sizeof bits}});
  for (int i = 0; i < 8; i++) {
    float x = a[i], y = b[i];
    float wanted[4] = {x < y || isnan(x) ? x : y, x > y || isnan(x) ? x : y, x - y, x * y};
    for (int j = 0; j < 4; j++) {
      bool same = isnan(wanted[j]) ? isnan(r[i * 4 + j]) : r[i * 4 + j] == wanted[j];
      if (!same)
        test_fail(__FILE__, __LINE__, "%g and %g: result %d is %g, not %g", (double)x, (double)y, j,
                  (double)r[i * 4 + j], (double)wanted[j]);
    }
    uint32_t truth = (uint32_t)(x == y) | (uint32_t)(x != y) << 1 | (uint32_t)(x < y) << 2 | (uint32_t)(x <= y) << 3 |
                     (uint32_t)(x > y) << 4 | (uint32_t)(x >= y) << 5 | (uint32_t)(isnan(x) != 0) << 6 |
                     (uint32_t)(isinf(x) != 0) << 7 | (uint32_t)(isfinite(x) != 0) << 8 | (uint32_t)(x != x) << 9;
    CHECK_EQ_UINT(bits[i], truth);
  }
  fixture_close(&f);
}

// A compiler that ignores NaN, infinity and -0 replaces x * 0 and 0 / x by 0, x + 0 by x, and 0 - x by -x.
TEST(arithmetic_with_a_zero_that_the_compiler_could_know) {
  fixture f = fixture_open();
  float x[64] = {INFINITY, -INFINITY, NAN, -0.0f, 0.0f, -3}, r[64 * 8];
  run_small(&f,
            &(small){.text = "kernel k<WG = 64>(in f32 x[], out f32 r[]) {\n  f32 a = x[global.x], zero = 0;\n"
                             "  u32 i = global.x * 8, none = 0;\n"
                             "  r[i] = a * 0.0;\n  r[i + 1] = a + 0.0;\n  r[i + 2] = 0.0 - a;\n  r[i + 3] = 0.0 / a;\n"
                             "  r[i + 4] = a * zero;\n  r[i + 5] = (f32x4(a) * f32x4(0.0)).y;\n"
                             "  r[i + 6] = a * f32(none);\n  r[i + 7] = a + f32(false);\n}\n",
                     .data = {x, r},
                     .bytes = {sizeof x, sizeof r}});
  for (int i = 0; i < 6; i++) {
    float product = x[i] * 0.0f, sum = x[i] + 0.0f;
    float wanted[8] = {product, sum, 0.0f - x[i], 0.0f / x[i], product, product, product, sum};
    for (int j = 0; j < 8; j++) {
      if (isnan(wanted[j]) ? isnan(r[i * 8 + j]) : memcmp(&r[i * 8 + j], &wanted[j], sizeof *r) == 0) continue;
      test_fail(__FILE__, __LINE__, "%g: result %d is %g, not %g", (double)x[i], j, (double)r[i * 8 + j],
                (double)wanted[j]);
    }
  }
  fixture_close(&f);
}

// WGSL permits compilers to replace (a + b) - a by b, and to fuse a * b + c. `exact_fma`: sums and products are written as fma with 1 and -0, which
// is exact even if that rounds twice.
static void check_rounding(bool exact_fma) {
  fixture f = fixture_open();
  f.emit.exact_fma = exact_fma;
  float a[64], b[64], r[192];
  for (int i = 0; i < 64; i++) {
    a[i] = 1e8f + (float)i;
    b[i] = 1.2345f * (float)(i + 1);
  }
  run_small(&f, &(small){.text = "kernel k<WG = 64>(in f32 a[], in f32 b[], out f32 r[]) {\n  f32 x = a[global.x];\n"
                                 "  r[global.x] = (x + b[global.x]) - x;\n"
                                 "  r[global.x + 64] = b[global.x] * b[global.x] - b[global.x];\n  f32 held[2];\n"
                                 "  held[1] = x + b[global.x];\n  r[global.x + 128] = held[1] - x;\n}\n",
                         .data = {a, b, r},
                         .bytes = {sizeof a, sizeof b, sizeof r}});
  for (int i = 0; i < 64; i++) {
    volatile float sum = a[i] + b[i], product = b[i] * b[i];
    CHECK_NEAR(r[i], sum - a[i], 0);
    CHECK_NEAR(r[i + 64], product - b[i], 0);
    CHECK_NEAR(r[i + 128], sum - a[i], 0);
  }
  fixture_close(&f);
}

TEST(floats_round_at_every_step) { check_rounding(false); }
TEST(floats_round_at_every_step_where_sums_and_products_are_fma) { check_rounding(true); }

TEST(sums_and_products_by_fma_keep_the_sign_of_zero_infinity_and_nan) {
  static const float edges[] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 0x1.fffffep127f};
  enum { EDGES = sizeof edges / sizeof *edges, N = EDGES * EDGES };
  float a[N], b[N], r[3 * N];
  fixture f = fixture_open();
  f.emit.exact_fma = true;
  for (int i = 0; i < N; i++) a[i] = edges[i / EDGES], b[i] = edges[i % EDGES];
  run_small(&f, &(small){.text = "kernel k<WG = 64>(in f32 a[], in f32 b[], out f32 r[]) {\n  u32 i = global.x;\n"
                                 "  r[i] = floor(a[i] + b[i]);\n  r[i + 64] = floor(a[i] - b[i]);\n  r[i + 128] = "
                                 "floor(a[i] * b[i]);\n}\n",
                         .data = {a, b, r},
                         .bytes = {sizeof a, sizeof b, sizeof r}});
  for (int i = 0; i < N; i++) {
    float wanted[3] = {a[i] + b[i], a[i] - b[i], a[i] * b[i]};
    for (int j = 0; j < 3; j++)
      CHECK(isnan(wanted[j]) ? isnan(r[i + N * j]) : memcmp(&r[i + N * j], &wanted[j], sizeof *r) == 0);
  }
  fixture_close(&f);
}

TEST(high_words_of_products_with_constants_are_right) {
  enum { N = 64, FACTORS = 4 };
  static const uint32_t factors[FACTORS] = {0xD2511F53u, 0xCD9E8D57u, 0xFFFEu, 0x7FFF8000u};
  uint32_t x[N], r[N * FACTORS], state = 1;
  fixture f = fixture_open();
  for (int i = 0; i < N; i++) {
    state = state * 1664525u + 1013904223u;
    x[i] = i < 8 ? 0u - (uint32_t)i : i < 16 ? 0x10000u * (uint32_t)i - 1 : state;
  }
  run_small(
      &f,
      &(small){.text = "kernel k<WG = 64>(in u32 x[], out u32 r[]) {\n  u32 a = x[global.x];\n"
                       "  r[global.x] = mulhi(0xD2511F53u, a);\n  r[global.x + 64] = mulhi(a, 0xCD9E8D57u);\n"
                       "  r[global.x + 128] = mulhi(a, 0xFFFEu);\n  r[global.x + 192] = mulhi(a, 0x7FFF8000u);\n}\n",
               .data = {x, r},
               .bytes = {sizeof x, sizeof r}});
  for (int i = 0; i < N * FACTORS; i++) CHECK(r[i] == (uint32_t)((uint64_t)x[i % N] * factors[i / N] >> 32));
  fixture_close(&f);
}

// Also on devices whose own arithmetic flushes denormals to 0.
TEST(fma_made_of_integers_keeps_denormals) {
  fixture f = fixture_open();
  float x[64], r[256];
  for (int i = 0; i < 64; i++) x[i] = (i % 2 ? -0x1p-149f : 0x1p-149f) * (float)(1 + i * 131071);
  f.emit.exact_fma = false;
  run_small(
      &f, &(small){.text = "kernel k<WG = 64>(in f32 x[], out f32 r[]) {\n  f32 a = x[global.x];\n"
                           "  r[global.x] = fma(a, -2.0, a);\n  r[global.x + 64] = fma(1.0e30, a, a);\n"
                           "  r[global.x + 128] = fma(1.0, 0.0, -a);\n  r[global.x + 192] = fma(a, INFINITY, a);\n}\n",
                   .data = {x, r},
                   .bytes = {sizeof x, sizeof r}});
  for (int i = 0; i < 64; i++) {
    float wanted[4] = {-x[i], fmaf(1e30f, x[i], x[i]), -x[i], copysignf(INFINITY, x[i])};
    for (int j = 0; j < 4; j++) CHECK_BYTES(&r[i + 64 * j], &wanted[j], sizeof *wanted);
  }
  fixture_close(&f);
}

static double ulps_between(float a, float b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? 0 : INFINITY;
  if (isinf(a) || isinf(b) || a == b) return a == b && signbit(a) == signbit(b) ? 0 : INFINITY;
  int exponent;
  frexpf(b, &exponent);
  return fabs((double)a - (double)b) / ldexp(1, exponent - 24);
}

// An optimiser may replace a division by a known constant by a multiplication, which rounds differently.
TEST(division_by_a_constant_is_a_division) {
  enum { N = 1024 };
  static float x[N], y[N], z[N];
  fixture f = fixture_open();
  for (int i = 0; i < N; i++) x[i] = (float)(i + 1) * 0.37f;
  run_small(&f, &(small){.text = "kernel k<WG = 64>(in f32 x[], out f32 y[], out f32 z[]) {\n  f32 tenth = 0.1;\n"
                                 "  y[global.x] = x[global.x] / 0.1;\n  z[global.x] = x[global.x] / tenth + 1;\n}\n",
                         .groups = {N / 64},
                         .data = {x, y, z},
                         .bytes = {sizeof x, sizeof y, sizeof z}});
  for (int i = 0; i < N; i++) {
    volatile float quotient = x[i] / 0.1f;
    CHECK_NEAR(y[i], quotient, 0);
    CHECK_NEAR(z[i], quotient + 1, 0);
  }
  fixture_close(&f);
}

// Uses the corrected division even if the device divides exactly: the correction must not damage infinity, NaN and 0.
static void check_quotients(bool exact_fma, double allowed) {
  static const float edges[] = {0,           -0.0f,     1,        -1,        3,        INFINITY,
                                -INFINITY,   NAN,       0x1p126f, -0x1p126f, 0x1p127f, 0x1.fffffep127f,
                                0x1.8p-126f, 0x1p-100f, 0.1f,     1e30f,     0x1p125f, 7};
  enum { EDGES = sizeof edges / sizeof *edges, N = 4096 };
  static float a[N], b[N], r[N];
  fixture f = fixture_open();
  f.emit.exact_divide = false;
  f.emit.exact_fma = exact_fma;
  uint32_t state = 1;
  for (int i = 0; i < N; i++) {
    a[i] = edges[i % EDGES];
    b[i] = edges[i / EDGES % EDGES];
    if (i < EDGES * EDGES) continue;
    state = state * 1664525u + 1013904223u;
    a[i] = ldexpf(1 + (float)(state >> 9) * 0x1p-23f, (int)(state & 63) - 32);
    state = state * 1664525u + 1013904223u;
    b[i] = ldexpf(-1 - (float)(state >> 9) * 0x1p-23f, (int)(state & 63) - 32);
  }
  run_small(&f, &(small){.text = "kernel k<WG = 64>(in f32 a[], in f32 b[], out f32 r[]) {\n"
                                 "  r[global.x] = a[global.x] / b[global.x];\n}\n",
                         .groups = {N / 64},
                         .data = {a, b, r},
                         .bytes = {sizeof a, sizeof b, sizeof r}});
  for (int i = 0; i < N; i++) {
    float wanted = a[i] / b[i];
    if (fabsf(wanted) < 0x1p-126f) wanted = copysignf(0, wanted);
    if (fabsf(r[i]) < 0x1p-126f) r[i] = copysignf(0, r[i]);
    if (ulps_between(r[i], wanted) <= allowed) continue;
    test_fail(__FILE__, __LINE__, "%a / %a is %a, not %a", (double)a[i], (double)b[i], (double)r[i], (double)wanted);
  }
  fixture_close(&f);
}

TEST(corrected_quotients_are_right) { check_quotients(false, 0); }

// If fma rounds twice, the corrected quotient is no better than the plain one.
TEST(corrected_quotients_keep_infinity_nan_and_zero) { check_quotients(true, 1); }

// Sets the limit to 7 work-groups per dimension: folding must give the same ids as without it.
TEST(groups_beyond_the_limit_are_folded) {
  fixture f = fixture_open();
  enum { X = 23, Y = 5, Z = 3, N = X * Y * Z };
  webgpu_device_of(f.device)->adapter.max_groups = 7;
  uint32_t y[N] = {0}, shapes[N] = {0};
  run_small(&f, &(small){.text = "kernel k<WG = 1>(out u32 y[], out u32 shapes[]) {\n"
                                 "  u32 i = (group.z * groups.y + group.y) * groups.x + group.x;\n  y[i] = i + 1;\n"
                                 "  shapes[i] = groups.x * 10000 + groups.y * 100 + groups.z;\n}\n",
                         .groups = {X, Y, Z},
                         .data = {y, shapes},
                         .bytes = {sizeof y, sizeof shapes}});
  for (uint32_t i = 0; i < N; i++) {
    CHECK_EQ_UINT(y[i], i + 1);
    CHECK_EQ_UINT(shapes[i], X * 10000 + Y * 100 + Z);
  }
  fixture_close(&f);
}

// Rows of 23 work-groups, of exactly full and of one more than full dispatches: rows are unfolded without divisions.
TEST(a_row_beyond_the_limit_is_folded_and_none_runs_beyond_its_end) {
  enum { MOST = 3 };
  static const uint32_t counts[] = {MOST + 1, MOST * MOST, MOST * MOST + 1, 23};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    fixture f = fixture_open();
    webgpu_device_of(f.device)->adapter.max_groups = MOST;
    uint32_t y[64] = {0};
    run_small(&f, &(small){.text = "kernel k<WG = 1>(inout u32 y[]) { y[group.x] += 1 + group.y + group.z; }",
                           .groups = {counts[c]},
                           .data = {y},
                           .bytes = {sizeof y}});
    for (uint32_t i = 0; i < 64; i++) CHECK_EQ_UINT(y[i], i < counts[c] ? 1 : 0);
    fixture_close(&f);
  }
}

TEST(more_groups_than_a_dispatch_takes_in_one_direction) {
  fixture f = fixture_open();
  enum { GROUPS = 70001 };
  uint32_t *y = calloc(GROUPS, sizeof *y);
  CHECK(y);
  run_small(&f, &(small){.text = "kernel k<WG = 1>(out u32 y[]) { y[group.x] = group.x * 3; }",
                         .groups = {GROUPS},
                         .data = {y},
                         .bytes = {GROUPS * sizeof *y}});
  for (uint32_t i = 0; i < GROUPS; i++) CHECK_EQ_UINT(y[i], i * 3);
  free(y);
  fixture_close(&f);
}

TEST(a_buffer_may_be_read_and_written_in_one_launch) {
  fixture f = fixture_open();
  enum { N = 64 };
  uint32_t both[2 * N];
  for (uint32_t i = 0; i < 2 * N; i++) both[i] = i;
  tsri_buffer *buffer = fixture_buffer(&f, sizeof both, both);
  fixture_kernel k = fixture_compile(
      &f, "kernel k<WG = 64>(in u32 x[], in u32 y[], out u32 z[]) { z[global.x] = x[global.x] + y[63 - global.x]; }",
      NULL, "", false);
  fixture_bound bound[3] = {{buffer, N * 4, 0}, {buffer, N * 4, N * 4}, {buffer, N * 4, N * 4}};
  fixture_launch(&f, &k, 1, 1, 1, bound, NULL);
  fixture_read(&f, buffer, 0, both, sizeof both);
  for (uint32_t i = 0; i < N; i++) CHECK_EQ_UINT(both[N + i], i + N + (63 - i));
  f.backend->buffer_destroy(f.device, buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

// WGSL's uniformity analysis cannot see that a value from a local array is the same in all items.
TEST(barriers_under_conditions_that_come_from_arrays) {
  fixture f = fixture_open();
  enum { N = 64 };
  uint32_t steps[1] = {5}, y[N] = {0};
  run_small(&f, &(small){.text = "kernel k<WG = 64>(in u32 steps[], out u32 y[]) {\n  shared u32 tile[64];\n"
                                 "  u32 limits[2];\n  limits[1] = steps[0];\n"
                                 "  u32 v = local.x;\n  for (u32 i = 0; i < limits[1]; i++) {\n"
                                 "    if (group_max(v) > 1000) break;\n    tile[local.x] = v;\n    barrier();\n"
                                 "    v = v + tile[(local.x + 1) % 64];\n    barrier();\n  }\n  y[local.x] = v;\n}\n",
                         .data = {steps, y},
                         .bytes = {sizeof steps, sizeof y}});
  uint32_t v[N], next[N];
  for (uint32_t i = 0; i < N; i++) v[i] = i;
  for (int step = 0; step < 5; step++) {
    uint32_t most = 0;
    for (int i = 0; i < N; i++) most = v[i] > most ? v[i] : most;
    if (most > 1000) break;
    for (int i = 0; i < N; i++) next[i] = v[i] + v[(i + 1) % N];
    memcpy(v, next, sizeof v);
  }
  for (int i = 0; i < N; i++) CHECK_EQ_UINT(y[i], v[i]);
  fixture_close(&f);
}

TEST(checked_mode_reports_the_first_index_out_of_range) {
  fixture f = fixture_open();
  enum { N = 64 };
  uint32_t x[N] = {0}, y[N] = {0}, report[TSRI_EMIT_REPORT_WORDS] = {0};
  uint32_t params[16] = {70};  // n, then the element counts of the buffers
  char text[256];
  fixture_kernel k = fixture_compile(
      &f, "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) { if (local.x == 0) y[3] = x[n]; }", NULL, "", true);
  uint64_t counts[2] = {N, N};
  tsri_emit_params(k.kernel, &k.code, (uint32_t[]){70}, counts, params);
  fixture_bound bound[3] = {{fixture_buffer(&f, sizeof x, x), sizeof x, 0},
                            {fixture_buffer(&f, sizeof y, y), sizeof y, 0},
                            {fixture_buffer(&f, sizeof report, report), sizeof report, 0}};
  fixture_launch(&f, &k, 1, 1, 1, bound, params);
  fixture_read(&f, bound[2].buffer, 0, report, sizeof report);
  CHECK(tsri_emit_decode_report(k.kernel, report, text, sizeof text));
  CHECK_STR_HAS(text, "index 70 is outside buffer 'x' of 64 elements (test.tk:1:");
  for (int i = 0; i < 3; i++) f.backend->buffer_destroy(f.device, bound[i].buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}
