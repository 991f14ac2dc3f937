// SPDX-License-Identifier: MIT
// Emitted text behaves as the language says, on every device found: conversions as in tsr_convert, integer arithmetic
// as in ir_ops.h, the sample kernels as in plain C, and checked mode with its report.
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <tessera/dtype.h>

#include "lang/emit_batch.h"
#include "lang/emit_case.h"
#include "lang/random_kernel.h"
#include "support/test.h"

// --- Devices ---------------------------------------------------------------------------------------------------------

static void release_all(emit_batch *batch, tsri_kernel *const *kernels, uint32_t count) {
  emit_batch_release(batch);
  for (uint32_t i = 0; i < count; i++) tsri_kernel_release(kernels[i]);
}

static void on_every_device(void (*claim)(const emit_device *device)) {
  int count = 0;
  for (int i = 0; emit_devices[i]; i++) {
    const char *reason = emit_devices[i]->missing();
    if (reason) {
      printf("not on %s: %s\n", emit_devices[i]->name, reason);
      continue;
    }
    claim(emit_devices[i]);
    count++;
  }
  if (count == 0) SKIP("there is neither a C compiler nor a device here");
}

// --- Conversions ----------------------------------------------------------------------------------------------------

#define CONVERT_COUNT 256

static const int64_t edges[] = {0,           1,
                                -1,          127,
                                128,         -128,
                                -129,        255,
                                256,         32767,
                                32768,       -32769,
                                65504,       65519,
                                65520,       INT32_MAX,
                                INT32_MIN,   UINT32_MAX,
                                16777217,    33554435,
                                1077936129,  INT64_MAX,
                                INT64_MIN,   4294967296,
                                -4294967297, 9007199254740993};

static void fill_edges(tsr_dtype dtype, void *memory) {
  uint64_t state = 7;
  random_fill(&state, dtype, memory, CONVERT_COUNT);
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    unsigned char *element = (unsigned char *)memory + i * tsr_dtype_bytes(dtype);
    CHECK_OK(tsr_convert(dtype, element, TSR_I64, &edges[i], 1));
  }
}

static bool is_nan_of(tsr_dtype dtype, const void *element) {
  double value = 0;
  CHECK_OK(tsr_convert(TSR_F64, &value, dtype, element, 1));
  return tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT && value != value;
}

static void check_conversion(const emit_device *device, tsr_dtype from, const void *source, tsr_dtype to,
                             const void *is) {
  unsigned char wanted[CONVERT_COUNT * 8];
  size_t bytes = tsr_dtype_bytes(to), from_bytes = tsr_dtype_bytes(from);
  CHECK_OK(tsr_convert(to, wanted, from, source, CONVERT_COUNT));
  for (uint32_t i = 0; i < CONVERT_COUNT; i++) {
    const unsigned char *a = (const unsigned char *)is + i * bytes, *b = wanted + i * bytes;
    if (memcmp(a, b, bytes) == 0 || (is_nan_of(to, a) && is_nan_of(to, b))) continue;
    double values[3] = {0};
    CHECK_OK(tsr_convert(TSR_F64, &values[0], from, (const unsigned char *)source + i * from_bytes, 1));
    CHECK_OK(tsr_convert(TSR_F64, &values[1], to, a, 1));
    CHECK_OK(tsr_convert(TSR_F64, &values[2], to, b, 1));
    test_fail(__FILE__, __LINE__, "%s: %s %.17g to %s gives %.17g, not %.17g", device->name, tsr_dtype_name(from),
              values[0], tsr_dtype_name(to), values[1], values[2]);
  }
}

// One kernel per source type, with an output for each target type.
static tsri_kernel *conversion_kernel(tsr_dtype from, bool has_f64) {
  emit_text head = {0}, body = {0};
  emit_add(&head, "kernel convert<WG = 64>(in %s x[]", tsr_dtype_name(from));
  for (uint32_t to = 0; to < TSR_DTYPE_COUNT; to++) {
    if (to == TSR_F64 && !has_f64) continue;
    const char *name = tsr_dtype_name((tsr_dtype)to);
    emit_add(&head, ", out %s to_%s[]", name, name);
    emit_add(&body, "    to_%s[global.x] = %s(x[global.x]);\n", name, name);
  }
  emit_add(&head, ") {\n");
  emit_add_text(&head, body.data);
  emit_add(&head, "}\n");
  tsri_kernel *kernel = emit_kernel_of("convert.tk", head.data, "convert", "", false);
  free(head.data);
  free(body.data);
  return kernel;
}

