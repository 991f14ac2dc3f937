// SPDX-License-Identifier: MIT
// Launches and programs: wrong arguments, no groups, threads, time-outs, and bytecode that was damaged.
#include <pthread.h>

#include "backends/cpu/lanes/lanes_testing.h"
#include "lang/emit/lanes/code.h"
#include "platform/platform.h"

static const char *const scale_text =
    "kernel scale<WG = 64>(in f32 x[], out f32 y[], f32 s, u32 n) { u32 i = global.x; if (i < n) y[i] = x[i] * s; }";

typedef struct scale_params {
  float s;
  uint32_t n;
} scale_params;

TEST(no_groups_run_nothing) {
  tsri_lanes_program *program = program_from(scale_text, NULL, false);
  float x = 1, y = 5;
  tsri_lanes_buffer buffers[2] = {{&x, 4}, {&y, 4}};
  for (int axis = 0; axis < 3; axis++) {
    tsri_lanes_launch launch = {
        .buffers = buffers, .buffer_count = 2, .params = &(scale_params){2, 1}, .params_bytes = 8, .groups = {1, 1, 1}};
    launch.groups[axis] = 0;
    CHECK_OK(tsri_lanes_run(program, &launch));
    CHECK_NEAR(y, 5, 0);
  }
  tsri_lanes_release(program);
}

