// SPDX-License-Identifier: MIT
// Random well-formed kernels give the same results on the Vulkan device as in plain C, with the device's features and
// without them.
//
// TSR_RANDOM_COUNT says how many kernels (12), TSR_RANDOM_SEED where the seeds begin (1). On lavapipe another seed may
// stumble over gallivm's x * 0 = 0, where NIR finds out by itself that a factor is 0 (seed 57).
#include "backends/vulkan/fixture.h"

#if TSRI_HAS_VULKAN

#include <inttypes.h>

#include "lang/emit_case.h"
#include "lang/random_kernel.h"

static uint64_t number_from(const char *variable, uint64_t fallback) {
  const char *text = getenv(variable);
  return text && text[0] ? strtoull(text, NULL, 10) : fallback;
}

typedef struct random_case {
  random_kernel random;
  tsri_kernel *kernel;
  unsigned char *wanted[RANDOM_MAX_BUFFERS], *is[RANDOM_MAX_BUFFERS];
  size_t bytes[RANDOM_MAX_BUFFERS];
  uint32_t params[16];
} random_case;

static void case_init(random_case *c, uint64_t seed, uint32_t features) {
  memset(c, 0, sizeof *c);
  random_kernel_init(&c->random, seed, features);
  c->kernel = emit_kernel_of("random.tk", c->random.text, c->random.name, "", false);
  uint64_t state = seed ^ UINT64_C(0xD1CE);
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    const random_buffer *buffer = &c->random.buffers[i];
    c->bytes[i] = buffer->count * tsr_dtype_bytes(buffer->dtype);
    c->wanted[i] = aligned_alloc(32, (c->bytes[i] + 31) & ~(size_t)31);
    c->is[i] = malloc(c->bytes[i]);
    CHECK(c->wanted[i] && c->is[i]);
    random_fill(&state, buffer->dtype, c->wanted[i], buffer->count);
    memcpy(c->is[i], c->wanted[i], c->bytes[i]);
  }
  for (uint32_t i = 0; i < c->kernel->param_count; i++) {
    const tsri_ir_param *param = &c->kernel->params[i];
    unsigned char value[8] = {0};
    random_fill(&state, (tsr_dtype)param->type.dtype, value, 1);
    memcpy((unsigned char *)c->params + param->offset, value, tsr_dtype_bytes((tsr_dtype)param->type.dtype));
  }
}

static void case_deinit(random_case *c) {
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    free(c->wanted[i]);
    free(c->is[i]);
  }
  tsri_kernel_release(c->kernel);
  random_kernel_deinit(&c->random);
}

static void run_plain(random_case *c, uint32_t subgroup_size) {
  tsri_emitted code;
  tsri_emit_options options = tsri_emit_defaults_c;
  options.subgroup_size = subgroup_size;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("c"), c->kernel, &options, &code));
  void *program = emit_device_c.build(code.data, code.build_options);
  if (!program) test_fail(__FILE__, __LINE__, "plain C: %s", emit_log());
  emit_launch launch = {.entry = code.entry,
                        .buffer_count = c->random.buffer_count,
                        .params = c->params,
                        .params_bytes = c->kernel->params_bytes,
                        .groups = {c->random.groups, 1, 1},
                        .local = {c->random.items, 1, 1}};
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    launch.buffers[i] = c->wanted[i];
    launch.bytes[i] = c->bytes[i];
  }
  if (!emit_device_c.run(program, &launch)) test_fail(__FILE__, __LINE__, "plain C: %s", emit_log());
  emit_device_c.release(program);
  tsri_emitted_deinit(&code);
}

static void run_vulkan(const fixture *f, random_case *c) {
  fixture_bound bound[RANDOM_MAX_BUFFERS];
  fixture_kernel k = fixture_compile(f, c->random.text, c->random.name, "", false);
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    bound[i] = (fixture_bound){fixture_buffer(f, c->bytes[i], c->is[i]), c->bytes[i]};
  }
  fixture_launch(f, &k, c->random.groups, 1, bound, c->params);
  for (uint32_t i = 0; i < c->random.buffer_count; i++) fixture_read(f, bound[i].buffer, c->is[i], c->bytes[i]);
  for (uint32_t i = 0; i < c->random.buffer_count; i++) f->vk->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
}

static void compare(const random_case *c) {
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    // Twice what the others are allowed: their functions are the C library's, ours are within 3 ULP.
    random_compare_buffer(&c->random, i, "Vulkan", c->is[i], c->wanted[i], 2);
  }
}

// Does f32 arithmetic make 0 of numbers below 2^-126? Vulkan leaves it free, and NVIDIA's does.
static bool flushes_denormals(const fixture *f) {
  uint32_t x[2] = {0x00400000, 0x00100000}, y = 0;
  fixture_kernel k = fixture_compile(f, "kernel k(in f32 x[], out f32 y[]) { if (global.x == 0) y[0] = x[0] + x[1]; }",
                                     NULL, "", false);
  fixture_bound bound[2] = {{fixture_buffer(f, sizeof x, x), sizeof x}, {fixture_buffer(f, 4, &y), 4}};
  fixture_launch(f, &k, 1, 1, bound, NULL);
  fixture_read(f, bound[1].buffer, &y, 4);
  for (int i = 0; i < 2; i++) f->vk->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
  return y != 0x00500000;
}

static void run_kernels(fixture *f) {
  if (flushes_denormals(f)) {
    fixture_close(f);
    SKIP("the device makes 0 of f32 denormals, which random kernels meet");
  }
  uint64_t count = number_from("TSR_RANDOM_COUNT", 12), first = number_from("TSR_RANDOM_SEED", 1);
  if (emit_device_c.missing()) SKIP(emit_device_c.missing());
  int done = 0;
  for (uint64_t seed = first; seed < first + count; seed++) {
    random_case c;
    bool has_f64 = f->emit.f64 && seed % 3;
    case_init(&c, seed, (has_f64 ? RANDOM_F64 : 0) | RANDOM_SUBGROUPS);
    bool fits = (f->emit.f64 || !(c.kernel->needs & TSRI_NEEDS_F64)) &&
                (f->emit.i64 || !(c.kernel->needs & TSRI_NEEDS_I64)) && c.random.items <= f->limits.max_group_size;
    if (fits) {
      run_plain(&c, f->emit.subgroup_size);
      run_vulkan(f, &c);
      compare(&c);
      done++;
    }
    case_deinit(&c);
  }
  printf("  %d kernels\n", done);
}

TEST(random_kernels_agree_in_plain_c_and_vulkan) {
  fixture f = fixture_open();
  run_kernels(&f);
  fixture_close(&f);
}

TEST(random_kernels_agree_in_plain_c_and_vulkan_without_features) {
  fixture f = fixture_open();
  bool has_64 = f.emit.f64 && f.emit.i64;
  // Without the promise to keep NaN, drivers make 0 of x * 0.
  f.emit = (tsri_emit_options){.subgroup_size = 16, .f64 = has_64, .i64 = has_64, .keeps_nan = f.limits.keeps_nan};
  run_kernels(&f);
  fixture_close(&f);
}

#endif
