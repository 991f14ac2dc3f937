// SPDX-License-Identifier: MIT
// Buffers, shared and local arrays, vectors, atomics and collectives, and the checks of checked mode.
#include "backends/cpu/lanes/isa.h"
#include "backends/cpu/lanes/lanes_testing.h"

// One launch at a level.
static tsr_status launch_at(const tsri_lanes_program *program, const char *level, tsri_lanes_buffer *buffers,
                            uint32_t buffer_count, const void *params, uint32_t params_bytes, uint32_t groups,
                            int threads) {
  return tsri_lanes_run(program, &(tsri_lanes_launch){.buffers = buffers,
                                                      .buffer_count = buffer_count,
                                                      .params = params,
                                                      .params_bytes = params_bytes,
                                                      .groups = {groups, 1, 1},
                                                      .threads = threads,
                                                      .simd = level});
}

#define FOR_EACH_LEVEL(level)                          \
  for (int level_ = 0; level_ < SIMD_LEVELS; level_++) \
    for (const char *level = simd_levels[level_]; level && has_level(level); level = NULL)

// --- Plain access ---

TEST(every_storage_type_is_read_and_written_in_every_pattern) {
  const char *text =
      "kernel k<T: number, WG = 40>(in T x[], in u32 at[], out T a[], out T b[], out T c[], out T d[], u32 n) {\n"
      "  u32 i = global.x;\n  if (i >= n) return;\n"
      "  a[i] = x[i];\n"                                               // contiguous
      "  b[at[i]] = x[at[n - 1 - i]];\n"                               // gathered and scattered
      "  c[i] = x[i * 2] + x[i * 3 + 1] + x[5];\n"                     // strided, uniform
      "  if (at[i] % 3 == 0) d[n - 1 - i] = x[i + 1] + x[at[i]];\n}";  // with a mask
  enum { N = 331 };
  static _Alignas(8) char memory[5][(3 * N + 2) * 8];
  static uint32_t at[N];
  for (uint32_t i = 0; i < N; i++) at[i] = i * 7 % N;
  for (uint8_t dtype = TSR_U8; dtype < TSR_DTYPE_COUNT; dtype++) {
    size_t bytes = tsr_dtype_bytes((tsr_dtype)dtype);
    memset(memory, 0, sizeof memory);
    for (int i = 0; i < 3 * N + 2; i++) {
      double v = i * 5 % 97 - 20;
      CHECK_OK(tsr_convert((tsr_dtype)dtype, memory[0] + (size_t)i * bytes, TSR_F64, &v, 1));
    }
    test_buffer buffers[6] = {{memory[0], (3 * N + 2) * bytes}, {at, sizeof at},        {memory[1], N * bytes},
                              {memory[2], N * bytes},           {memory[3], N * bytes}, {memory[4], N * bytes}};
    char args[32];
    snprintf(args, sizeof args, "T=%s", tsr_dtype_name((tsr_dtype)dtype));
    check_text(text, args, buffers, (uint32_t[]){N}, (uint32_t[]){9, 1, 1}, 0);
  }
}

TEST(any_byte_but_zero_is_true) {
  static uint8_t x[256], y[256];
  for (int i = 0; i < 256; i++) x[i] = (uint8_t)i;
  test_buffer buffers[2] = {{x, 256}, {y, 256}};
  check_text("kernel k(in bool x[], out bool y[]) { y[global.x] = x[global.x]; }", NULL, buffers, NULL,
             (uint32_t[]){4, 1, 1}, 0);
}