static void run_conversion(const emit_batch *batch, const emit_device *device, tsr_dtype from, bool has_f64) {
  static unsigned char source[CONVERT_COUNT * 8] __attribute__((aligned(16)));
  static unsigned char results[TSR_DTYPE_COUNT][CONVERT_COUNT * 8] __attribute__((aligned(16)));
  fill_edges(from, source);
  emit_launch launch = {.groups = {CONVERT_COUNT / 64, 1, 1},
                        .buffer_count = 1,
                        .buffers = {source},
                        .bytes = {CONVERT_COUNT * tsr_dtype_bytes(from)}};
  for (uint32_t to = 0; to < TSR_DTYPE_COUNT; to++) {
    if (to == TSR_F64 && !has_f64) continue;
    launch.buffers[launch.buffer_count] = results[to];
    launch.bytes[launch.buffer_count++] = CONVERT_COUNT * tsr_dtype_bytes((tsr_dtype)to);
  }
  bool was_run = emit_batch_run(batch, from, &launch, NULL, NULL);
  CHECK(was_run || !has_f64);
  for (uint32_t to = 0; to < TSR_DTYPE_COUNT && was_run; to++) {
    if (to == TSR_F64 && !has_f64) continue;
    check_conversion(device, from, source, (tsr_dtype)to, results[to]);
  }
}

static void conversions_are_exact(const emit_device *device) {
  bool has_f64 = tsri_emitter_find(device->dialect)->defaults->f64;
  tsri_kernel *kernels[TSR_DTYPE_COUNT];
  for (uint32_t from = 0; from < TSR_DTYPE_COUNT; from++) {
    kernels[from] = conversion_kernel((tsr_dtype)from, has_f64);
  }
  emit_batch *batch = emit_batch_build(device, NULL, kernels, TSR_DTYPE_COUNT);
  for (uint32_t from = 0; from < TSR_DTYPE_COUNT; from++) run_conversion(batch, device, (tsr_dtype)from, has_f64);
  release_all(batch, kernels, TSR_DTYPE_COUNT);
}

TEST(conversions_are_those_of_tsr_convert_everywhere) { on_every_device(conversions_are_exact); }

// --- Integers -------------------------------------------------------------------------------------------------------

static const int64_t operands[] = {0,         1,         -1,        2, 7, -7, INT32_MAX, INT32_MIN, INT32_MIN + 1,
                                   INT64_MAX, INT64_MIN, 0x12345678};
#define OPERAND_COUNT (sizeof operands / sizeof *operands)
#define PAIR_COUNT    256
#define RESULT_COUNT  12

static const char integer_kernel[] =
    "kernel integers<T: i32 | u32 | i64, WG = 64>(in T a[], in T b[], out T r[]) {\n"
    "    u32 g = global.x * 12;\n    T x = a[global.x], y = b[global.x];\n"
    "    r[g] = x + y; r[g + 1] = x - y; r[g + 2] = x * y; r[g + 3] = x / y; r[g + 4] = x % y;\n"
    "    r[g + 5] = x << u32(y); r[g + 6] = x >> u32(y); r[g + 7] = ~x; r[g + 8] = popcount(x);\n"
    "    r[g + 9] = clz(x); r[g + 10] = ctz(x); r[g + 11] = min(x, y) ^ max(x, y);\n}\n";

static uint64_t count_bits(uint64_t x) {
  uint64_t count = 0;
  for (; x; x >>= 1) count += x & 1;
  return count;
}

// The definitions of ir_ops.h in 64-bit arithmetic; `width` is 32 or 64. x and y are sign-extended if they are signed.
static void expected_integers(int64_t x, int64_t y, unsigned width, uint64_t out[RESULT_COUNT]) {
  uint64_t ux = (uint64_t)x, uy = (uint64_t)y, mask = width == 64 ? UINT64_MAX : UINT32_MAX;
  unsigned shift = (unsigned)uy & (width - 1), leading = 0, trailing = 0;
  while (leading < width && !(ux >> (width - 1 - leading) & 1)) leading++;
  while (trailing < width && !(ux >> trailing & 1)) trailing++;
  out[0] = ux + uy;
  out[1] = ux - uy;
  out[2] = ux * uy;
  out[3] = y == 0 ? ux : y == -1 ? 0 - ux : (uint64_t)(x / y);
  out[4] = y == 0 || y == -1 ? 0 : (uint64_t)(x % y);
  out[5] = ux << shift;
  out[6] = (uint64_t)(x >> shift);
  out[7] = ~ux;
  out[8] = count_bits(ux & mask);
  out[9] = leading;
  out[10] = trailing;
  out[11] = (uint64_t)((x < y ? x : y) ^ (x > y ? x : y));
}

