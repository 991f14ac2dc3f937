// SPDX-License-Identifier: MIT
// Random valid kernels give the same results in lane bytecode, plain C, OpenCL, CUDA and our replacement for Metal,
// where each is installed.
//
// A failure prints the kernel and its seed.
#include <inttypes.h>
#include <stdlib.h>
#include <tessera/dtype.h>

#include "backends/cpu/jit/jit.h"
#include "backends/cpu/lanes/lanes.h"
#include "core/alloc.h"
#include "lang/emit/lanes/lanes.h"
#include "lang/emit_batch.h"
#include "lang/random_case.h"
#include "support/test.h"

#define SUBGROUP_SIZE 32  // of CUDA, HIP, Metal and lane bytecode; the others use shared memory

// --- Comparing ------------------------------------------------------------------------------------------------------

static void compare(const random_case *c, const char *who, const unsigned char *memory) {
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    random_compare_buffer(&c->random, i, who, memory + c->offsets[i], c->wanted + c->offsets[i], 1);
  }
}

// --- Running --------------------------------------------------------------------------------------------------------

static bool is_flat;  // no barrier under a condition

static emit_batch *build_all(const emit_device *device, const random_case *cases, uint32_t count) {
  tsri_emit_options options = *tsri_emitter_find(device->dialect)->defaults;
  options.subgroup_size = SUBGROUP_SIZE;
  options.flat_barriers |= is_flat;
  tsri_kernel **kernels = calloc(count, sizeof *kernels);
  CHECK(kernels);
  for (uint32_t i = 0; i < count; i++) kernels[i] = cases[i].kernel;
  emit_batch *batch = emit_batch_build(device, &options, kernels, count);
  free(kernels);
  return batch;
}

static void run_all(const emit_device *device, random_case *cases, uint32_t count) {
  emit_batch *batch = build_all(device, cases, count);
  for (uint32_t i = 0; i < count; i++) {
    random_case *c = &cases[i];
    bool is_reference = device == &emit_device_c;
    unsigned char *memory = is_reference ? c->wanted : aligned_alloc(32, c->bytes);
    CHECK(memory);
    memcpy(memory, c->inputs, c->bytes);
    emit_launch launch = random_case_launch(c, NULL, memory);
    launch.subgroup = SUBGROUP_SIZE;
    bool was_run = emit_batch_run(batch, i, &launch, NULL, NULL);
    if (is_reference) continue;
    if (was_run) compare(c, device->name, memory);
    free(memory);
  }
  printf("%s: %u kernels\n", device->name, (unsigned)emit_batch_built(batch));
  emit_batch_release(batch);
}

// Numbers of kernels. FEW: for PoCL, which takes half a second to compile one. MANY: for the other dialects of the same emitter.
enum { MANY = 24, FEW = 8 };

// The number of random kernels: TSR_RANDOM_COUNT if it is set, otherwise `standard`.
static random_case *make_cases(uint64_t standard, uint32_t *out_count) {
  uint32_t count = (uint32_t)random_case_count(standard);
  uint64_t seed = random_case_first_seed(1);
  random_case *cases = calloc(count, sizeof *cases);
  CHECK(cases);
  for (uint32_t i = 0; i < count; i++) {
    random_case_init(&cases[i], seed + i, ((seed + i) % 3 ? RANDOM_F64 : 0) | RANDOM_SUBGROUPS);
  }
  *out_count = count;
  return cases;
}

static void compare_with(const emit_device *device, uint64_t standard) {
  if (emit_device_c.missing()) SKIP(emit_device_c.missing());
  if (device->missing()) SKIP(device->missing());
  uint32_t count = 0;
  random_case *cases = make_cases(standard, &count);
  run_all(&emit_device_c, cases, count);
  run_all(device, cases, count);
  for (uint32_t i = 0; i < count; i++) random_case_deinit(&cases[i]);
  free(cases);
}

// --- Lane bytecode --------------------------------------------------------------------------------------------------

// Leaves the results in `memory`, which has room for all buffers.
static void launch_lanes(const random_case *c, const tsri_lanes_program *program, const char *simd, int threads,
                         bool is_compiled, unsigned char *memory) {
  memcpy(memory, c->inputs, c->bytes);
  tsri_lanes_buffer buffers[RANDOM_MAX_BUFFERS];
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    buffers[i] = (tsri_lanes_buffer){memory + c->offsets[i], random_case_bytes(c, i)};
  }
  tsri_lanes_launch launch = {.buffers = buffers,
                              .buffer_count = c->random.buffer_count,
                              .params = c->params,
                              .params_bytes = c->kernel->params_bytes,
                              .groups = {c->random.groups, 1, 1},
                              .threads = threads,
                              .simd = simd,
                              .allow_jit = is_compiled};
  if (tsri_lanes_run(program, &launch) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "seed %" PRIu64 ": %s\n%s", c->random.seed, tsr_last_error(), c->random.text);
  }
}