TEST(vectors_load_compute_and_store) {
  const char *text =
      "kernel k<T: f32 | f16, WG = 16>(in T x[], out T y[], out T z[], u32 n) {\n  u32 i = global.x;\n  if (i >= n) "
      "return;\n"
      "  f32x4 v = load4(x, i * 4);\n  f32 t = v.x;\n  v.x = v.w;\n  v.w = t;\n"
      "  f32x4 w = v * 2 + f32x4(t, 1, 2, 3);\n  w = f32x4(w.y, w.x, w.w, w.z);\n"
      "  if (any(w > v)) v = select(w > v, w, v);\n"
      "  store4(y, i * 4, v);\n"
      "  f32x2 p = load2(x, i * 2);\n  if (all(p > f32x2(3))) p = p - 1;\n  store2(z, (n - 1 - i) * 2 + 1, p);\n}";
  enum { N = 53 };
  static _Alignas(8) char memory[3][N * 16];
  for (int t = 0; t < 2; t++) {
    uint8_t dtype = t ? TSR_F16 : TSR_F32;
    size_t bytes = tsr_dtype_bytes((tsr_dtype)dtype);
    memset(memory, 0, sizeof memory);
    for (int i = 0; i < 4 * N; i++) {
      double v = i * 5 % 37 - 10;
      CHECK_OK(tsr_convert((tsr_dtype)dtype, memory[0] + (size_t)i * bytes, TSR_F64, &v, 1));
    }
    test_buffer buffers[3] = {{memory[0], 4 * N * bytes}, {memory[1], 4 * N * bytes}, {memory[2], 2 * N * bytes}};
    tsri_kernel *kernel = kernel_of(text, t ? "T=f16" : "T=f32", false);  // checked mode would report 2 i + 1
    check_against_reference(kernel, buffers, (uint32_t[]){N}, (uint32_t[]){4, 1, 1}, 0);
    tsri_kernel_release(kernel);
  }
}

TEST(local_arrays_belong_to_one_item) {
  const char *text =
      "kernel k<T: number, WG = 24>(in T x[], out T y[], u32 n) {\n  u32 i = global.x;\n  if (i >= n) return;\n  T "
      "a[5];\n"
      "  for (u32 k = 0; k < 5; k++) a[k] = x[(i + k) % n];\n"
      "  if (i % 3 == 0) a[i % 5] = T(f32(x[i]) * 3);\n  a[2] = a[2] + a[(i + 1) % 5];\n"
      "  for (u32 k = 0; k < 4; k++) { T b[2]; if (k == i % 4) b[k % 2] = x[i]; a[k] = a[k] + b[0] + b[1]; }\n"
      "  y[i] = a[0] + a[1] + a[2] + a[3] + a[i % 5];\n}";
  enum { N = 101 };
  static _Alignas(8) char memory[2][N * 8];
  for (uint8_t dtype = TSR_U8; dtype < TSR_DTYPE_COUNT; dtype++) {
    size_t bytes = tsr_dtype_bytes((tsr_dtype)dtype);
    memset(memory, 0, sizeof memory);
    for (int i = 0; i < N; i++) {
      double v = i * 5 % 97;
      CHECK_OK(tsr_convert((tsr_dtype)dtype, memory[0] + (size_t)i * bytes, TSR_F64, &v, 1));
    }
    test_buffer buffers[2] = {{memory[0], N * bytes}, {memory[1], N * bytes}};
    char args[32];
    snprintf(args, sizeof args, "T=%s", tsr_dtype_name((tsr_dtype)dtype));
    check_text(text, args, buffers, (uint32_t[]){N}, (uint32_t[]){5, 1, 1}, 0);
  }
}

TEST(a_variable_keeps_what_memory_held_when_it_was_read) {
  static int32_t x[100], y[100];
  for (int i = 0; i < 100; i++) x[i] = i * 3;
  test_buffer buffers[2] = {{x, sizeof x}, {y, sizeof y}};
  check_text(
      "kernel k(inout i32 x[], out i32 y[], u32 n) { u32 i = global.x; if (i < n) { i32 v = x[i]; x[i] = 7; y[i] = v + "
      "x[i]; } }",
      NULL, buffers, (uint32_t[]){100}, (uint32_t[]){2, 1, 1}, 0);
}

TEST(overlapping_buffers_give_what_one_item_after_the_other_would) {
  tsri_lanes_program *program = program_from(
      "kernel k(in i32 x[], out i32 y[], out i32 z[]) { u32 i = global.x; i32 v = x[i]; y[i] = v + 1; z[i] = v; }",
      NULL, false);
  int32_t x[64], z[64];
  FOR_EACH_LEVEL(level) {
    for (int i = 0; i < 64; i++) x[i] = i;
    tsri_lanes_buffer buffers[3] = {{x, sizeof x}, {x, sizeof x}, {z, sizeof z}};
    CHECK_OK(launch_at(program, level, buffers, 3, NULL, 0, 1, 1));
    for (int i = 0; i < 64; i++) {
      CHECK_EQ_INT(x[i], i + 1);
      CHECK_EQ_INT(z[i], i);
    }
  }
  tsri_lanes_release(program);
}

