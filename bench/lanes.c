// SPDX-License-Identifier: MIT
// Measures how fast the CPU runs kernels: the bandwidth of element-wise ones compared with plain C, the arithmetic of
// matrix products, and the costs of compiling and launching.
//
//   build/release/bench/lanes [threads]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/status.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/lanes/lanes.h"
#include "core/alloc.h"
#include "lang/emit/lanes/lanes.h"
#include "lang/lang.h"
#include "platform/parallel.h"
#include "platform/platform.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static int threads = 2;

static double seconds(void) { return (double)tsri_clock_ns() * 1e-9; }

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, tsr_last_error());
  exit(1);
}

static tsri_lanes_program *build(const char *text, const char *name) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  uint32_t *words = NULL;
  size_t bytes = 0;
  tsri_lanes_program *program = NULL;
  if (tsri_lang_parse("bench.tk", text, strlen(text), NULL, &module) != TSR_OK) fail(name);
  if (tsri_lang_specialise(module, name, NULL, 0, NULL, NULL, &kernel) != TSR_OK) fail(name);
  if (tsri_lanes_compile(kernel, &words, &bytes) != TSR_OK) fail(name);
  if (tsri_lanes_prepare(words, bytes, &program) != TSR_OK) fail(name);
  tsri_free(words);
  tsri_kernel_release(kernel);
  tsri_module_release(module);
  return program;
}

typedef struct job {
  const tsri_lanes_program *program;
  tsri_lanes_launch launch;
} job;

static void run_job(void *user) {
  const job *j = user;
  if (tsri_lanes_run(j->program, &j->launch) != TSR_OK) fail("run");
}

static double time_of(void (*run)(void *), void *user) {
  double start = seconds();
  run(user);
  return seconds() - start;
}

// The best of several rounds, because other processes also use the machine.
static double best_of(void (*run)(void *), void *user, int rounds) {
  double best = 1e9;
  for (int i = 0; i < rounds; i++) best = fmin(best, time_of(run, user));
  return best;
}

// --- Bandwidth --------------------------------------------------------------------------------------------------------

enum { N = 10000000 };
static float *a, *b, *c, *y;

static float *new_array(size_t count) {
  float *memory = NULL;
  if (posix_memalign((void **)&memory, 4096, count * sizeof(float)) != 0) exit(1);
  for (size_t i = 0; i < count; i++) memory[i] = (float)(i % 1000) * 0.001f - 0.4f;
  return memory;
}

static void plain_part(size_t first, size_t last) {
  for (size_t i = first; i < last; i++) {
    float x = a[i] * b[i] + c[i];
    y[i] = x > 0 ? x : 0;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void streaming_part(size_t first, size_t last) {
  for (size_t i = first; i < last; i += 8) {
    __m256 x = _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)), _mm256_loadu_ps(c + i));
    _mm256_stream_ps(y + i, _mm256_max_ps(x, _mm256_setzero_ps()));
  }
  _mm_sfence();
}

// As streaming_part, but reads 256 bytes of one array, then 256 bytes of the next array, and so on.
__attribute__((target("avx2"))) static void blocked_part(size_t first, size_t last) {
  for (size_t at = first; at < last; at += 64) {
    __m256 product[8];
    size_t count = last - at < 64 ? (last - at) / 8 : 8;
    for (size_t k = 0; k < count; k++) {
      product[k] = _mm256_mul_ps(_mm256_loadu_ps(a + at + k * 8), _mm256_loadu_ps(b + at + k * 8));
    }
    for (size_t k = 0; k < count; k++) {
      __m256 x = _mm256_add_ps(product[k], _mm256_loadu_ps(c + at + k * 8));
      _mm256_stream_ps(y + at + k * 8, _mm256_max_ps(x, _mm256_setzero_ps()));
    }
  }
  _mm_sfence();
}
#endif

static void limit_part(void *user, int part) {
  bool is_blocked = *(const bool *)user;
  size_t share = N / (size_t)threads / 8 * 8, first = (size_t)part * share,
         last = part == threads - 1 ? N : first + share;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    (is_blocked ? blocked_part : streaming_part)(first, last);
    return;
  }