static int64_t as_operand(int64_t value, tsr_dtype dtype) {
  if (dtype == TSR_I64) return value;
  return dtype == TSR_I32 ? (int64_t)(int32_t)(uint32_t)value : (int64_t)(uint32_t)value;
}

static void check_integers(const emit_device *device, const emit_batch *batch, uint32_t number, tsr_dtype dtype) {
  static unsigned char a[PAIR_COUNT * 8], b[PAIR_COUNT * 8], r[PAIR_COUNT * RESULT_COUNT * 8];
  size_t bytes = tsr_dtype_bytes(dtype);
  int64_t pairs[PAIR_COUNT][2] = {{0}};
  for (size_t i = 0; i < OPERAND_COUNT * OPERAND_COUNT; i++) {
    pairs[i][0] = as_operand(operands[i / OPERAND_COUNT], dtype);
    pairs[i][1] = as_operand(operands[i % OPERAND_COUNT], dtype);
  }
  for (size_t i = 0; i < PAIR_COUNT; i++) {
    memcpy(a + i * bytes, &pairs[i][0], bytes);
    memcpy(b + i * bytes, &pairs[i][1], bytes);
  }
  emit_launch launch = {.buffer_count = 3,
                        .buffers = {a, b, r},
                        .groups = {PAIR_COUNT / 64, 1, 1},
                        .bytes = {PAIR_COUNT * bytes, PAIR_COUNT * bytes, PAIR_COUNT * bytes * RESULT_COUNT}};
  CHECK(emit_batch_run(batch, number, &launch, NULL, NULL));
  for (size_t i = 0; i < PAIR_COUNT; i++) {
    uint64_t wanted[RESULT_COUNT];
    expected_integers(pairs[i][0], pairs[i][1], (unsigned)bytes * 8, wanted);
    for (size_t k = 0; k < RESULT_COUNT; k++) {
      uint64_t is = 0;
      memcpy(&is, r + (i * RESULT_COUNT + k) * bytes, bytes);
      if (is == (bytes == 8 ? wanted[k] : (uint32_t)wanted[k])) continue;
      test_fail(__FILE__, __LINE__, "%s: %s %" PRId64 " and %" PRId64 ": result %zu is %" PRIu64 ", not %" PRIu64,
                device->name, tsr_dtype_name(dtype), pairs[i][0], pairs[i][1], k, is, wanted[k]);
    }
  }
}

static void integers_are_defined(const emit_device *device) {
  static const tsr_dtype dtypes[] = {TSR_I32, TSR_U32, TSR_I64};
  static const char *const args[] = {"T=i32", "T=u32", "T=i64"};
  tsri_kernel *kernels[3];
  for (int i = 0; i < 3; i++) {
    kernels[i] = emit_kernel_of("integers.tk", integer_kernel, "integers", args[i], false);
  }
  emit_batch *batch = emit_batch_build(device, NULL, kernels, 3);
  for (uint32_t i = 0; i < 3; i++) check_integers(device, batch, i, dtypes[i]);
  release_all(batch, kernels, 3);
}

TEST(integer_arithmetic_has_one_meaning_everywhere) { on_every_device(integers_are_defined); }

// --- Corners of the language ----------------------------------------------------------------------------------------

typedef struct corner {
  const char *what, *text;  // kernel k(in u32 x[], out u32 y[], u32 n): x[i] is i, n is 256
  uint32_t (*expected)(uint32_t i);
} corner;