// Large enough for stores past the caches, and a misaligned beginning.
TEST(large_outputs_are_written_whole) {
  enum { N = (8 << 20) + 13 };
  float *x = malloc(N * sizeof *x), *y = malloc((N + 1) * sizeof *y);
  for (int i = 0; i < N; i++) x[i] = (float)(i % 1000);
  tsri_lanes_program *program = program_from(
      "kernel k<WG = 256>(in f32 x[], out f32 y[], u32 n) { u32 i = global.x; if (i < n) y[i] = x[i] * 2; }", NULL,
      false);
  FOR_EACH_LEVEL(level) {
    memset(y, 0, (N + 1) * sizeof *y);
    tsri_lanes_buffer buffers[2] = {{x, N * sizeof *x}, {y + 1, N * sizeof *y}};
    CHECK_OK(launch_at(program, level, buffers, 2, (uint32_t[]){N}, 4, (N + 255) / 256, 2));
    CHECK(y[0] == 0);
    for (int i = 0; i < N; i++) {
      if (y[i + 1] != x[i] * 2) test_fail(__FILE__, __LINE__, "element %d is %g", i, (double)y[i + 1]);
    }
  }
  tsri_lanes_release(program);
  free(x);
  free(y);
}

// --- Items that work together ---

TEST(barriers_and_shared_memory_reverse_a_group) {
  const char *text =
      "kernel k<T: number, WG = 100>(in T x[], out T y[]) {\n  shared T s[WG];\n  s[local.x] = x[global.x];\n  "
      "barrier();\n"
      "  y[global.x] = s[WG - 1 - local.x];\n}";
  static const char *const args[] = {"T=f32", "T=f16", "T=i8", "T=i64", "T=f32 WG=1", "T=u8 WG=1024"};
  static _Alignas(8) unsigned char x[3072 * 8], y[3072 * 8];
  static const size_t bytes[] = {4, 2, 1, 8, 4, 1}, sizes[] = {100, 100, 100, 100, 1, 1024};
  for (int t = 0; t < 6; t++) {
    tsri_lanes_program *program = program_from(text, args[t], false);
    for (size_t i = 0; i < sizeof x; i++) x[i] = (unsigned char)(i * 7 % 31);  // no NaN in any type
    FOR_EACH_LEVEL(level) {
      size_t all = 3 * sizes[t] * bytes[t];
      tsri_lanes_buffer buffers[2] = {{x, all}, {y, all}};
      CHECK_OK(launch_at(program, level, buffers, 2, NULL, 0, 3, 2));
      for (size_t i = 0; i < 3 * sizes[t]; i++) {
        size_t group = i / sizes[t], mirror = group * sizes[t] + sizes[t] - 1 - i % sizes[t];
        CHECK_BYTES(y + i * bytes[t], x + mirror * bytes[t], bytes[t]);
      }
    }
    tsri_lanes_release(program);
  }
}

TEST(tiled_matmul_agrees_with_three_loops) {
  const char *text =
      "kernel k<TILE = 8, WG = TILE, WG_Y = TILE>(in f32 a[], in f32 b[], out f32 c[], u32 n) {\n"
      "  shared f32 p[TILE][TILE];\n  shared f32 q[TILE][TILE];\n  u32 x = local.x, y = local.y, col = global.x, row = "
      "global.y;\n"
      "  f32 sum = 0;\n  for (u32 t = 0; t < n; t += TILE) {\n"
      "    p[y][x] = row < n && t + x < n ? a[row * n + t + x] : 0;\n    q[y][x] = t + y < n && col < n ? b[(t + y) * "
      "n + col] : 0;\n"
      "    barrier();\n    for (u32 i = 0; i < TILE; i++) sum += p[y][i] * q[i][x];\n    barrier();\n  }\n"
      "  if (row < n && col < n) c[row * n + col] = sum;\n}";
  enum { N = 37 };
  static float a[N * N], b[N * N], c[N * N];
  for (int i = 0; i < N * N; i++) {
    a[i] = (float)(i % 13) - 6;
    b[i] = (float)(i % 7) - 3;
  }
  for (int is_checked = 0; is_checked < 2; is_checked++) {
    tsri_lanes_program *program = program_from(text, NULL, is_checked != 0);
    FOR_EACH_LEVEL(level) {
      memset(c, 0, sizeof c);
      tsri_lanes_buffer buffers[3] = {{a, sizeof a}, {b, sizeof b}, {c, sizeof c}};
      CHECK_OK(tsri_lanes_run(program, &(tsri_lanes_launch){.buffers = buffers,
                                                            .buffer_count = 3,
                                                            .params = (uint32_t[]){N},
                                                            .params_bytes = 4,
                                                            .groups = {5, 5, 1},
                                                            .threads = 2,
                                                            .simd = level}));
      for (int i = 0; i < N * N; i++) {
        float sum = 0;
        for (int k = 0; k < N; k++) sum += a[i / N * N + k] * b[k * N + i % N];
        CHECK_NEAR(c[i], sum, 0);
      }
    }
    tsri_lanes_release(program);
  }
}

