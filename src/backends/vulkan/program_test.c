// SPDX-License-Identifier: MIT
// Runs emitted kernels on a Vulkan device and compares them with plain C: with all the device's features, and with
// none.
#include "backends/vulkan/fixture.h"

#if TSRI_HAS_VULKAN

#include <math.h>

// Leaves only what every Vulkan device has, as on SwiftShader.
static void take_features_away(fixture *f) {
  f->emit.storage8 = f->emit.storage16 = f->emit.i8 = f->emit.i16 = f->emit.f16 = false;
  f->emit.subgroups = f->emit.subgroup_shuffle = f->emit.exact_divide = f->emit.exact_fma = false;
  f->emit.f64 = f->emit.i64 = false;
  f->emit.subgroup_size = 4;
}

static uint32_t seed = 1;
static float random_float(void) {
  seed = seed * 1664525u + 1013904223u;
  return (float)(int32_t)seed * 0x1p-29f;  // in -4 to 4
}

// --- Kernels that ship ----------------------------------------------------------------------------------------------

// Runs relu(a * b + c) in one dtype and compares it with C code that converts to and from f32.
static void run_relu(fixture *f, tsr_dtype dtype, const char *kernel, int lanes) {
  enum { COUNT = 1000 };
  float a[COUNT], b[COUNT], c[COUNT], wanted[COUNT], got[COUNT];
  char raw[4][COUNT * 4], args[32];
  bool is_float = tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT;
  snprintf(args, sizeof args, "T=%s", tsr_dtype_name(dtype));
  fixture_kernel k = fixture_compile(f, fixture_kernel_file("fused.tk"), kernel, args, false);
  float *inputs[3] = {a, b, c};
  fixture_bound bound[4];
  for (int j = 0; j < 3; j++) {
    for (int i = 0; i < COUNT; i++) inputs[j][i] = is_float ? random_float() : truncf(random_float());
    CHECK_OK(tsr_convert(dtype, raw[j], TSR_F32, inputs[j], COUNT));
    CHECK_OK(tsr_convert(TSR_F32, inputs[j], dtype, raw[j], COUNT));
  }
  for (int j = 0; j < 4; j++) {
    size_t bytes = COUNT * tsr_dtype_bytes(dtype);
    bound[j] = (fixture_bound){fixture_buffer(f, bytes, j < 3 ? raw[j] : NULL), bytes, 0};
  }
  for (int i = 0; i < COUNT; i++) {
    float product = a[i] * b[i];
    float sum = product + c[i];
    wanted[i] = sum > 0 ? sum : 0;
  }
  CHECK_OK(tsr_convert(dtype, raw[0], TSR_F32, wanted, COUNT));
  CHECK_OK(tsr_convert(TSR_F32, wanted, dtype, raw[0], COUNT));
  uint32_t n = COUNT / (uint32_t)lanes;
  fixture_launch(f, &k, (n + 255) / 256, 1, 1, bound, &n);
  fixture_read(f, bound[3].buffer, 0, raw[3], bound[3].bytes);
  CHECK_OK(tsr_convert(TSR_F32, got, dtype, raw[3], COUNT));
  for (int i = 0; i < COUNT; i++) {
    // The kernel rounds each step in T; the bound is one such rounding.
    float bound_here = dtype == TSR_F16 ? 0x1p-9f : dtype == TSR_BF16 ? 0x1p-6f : 0;
    CHECK_NEAR(got[i], wanted[i], bound_here * (fabsf(wanted[i]) + fabsf(a[i] * b[i])));
  }
  for (int j = 0; j < 4; j++) f->backend->buffer_destroy(f->device, bound[j].buffer);
  fixture_discard(f, &k);
}

static void run_all_relu(fixture *f) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_I32, TSR_I16, TSR_I8};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) run_relu(f, dtypes[i], "relu_mul_add", 1);
  for (size_t i = 0; i < 3; i++) run_relu(f, dtypes[i], "relu_mul_add4", 4);
}

TEST(relu_of_a_product_and_a_sum) {
  fixture f = fixture_open();
  run_all_relu(&f);
  fixture_close(&f);
}

TEST(relu_of_a_product_and_a_sum_without_small_storage) {
  fixture f = fixture_open();
  take_features_away(&f);
  run_all_relu(&f);
  fixture_close(&f);
}