static uint32_t expect_steps(uint32_t i) {
  uint32_t sum = 0;
  for (uint32_t k = 0; k < 20;) {
    if (k % 3 != 0 && k > 15 + i % 4) break;
    if (k % 3 != 1) sum += k;
    uint32_t step = 0;
    while (step * step < k % 7 + 1) step++;
    k += step;
  }
  return sum;
}
static uint32_t expect_chain(uint32_t i) { return 100 * i; }
static uint32_t expect_lazy(uint32_t i) { return i < 8 ? 7 : 60 * i; }
static uint32_t expect_words(uint32_t i) { return 6 * i + 15; }
static uint32_t expect_group(uint32_t i) { return i / 64 * 64 + 63 - i % 64 + 4; }
static uint32_t expect_ids(uint32_t i) { return i; }
static uint32_t expect_old(uint32_t i) { return i % 64 == 5 ? 1 : 0; }

#define TEN(text) text text text text text text text text text text
static const corner corners[] = {
    {"a step that is more than an assignment, reached by continue",
     "u32 root(u32 v) { u32 s = 0; while (s * s < v) s++; return s; }\n"
     "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) {\n    u32 sum = 0;\n"
     "    for (u32 i = 0; i < 20; i += root(i % 7 + 1)) {\n        if (i % 3 == 1) { if (i > 15 + x[global.x] % 4) "
     "break; continue; }\n"
     "        if (i % 3 == 2 && i > 15 + x[global.x] % 4) break;\n        sum += i;\n    }\n    y[global.x] = "
     "sum;\n}\n",
     expect_steps},
    {"an expression too high for one piece",
     "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) {\n    u32 v = x[global.x];\n    y[global.x] = 0" TEN(
         TEN(" + v")) ";\n}\n",
     expect_chain},
    {"high expressions under a condition, whose loads must not happen",
     "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) {\n    u32 v = x[global.x];\n    u32 far = v < 8 ? 4000000000 "
     ": v;\n"
     "    y[global.x] = v >= 8 && 0" TEN(" + x[far]"
                                         " + x[far]"
                                         " + x[far]"
                                         " + x[far]"
                                         " + x[far]"
                                         " + x[far]") " == 60 * v ? 0" TEN(" + x[far]"
                                                                           " + x[far]"
                                                                           " + x[far]"
                                                                           " + x[far]"
                                                                           " + x[far]"
                                                                           " + x[far]") " : 7;\n}\n",
     expect_lazy},
    {"names that are words of other languages",
     "u32 device(u32 half) { u32 thread = half; return thread; }\n"
     "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) {\n    u32 float4 = x[global.x];\n    u32 global_x = float4;\n"
     "    u32 threadgroup = 1, __global = 2, char = 3, template = 4, tsr_p = 5, barrier_ = device(float4);\n"
     "    y[global.x] = float4 + global_x + threadgroup + __global + char + template + tsr_p + barrier_ + 3 * "
     "device(float4);\n}\n",
     expect_words},
    {"a loop with barriers that the group leaves early",
     "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) {\n    shared u32 s[64];\n    u32 rounds = 0, v = 0;\n"
     "    for (u32 i = 0; i < n; i++) {\n        s[local.x] = x[global.x];\n        barrier();\n        v = s[63 - "
     "local.x];\n"
     "        barrier();\n        if (i == 1) continue;\n        rounds++;\n        if (i == 4) break;\n    }\n"
     "    y[global.x] = v + rounds;\n}\n",
     expect_group},
    {"groups of two dimensions",
     "kernel k<WG = 16, WG_Y = 4>(in u32 x[], out u32 y[], u32 n) {\n"
     "    u32 i = group.x * 64 + local.y * 16 + local.x;\n"
     "    y[i] = (global.x - group.x * 16) + global.y * 16 + group.x * 64 + groups.y - 1 + local.z;\n}\n",
     expect_ids},
    {"compare and exchange in shared memory",
     "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) {\n    shared u32 s[1];\n    if (local.x == 0) s[0] = 5;\n    "
     "barrier();\n"
     "    u32 old = atomic_compare_exchange(s, 0, local.x, 100);\n    barrier();\n"
     "    y[global.x] = old == local.x ? 1 : 0;\n    if (s[0] != 100) y[global.x] = 9;\n}\n",
     expect_old},
};

#define CORNER_COUNT (sizeof corners / sizeof *corners)