TEST(wrong_arguments_are_refused_with_their_values) {
  tsri_lanes_program *program = program_from(scale_text, NULL, false);
  _Alignas(4) char memory[64] = {0};
  tsri_lanes_buffer buffers[2] = {{memory, 4}, {memory + 1, 4}};
  tsri_lanes_launch launch = {
      .buffers = buffers, .buffer_count = 2, .params = &(scale_params){2, 1}, .params_bytes = 8, .groups = {1, 1, 1}};
  CHECK_STATUS(tsri_lanes_run(program, &launch), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("kernel scale: buffer 'y' is not aligned to its elements of 4 bytes");
  launch.buffer_count = 1;
  CHECK_STATUS(tsri_lanes_run(program, &launch), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("takes 2 buffers, 1 were given");
  launch.buffer_count = 2;
  launch.params_bytes = 4;
  CHECK_STATUS(tsri_lanes_run(program, &launch), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("takes 8 bytes of parameters, 4 were given");
  launch.params_bytes = 8;
  launch.groups[0] = launch.groups[1] = launch.groups[2] = UINT32_MAX;
  CHECK_STATUS(tsri_lanes_run(program, &launch), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("groups are too many");
  tsri_lanes_release(program);
}

TEST(a_buffer_that_is_never_accessed_needs_no_alignment) {
  tsri_lanes_program *program = program_from(
      "kernel fill<WG = 64, READS = 0>(in f32 x[], out f32 y[], u32 n) { u32 i = global.x; if (i < n) { y[i] = 3; if "
      "(READS != 0) y[i] = x[i]; } }",
      NULL, false);
  _Alignas(4) char memory[8] = {0};
  float y = 5;
  tsri_lanes_buffer buffers[2] = {{memory + 2, 4}, {&y, 4}};
  tsri_lanes_launch launch = {
      .buffers = buffers, .buffer_count = 2, .params = &(uint32_t){1}, .params_bytes = 4, .groups = {1, 1, 1}};
  CHECK_OK(tsri_lanes_run(program, &launch));
  CHECK_NEAR(y, 3, 0);
  tsri_lanes_release(program);
}

TEST(every_length_is_done_by_any_number_of_threads) {
  enum { MOST = 20000 };
  tsri_lanes_program *program = program_from(scale_text, NULL, false);
  float *x = malloc(MOST * sizeof *x), *y = malloc(MOST * sizeof *y);
  for (int i = 0; i < MOST; i++) x[i] = (float)i;
  static const uint32_t lengths[] = {0, 1, 2, 63, 64, 65, 127, 1000, 1023, 1024, 1025, 2047, 4097, MOST};
  for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
    for (int threads = 0; threads <= 4; threads++) {
      uint32_t n = lengths[k];
      memset(y, 0, MOST * sizeof *y);
      tsri_lanes_buffer buffers[2] = {{x, n * sizeof *x}, {y, n * sizeof *y}};
      tsri_lanes_launch launch = {.buffers = buffers,
                                  .buffer_count = 2,
                                  .params = &(scale_params){3, n},
                                  .params_bytes = 8,
                                  .groups = {(n + 63) / 64, 1, 1},
                                  .threads = threads};
      CHECK_OK(tsri_lanes_run(program, &launch));
      for (uint32_t i = 0; i < MOST; i++) CHECK_NEAR(y[i], i < n ? x[i] * 3 : 0, 0);
    }
  }
  tsri_lanes_release(program);
  free(x);
  free(y);
}

TEST(endless_loops_end_with_a_timeout) {
  static const char *const texts[] = {
      "kernel spin(inout i32 x[]) { while (true) { x[group.x] = 1; } }",
      "kernel spin(inout i32 x[]) { i32 v = i32(local.x); while (v >= 0) { v = v ^ 1; } x[group.x] = v; }",
      "kernel spin(inout i32 x[]) { for (u32 i = 0; i >= 0; i++) { if (local.x == 3) continue; } }",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    for (int threads = 1; threads <= 2; threads++) {
      tsri_lanes_program *program = program_from(texts[i], NULL, false);
      int32_t x[64] = {0};
      tsri_lanes_buffer buffer = {x, sizeof x};
      uint64_t start = tsri_clock_ns();
      tsri_lanes_launch launch = {
          .buffers = &buffer, .buffer_count = 1, .groups = {64, 1, 1}, .threads = threads, .timeout_ns = 30000000};
      CHECK_STATUS(tsri_lanes_run(program, &launch), TSR_ERR_TIMEOUT);
      CHECK_LAST_ERROR_HAS("kernel spin: stopped after 30 ms");
      CHECK(tsri_clock_ns() - start < UINT64_C(5000000000));
      tsri_lanes_release(program);
    }
  }
}

TEST(a_long_launch_without_loops_times_out_too) {
  tsri_lanes_program *program = program_from("kernel k(inout u32 x[]) { atomic_add(x, 0, 1); }", NULL, false);
  uint32_t x = 0;
  tsri_lanes_buffer buffer = {&x, sizeof x};
  tsri_lanes_launch launch = {
      .buffers = &buffer, .buffer_count = 1, .groups = {UINT32_MAX, 1, 1}, .timeout_ns = 20000000};
  CHECK_STATUS(tsri_lanes_run(program, &launch), TSR_ERR_TIMEOUT);
  tsri_lanes_release(program);
}

enum { SHARED_ITEMS = 3000, SHARED_THREADS = 4, SHARED_ROUNDS = 50 };

typedef struct shared_user {
  const tsri_lanes_program *program;
  const float *x;
  float y[SHARED_ITEMS];
  int failures;
} shared_user;

static void *use_shared(void *argument) {
  shared_user *user = argument;
  for (int round = 0; round < SHARED_ROUNDS; round++) {
    tsri_lanes_buffer buffers[2] = {{(void *)(uintptr_t)user->x, sizeof user->y}, {user->y, sizeof user->y}};
    scale_params params = {(float)round, SHARED_ITEMS};
    tsri_lanes_launch launch = {.buffers = buffers,
                                .buffer_count = 2,
                                .params = &params,
                                .params_bytes = 8,
                                .groups = {(SHARED_ITEMS + 63) / 64, 1, 1}};
    if (tsri_lanes_run(user->program, &launch) != TSR_OK) user->failures++;
    for (int i = 0; i < SHARED_ITEMS; i++) user->failures += user->y[i] != user->x[i] * params.s;
  }
  return NULL;
}

TEST(one_program_runs_in_several_launches_at_once_by_threads) {
  tsri_lanes_program *program = program_from(scale_text, NULL, false);
  static float x[SHARED_ITEMS];
  static shared_user users[SHARED_THREADS];
  pthread_t threads[SHARED_THREADS];
  for (int i = 0; i < SHARED_ITEMS; i++) x[i] = (float)i;
  for (int i = 0; i < SHARED_THREADS; i++) {
    users[i] = (shared_user){.program = program, .x = x};
    CHECK_EQ_INT(pthread_create(&threads[i], NULL, use_shared, &users[i]), 0);
  }
  for (int i = 0; i < SHARED_THREADS; i++) {
    CHECK_EQ_INT(pthread_join(threads[i], NULL), 0);
    CHECK_EQ_INT(users[i].failures, 0);
  }
  tsri_lanes_release(program);
}

TEST(an_empty_kernel_does_nothing) {
  tsri_lanes_program *program = program_from("kernel nothing(in f32 x[]) { }", NULL, false);
  float x = 1;
  tsri_lanes_buffer buffer = {&x, 4};
  CHECK_OK(tsri_lanes_run(program, &(tsri_lanes_launch){.buffers = &buffer, .buffer_count = 1, .groups = {3, 2, 1}}));
  tsri_lanes_release(program);
}

// --- Damaged bytecode ---

static const char *const varied_text =
    "kernel varied<WG = 16>(in f32 x[], inout i32 y[], in f16 h[], inout f64 d[], u32 n, f64 e) {\n"
    "  shared f32 s[20];\n  i32 a[3];\n  u32 i = global.x;\n  s[local.x] = exp(x[i % 8]);\n  barrier();\n"
    "  f32 sum = group_sum(s[15 - local.x]) + subgroup_shuffle(s[local.x], 3);\n"
    "  if (i < n) {\n    i32 v = i32(sum);\n    while (v > 3) { v -= 2; if (v % 5 == 0) break; if (v % 7 == 0) "
    "continue; a[u32(v) % 3] += v; }\n"
    "    y[i] = v + a[1] + (x[i % 8] > 1 ? i32(h[i % 4]) : 2);\n    d[i % 4] = f64(x[0]) * e + pow(d[i % 4], 2.0);\n"
    "    atomic_add(y, i % 8, 1);\n    f32x4 q = load4(x, 4);\n    store4(d, 0, f64x4(1) * f64(q.x));\n  }\n}";

// Prepares it and, if it is taken and checks its indices, runs it on small buffers.
static void try_words(const uint32_t *words, size_t bytes) {
  tsri_lanes_program *program = NULL;
  tsr_status status = tsri_lanes_prepare(words, bytes, &program);
  if (status != TSR_OK) {
    CHECK(!program);
    CHECK(status == TSR_ERR_BUILD || status == TSR_ERR_OUT_OF_MEMORY);
    return;
  }
  if (words[TSRI_LANE_H_FLAGS] & TSRI_LANE_CHECKED) {
    _Alignas(8) char memory[TSRI_LANG_MAX_BUFFERS][64] = {{0}};
    tsri_lanes_buffer buffers[TSRI_LANG_MAX_BUFFERS];
    for (int i = 0; i < TSRI_LANG_MAX_BUFFERS; i++) buffers[i] = (tsri_lanes_buffer){memory[i], 64};
    uint32_t params_bytes = words[TSRI_LANE_H_PARAMS_BYTES];
    void *params = params_bytes <= 4096 ? calloc(1, params_bytes + 8u) : NULL;
    if (params) {
      (void)tsri_lanes_run(program, &(tsri_lanes_launch){.buffers = buffers,
                                                         .buffer_count = words[TSRI_LANE_H_BUFFERS],
                                                         .params = params,
                                                         .params_bytes = params_bytes,
                                                         .groups = {2, 1, 1},
                                                         .timeout_ns = 2000000});
    }
    free(params);
  }
  tsri_lanes_release(program);
}

TEST(damaged_bytecode_is_refused_or_harmless) {
  enum { ROUNDS = 20000 };
  tsri_kernel *kernel = kernel_of(varied_text, NULL, true);
  uint32_t *words = NULL;
  size_t bytes = 0;
  CHECK_OK(tsri_lanes_compile(kernel, &words, &bytes));
  try_words(words, bytes);
  uint32_t *copy = malloc(bytes);
  uint64_t seed = 77;
  size_t count = bytes / 4, insns_at = words[TSRI_LANE_H_INSNS_AT];
  for (int round = 0; round < ROUNDS; round++) {
    memcpy(copy, words, bytes);
    for (uint32_t i = 0, changes = 1 + next_random(&seed) % 3; i < changes; i++) {
      size_t at =
          next_random(&seed) % 3 ? insns_at + next_random(&seed) % (count - insns_at) : next_random(&seed) % count;
      switch (next_random(&seed) % 4) {
        case 0:
          copy[at] = next_random(&seed) << 1 ^ next_random(&seed);
          break;
        case 1:
          copy[at] ^= 1u << next_random(&seed) % 32;
          break;
        case 2:
          copy[at] = copy[next_random(&seed) % count];
          break;
        default:
          copy[at] += next_random(&seed) % 5 - 2;
          break;
      }
    }
    try_words(copy, bytes);
  }
  free(copy);
  tsri_free(words);
  tsri_kernel_release(kernel);
}

TEST(cut_bytecode_is_refused) {
  tsri_kernel *kernel = kernel_of(varied_text, NULL, true);
  uint32_t *words = NULL;
  size_t bytes = 0;
  CHECK_OK(tsri_lanes_compile(kernel, &words, &bytes));
  tsri_lanes_program *program = NULL;
  for (size_t length = 0; length < bytes; length += 3) {
    uint32_t *cut = malloc(length + 1);
    memcpy(cut, words, length);
    CHECK_STATUS(tsri_lanes_prepare(cut, length, &program), TSR_ERR_BUILD);
    if (length >= TSRI_LANE_HEADER_WORDS * 4 && length % 4 == 0) {
      cut[TSRI_LANE_H_WORDS] = (uint32_t)(length / 4);
      CHECK_STATUS(tsri_lanes_prepare(cut, length, &program), TSR_ERR_BUILD);
    }
    free(cut);
  }
  words[TSRI_LANE_H_VERSION]++;
  CHECK_STATUS(tsri_lanes_prepare(words, bytes, &program), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("lane bytecode of version");
  tsri_free(words);
  tsri_kernel_release(kernel);
}

TEST(a_launch_without_memory_for_its_registers_changes_nothing) {
  enum { COUNT = 100000, ROUNDS = 50 };
  float *x = calloc(COUNT, sizeof *x);
  for (int round = 0; round < ROUNDS; round++) {
    // A new program each time: an earlier launch would have left it registers.
    tsri_lanes_program *program = program_from(
        "kernel add<WG = 64>(inout f32 x[], f32 s, u32 n) { u32 i = global.x; if (i < n) x[i] += s; }", NULL, false);
    tsri_lanes_buffer buffer = {x, COUNT * sizeof *x};
    tsri_lanes_launch launch = {.buffers = &buffer,
                                .buffer_count = 1,
                                .params = &(scale_params){1, COUNT},
                                .params_bytes = 8,
                                .groups = {(COUNT + 63) / 64, 1, 1},
                                .threads = 4};
    (void)tsri_alloc_fail_at(1, round % 2);
    tsr_status status = tsri_lanes_run(program, &launch);
    (void)tsri_alloc_fail_at(0, false);
    CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    tsri_lanes_release(program);
  }
  int changed = 0;
  for (int i = 0; i < COUNT; i++) changed += x[i] != 0;
  CHECK_EQ_INT(changed, 0);
  free(x);
}

TEST(every_failed_allocation_is_reported) {
  tsri_kernel *kernel = kernel_of(varied_text, NULL, true);
  bool is_done = false;
  for (uint64_t nth = 1; !is_done; nth++) {
    uint32_t *words = NULL;
    size_t bytes = 0;
    tsri_lanes_program *program = NULL;
    (void)tsri_alloc_fail_at(nth, true);
    tsr_status status = tsri_lanes_compile(kernel, &words, &bytes);
    if (status == TSR_OK) status = tsri_lanes_prepare(words, bytes, &program);
    if (status == TSR_OK) {
      _Alignas(8) char memory[4][64] = {{0}};
      tsri_lanes_buffer buffers[4] = {{memory[0], 64}, {memory[1], 64}, {memory[2], 64}, {memory[3], 64}};
      _Alignas(8) char params[16] = {4};
      status = tsri_lanes_run(
          program,
          &(tsri_lanes_launch){
              .buffers = buffers, .buffer_count = 4, .params = params, .params_bytes = 16, .groups = {1, 1, 1}});
      is_done = status == TSR_OK;
    }
    (void)tsri_alloc_fail_at(0, false);
    if (!is_done) CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    tsri_lanes_release(program);
    tsri_free(words);
    CHECK(nth < 10000);
  }
  tsri_kernel_release(kernel);
}