static void run_rms_norm(fixture *f) {
  enum { ROWS = 5, COLS = 777 };
  static float x[ROWS * COLS], w[COLS], y[ROWS * COLS];
  for (int i = 0; i < ROWS * COLS; i++) x[i] = random_float();
  for (int i = 0; i < COLS; i++) w[i] = random_float();
  fixture_kernel k = fixture_compile(f, fixture_kernel_file("rms_norm.tk"), NULL, "T=f32", false);
  fixture_bound bound[3] = {{fixture_buffer(f, sizeof x, x), sizeof x, 0},
                            {fixture_buffer(f, sizeof w, w), sizeof w, 0},
                            {fixture_buffer(f, sizeof y, NULL), sizeof y, 0}};
  struct {
    uint32_t cols;
    float eps;
  } params = {COLS, 1e-5f};
  fixture_launch(f, &k, ROWS, 1, 1, bound, &params);
  fixture_read(f, bound[2].buffer, 0, y, sizeof y);
  for (int r = 0; r < ROWS; r++) {
    double sum = 0;
    for (int i = 0; i < COLS; i++) sum += (double)x[r * COLS + i] * (double)x[r * COLS + i];
    double scale = 1 / sqrt(sum / COLS + 1e-5);
    for (int i = 0; i < COLS; i++) CHECK_NEAR(y[r * COLS + i], (double)x[r * COLS + i] * scale * (double)w[i], 1e-5);
  }
  for (int i = 0; i < 3; i++) f->backend->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
}

static void run_matmul(fixture *f) {
  enum { M = 37, N = 45, K = 70 };
  static float a[M * K], b[K * N], c[M * N];
  for (int i = 0; i < M * K; i++) a[i] = random_float();
  for (int i = 0; i < K * N; i++) b[i] = random_float();
  fixture_kernel k = fixture_compile(f, fixture_kernel_file("matmul.tk"), "matmul_tiled", "T=f32", false);
  fixture_bound bound[3] = {{fixture_buffer(f, sizeof a, a), sizeof a, 0},
                            {fixture_buffer(f, sizeof b, b), sizeof b, 0},
                            {fixture_buffer(f, sizeof c, NULL), sizeof c, 0}};
  uint32_t params[3] = {M, N, K};
  fixture_launch(f, &k, (N + 15) / 16, (M + 15) / 16, 1, bound, params);
  fixture_read(f, bound[2].buffer, 0, c, sizeof c);
  for (int i = 0; i < M * N; i++) {
    double sum = 0;
    for (int j = 0; j < K; j++) sum += (double)a[i / N * K + j] * (double)b[j * N + i % N];
    CHECK_NEAR(c[i], sum, 1e-3);
  }
  for (int i = 0; i < 3; i++) f->backend->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
}

static void run_histogram(fixture *f) {
  enum { COUNT = 10001 };
  static unsigned char x[COUNT];
  uint32_t bins[256] = {0}, wanted[256] = {0}, n = COUNT;
  for (int i = 0; i < COUNT; i++) {
    x[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 25);
    wanted[x[i]]++;
  }
  fixture_kernel k = fixture_compile(f, fixture_kernel_file("histogram.tk"), NULL, "", false);
  fixture_bound bound[2] = {{fixture_buffer(f, sizeof x, x), sizeof x, 0},
                            {fixture_buffer(f, sizeof bins, bins), sizeof bins, 0}};
  fixture_launch(f, &k, 4, 1, 1, bound, &n);
  fixture_read(f, bound[1].buffer, 0, bins, sizeof bins);
  CHECK_BYTES(bins, wanted, sizeof bins);
  for (int i = 0; i < 2; i++) f->backend->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
}

TEST(rms_norm_matmul_and_histogram) {
  fixture f = fixture_open();
  run_rms_norm(&f);
  run_matmul(&f);
  run_histogram(&f);
  fixture_close(&f);
}

TEST(rms_norm_matmul_and_histogram_without_features) {
  fixture f = fixture_open();
  take_features_away(&f);
  run_rms_norm(&f);
  run_matmul(&f);
  run_histogram(&f);
  fixture_close(&f);
}

// --- Functions ------------------------------------------------------------------------------------------------------

typedef struct function {
  const char *text;  // as a function of x and z
  double (*one)(double);
  double (*two)(double, double);
  double low, high;
} function;

static double plus(double a, double b) { return a + b; }
static double quotient(double a, double b) { return a / b; }
static double reciprocal_root(double a) { return 1 / sqrt(a); }

static const function functions[] = {
    {"x + z", NULL, plus, -1e3, 1e3},     {"x / z", NULL, quotient, -1e3, 1e3},
    {"sqrt(x)", sqrt, NULL, 0, 1e4},      {"rsqrt(x)", reciprocal_root, NULL, 1e-3, 1e4},
    {"exp(x)", exp, NULL, -100, 88},      {"exp2(x)", exp2, NULL, -140, 127},
    {"expm1(x)", expm1, NULL, -20, 80},   {"log(x)", log, NULL, 0, 10},
    {"log2(x)", log2, NULL, 0, 10},       {"log10(x)", log10, NULL, 0, 10},
    {"log1p(x)", log1p, NULL, -0.99, 10}, {"sin(x)", sin, NULL, -32000, 32000},
    {"cos(x)", cos, NULL, -32000, 32000}, {"tan(x)", tan, NULL, -100, 100},
    {"asin(x)", asin, NULL, -1, 1},       {"acos(x)", acos, NULL, -1, 1},
    {"atan(x)", atan, NULL, -100, 100},   {"atan2(x, z)", NULL, atan2, -100, 100},
    {"sinh(x)", sinh, NULL, -80, 80},     {"cosh(x)", cosh, NULL, -80, 80},
    {"tanh(x)", tanh, NULL, -12, 12},     {"erf(x)", erf, NULL, -5, 5},
    {"pow(abs(x), z)", NULL, pow, 0, 20}, {"floor(x)", floor, NULL, -100, 100},
    {"ceil(x)", ceil, NULL, -100, 100},   {"round(x)", rint, NULL, -100, 100},
    {"trunc(x)", trunc, NULL, -100, 100},
};