static void corners_are_right(const emit_device *device) {
  static uint32_t x[256], y[256];
  uint32_t n = 256;
  for (uint32_t k = 0; k < 256; k++) x[k] = k;
  emit_launch launch = {
      .buffer_count = 2, .buffers = {x, y}, .bytes = {sizeof x, sizeof y}, .params = &n, .groups = {4, 1, 1}};
  tsri_kernel *kernels[CORNER_COUNT];
  for (uint32_t i = 0; i < CORNER_COUNT; i++) {
    kernels[i] = emit_kernel_of("corner.tk", corners[i].text, "k", "", false);
  }
  emit_batch *batch = emit_batch_build(device, NULL, kernels, CORNER_COUNT);
  for (uint32_t i = 0; i < CORNER_COUNT; i++) {
    memset(y, 0, sizeof y);
    CHECK(emit_batch_run(batch, i, &launch, NULL, NULL));
    for (uint32_t k = 0; k < 256; k++) {
      if (y[k] == corners[i].expected(k)) continue;
      test_fail(__FILE__, __LINE__, "%s: %s: y[%u] is %u, not %u", device->name, corners[i].what, (unsigned)k,
                (unsigned)y[k], (unsigned)corners[i].expected(k));
    }
  }
  release_all(batch, kernels, CORNER_COUNT);
}

TEST(corners_of_the_language_come_out_right_everywhere) { on_every_device(corners_are_right); }

// --- Checked mode ---------------------------------------------------------------------------------------------------

typedef struct checked_case {
  const char *text;
  uint64_t count;       // elements of x and y
  const char *message;  // NULL: no index is out of range
} checked_case;

static const checked_case checked_cases[] = {
    {"kernel k<WG = 64>(in f32 x[], out f32 y[], i32 n) {\n    u32 i = global.x;\n    y[i] = x[i];\n}\n", 128, NULL},
    {"kernel k<WG = 64>(in f32 x[], out f32 y[], i32 n) {\n    if (global.x == 3) y[0] = x[70];\n}\n", 64,
     "kernel k: index 70 is outside buffer 'x' of 64 elements (k.tk:2:31)"},
    {"kernel k<WG = 64>(in f32 x[], out f32 y[], i32 n) {\n    if (global.x == 3) y[n - 8] = 1;\n}\n", 64,
     "kernel k: index -3 is outside buffer 'y' of 64 elements"},
    {"kernel k<WG = 64>(in f32 x[], out f32 y[], i32 n) {\n    i64 i = i64(n) << 40;\n    if (global.x == 3) y[i] = "
     "1;\n}\n",
     64, "kernel k: index 5497558138880 is outside buffer 'y'"},
    {"kernel k<WG = 64>(in f32 x[], out f32 y[], i32 n) {\n    shared f32 s[8];\n    if (global.x == 3) s[n * 2] = "
     "x[0];\n}\n",
     64, "kernel k: index 10 is outside shared array 's' of 8 elements"},
    {"kernel k<WG = 64>(in f32 x[], out f32 y[], i32 n) {\n    f16 s[4];\n    s[n & 3] = 1;\n    y[0] = s[n];\n}\n", 64,
     "kernel k: index 5 is outside local array 's' of 4 elements"},
    {"kernel k<WG = 64>(in f32 x[], out f32 y[], i32 n) {\n    if (global.x == 3) store4(y, 0, load4(x, n));\n}\n", 64,
     "kernel k: index 5 is no multiple of the 4 elements accessed in buffer 'x'"},
    {"kernel k<WG = 64>(in f32 x[], out f32 y[], i32 n) {\n    if (global.x == 3) store4(y, 64 * n, load4(x, 0));\n}\n",
     64, "kernel k: index 320 with the 4 elements from there is outside buffer 'y' of 64 elements"},
};

#define CHECKED_COUNT (sizeof checked_cases / sizeof *checked_cases)

static void indices_are_checked(const emit_device *device) {
  static float x[128] __attribute__((aligned(16))), y[128] __attribute__((aligned(16)));
  int32_t n = 5;
  tsri_kernel *kernels[CHECKED_COUNT];
  for (uint32_t i = 0; i < CHECKED_COUNT; i++) {
    kernels[i] = emit_kernel_of("k.tk", checked_cases[i].text, "k", "", true);
  }
  emit_batch *batch = emit_batch_build(device, NULL, kernels, CHECKED_COUNT);
  for (uint32_t i = 0; i < CHECKED_COUNT; i++) {
    const checked_case *c = &checked_cases[i];
    uint32_t report[TSRI_EMIT_REPORT_WORDS] = {0};
    emit_launch launch = {
        .buffer_count = 2, .buffers = {x, y}, .bytes = {c->count * 4, c->count * 4}, .params = &n, .groups = {2, 1, 1}};
    CHECK(emit_batch_run(batch, i, &launch, (uint64_t[]){c->count, c->count}, report));
    char text[256];
    CHECK(tsri_emit_decode_report(kernels[i], report, text, sizeof text) == (c->message != NULL));
    if (c->message) CHECK_STR_HAS(text, c->message);
  }
  release_all(batch, kernels, CHECKED_COUNT);
}