TEST(group_operations_fold_all_items) {
  const char *text =
      "kernel k<T: f32 | f64 | i32 | u32 | i64, WG = 70>(in T x[], out T y[], out bool z[]) {\n  T v = x[global.x];\n"
      "  T s = group_sum(v), a = group_min(v), b = group_max(v);\n  bool any = group_any(v == T(5)), all = group_all(v "
      ">= T(0));\n"
      "  if (local.x == 0) { y[group.x * 3] = s; y[group.x * 3 + 1] = a; y[group.x * 3 + 2] = b; z[group.x * 2] = any; "
      "z[group.x * 2 + 1] = all; }\n}";
  static const uint8_t types[] = {TSR_F32, TSR_F64, TSR_I32, TSR_U32, TSR_I64};
  for (int t = 0; t < 5; t++) {
    _Alignas(8) char x[210 * 8], y[9 * 8];
    size_t bytes = tsr_dtype_bytes((tsr_dtype)types[t]);
    double values[210];
    for (int i = 0; i < 210; i++) {
      values[i] = i < 70 ? i * 3 % 50 : i % 9 + (types[t] == TSR_U32 || i < 140 ? 0 : -4);
      CHECK_OK(tsr_convert((tsr_dtype)types[t], x + (size_t)i * bytes, TSR_F64, &values[i], 1));
    }
    char args[16];
    snprintf(args, sizeof args, "T=%s", tsr_dtype_name((tsr_dtype)types[t]));
    tsri_lanes_program *program = program_from(text, args, false);
    FOR_EACH_LEVEL(level) {
      uint8_t z[6];
      tsri_lanes_buffer buffers[3] = {{x, 210 * bytes}, {y, 9 * bytes}, {z, 6}};
      CHECK_OK(launch_at(program, level, buffers, 3, NULL, 0, 3, 2));
      for (int group = 0; group < 3; group++) {
        double sum = 0, least = 1e9, most = -1e9, got[3];
        bool any = false, all = true;
        for (int i = group * 70; i < group * 70 + 70; i++) {
          sum += values[i];
          least = fmin(least, values[i]);
          most = fmax(most, values[i]);
          any = any || values[i] == 5;
          all = all && values[i] >= 0;
        }
        CHECK_OK(tsr_convert(TSR_F64, got, (tsr_dtype)types[t], y + (size_t)group * 3 * bytes, 3));
        CHECK_NEAR(got[0], sum, 0);
        CHECK_NEAR(got[1], least, 0);
        CHECK_NEAR(got[2], most, 0);
        CHECK_EQ_INT(z[group * 2], any);
        CHECK_EQ_INT(z[group * 2 + 1], all);
      }
    }
    tsri_lanes_release(program);
  }
}

TEST(group_extremes_and_sums_keep_nan) {
  tsri_lanes_program *program = program_from(
      "kernel k<WG = 33>(in f32 x[], out f32 y[]) { f32 v = x[local.x]; f32 a = group_min(v), b = group_max(v), c = "
      "group_sum(v); if (local.x == 0) { y[0] = a; y[1] = b; y[2] = c; } }",
      NULL, false);
  for (int at = 0; at < 33; at += 16) {
    float x[33] = {0}, y[3];
    x[at] = NAN;
    FOR_EACH_LEVEL(level) {
      tsri_lanes_buffer buffers[2] = {{x, sizeof x}, {y, sizeof y}};
      CHECK_OK(launch_at(program, level, buffers, 2, NULL, 0, 1, 1));
      CHECK(isnan(y[0]) && isnan(y[1]) && isnan(y[2]));
    }
  }
  tsri_lanes_release(program);
}

