// SPDX-License-Identifier: MIT
#include "lang/random_case.h"

#include <stdlib.h>

#include "support/test.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static uint64_t number_from(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text && text[0] ? strtoull(text, NULL, 10) : otherwise;
}

uint64_t random_case_count(uint64_t otherwise) { return number_from("TSR_RANDOM_COUNT", otherwise); }
uint64_t random_case_first_seed(void) { return number_from("TSR_RANDOM_SEED", 1); }

// --- A case ---------------------------------------------------------------------------------------------------------

static void fill_params(random_case *c, uint64_t *state) {
  for (uint32_t i = 0; i < c->kernel->param_count; i++) {
    const tsri_ir_param *param = &c->kernel->params[i];
    unsigned char value[8] = {0};
    random_fill(state, (tsr_dtype)param->type.dtype, value, 1);
    memcpy((unsigned char *)c->params + param->offset, value, tsr_dtype_bytes((tsr_dtype)param->type.dtype));
  }
}

size_t random_case_bytes(const random_case *c, uint32_t buffer) {
  return c->random.buffers[buffer].count * tsr_dtype_bytes(c->random.buffers[buffer].dtype);
}

void random_case_init(random_case *c, uint64_t seed, uint32_t features) {
  memset(c, 0, sizeof *c);
  random_kernel_init(&c->random, seed, features);
  c->kernel = emit_kernel_of("random.tk", c->random.text, c->random.name, "", false);
  CHECK(c->kernel->params_bytes <= sizeof c->params);
  uint64_t state = seed ^ UINT64_C(0xD1CE);
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    c->offsets[i] = c->bytes;
    c->bytes += (random_case_bytes(c, i) + 31) & ~(size_t)31;
  }
  c->inputs = aligned_alloc(32, c->bytes);
  c->wanted = aligned_alloc(32, c->bytes);
  CHECK(c->inputs && c->wanted);
  memset(c->inputs, 0, c->bytes);
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    const random_buffer *buffer = &c->random.buffers[i];
    random_fill(&state, buffer->dtype, c->inputs + c->offsets[i], buffer->count);
  }
  fill_params(c, &state);
}

void random_case_deinit(random_case *c) {
  tsri_kernel_release(c->kernel);
  random_kernel_deinit(&c->random);
  free(c->inputs);
  free(c->wanted);
}

emit_launch random_case_launch(const random_case *c, const char *entry, unsigned char *memory) {
  emit_launch launch = {.entry = entry,
                        .buffer_count = c->random.buffer_count,
                        .params = c->params,
                        .params_bytes = c->kernel->params_bytes,
                        .groups = {c->random.groups, 1, 1},
                        .local = {c->random.items, 1, 1}};
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    launch.buffers[i] = memory + c->offsets[i];
    launch.bytes[i] = random_case_bytes(c, i);
  }
  return launch;
}

// --- Plain C --------------------------------------------------------------------------------------------------------

static void set_flushing(bool flushes) {
#if defined(__x86_64__)
  enum { FLUSH_RESULTS = 0x8000, FLUSH_OPERANDS = 0x0040 };
  unsigned int others = _mm_getcsr() & ~(unsigned int)(FLUSH_RESULTS | FLUSH_OPERANDS);
  _mm_setcsr(flushes ? others | FLUSH_RESULTS | FLUSH_OPERANDS : others);
#else
  CHECK(!flushes);
#endif
}

bool random_can_flush(void) {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

void random_case_run_plain(random_case *c, uint32_t subgroup_size, bool flushes) {
  tsri_emitted code;
  tsri_emit_options options = tsri_emit_defaults_c;
  options.subgroup_size = subgroup_size;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("c"), c->kernel, &options, &code));
  void *program = emit_device_c.build(code.data, code.build_options);
  if (!program) test_fail(__FILE__, __LINE__, "plain C: %s", emit_log());
  memcpy(c->wanted, c->inputs, c->bytes);
  emit_launch launch = random_case_launch(c, code.entry, c->wanted);
  set_flushing(flushes);
  bool has_run = emit_device_c.run(program, &launch);
  set_flushing(false);
  if (!has_run) test_fail(__FILE__, __LINE__, "plain C: %s", emit_log());
  emit_device_c.release(program);
  tsri_emitted_deinit(&code);
}

// --- Comparing ------------------------------------------------------------------------------------------------------

static void flush(const random_buffer *buffer, void *memory) {
  uint32_t *words = memory;
  if (buffer->dtype != TSR_F32) return;
  for (uint32_t i = 0; i < buffer->count; i++) {
    if ((words[i] & 0x7f800000) == 0) words[i] &= 0x80000000;
  }
}

void random_case_compare(random_case *c, uint32_t index, const char *who, void *is, bool flushes, uint32_t slack) {
  unsigned char *wanted = c->wanted + c->offsets[index];
  if (flushes) flush(&c->random.buffers[index], is);
  if (flushes) flush(&c->random.buffers[index], wanted);
  random_compare_buffer(&c->random, index, who, is, wanted, slack);
}