enum { POINTS = 512 };

// The error in units in the last place (ULP) of the wanted value, for a float type with `digits` bits.
static double ulps(double got, double wanted, int digits, int least) {
  if (isnan(got) || isnan(wanted)) return isnan(got) && isnan(wanted) ? 0 : 1e9;
  if (got == wanted) return 0;
  int exponent;
  frexp(wanted, &exponent);
  return fabs(got - wanted) / ldexp(1, (exponent < least ? least : exponent) - digits);
}

static double run_function(fixture *f, const function *fn, tsr_dtype dtype) {
  double in[2][POINTS], out[POINTS], most = 0;
  char raw[3][POINTS * 8], text[256];
  size_t bytes = POINTS * tsr_dtype_bytes(dtype);
  fixture_bound bound[3];
  for (int i = 0; i < 2 * POINTS; i++) {
    double unit = ((double)random_float() + 4) / 8;
    in[i / POINTS][i % POINTS] = fn->low + (fn->high - fn->low) * unit;
  }
  for (int j = 0; j < 2; j++) {
    CHECK_OK(tsr_convert(dtype, raw[j], TSR_F64, in[j], POINTS));
    CHECK_OK(tsr_convert(TSR_F64, in[j], dtype, raw[j], POINTS));
    bound[j] = (fixture_bound){fixture_buffer(f, bytes, raw[j]), bytes, 0};
  }
  bound[2] = (fixture_bound){fixture_buffer(f, bytes, NULL), bytes, 0};
  snprintf(text, sizeof text,
           "kernel k<T: f32 | f64>(in T a[], in T b[], out T y[]) {\n  T x = a[global.x], z = b[global.x];\n"
           "  y[global.x] = %s;\n}\n",
           fn->text);
  fixture_kernel k = fixture_compile(f, text, NULL, dtype == TSR_F32 ? "T=f32" : "T=f64", false);
  fixture_launch(f, &k, POINTS / 64, 1, 1, bound, NULL);
  fixture_read(f, bound[2].buffer, 0, raw[2], bytes);
  CHECK_OK(tsr_convert(TSR_F64, out, dtype, raw[2], POINTS));
  for (int i = 0; i < POINTS; i++) {
    double wanted = fn->one ? fn->one(in[0][i]) : fn->two(in[0][i], in[1][i]);
    double error = dtype == TSR_F32 ? ulps(out[i], wanted, 24, -125) : ulps(out[i], wanted, 53, -1021);
    if (error > most) most = error;
  }
  for (int j = 0; j < 3; j++) f->backend->buffer_destroy(f->device, bound[j].buffer);
  fixture_discard(f, &k);
  return most;
}

static void run_functions(fixture *f, tsr_dtype dtype) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    double most = run_function(f, &functions[i], dtype);
    printf("  %-14s %s %.2f ULP\n", functions[i].text, tsr_dtype_name(dtype), most);
    if (most > 4) test_fail(__FILE__, __LINE__, "%s: %.2f ULP", functions[i].text, most);
  }
}

TEST(functions_of_f32_are_accurate) {
  fixture f = fixture_open();
  run_functions(&f, TSR_F32);
  fixture_close(&f);
}

TEST(functions_of_f32_are_accurate_without_features) {
  fixture f = fixture_open();
  take_features_away(&f);
  run_functions(&f, TSR_F32);
  fixture_close(&f);
}

TEST(functions_of_f64_are_accurate) {
  fixture f = fixture_open();
  if (!f.emit.f64 || !f.emit.i64) {
    fixture_close(&f);
    SKIP("the device has no 64-bit types");
  }
  run_functions(&f, TSR_F64);
  fixture_close(&f);
}