static void run_lanes(const random_case *c, const tsri_lanes_program *program, const char *simd, int threads,
                      bool is_compiled) {
  unsigned char *memory = aligned_alloc(32, c->bytes);
  CHECK(memory);
  launch_lanes(c, program, simd, threads, is_compiled, memory);
  char who[64];
  snprintf(who, sizeof who, "lane bytecode (%s, %d threads, %s)", simd, threads,
           is_compiled ? "compiled" : "interpreted");
  compare(c, who, memory);
  free(memory);
}

static bool has_simd(const char *level) {
#if defined(__x86_64__)
  if (strcmp(level, "avx2") == 0) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (strcmp(level, "avx512") == 0) return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
  if (strcmp(level, "neon") == 0) return true;
#endif
  return strcmp(level, "baseline") == 0;
}

static const char *const levels[] = {"baseline", "avx2", "avx512", "neon"};
enum { LEVELS = sizeof levels / sizeof levels[0] };

static tsri_lanes_program *program_of(const random_case *c) {
  uint32_t *words = NULL;
  size_t bytes = 0;
  tsri_lanes_program *program = NULL;
  if (tsri_lanes_compile(c->kernel, &words, &bytes) != TSR_OK || tsri_lanes_prepare(words, bytes, &program) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "seed %" PRIu64 ": %s\n%s", c->random.seed, tsr_last_error(), c->random.text);
  }
  tsri_free(words);
  return program;
}

static void run_all_lanes(const random_case *c) {
  tsri_lanes_program *program = program_of(c);
  for (int i = 0; i < LEVELS; i++) {
    if (!has_simd(levels[i])) continue;
    run_lanes(c, program, levels[i], 1 + i % 3, false);
    run_lanes(c, program, levels[i], 1 + i % 3, true);
  }
  tsri_lanes_release(program);
}

// The results must have the same bits as the interpreter's; all NaNs count as equal.
static void compare_compiled(random_case *c, const char *level) {
  unsigned char *memory = aligned_alloc(32, c->bytes);
  CHECK(memory);
  tsri_lanes_program *program = program_of(c);
  launch_lanes(c, program, level, 1, false, c->wanted);
  launch_lanes(c, program, level, 1, true, memory);
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    random_compare_buffer(&c->random, i, level, memory + c->offsets[i], c->wanted + c->offsets[i], 0);
  }
  tsri_lanes_release(program);
  free(memory);
}

TEST(random_kernels_have_the_same_bits_compiled_and_interpreted) {
  uint32_t count = 0;
  random_case *cases = make_cases(MANY, &count);
  jit_counts before = tsri_jit_counts();
  bool is_compiled = false;
  for (int i = 0; i < LEVELS; i++) {
    if (!has_simd(levels[i]) || i == 0) continue;
    is_compiled = true;
    for (uint32_t k = 0; k < count; k++) compare_compiled(&cases[k], levels[i]);
  }
  bool has_run = tsri_jit_counts().compiled > before.compiled;
  for (uint32_t i = 0; i < count; i++) random_case_deinit(&cases[i]);
  free(cases);
  if (!is_compiled) SKIP("this processor has no instructions that kernels are compiled to");
  CHECK(has_run);
}

TEST(random_kernels_agree_in_plain_c_and_lane_bytecode) {
  if (emit_device_c.missing()) SKIP(emit_device_c.missing());
  uint32_t count = 0;
  random_case *cases = make_cases(MANY, &count);
  run_all(&emit_device_c, cases, count);
  for (uint32_t i = 0; i < count; i++) run_all_lanes(&cases[i]);
  for (uint32_t i = 0; i < count; i++) random_case_deinit(&cases[i]);
  free(cases);
}

// --- The devices ----------------------------------------------------------------------------------------------------

TEST(random_kernels_agree_in_plain_c_and_opencl) {
  compare_with(&emit_device_opencl, test_sample(0) == 1 ? MANY : FEW);
}

TEST(random_kernels_agree_in_plain_c_and_metals_stand_in) { compare_with(&emit_device_metal, MANY); }

TEST(random_kernels_agree_in_plain_c_and_hips_stand_in) { compare_with(&emit_device_hip, MANY); }

TEST(random_kernels_agree_in_metals_stand_in_without_barriers_under_conditions) {
  is_flat = true;
  compare_with(&emit_device_metal, MANY);
  is_flat = false;
}

TEST(random_kernels_agree_in_plain_c_and_cuda) { compare_with(&emit_device_cuda, MANY); }