#endif
  (void)is_blocked;
  plain_part(first, last);
}

// A plain loop that reads three arrays and writes one, with stores that bypass the caches if possible.
static void limit_loop(void *user) { tsri_parallel(threads, threads, limit_part, user); }

static const char *const elementwise_text =
    "kernel relu_mul_add<WG = 256>(in f32 a[], in f32 b[], in f32 c[], out f32 y[], u32 n) {\n"
    "  u32 i = global.x;\n  if (i < n) y[i] = max(a[i] * b[i] + c[i], 0);\n}\n"
    "kernel relu_mul_add4<WG = 256>(in f32 a[], in f32 b[], in f32 c[], out f32 y[], u32 quads) {\n"
    "  u32 i = global.x;\n  if (i < quads) store4(y, i * 4, max(load4(a, i * 4) * load4(b, i * 4) + load4(c, i * 4), "
    "f32x4(0)));\n}\n"
    "kernel exp_(in f32 a[], in f32 b[], in f32 c[], out f32 y[], u32 n) { u32 i = global.x; if (i < n) y[i] = "
    "exp(a[i]); }\n"
    "kernel tanh_(in f32 a[], in f32 b[], in f32 c[], out f32 y[], u32 n) { u32 i = global.x; if (i < n) y[i] = "
    "tanh(a[i]); }\n"
    "kernel gelu_(in f32 a[], in f32 b[], in f32 c[], out f32 y[], u32 n) {\n"
    "  u32 i = global.x;\n  if (i < n) { f32 x = a[i]; y[i] = 0.5 * x * (1 + erf(x * 0.70710678)); }\n}\n"
    "kernel copy_(in f32 a[], in f32 b[], in f32 c[], out f32 y[], u32 n) { u32 i = global.x; if (i < n) y[i] = a[i]; "
    "}\n";

// Runs the plain loop and the kernel in turn, so that both see the same disturbances.
static void elementwise(void) {
  static const struct {
    const char *name;
    double bytes_per_item;
    uint32_t items;
  } rows[] = {{"relu_mul_add", 16, N}, {"relu_mul_add4", 64, N / 4}, {"copy_", 8, N}, {"exp_", 8, N}, {"tanh_", 8, N},
              {"gelu_", 8, N}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    tsri_lanes_program *program = build(elementwise_text, rows[i].name);
    tsri_lanes_buffer buffers[4] = {{a, N * 4}, {b, N * 4}, {c, N * 4}, {y, N * 4}};
    uint32_t n = rows[i].items;
    job j = {.program = program,
             .launch = {.buffers = buffers,
                        .buffer_count = 4,
                        .params = &n,
                        .params_bytes = 4,
                        .groups = {(n + 63) / 64, 1, 1},
                        .threads = threads,
                        .simd = tsri_cpu_simd_level(NULL),
                        .allow_sleef = true}};
    if (i < 2) j.launch.groups[0] = (n + 255) / 256;
    double took = 1e9, limit = 1e9;
    for (int round = 0; round < (i == 0 ? 60 : 20); round++) {
      if (i == 0) limit = fmin(limit, time_of(limit_loop, &(bool){round % 2 == 0}));
      took = fmin(took, time_of(run_job, &j));
    }
    if (i == 0)
      printf("%-20s %8.2f ms %8.1f GB/s: the limit for three reads and a write\n", "plain loop", limit * 1e3,
             16.0 * N / limit * 1e-9);
    printf("%-20s %8.2f ms %8.1f GB/s", rows[i].name, took * 1e3, rows[i].bytes_per_item * n / took * 1e-9);
    if (i == 0) printf(" %8.0f %% of the limit", 100 * limit / took);
    printf("\n");
    tsri_lanes_release(program);
  }
}

// --- Arithmetic -------------------------------------------------------------------------------------------------------