TEST(fma_rounds_once) {
  fixture f = fixture_open();
  // The exact product is 1 + 2^-11 + 2^-24. Only if its last bit is kept does adding -1 - 2^-11 give 2^-24.
  float in[3] = {1 + 0x1p-12f, 1 + 0x1p-12f, -1 - 0x1p-11f}, out = 0;
  fixture_kernel k = fixture_compile(
      &f, "kernel k(in f32 x[], out f32 y[]) { if (global.x == 0) y[0] = fma(x[0], x[1], x[2]); }", NULL, "", false);
  fixture_bound bound[2] = {{fixture_buffer(&f, sizeof in, in), sizeof in, 0}, {fixture_buffer(&f, 4, NULL), 4, 0}};
  fixture_launch(&f, &k, 1, 1, 1, bound, NULL);
  fixture_read(&f, bound[1].buffer, 0, &out, 4);
  CHECK_NEAR(out, 0x1p-24, 0);
  for (int i = 0; i < 2; i++) f.backend->buffer_destroy(f.device, bound[i].buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

// --- Conversions ----------------------------------------------------------------------------------------------------

static const double values[] = {
    0,       -0.0,  1,       -1,     1.5,    -2.5,         255,        256,          -128,
    -129,    32767, 32768,   -32769, 65504,  65519,        65520,      1e-7,         6e-8,
    2.98e-8, 1e-40, 3e9,     -3e9,   5e9,    1e20,         -1e20,      INFINITY,     -INFINITY,
    NAN,     0.1,   3.14159, 1e-45,  127.99, 1.0009765625, 2147483647, 2147483648.0, -2147483648.0,
    9.3e18,  0.333, 1023.5,  2049,   2051,   4294967295.0, 1e300};
enum { VALUES = sizeof values / sizeof *values };

static void run_conversion(fixture *f, tsr_dtype from, tsr_dtype to) {
  char in[VALUES * 8], out[VALUES * 8], wanted[VALUES * 8], text[256];
  size_t in_bytes = VALUES * tsr_dtype_bytes(from), out_bytes = VALUES * tsr_dtype_bytes(to);
  uint32_t n = VALUES;
  CHECK_OK(tsr_convert(from, in, TSR_F64, values, VALUES));
  CHECK_OK(tsr_convert(to, wanted, from, in, VALUES));
  snprintf(text, sizeof text,
           "kernel k(in %s x[], out %s y[], u32 n) { if (global.x < n) y[global.x] = %s(x[global.x]); }",
           tsr_dtype_name(from), tsr_dtype_name(to), tsr_dtype_name(to));
  fixture_kernel k = fixture_compile(f, text, NULL, "", false);
  fixture_bound bound[2] = {{fixture_buffer(f, in_bytes, in), in_bytes, 0},
                            {fixture_buffer(f, out_bytes, NULL), out_bytes, 0}};
  fixture_launch(f, &k, 1, 1, 1, bound, &n);
  fixture_read(f, bound[1].buffer, 0, out, out_bytes);
  double got[VALUES], should[VALUES];
  CHECK_OK(tsr_convert(TSR_F64, got, to, out, VALUES));
  CHECK_OK(tsr_convert(TSR_F64, should, to, wanted, VALUES));
  for (int i = 0; i < VALUES; i++) {
    bool same = (isnan(got[i]) && isnan(should[i])) || got[i] == should[i];
    if (!same)
      test_fail(__FILE__, __LINE__, "%s %g as %s is %g, not %g", tsr_dtype_name(from), values[i], tsr_dtype_name(to),
                got[i], should[i]);
  }
  for (int i = 0; i < 2; i++) f->backend->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
}

static void run_conversions(fixture *f) {
  for (int from = 0; from < TSR_DTYPE_COUNT; from++) {
    for (int to = 0; to < TSR_DTYPE_COUNT; to++) {
      bool has_f64 = from == TSR_F64 || to == TSR_F64;
      if (has_f64 && (!f->emit.i64 || !f->emit.f64)) continue;
      run_conversion(f, (tsr_dtype)from, (tsr_dtype)to);
    }
  }
}

TEST(conversions_are_those_of_tsr_convert) {
  fixture f = fixture_open();
  run_conversions(&f);
  fixture_close(&f);
}

TEST(conversions_are_those_of_tsr_convert_without_features) {
  fixture f = fixture_open();
  take_features_away(&f);
  run_conversions(&f);
  fixture_close(&f);
}

// --- Integers -------------------------------------------------------------------------------------------------------

static int32_t wanted_integer(int which, int32_t a, int32_t b) {
  uint32_t ua = (uint32_t)a, ub = (uint32_t)b;
  switch (which) {
    case 0:
      return b == 0 ? a : b == -1 ? (int32_t)(0 - ua) : a / b;
    case 1:
      return b == 0 || b == -1 ? 0 : a % b;
    case 2:
      return (int32_t)(ua << (ub & 31));
    case 3:
      return a >> (ub & 31);
    case 4:
      return (int32_t)(ub == 0 ? ua : ua / ub);
    case 5:
      return (int32_t)(ub == 0 ? 0 : ua % ub);
    case 6:
      return a < 0 ? (int32_t)(0 - ua) : a;
    case 7:
      return __builtin_popcount(ua);
    case 8:
      return a == 0 ? 32 : __builtin_clz(ua);
    case 9:
      return a == 0 ? 32 : __builtin_ctz(ua);
    case 10:
      return (int32_t)(((uint64_t)ua * ub) >> 32);
    default:
      return a > b ? a : b;
  }
}

TEST(integers_wrap_and_divide_as_the_language_says) {
  fixture f = fixture_open();
  enum { COUNT = 64, KINDS = 12 };
  static const int32_t edges[8] = {0, 1, -1, INT32_MIN, INT32_MAX, 7, -13, 33};
  int32_t in[2][COUNT], out[KINDS * COUNT];
  for (int i = 0; i < COUNT; i++) {
    in[0][i] = edges[i / 8];
    in[1][i] = edges[i % 8];
  }
  fixture_kernel k = fixture_compile(
      &f,
      "kernel k(in i32 x[], in i32 z[], out i32 y[]) {\n  u32 i = global.x;\n  i32 a = x[i], b = z[i];\n"
      "  u32 c = u32(a), d = u32(b);\n  y[i] = a / b;\n  y[i + 64] = a % b;\n  y[i + 128] = a << d;\n  y[i + 192] = a "
      ">> d;\n"
      "  y[i + 256] = i32(c / d);\n  y[i + 320] = i32(c % d);\n  y[i + 384] = abs(a);\n  y[i + 448] = popcount(a);\n"
      "  y[i + 512] = clz(a);\n  y[i + 576] = ctz(a);\n  y[i + 640] = i32(mulhi(c, d));\n  y[i + 704] = max(a, "
      "b);\n}\n",
      NULL, "", false);
  fixture_bound bound[3] = {{fixture_buffer(&f, sizeof in[0], in[0]), sizeof in[0], 0},
                            {fixture_buffer(&f, sizeof in[1], in[1]), sizeof in[1], 0},
                            {fixture_buffer(&f, sizeof out, NULL), sizeof out, 0}};
  fixture_launch(&f, &k, 1, 1, 1, bound, NULL);
  fixture_read(&f, bound[2].buffer, 0, out, sizeof out);
  for (int i = 0; i < KINDS * COUNT; i++) {
    int32_t a = in[0][i % COUNT], b = in[1][i % COUNT], wanted = wanted_integer(i / COUNT, a, b);
    if (out[i] != wanted)
      test_fail(__FILE__, __LINE__, "operation %d of %d and %d: %d, not %d", i / COUNT, a, b, out[i], wanted);
  }
  for (int i = 0; i < 3; i++) f.backend->buffer_destroy(f.device, bound[i].buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

// --- Groups ---------------------------------------------------------------------------------------------------------

static void run_collectives(fixture *f, const char *dtype, uint32_t items) {
  char text[512], args[32];
  float x[128];
  enum { KINDS = 7 };
  static float y[KINDS * 128];
  for (uint32_t i = 0; i < items; i++) x[i] = (float)((i * 37 + 5) % 101) - 50;
  snprintf(text, sizeof text,
           "kernel k<WG = 128>(in f32 a[], out f32 y[]) {\n  u32 i = local.x;\n  %s x = %s(a[i]);\n"
           "  y[i] = f32(group_sum(x));\n  y[i + 128] = f32(group_min(x));\n  y[i + 256] = f32(group_max(x));\n"
           "  y[i + 384] = group_any(x > 40) && !group_all(x > 40) ? 1 : 0;\n"
           "  y[i + 512] = f32(subgroup_sum(x));\n  y[i + 640] = f32(subgroup_shuffle_xor(x, 1));\n"
           "  y[i + 768] = f32(subgroup_ballot(x > 0) & 0xFFFF);\n}\n",
           dtype, dtype);
  snprintf(args, sizeof args, "WG=%u", items);
  fixture_kernel k = fixture_compile(f, text, NULL, args, false);
  fixture_bound bound[2] = {{fixture_buffer(f, sizeof x, x), sizeof x, 0},
                            {fixture_buffer(f, sizeof y, NULL), sizeof y, 0}};
  fixture_launch(f, &k, 1, 1, 1, bound, NULL);
  fixture_read(f, bound[1].buffer, 0, y, sizeof y);
  float sum = 0, least = x[0], most = x[0];
  for (uint32_t i = 0; i < items; i++) {
    sum += x[i];
    if (x[i] < least) least = x[i];
    if (x[i] > most) most = x[i];
  }
  uint32_t size = f->emit.subgroup_size;
  for (uint32_t i = 0; i < items; i++) {
    float part = 0;
    uint32_t bits = 0;
    for (uint32_t j = i / size * size; j < (i / size + 1) * size && j < items; j++) {
      part += x[j];
      if (x[j] > 0 && j % size < 16) bits |= 1u << j % size;
    }
    CHECK_NEAR(y[i], sum, 0);
    CHECK_NEAR(y[i + 128], least, 0);
    CHECK_NEAR(y[i + 256], most, 0);
    CHECK_NEAR(y[i + 384], most > 40 && least <= 40, 0);
    CHECK_NEAR(y[i + 512], part, 0);
    CHECK_NEAR(y[i + 640], (i ^ 1) < items && size > 1 ? x[i ^ 1] : 0, 0);
    CHECK_NEAR(y[i + 768], (float)bits, 0);
  }
  for (int i = 0; i < 2; i++) f->backend->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
}

TEST(collectives_with_and_without_subgroups) {
  fixture f = fixture_open();
  for (int features = 1; features >= 0; features--) {
    bool has_64 = f.emit.i64 && f.emit.f64;
    if (!features) {
      take_features_away(&f);
      f.emit.i64 = f.emit.f64 = has_64;
    }
    static const uint32_t sizes[] = {128, 64, 8, 100, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      run_collectives(&f, "f32", sizes[i]);
      run_collectives(&f, "i32", sizes[i]);
      run_collectives(&f, "i64", sizes[i]);
      if (has_64) run_collectives(&f, "f64", sizes[i]);
    }
  }
  fixture_close(&f);
}

// --- Parameters, checks, failures -----------------------------------------------------------------------------------

// A compiler that ignores NaN, infinity and -0 replaces x * 0 and 0 / x by 0, x + 0 by x, and x * f32(bool) by a
// selection.
TEST(arithmetic_with_a_zero_that_the_compiler_could_know) {
  enum { COUNT = 6, EACH = 6 };
  float x[COUNT] = {INFINITY, -INFINITY, NAN, -0.0f, 0.0f, -3}, r[COUNT * EACH];
  fixture f = fixture_open();
  fixture_kernel k =
      fixture_compile(&f,
                      "kernel k<WG = 2>(in f32 x[], out f32 r[]) {\n  f32 a = x[global.x];\n"
                      "  u32 i = global.x * 6, none = 0;\n  r[i] = a * 0.0;\n  r[i + 1] = a + 0.0;\n"
                      "  r[i + 2] = 0.0 / a;\n  r[i + 3] = a * f32(none);\n"
                      "  r[i + 4] = a * f32(i32(i) < 0);\n  r[i + 5] = fma(f32(x[0] == 1.0), a, a);\n}\n",
                      NULL, "", false);
  fixture_bound bound[2] = {{fixture_buffer(&f, sizeof x, x), sizeof x, 0},
                            {fixture_buffer(&f, sizeof r, r), sizeof r, 0}};
  fixture_launch(&f, &k, COUNT / 2, 1, 1, bound, NULL);
  fixture_read(&f, bound[1].buffer, 0, r, sizeof r);
  for (int i = 0; i < COUNT; i++) {
    float product = x[i] * 0.0f, wanted[EACH] = {product, x[i] + 0.0f, 0.0f / x[i], product, product, product + x[i]};
    for (int j = 0; j < EACH; j++) {
      float is = r[i * EACH + j];
      if (isnan(wanted[j]) ? isnan(is) : memcmp(&is, &wanted[j], sizeof is) == 0) continue;
      test_fail(__FILE__, __LINE__, "%g: result %d is %g, not %g", (double)x[i], j, (double)is, (double)wanted[j]);
    }
  }
  for (int i = 0; i < 2; i++) f.backend->buffer_destroy(f.device, bound[i].buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

TEST(many_parameters_go_through_a_buffer) {
  fixture f = fixture_open();
  char text[2048] = "kernel k(out f32 y[]", body[1024] = "  f32 s = 0;\n";
  for (int i = 0; i < 40; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), ", f32 p%d", i);
    snprintf(body + strlen(body), sizeof body - strlen(body), "  s += p%d;\n", i);
  }
  snprintf(text + strlen(text), sizeof text - strlen(text), ") {\n%s  if (global.x == 0) y[0] = s;\n}\n", body);
  fixture_kernel k = fixture_compile(&f, text, NULL, "", false);
  float params[40], wanted = 0, out = 0;
  for (int i = 0; i < 40; i++) wanted += params[i] = (float)i;
  fixture_bound bound = {fixture_buffer(&f, 4, NULL), 4, 0};
  for (int round = 0; round < 3; round++) {
    fixture_launch(&f, &k, 1, 1, 1, &bound, params);
    memset(params, 0, round == 1 ? sizeof params : 0);  // the launch has already read the parameters
    fixture_read(&f, bound.buffer, 0, &out, 4);
    CHECK_NEAR(out, round < 2 ? wanted : 0, 0);
  }
  f.backend->buffer_destroy(f.device, bound.buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

TEST(an_index_out_of_range_is_reported_in_checked_mode) {
  fixture f = fixture_open();
  fixture_kernel k =
      fixture_compile(&f, "kernel k(in f32 x[], out f32 y[]) { y[global.x] = x[i32(global.x) - 3]; }", NULL, "", true);
  float x[64], y[64];
  uint32_t report[TSRI_EMIT_REPORT_WORDS] = {0}, words[8];
  uint64_t counts[2] = {64, 64};
  char sentence[256];
  for (int i = 0; i < 64; i++) x[i] = (float)i;
  fixture_bound bound[3] = {{fixture_buffer(&f, sizeof x, x), sizeof x, 0},
                            {fixture_buffer(&f, sizeof y, NULL), sizeof y, 0},
                            {fixture_buffer(&f, sizeof report, report), sizeof report, 0}};
  tsri_emit_params(k.kernel, &k.code, NULL, counts, words);
  fixture_launch(&f, &k, 1, 1, 1, bound, words);
  fixture_read(&f, bound[1].buffer, 0, y, sizeof y);
  fixture_read(&f, bound[2].buffer, 0, report, sizeof report);
  for (int i = 0; i < 64; i++) CHECK_NEAR(y[i], i < 3 ? 0 : i - 3, 0);
  CHECK(tsri_emit_decode_report(k.kernel, report, sentence, sizeof sentence));
  CHECK_STR_HAS(sentence, "is outside buffer 'x' of 64 elements (test.tk:1:");
  for (int i = 0; i < 3; i++) f.backend->buffer_destroy(f.device, bound[i].buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

TEST(what_is_no_spirv_does_not_build) {
  fixture f = fixture_open();
  tsri_program *program = NULL;
  static const uint32_t junk[8] = {1, 2, 3};
  tsri_code code = {
      .form = TSRI_CODE_WORDS, .name = "junk", .data = junk, .data_bytes = sizeof junk, .local = {1, 1, 1}};
  CHECK_STATUS(f.backend->program_create(f.device, &code, &program), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("junk: 32 bytes that are no SPIR-V module");
  code.form = TSRI_CODE_TEXT;
  CHECK_STATUS(f.backend->program_create(f.device, &code, &program), TSR_ERR_BUILD);
  CHECK(program == NULL);
  fixture_close(&f);
}

TEST(launches_see_what_earlier_ones_wrote) {
  fixture f = fixture_open();
  fixture_kernel k =
      fixture_compile(&f, "kernel k(inout u32 x[]) { x[global.x] = x[global.x] * 3 + 1; }", NULL, "", false);
  uint32_t x[256] = {0}, wanted = 0;
  fixture_bound bound = {fixture_buffer(&f, sizeof x, x), sizeof x, 0};
  for (int i = 0; i < 200; i++) {
    fixture_launch(&f, &k, 4, 1, 1, &bound, NULL);
    wanted = wanted * 3 + 1;
  }
  fixture_read(&f, bound.buffer, 0, x, sizeof x);
  for (int i = 0; i < 256; i++) CHECK_EQ_UINT(x[i], wanted);
  f.backend->buffer_destroy(f.device, bound.buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

// --- What stays bound -----------------------------------------------------------------------------------------------

static tsri_vulkan_device_api real;
static int pipelines, buffers, params;

static VKAPI_ATTR void VKAPI_CALL count_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                                 VkPipeline pipeline) {
  pipelines++;
  real.CmdBindPipeline(commands, point, pipeline);
}

static VKAPI_ATTR void VKAPI_CALL count_push(VkCommandBuffer commands, VkPipelineBindPoint point,
                                             VkPipelineLayout layout, uint32_t set, uint32_t count,
                                             const VkWriteDescriptorSet *writes) {
  buffers++;
  real.CmdPushDescriptorSetKHR(commands, point, layout, set, count, writes);
}

static VKAPI_ATTR void VKAPI_CALL count_sets(VkCommandBuffer commands, VkPipelineBindPoint point,
                                             VkPipelineLayout layout, uint32_t first, uint32_t count,
                                             const VkDescriptorSet *sets, uint32_t offset_count,
                                             const uint32_t *offsets) {
  buffers++;
  real.CmdBindDescriptorSets(commands, point, layout, first, count, sets, offset_count, offsets);
}

static VKAPI_ATTR void VKAPI_CALL count_params(VkCommandBuffer commands, VkPipelineLayout layout,
                                               VkShaderStageFlags stages, uint32_t offset, uint32_t bytes,
                                               const void *given) {
  params++;
  real.CmdPushConstants(commands, layout, stages, offset, bytes, given);
}

static void count_binds(const fixture *f) {
  tsri_vulkan_device_api *vk = &vulkan_device_of(f->device)->vk;
  real = *vk;
  vk->CmdBindPipeline = count_pipeline;
  vk->CmdPushDescriptorSetKHR = count_push;
  vk->CmdBindDescriptorSets = count_sets;
  vk->CmdPushConstants = count_params;
  vulkan_device_of(f->device)->streams[0].batch_limit = VULKAN_BATCH_COMMANDS;
}

TEST(launches_bind_what_the_one_before_has_not_bound) {
  fixture f = fixture_open();
  fixture_kernel add = fixture_compile(&f, "kernel k(inout u32 x[], u32 n) { x[global.x] += n; }", NULL, "", false);
  fixture_kernel mul = fixture_compile(&f, "kernel k(inout u32 x[], u32 n) { x[global.x] *= n; }", NULL, "", false);
  uint32_t x[2][64] = {{0}};
  tsri_buffer *buffer = fixture_buffer(&f, sizeof x, x);
  fixture_bound first = {buffer, sizeof x[0], 0}, second = {buffer, sizeof x[1], sizeof x[0]};
  count_binds(&f);
  const struct {
    const fixture_kernel *kernel;
    const fixture_bound *bound;
    uint32_t n;
  } steps[] = {{&add, &first, 5},  {&add, &first, 5},  {&add, &first, 7}, {&add, &second, 7},
               {&mul, &second, 7}, {&add, &second, 7}, {&mul, &first, 3}};
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    fixture_launch(&f, steps[i].kernel, 1, 1, 1, steps[i].bound, &steps[i].n);
  }
  CHECK_EQ_INT(pipelines, 4);
  CHECK_EQ_INT(buffers, 5);
  CHECK_EQ_INT(params, 5);
  fixture_read(&f, buffer, 0, x, sizeof x);
  for (int i = 0; i < 64; i++) CHECK_EQ_UINT(x[0][i], (5 + 5 + 7) * 3);
  for (int i = 0; i < 64; i++) CHECK_EQ_UINT(x[1][i], 7 * 7 + 7);
  fixture_launch(&f, &mul, 1, 1, 1, &first, &(uint32_t){3});  // another command buffer has nothing bound
  CHECK_EQ_INT(pipelines, 5);
  fixture_read(&f, buffer, 0, x, sizeof x);
  for (int i = 0; i < 64; i++) CHECK_EQ_UINT(x[0][i], (5 + 5 + 7) * 9);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_discard(&f, &add);
  fixture_discard(&f, &mul);
  fixture_close(&f);
}

// --- Barriers ---------------------------------------------------------------------------------------------------------

static int barriers;

static VKAPI_ATTR void VKAPI_CALL count_barrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                                VkPipelineStageFlags to, VkDependencyFlags flags, uint32_t count,
                                                const VkMemoryBarrier *list, uint32_t buffer_count,
                                                const VkBufferMemoryBarrier *of_buffers, uint32_t image_count,
                                                const VkImageMemoryBarrier *of_images) {
  barriers++;
  real.CmdPipelineBarrier(commands, from, to, flags, count, list, buffer_count, of_buffers, image_count, of_images);
}

typedef struct pieces {
  fixture f;
  fixture_kernel add;  // y = x + 1
  tsri_buffer *buffer;
} pieces;

enum { PIECE_BYTES = 256, PIECES = 80 };

// Copies piece `from`, plus 1, to piece `to`. Returns the number of barriers that it took.
static int add_one(const pieces *p, int from, int to) {
  int before = barriers;
  fixture_bound bound[] = {{p->buffer, PIECE_BYTES, (size_t)from * PIECE_BYTES},
                           {p->buffer, PIECE_BYTES, (size_t)to * PIECE_BYTES}};
  fixture_launch(&p->f, &p->add, 1, 1, 1, bound, NULL);
  return barriers - before;
}

TEST(barriers_are_only_between_launches_of_which_one_uses_what_the_other_writes) {
  pieces p = {.f = fixture_open()};
  uint32_t words[PIECES][PIECE_BYTES / 4] = {{0}};
  p.add =
      fixture_compile(&p.f, "kernel k(in u32 x[], out u32 y[]) { y[global.x] = x[global.x] + 1; }", NULL, "", false);
  p.buffer = fixture_buffer(&p.f, sizeof words, words);
  vulkan_stream *stream = &vulkan_device_of(p.f.device)->streams[0];
  real = vulkan_device_of(p.f.device)->vk;
  vulkan_device_of(p.f.device)->vk.CmdPipelineBarrier = count_barrier;
  stream->batch_limit = stream->enough = VULKAN_BATCH_COMMANDS;  // all in one batch
  (void)add_one(&p, 0, 1);
  for (int i = 2; i < VULKAN_HAZARDS; i++) CHECK_EQ_INT(add_one(&p, 0, i), 0);
  CHECK_EQ_INT(add_one(&p, 0, VULKAN_HAZARDS), 1);  // more than it remembers
  CHECK_EQ_INT(add_one(&p, 40, 70), 0);             // written before that barrier
  CHECK_EQ_INT(add_one(&p, 70, 71), 1);             // reads what was written
  CHECK_EQ_INT(add_one(&p, 41, 71), 1);             // writes what was written
  CHECK_EQ_INT(add_one(&p, 42, 41), 1);             // writes what was read
  CHECK_EQ_INT(add_one(&p, 42, 72), 0);             // reads what was read
  CHECK_EQ_INT(add_one(&p, 72, 73), 1);
  fixture_read(&p.f, p.buffer, 0, words, sizeof words);
  const struct {
    int piece;
    uint32_t wanted;
  } results[] = {{0, 0}, {1, 1}, {40, 1}, {41, 2}, {47, 1}, {70, 2}, {71, 2}, {72, 2}, {73, 3}};
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    for (int j = 0; j < PIECE_BYTES / 4; j++) CHECK_EQ_UINT(words[results[i].piece][j], results[i].wanted);
  }
  p.f.backend->buffer_destroy(p.f.device, p.buffer);
  fixture_discard(&p.f, &p.add);
  fixture_close(&p.f);
}

#endif
