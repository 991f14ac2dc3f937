// SPDX-License-Identifier: MIT
#include "standins/kernels/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

static char log_text[4096];

static standin_module *build(const char *dialect, const char *text) {
  if (standin_missing()) SKIP(standin_missing());
  standin_module *module =
      standin_build(&(standin_source){.dialect = dialect, .text = text}, log_text, sizeof log_text);
  if (!module) test_fail(__FILE__, __LINE__, "%s", log_text);
  return module;
}

static bool run(const standin_module *module, const char *name, void *const *arguments, uint32_t groups, uint32_t items,
                uint32_t wave) {
  const standin_kernel *kernel = standin_find(module, name);
  CHECK(kernel);
  return standin_run(
      &(standin_launch){
          .kernel = kernel, .arguments = arguments, .groups = {groups, 1, 1}, .local = {items, 1, 1}, .wave = wave},
      log_text, sizeof log_text);
}

// --- What a kernel does ---------------------------------------------------------------------------------------------

#define METAL(body)                                                                          \
  "#include <metal_stdlib>\nusing namespace metal;\nstruct block { uint w[2]; };\n"          \
  "[[kernel, max_total_threads_per_threadgroup(64)]] void k(device uint *x [[buffer(0)]],\n" \
  "  constant block &p [[buffer(1)]], uint3 g [[threadgroup_position_in_grid]],\n"           \
  "  uint3 n [[threadgroups_per_grid]], uint3 l [[thread_position_in_threadgroup]]) {\n" body "\n}\n"
#define HIP(body)                                                    \
  "#include <hip/hip_runtime.h>\nstruct block { unsigned w[2]; };\n" \
  "extern \"C\" __global__ void __launch_bounds__(128) k(unsigned *x, block p) {\n" body "\n}\n"

TEST(metal_text_sees_buffers_parameters_and_ids) {
  standin_module *module = build("metal", METAL("x[g.x * 4u + l.x] = p.w[1] * n.x + l.x;"));
  uint32_t x[8] = {0}, p[2] = {0, 100};
  CHECK_EQ_UINT(standin_argument_count(standin_find(module, "k")), 2);
  CHECK(run(module, "k", (void *[]){x, p}, 2, 4, 32));
  for (uint32_t i = 0; i < 8; i++) CHECK_EQ_UINT(x[i], 200 + i % 4);
  standin_release(module);
}

TEST(hip_text_gets_its_arguments_by_value) {
  standin_module *module = build("hip", HIP("x[blockIdx.x * 4u + threadIdx.x] = p.w[1] * gridDim.x + threadIdx.x;"));
  uint32_t x[8] = {0}, *pointer = x, p[2] = {0, 100};
  CHECK(run(module, "k", (void *[]){&pointer, p}, 2, 4, 64));
  for (uint32_t i = 0; i < 8; i++) CHECK_EQ_UINT(x[i], 200 + i % 4);
  standin_release(module);
}

TEST(shared_memory_is_turned_around_between_barriers) {
  standin_module *module = build("metal", METAL("alignas(16) threadgroup uint s[64];\n"
                                                "for (uint i = 0; i < 3u; i++) {\n"
                                                "  s[l.x] = x[l.x] + g.x;\n"
                                                "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                                                "  x[l.x] = s[63u - l.x];\n"
                                                "  threadgroup_barrier(mem_flags::mem_threadgroup);\n}"));
  uint32_t x[64];
  for (uint32_t i = 0; i < 64; i++) x[i] = i;
  CHECK(run(module, "k", (void *[]){x, x}, 1, 64, 32));
  for (uint32_t i = 0; i < 64; i++) CHECK_EQ_UINT(x[i], 63 - i);
  standin_release(module);
}

