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

// `make check-all`, which asks for all cases, runs many more.
uint64_t random_case_count(uint64_t otherwise) {
  enum { MORE = 5 };
  return number_from("TSR_RANDOM_COUNT", test_sample(0) == 1 ? MORE * otherwise : otherwise);
}
uint64_t random_case_first_seed(uint64_t otherwise) { return number_from("TSR_RANDOM_SEED", otherwise); }

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

// Functions to put before a kernel that runs with flushing of denormals on, or that flushes them in some operations alone. The
// C library's functions do not support that mode (logf returns log(2^-150) for any denormal), so they run without it, on
// operands and results that are flushed here. They also distinguish kinds of NaN: powf(1, x) is NaN for a signalling NaN
// and 1 for others, so x + x makes it quiet. The compiler must not move arithmetic or calls across the instructions that
// switch flushing: hence functions that are not inlined, and pointers that the compiler does not know.
static void put_flushing_functions(emit_text *text, random_denormals denormals) {
  enum { SQRT = 17 };  // in this list
  static const char *const one[] = {"exp",  "exp2", "expm1", "log",  "log2", "log10", "log1p", "sin",  "cos", "tan",
                                    "asin", "acos", "atan",  "sinh", "cosh", "tanh",  "erf",   "sqrt", NULL};
  static const char *const two[] = {"atan2", "pow", NULL};
  static const char *const rounding[] = {"floor", "ceil", "rint", "trunc", NULL};
  emit_add_text(
      text,
      "#include <math.h>\n#include <xmmintrin.h>\n#define APART static __attribute__((noinline, unused))\n"
      "static unsigned plain_begin(void) { unsigned on = _mm_getcsr(); _mm_setcsr(on & ~0x8040u); return on; }\n"
      "static float plain_flush(float x) { return x != x ? x + x : fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x; }\n"
      "#define PLAIN(call) unsigned on = plain_begin(); float r = call; _mm_setcsr(on); return r;\n");
  bool is_all = denormals.in_arithmetic;
  for (int i = is_all ? 0 : SQRT; one[i]; i++) {
    if (i == SQRT && !denormals.in_sqrt) continue;
    emit_add(text,
             "static float (*volatile c_%s)(float) = %sf;\n"
             "APART float plain_%s(float x) { PLAIN(plain_flush(c_%s(plain_flush(x)))) }\n#define %sf plain_%s\n",
             one[i], one[i], one[i], one[i], one[i], one[i]);
  }
  for (int i = 0; two[i] && is_all; i++) {
    emit_add(text,
             "static float (*volatile c_%s)(float, float) = %sf;\nAPART float plain_%s(float x, float y) {\n"
             "  PLAIN(plain_flush(c_%s(plain_flush(x), plain_flush(y)))) }\n#define %sf plain_%s\n",
             two[i], two[i], two[i], two[i], two[i], two[i]);
  }
  for (int i = 0; rounding[i] && is_all != denormals.in_rounding; i++) {
    const char *operand = denormals.in_rounding ? "plain_flush(x)" : "x";
    emit_add(text,
             "static float (*volatile c_%s)(float) = %sf;\nAPART float plain_%s(float x) { PLAIN(c_%s(%s)) }\n"
             "#define %sf plain_%s\n",
             rounding[i], rounding[i], rounding[i], rounding[i], operand, rounding[i], rounding[i]);
  }
  emit_add(text,
           "static float (*volatile c_fma)(float, float, float) = fmaf;\n"
           "APART float plain_fma(float x, float y, float z) {\n  PLAIN(%s) }\n#define fmaf plain_fma\n",
           denormals.in_fma ? "plain_flush(c_fma(plain_flush(x), plain_flush(y), plain_flush(z)))" : "c_fma(x, y, z)");
}

void random_case_run_plain(random_case *c, uint32_t subgroup_size, random_denormals denormals) {
  tsri_emitted code;
  tsri_emit_options options = tsri_emit_defaults_c;
  options.subgroup_size = subgroup_size;
  options.exact_divide = !denormals.keeps_in_division;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("c"), c->kernel, &options, &code));
  emit_text text = {0};
  if (random_denormals_any(denormals)) put_flushing_functions(&text, denormals);
  emit_add_text(&text, code.data);
  void *program = emit_device_c.build(text.data, code.build_options);
  free(text.data);
  if (!program) test_fail(__FILE__, __LINE__, "plain C: %s", emit_log());
  memcpy(c->wanted, c->inputs, c->bytes);
  emit_launch launch = random_case_launch(c, code.entry, c->wanted);
  set_flushing(denormals.in_arithmetic);
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