static const char *const matmul_text =
    "kernel naive<WG = 16, WG_Y = 16>(in f32 a[], in f32 b[], out f32 c[], u32 n) {\n"
    "  u32 col = global.x, row = global.y;\n  if (row >= n || col >= n) return;\n  f32 sum = 0;\n"
    "  for (u32 i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + col];\n  c[row * n + col] = sum;\n}\n"
    "kernel tiled<TILE = 16, WG = TILE, WG_Y = TILE>(in f32 a[], in f32 b[], out f32 c[], u32 n) {\n"
    "  shared f32 p[TILE][TILE];\n  shared f32 q[TILE][TILE];\n  u32 x = local.x, y = local.y, col = global.x, row = "
    "global.y;\n"
    "  f32 sum = 0;\n  for (u32 t = 0; t < n; t += TILE) {\n"
    "    p[y][x] = row < n && t + x < n ? a[row * n + t + x] : 0;\n    q[y][x] = t + y < n && col < n ? b[(t + y) * n "
    "+ col] : 0;\n"
    "    barrier();\n    for (u32 i = 0; i < TILE; i++) sum += p[y][i] * q[i][x];\n    barrier();\n  }\n"
    "  if (row < n && col < n) c[row * n + col] = sum;\n}\n"
    "kernel line<WG = 256>(in f32 a[], in f32 b[], out f32 c[], u32 n) {\n"
    "  u32 at = global.x, row = at / n, col = at % n;\n  if (row >= n) return;\n  f32 sum = 0;\n"
    "  for (u32 i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + col];\n  c[at] = sum;\n}\n";

static void matmuls(void) {
  enum { SIZE = 256 };
  static const char *const names[] = {"naive", "tiled", "line"};
  for (int i = 0; i < 3; i++) {
    tsri_lanes_program *program = build(matmul_text, names[i]);
    uint32_t n = SIZE;
    size_t bytes = (size_t)SIZE * SIZE * 4;
    tsri_lanes_buffer buffers[3] = {{a, bytes}, {b, bytes}, {y, bytes}};
    job j = {.program = program,
             .launch = {.buffers = buffers,
                        .buffer_count = 3,
                        .params = &n,
                        .params_bytes = 4,
                        .groups = {SIZE / 16, SIZE / 16, 1},
                        .threads = threads,
                        .simd = tsri_cpu_simd_level(NULL)}};
    if (i == 2) {
      j.launch.groups[0] = SIZE * SIZE / 256;
      j.launch.groups[1] = 1;
    }
    double took = best_of(run_job, &j, 10), flops = 2.0 * SIZE * SIZE * SIZE;
    printf("matmul %-13s %8.2f ms %8.1f GFLOP/s\n", names[i], took * 1e3, flops / took * 1e-9);
    tsri_lanes_release(program);
  }
}

// --- Rows -------------------------------------------------------------------------------------------------------------

static const char *const rows_text =
    "kernel rms_norm<WG = 256>(in f32 x[], in f32 w[], out f32 y[], u32 cols, f32 eps) {\n"
    "  u32 base = group.x * cols;\n  f32 ss = 0;\n"
    "  for (u32 i = local.x; i < cols; i += WG) { f32 v = x[base + i]; ss += v * v; }\n"
    "  f32 r = rsqrt(group_sum(ss) / f32(cols) + eps);\n"
    "  for (u32 i = local.x; i < cols; i += WG) y[base + i] = x[base + i] * r * w[i];\n}\n";

static void rows(void) {
  enum { COLS = 1000, ROWS = N / COLS };
  tsri_lanes_program *program = build(rows_text, "rms_norm");
  tsri_lanes_buffer buffers[3] = {{a, N * 4}, {b, N * 4}, {y, N * 4}};
  struct {
    uint32_t cols;
    float eps;
  } params = {COLS, 1e-5f};
  job j = {.program = program,
           .launch = {.buffers = buffers,
                      .buffer_count = 3,
                      .params = &params,
                      .params_bytes = 8,
                      .groups = {ROWS, 1, 1},
                      .threads = threads,
                      .simd = tsri_cpu_simd_level(NULL)}};
  double took = best_of(run_job, &j, 10), gb_s = 8.0 * N / took * 1e-9;
  printf("%-20s %8.2f ms %8.1f GB/s\n", "rms_norm 10^4 x 10^3", took * 1e3, gb_s);
  tsri_lanes_release(program);
}