TEST(sums_are_the_same_at_every_level) {
  tsri_lanes_program *program = program_from(
      "kernel k<WG = 1000>(in f32 x[], out f32 y[]) { f32 s = group_sum(x[local.x]); if (local.x == 0) y[0] = s; }",
      NULL, false);
  float x[1000], first = 0;
  uint64_t seed = 1;
  for (int i = 0; i < 1000; i++) x[i] = (float)next_random(&seed) / 1e6f;
  FOR_EACH_LEVEL(level) {
    float y = 0;
    tsri_lanes_buffer buffers[2] = {{x, sizeof x}, {&y, sizeof y}};
    CHECK_OK(launch_at(program, level, buffers, 2, NULL, 0, 1, 1));
    if (first == 0) first = y;
    CHECK_NEAR(y, first, 0);
  }
  tsri_lanes_release(program);
}

TEST(subgroup_operations_stay_in_their_subgroup) {
  const char *text =
      "kernel k<WG = 80>(in i32 x[], out i32 y[], out u32 lane[]) {\n  i32 v = x[global.x];\n  u32 i = global.x;\n"
      "  i32 s = subgroup_sum(v), a = subgroup_min(v), b = subgroup_max(v);\n"
      "  i32 n = subgroup_shuffle(v, subgroup_lane + 1), m = subgroup_shuffle_xor(v, 5);\n"
      "  bool p = subgroup_any(v > 90), q = subgroup_all(v > 1);\n  lane[i] = subgroup_lane * 100 + subgroup_size;\n"
      "  u32 c = subgroup_ballot(v > 50);\n  lane[i + 80] = c;\n"
      "  y[i * 6] = s; y[i * 6 + 1] = a; y[i * 6 + 2] = b; y[i * 6 + 3] = n; y[i * 6 + 4] = m; y[i * 6 + 5] = (p ? 1 : "
      "0) + (q ? 2 : 0);\n}";
  enum { WIDTH = 32, N = 80 };
  tsri_lanes_program *program = program_from(text, NULL, false);
  int32_t x[N], y[N * 6];
  uint32_t lane[2 * N];
  for (int i = 0; i < N; i++) x[i] = i * 37 % 97;
  FOR_EACH_LEVEL(level) {
    tsri_lanes_buffer buffers[3] = {{x, sizeof x}, {y, sizeof y}, {lane, sizeof lane}};
    CHECK_OK(launch_at(program, level, buffers, 3, NULL, 0, 1, 1));
    for (int i = 0; i < N; i++) {
      int first = i / WIDTH * WIDTH, last = first + WIDTH < N ? first + WIDTH : N, sum = 0, least = 1000, most = -1;
      uint32_t bits = 0;
      for (int k = first; k < last; k++) {
        sum += x[k];
        bits |= (uint32_t)(x[k] > 50) << (k - first);
        if (x[k] < least) least = x[k];
        if (x[k] > most) most = x[k];
      }
      int next = first + (i - first + 1) % WIDTH, twin = first + ((i - first) ^ 5);
      CHECK_EQ_INT(y[i * 6], sum);
      CHECK_EQ_INT(y[i * 6 + 1], least);
      CHECK_EQ_INT(y[i * 6 + 2], most);
      CHECK_EQ_INT(y[i * 6 + 3], next < N ? x[next] : 0);
      CHECK_EQ_INT(y[i * 6 + 4], twin < N ? x[twin] : 0);
      CHECK_EQ_INT(y[i * 6 + 5], (most > 90) + 2 * (least > 1));
      CHECK_EQ_UINT(lane[i], (uint32_t)(i - first) * 100 + WIDTH);
      CHECK_EQ_UINT(lane[i + N], bits);
    }
  }
  tsri_lanes_release(program);
}