TEST(shared_memory_does_not_begin_as_zeros) {
  standin_module *module =
      build("hip", HIP("__shared__ __align__(16) unsigned s[4];\nx[threadIdx.x] = s[threadIdx.x];\n"
                       "s[threadIdx.x] = 0;"));
  uint32_t x[4] = {0}, *pointer = x, p[2] = {0};
  CHECK(run(module, "k", (void *[]){&pointer, p}, 2, 4, 64));
  if (!getenv("TSR_TEST_SANITIZE") || !getenv("TSR_TEST_SANITIZE")[0]) CHECK_EQ_UINT(x[3], UINT32_MAX);
  standin_release(module);
}

static void check_waves(uint32_t wave) {
  standin_module *module =
      build("hip", HIP("unsigned v = x[threadIdx.x];\n"
                       "for (int m = warpSize / 2; m > 0; m /= 2) v += __shfl_xor(v, m);\n"
                       "x[threadIdx.x] = v + __shfl(threadIdx.x, 1) * 0u + __shfl(x[threadIdx.x], 3) * 1000u;"));
  uint32_t x[128], *pointer = x, p[2] = {0};
  for (uint32_t i = 0; i < 128; i++) x[i] = i;
  CHECK(run(module, "k", (void *[]){&pointer, p}, 1, 128, wave));
  for (uint32_t i = 0; i < 128; i++) {
    uint32_t first = i / wave * wave;
    CHECK_EQ_UINT(x[i], wave * first + wave * (wave - 1) / 2 + (first + 3) * 1000);
  }
  standin_release(module);
}

TEST(waves_of_32_add_up) { check_waves(32); }
TEST(waves_of_64_add_up) { check_waves(64); }

TEST(ballots_have_no_bits_of_missing_lanes) {
  standin_module *module = build("metal", METAL("x[l.x] = (uint)(ulong)simd_ballot(x[l.x] % 2u == 0u);"));
  uint32_t x[40];
  for (uint32_t i = 0; i < 40; i++) x[i] = i;
  CHECK(run(module, "k", (void *[]){x, x}, 1, 40, 32));
  CHECK_EQ_UINT(x[0], 0x55555555u);
  CHECK_EQ_UINT(x[39], 0x55u);
  standin_release(module);
}

TEST(sums_of_simd_groups_count_missing_lanes_as_0) {
  standin_module *module = build("metal", METAL("x[l.x] = as_type<uint>(simd_sum(float(x[l.x])));"));
  uint32_t x[40];
  for (uint32_t i = 0; i < 40; i++) x[i] = i;
  CHECK(run(module, "k", (void *[]){x, x}, 1, 40, 32));
  float first = 0, second = 0;
  memcpy(&first, &x[0], sizeof first);
  memcpy(&second, &x[39], sizeof second);
  CHECK(first == 31 * 16);
  CHECK(second == 8 * 32 + 28);
  standin_release(module);
}

TEST(atomics_and_halves_are_those_of_the_dialect) {
  standin_module *module =
      build("metal", METAL("atomic_fetch_add_explicit((device atomic_uint *)x, 3u, memory_order_relaxed);\n"
                           "x[1] = as_type<ushort>(half(as_type<float>(0x33000001u)));\n"
                           "x[2] = as_type<ushort>(half(65520.0f));"));
  uint32_t x[3] = {1};
  CHECK(run(module, "k", (void *[]){x, x}, 4, 32, 32));
  CHECK_EQ_UINT(x[0], 1 + 3 * 4 * 32);
  CHECK_EQ_UINT(x[1], 1);  // just above half of the smallest number
  CHECK_EQ_UINT(x[2], 0x7c00);
  standin_release(module);
}

// --- What a kernel must not do ---------------------------------------------------------------------------------------

static void check_divergent(const char *text, const char *message) {
  standin_module *module = build("metal", text);
  uint32_t x[64] = {0};
  for (int i = 0; i < 2; i++) {
    CHECK(!run(module, "k", (void *[]){x, x}, 1, 64, 32));
    CHECK_STR_HAS(log_text, message);
  }
  standin_release(module);
  // What was given up leaves nothing behind.
  module = build("metal", METAL("threadgroup_barrier(mem_flags::mem_none);\nx[l.x] = 7;"));
  CHECK(run(module, "k", (void *[]){x, x}, 3, 64, 32));
  CHECK_EQ_UINT(x[63], 7);
  standin_release(module);
}