TEST(checked_mode_reports_an_index_out_of_range_everywhere) { on_every_device(indices_are_checked); }

// --- The sample kernels ---------------------------------------------------------------------------------------------

typedef struct sample {
  const char *file, *kernel, *args;
  uint32_t groups[3];
  uint32_t params[8];
  tsr_dtype dtypes[4];
  uint32_t counts[4];
  uint32_t out;  // index of the buffer that is compared
  double bound;  // relative to the largest value; 0: exact
} sample;

#define TILED_MATMUL   3  // index in the list
#define F32_BITS(bits) bits##u
static const sample samples[] = {
    {"rms_norm",
     "rms_norm",
     "T=f32",
     {5, 1, 1},
     {97, F32_BITS(0x3727c5ac)},
     {TSR_F32, TSR_F32, TSR_F32},
     {485, 97, 485},
     2,
     1e-6},
    {"rms_norm",
     "rms_norm",
     "T=f16 WG=96",
     {5, 1, 1},
     {97, F32_BITS(0x3727c5ac)},
     {TSR_F16, TSR_F16, TSR_F16},
     {485, 97, 485},
     2,
     1e-3},
    {"softmax", "softmax_rows", "T=f32 WG=64", {3, 1, 1}, {101}, {TSR_F32, TSR_F32}, {303, 303}, 1, 1e-6},
    {"matmul",
     "matmul_tiled",
     "T=f32 TILE=8",
     {3, 2, 1},
     {13, 19, 17},
     {TSR_F32, TSR_F32, TSR_F32},
     {221, 323, 247},
     2,
     1e-6},
    {"matmul",
     "matmul_naive",
     "T=bf16",
     {2, 1, 1},
     {13, 19, 17},
     {TSR_BF16, TSR_BF16, TSR_BF16},
     {221, 323, 247},
     2,
     1e-2},
    {"transpose", "transpose", "T=i8", {3, 2, 1}, {37, 70}, {TSR_I8, TSR_I8}, {2590, 2590}, 1, 0},
    {"histogram", "histogram", "", {3, 1, 1}, {1000}, {TSR_U8, TSR_U32}, {1000, 256}, 1, 0},
    {"mandelbrot",
     "mandelbrot",
     "",
     {2, 2, 1},
     {30, 20, F32_BITS(0xc0000000), F32_BITS(0xbf800000), F32_BITS(0x3dcccccd), 40},
     {TSR_U32},
     {600},
     0,
     0},
    {"stencil", "blur3", "", {2, 2, 1}, {30, 20}, {TSR_U8, TSR_U8}, {600, 600}, 1, 0},
    {"stencil", "heat_step", "", {2, 2, 1}, {30, 20, F32_BITS(0x3e99999a)}, {TSR_F32, TSR_F32}, {600, 600}, 1, 0},
    {"fused",
     "relu_mul_add4",
     "T=f16",
     {1, 1, 1},
     {100},
     {TSR_F16, TSR_F16, TSR_F16, TSR_F16},
     {400, 400, 400, 400},
     3,
     0},
    {"fused", "gelu_bias", "T=f32", {2, 1, 1}, {400, 20}, {TSR_F32, TSR_F32, TSR_F32}, {400, 20, 400}, 2, 1e-6},
};

static tsri_kernel *sample_kernel(const sample *s) {
  const char *top = getenv("TSR_TEST_SOURCE_DIR");
  char path[512];
  size_t bytes = 0;
  snprintf(path, sizeof path, "%s/kernels/%s.tk", top ? top : ".", s->file);
  char *text = emit_read_file(path, &bytes);
  CHECK(text);
  tsri_kernel *kernel = emit_kernel_of(path, text, s->kernel, s->args, false);
  free(text);
  return kernel;
}