TEST(atomics_count_over_all_threads) {
  const char *text =
      "kernel k<WG = 64>(in u32 x[], inout u32 h[], inout i32 m[], u32 n) {\n  u32 i = global.x;\n  if (i >= n) "
      "return;\n"
      "  u32 v = x[i] % 10;\n  atomic_add(h, v, 1);\n  if (v == 3) atomic_sub(h, 10, 2);\n  atomic_max(m, 0, i32(x[i]) "
      "- 500);\n"
      "  atomic_min(m, 1, i32(x[i]) - 500);\n  atomic_or(h, 11, 1u << v);\n  atomic_xor(h, 12, 0u + 1u);\n  "
      "atomic_and(h, 13, ~(1u << v));\n"
      "  u32 ticket = atomic_add(h, 14, 1);\n  atomic_exchange(h, 16 + ticket, i + 1);\n"
      "  u32 old = atomic_compare_exchange(h, 15, 0, i + 1);\n  if (old == 0) atomic_add(m, 2, 1);\n}";
  enum { N = 3000 };
  static uint32_t x[N], h[16 + N];
  uint64_t seed = 9;
  for (int i = 0; i < N; i++) x[i] = next_random(&seed) % 1000;
  for (int is_checked = 0; is_checked < 2; is_checked++) {
    tsri_lanes_program *program = program_from(text, NULL, is_checked != 0);
    FOR_EACH_LEVEL(level) {
      int32_t m[3] = {-1000, 1000, 0}, most = -1000, least = 1000;
      uint32_t wanted[10] = {0};
      memset(h, 0, sizeof h);
      h[13] = 0xffffffffu;
      for (int i = 0; i < N; i++) {
        wanted[x[i] % 10]++;
        if ((int32_t)x[i] - 500 > most) most = (int32_t)x[i] - 500;
        if ((int32_t)x[i] - 500 < least) least = (int32_t)x[i] - 500;
      }
      tsri_lanes_buffer buffers[3] = {{x, sizeof x}, {h, sizeof h}, {m, sizeof m}};
      CHECK_OK(launch_at(program, level, buffers, 3, (uint32_t[]){N}, 4, (N + 63) / 64, 4));
      for (int i = 0; i < 10; i++) CHECK_EQ_UINT(h[i], wanted[i]);
      CHECK_EQ_UINT(h[10], 0u - 2 * wanted[3]);
      CHECK_EQ_UINT(h[11], 1023);
      CHECK_EQ_UINT(h[12], N % 2);
      CHECK_EQ_UINT(h[13], ~UINT32_C(1023));
      CHECK_EQ_UINT(h[14], N);
      CHECK(h[15] >= 1 && h[15] <= N);
      CHECK_EQ_INT(m[0], most);
      CHECK_EQ_INT(m[1], least);
      CHECK_EQ_INT(m[2], 1);
      uint64_t sum = 0;
      for (int i = 0; i < N; i++) sum += h[16 + i];
      CHECK_EQ_UINT(sum, (uint64_t)N * (N + 1) / 2);
    }
    tsri_lanes_release(program);
  }
}

TEST(atomics_work_on_shared_arrays) {
  tsri_lanes_program *program = program_from(
      "kernel k<WG = 128>(in u8 x[], out u32 y[]) { shared u32 s[4]; if (local.x < 4) s[local.x] = 0; barrier(); "
      "atomic_add(s, x[global.x] % 4, 1); barrier(); if (local.x < 4) y[group.x * 4 + local.x] = s[local.x]; }",
      NULL, false);
  uint8_t x[256];
  uint32_t y[8];
  for (int i = 0; i < 256; i++) x[i] = (uint8_t)(i < 128 ? i % 3 : i % 4);
  FOR_EACH_LEVEL(level) {
    tsri_lanes_buffer buffers[2] = {{x, sizeof x}, {y, sizeof y}};
    CHECK_OK(launch_at(program, level, buffers, 2, NULL, 0, 2, 2));
    static const uint32_t wanted[8] = {43, 43, 42, 0, 32, 32, 32, 32};
    for (int i = 0; i < 8; i++) CHECK_EQ_UINT(y[i], wanted[i]);
  }
  tsri_lanes_release(program);
}

// --- Checked mode ---

static void check_fault(const char *text, size_t elements, const char *message) {
  float x[256] = {0}, y[256] = {0};
  tsri_lanes_program *program = program_from(text, NULL, true);
  FOR_EACH_LEVEL(level) {
    tsri_lanes_buffer buffers[2] = {{x, elements * sizeof *x}, {y, sizeof y}};
    CHECK_STATUS(launch_at(program, level, buffers, 2, (uint32_t[]){3}, 4, 2, 2), TSR_ERR_LAUNCH);
    CHECK_LAST_ERROR_HAS(message);
  }
  tsri_lanes_release(program);
}