TEST(items_that_end_before_a_barrier_are_reported) {
  check_divergent(METAL("if (l.x > 40u) return;\nthreadgroup_barrier(mem_flags::mem_none);"),
                  "k, group (0, 0, 0): item 0 is at the barrier of line 8, but item 41 has ended");
}

TEST(items_at_two_barriers_are_reported) {
  check_divergent(METAL("if (l.x > 40u) threadgroup_barrier(mem_flags::mem_none);\n"
                        "else threadgroup_barrier(mem_flags::mem_none);"),
                  "item 0 is at the barrier of line 8, but item 41 is at the barrier of line 7");
}

TEST(lanes_that_miss_an_exchange_are_reported) {
  check_divergent(METAL("if (l.x != 5u) x[l.x] = simd_shuffle(l.x, 0);"),
                  "item 0 is at the exchange of line 7, but item 5 has ended");
}

TEST(text_that_does_not_compile_gives_the_compilers_words) {
  if (standin_missing()) SKIP(standin_missing());
  standin_source source = {.dialect = "metal", .text = METAL("x[0] = nothing_of_that_name;")};
  CHECK(!standin_build(&source, log_text, sizeof log_text));
  CHECK_STR_HAS(log_text, "nothing_of_that_name");
  CHECK_STR_HAS(log_text, ":7:");
}

// Nothing of these texts is in the cache, whose folder is new.
TEST(a_forked_process_compiles_for_itself) {
  char folder[] = "/tmp/tessera-engine-XXXXXX", command[64];
  if (standin_missing()) SKIP(standin_missing());
  CHECK(mkdtemp(folder));
  setenv("TSR_STANDIN_CACHE", folder, 1);
  standin_release(build("metal", METAL("x[0] = 1;")));
  pid_t child = fork();
  if (child == 0) {
    standin_source source = {.dialect = "metal", .text = METAL("x[0] = 2;")};
    _exit(standin_build(&source, log_text, sizeof log_text) ? 0 : 1);
  }
  standin_release(build("metal", METAL("x[0] = 3;")));
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQ_INT(status, 0);
  unsetenv("TSR_STANDIN_CACHE");
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_EQ_INT(system(command), 0);
}

// The sanitizer ends the process: in a child, whose words come through a pipe.
static void check_sanitized(const char *text, const char *report) {
  const char *sanitizers = getenv("TSR_TEST_SANITIZE");
  if (!sanitizers || !strstr(sanitizers, "address")) SKIP("this is a build without the address sanitizer");
  standin_module *module = build("metal", text);
  int ends[2];
  CHECK_EQ_INT(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    uint32_t *x = calloc(64, sizeof *x);
    run(module, "k", (void *[]){x, x}, 1, 64, 32);
    _exit(0);
  }
  close(ends[1]);
  size_t bytes = 0;
  for (ssize_t got; (got = read(ends[0], log_text + bytes, sizeof log_text - 1 - bytes)) > 0;) bytes += (size_t)got;
  log_text[bytes] = '\0';
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_STR_HAS(log_text, report);
  CHECK(status != 0);
  standin_release(module);
}

TEST(writing_behind_a_buffer_is_reported_by_the_address_sanitizer) {
  check_sanitized(METAL("threadgroup_barrier(mem_flags::mem_none);\nx[l.x + 1u] = 1;"), "heap-buffer-overflow");
}

TEST(reading_behind_shared_memory_is_reported_by_the_address_sanitizer) {
  check_sanitized(METAL("alignas(16) threadgroup uint s[64];\ns[l.x] = 0;\nx[l.x] = s[l.x + 1u];"),
                  "global-buffer-overflow");
}