static void fill_sample(tsr_dtype dtype, void *memory, uint32_t count, uint64_t seed) {
  bool is_float = tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT;
  for (uint32_t i = 0; i < count; i++) {
    double value = is_float ? (double)random_below(&seed, 4096) / 2048 - 1 : (double)random_below(&seed, 100);
    CHECK_OK(tsr_convert(dtype, (unsigned char *)memory + i * tsr_dtype_bytes(dtype), TSR_F64, &value, 1));
  }
}

#define SAMPLE_COUNT  (sizeof samples / sizeof *samples)
#define SAMPLE_VALUES 4096

// Runs every sample; results[i] receives the elements of its output. was_run[i] is false if the device cannot run it.
static void run_samples(const emit_device *device, bool was_run[SAMPLE_COUNT], double results[][SAMPLE_VALUES]) {
  static unsigned char memory[4][SAMPLE_VALUES * 4] __attribute__((aligned(16)));
  tsri_kernel *kernels[SAMPLE_COUNT];
  for (uint32_t i = 0; i < SAMPLE_COUNT; i++) kernels[i] = sample_kernel(&samples[i]);
  emit_batch *batch = emit_batch_build(device, NULL, kernels, SAMPLE_COUNT);
  for (uint32_t i = 0; i < SAMPLE_COUNT; i++) {
    const sample *s = &samples[i];
    emit_launch launch = {.params = s->params, .buffer_count = kernels[i]->buffer_count};
    memcpy(launch.groups, s->groups, sizeof launch.groups);
    for (uint32_t k = 0; k < launch.buffer_count; k++) {
      fill_sample(s->dtypes[k], memory[k], s->counts[k], k + 1);
      if (kernels[i]->buffers[k].access != TSRI_ACCESS_IN) memset(memory[k], 0, sizeof memory[k]);
      launch.buffers[k] = memory[k];
      launch.bytes[k] = s->counts[k] * tsr_dtype_bytes(s->dtypes[k]);
    }
    was_run[i] = emit_batch_run(batch, i, &launch, NULL, NULL);
    if (was_run[i]) CHECK_OK(tsr_convert(TSR_F64, results[i], s->dtypes[s->out], memory[s->out], s->counts[s->out]));
  }
  release_all(batch, kernels, SAMPLE_COUNT);
}

static void compare_sample(const emit_device *device, const sample *s, const double *is, const double *wanted) {
  double largest = 0;
  for (uint32_t k = 0; k < s->counts[s->out]; k++) largest = fmax(largest, fabs(wanted[k]));
  CHECK(largest > 0);
  for (uint32_t k = 0; k < s->counts[s->out]; k++) {
    if (fabs(is[k] - wanted[k]) <= s->bound * largest) continue;
    test_fail(__FILE__, __LINE__, "%s: %s<%s>: element %u is %.9g, in plain C %.9g", device->name, s->kernel, s->args,
              (unsigned)k, is[k], wanted[k]);
  }
}

// Compares plain C itself with a simple loop.
static void check_tiled_matmul(const double *c) {
  static float a[221], b[323];
  fill_sample(TSR_F32, a, 221, 1);
  fill_sample(TSR_F32, b, 323, 2);
  for (uint32_t row = 0; row < 13; row++) {
    for (uint32_t col = 0; col < 19; col++) {
      double sum = 0;
      for (uint32_t k = 0; k < 17; k++) sum += (double)a[row * 17 + k] * b[k * 19 + col];
      CHECK_NEAR(c[row * 19 + col], sum, 1e-5);
    }
  }
}

TEST(sample_kernels_give_what_plain_c_gives_and_its_tiled_matmul_is_right) {
  static double is[SAMPLE_COUNT][SAMPLE_VALUES], wanted[SAMPLE_COUNT][SAMPLE_VALUES];
  bool was_run[SAMPLE_COUNT];
  if (emit_device_c.missing()) SKIP(emit_device_c.missing());
  run_samples(&emit_device_c, was_run, wanted);
  for (uint32_t i = 0; i < SAMPLE_COUNT; i++) CHECK(was_run[i]);
  check_tiled_matmul(wanted[TILED_MATMUL]);
  for (int d = 1; emit_devices[d]; d++) {
    if (emit_devices[d]->missing()) continue;
    run_samples(emit_devices[d], was_run, is);
    for (uint32_t i = 0; i < SAMPLE_COUNT; i++) {
      if (was_run[i]) compare_sample(emit_devices[d], &samples[i], is[i], wanted[i]);
    }
  }
}