TEST(checked_mode_names_the_first_index_out_of_range) {
  check_fault("kernel shift(in f32 x[], out f32 y[], u32 n) {\n  y[global.x] = x[global.x + 6];\n}", 64,
              "kernel shift: index 64 is outside buffer 'x' of 64 elements (t.tk:2:");
  check_fault("kernel k(in f32 x[], out f32 y[], u32 n) { y[global.x * 3] = x[global.x % 64]; }", 128,
              "kernel k: index 258 is outside buffer 'y' of 256 elements");
  check_fault("kernel k(in f32 x[], out f32 y[], u32 n) { i32 at = i32(global.x) - 1; y[global.x] = x[at]; }", 128,
              "index -1 is outside buffer 'x' of 128 elements");
  check_fault("kernel k(in f32 x[], out f32 y[], u32 n) { y[n] = x[n * 100]; }", 128,
              "index 300 is outside buffer 'x'");
  check_fault("kernel k(in f32 x[], out f32 y[], u32 n) { f32 a[3]; a[n] = 1; y[global.x] = x[0] + a[global.x % 3]; }",
              128, "index 3 is outside local array 'a' of 3 elements");
  check_fault(
      "kernel k(in f32 x[], out f32 y[], u32 n) { shared f32 a[7]; a[local.x] = 1; barrier(); y[global.x] = x[0] + "
      "a[local.x % 7]; }",
      128, "index 7 is outside shared array 'a' of 7 elements");
  check_fault("kernel k(in f32 x[], out f32 y[], u32 n) { f32x4 v = load4(x, global.x * 4); y[global.x] = v.x + v.w; }",
              63, "index 60 with the 4 elements from there is outside buffer 'x' of 63 elements");
  check_fault("kernel k(in f32 x[], out f32 y[], u32 n) { f32x2 v = load2(x, global.x + n); y[global.x] = v.x; }", 200,
              "index 3 is no multiple of the 2 elements accessed in buffer 'x' of 200 elements");
  check_fault("kernel k(in f32 x[], out f32 y[], u32 n) { y[global.x] = x[i64(global.x) * 4294967296]; }", 128,
              "index 4294967296 is outside buffer 'x'");
}

TEST(checked_mode_lets_masked_lanes_be) {
  const char *text =
      "kernel k(in f32 x[], out f32 y[], u32 n) { u32 i = global.x; if (i < n && i % 3 != 1) y[i] = i > 0 ? x[i - 1] : "
      "x[i + 1]; }";
  float x[100] = {0}, y[100] = {0};
  test_buffer buffers[2] = {{x, sizeof x}, {y, sizeof y}};
  check_text(text, NULL, buffers, (uint32_t[]){100}, (uint32_t[]){3, 1, 1}, 0);
}

TEST(checked_atomics_report_too) {
  tsri_lanes_program *program =
      program_from("kernel k(inout u32 h[], in f32 x[]) { atomic_add(h, global.x, u32(x[0])); }", NULL, true);
  uint32_t h[5] = {0};
  float x[1] = {1};
  tsri_lanes_buffer buffers[2] = {{h, sizeof h}, {x, sizeof x}};
  CHECK_STATUS(launch_at(program, "baseline", buffers, 2, NULL, 0, 1, 1), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("index 5 is outside buffer 'h' of 5 elements");
  tsri_lanes_release(program);
}

TEST(indices_whose_step_wraps_around_are_not_linear) {
  const int64_t far[3] = {INT64_MIN + 10, INT64_MAX - 10, INT64_MIN + 10}, even[3] = {-5, 0, 5};
  const int64_t around[5] = {INT64_MIN, INT64_C(1) << 62, 0, -(INT64_C(1) << 62), INT64_MIN};  // steps of -2^62
  FOR_EACH_LEVEL(level) {
    const tsri_lanes_isa *isa = tsri_lanes_isa_for(level);
    tsri_lane_range range;
    isa->scan_i64(far, NULL, 3, &range);
    CHECK(!range.is_linear && range.least == INT64_MIN + 10 && range.most == INT64_MAX - 10);
    isa->scan_i64(far, NULL, 2, &range);
    CHECK(!range.is_linear);
    isa->scan_i64(around, NULL, 5, &range);
    CHECK(!range.is_linear);
    isa->scan_i64(even, NULL, 3, &range);
    CHECK(range.is_linear && range.step == 5);
  }
}