// --- Costs of compiling and launching ---------------------------------------------------------------------------------

static void launches(void) {
  enum { ROUNDS = 20000 };
  tsri_lanes_program *program = build(elementwise_text, "relu_mul_add");
  static const uint32_t sizes[] = {1, 256, 4096};
  for (int k = 0; k < 3; k++) {
    uint32_t n = sizes[k];
    tsri_lanes_buffer buffers[4] = {{a, n * 4}, {b, n * 4}, {c, n * 4}, {y, n * 4}};
    tsri_lanes_launch launch = {.buffers = buffers,
                                .buffer_count = 4,
                                .params = &n,
                                .params_bytes = 4,
                                .groups = {(n + 255) / 256, 1, 1},
                                .threads = threads,
                                .simd = tsri_cpu_simd_level(NULL),
                                .timeout_ns = UINT64_C(1000000000)};
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
      double start = seconds();
      for (int i = 0; i < ROUNDS; i++) {
        if (tsri_lanes_run(program, &launch) != TSR_OK) fail("launch");
      }
      double took = (seconds() - start) / ROUNDS;
      if (took < best) best = took;
    }
    printf("launch of %4u items  %8.3f us\n", n, best * 1e6);
  }
  tsri_lanes_release(program);
}

static const char *const ten_text =
    "kernel ten<T: float = f32, WG = 256>(in T a[], in T b[], in T c[], out T y[], u32 n, f32 s) {\n  u32 i = "
    "global.x;\n"
    "  if (i < n) {\n    f32 p = f32(a[i]), q = f32(b[i]), r = f32(c[i]);\n"
    "    f32 t = p * q + r;\n    t = tanh(t) * s;\n    t = t - p / (abs(q) + 1);\n    y[i] = T(max(t, 0) + exp(-r * "
    "r));\n  }\n}\n";

static void compiles(void) {
  enum { ROUNDS = 2000 };
  double best[4] = {1e9, 1e9, 1e9, 1e9};
  for (int i = 0; i < ROUNDS; i++) {
    tsri_module *module = NULL;
    tsri_kernel *kernel = NULL;
    uint32_t *words = NULL;
    size_t bytes = 0;
    tsri_lanes_program *program = NULL;
    double t[5];
    t[0] = seconds();
    if (tsri_lang_parse("ten.tk", ten_text, strlen(ten_text), NULL, &module) != TSR_OK) fail("parse");
    t[1] = seconds();
    if (tsri_lang_specialise(module, "ten", NULL, 0, NULL, NULL, &kernel) != TSR_OK) fail("specialise");
    t[2] = seconds();
    if (tsri_lanes_compile(kernel, &words, &bytes) != TSR_OK) fail("compile");
    t[3] = seconds();
    if (tsri_lanes_prepare(words, bytes, &program) != TSR_OK) fail("prepare");
    t[4] = seconds();
    for (int k = 0; k < 4; k++) best[k] = fmin(best[k], t[k + 1] - t[k]);
    tsri_lanes_release(program);
    tsri_free(words);
    tsri_kernel_release(kernel);
    tsri_module_release(module);
  }
  printf("compile, 10 operations %6.1f us: parse %.1f, specialise %.1f, lower %.1f, prepare %.1f\n",
         (best[0] + best[1] + best[2] + best[3]) * 1e6, best[0] * 1e6, best[1] * 1e6, best[2] * 1e6, best[3] * 1e6);
}

int main(int argc, char **argv) {
  if (argc > 1) threads = atoi(argv[1]);
  a = new_array(N);
  b = new_array(N);
  c = new_array(N);
  y = new_array(N);
  printf("%d threads, %s\n", threads, tsri_cpu_simd_level(NULL));
  elementwise();
  rows();
  matmuls();
  launches();
  compiles();
  free(a);
  free(b);
  free(c);
  free(y);
  return 0;
}
