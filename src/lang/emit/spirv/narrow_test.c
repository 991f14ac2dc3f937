// SPDX-License-Identifier: MIT
// Kernels of 16-bit floats: where functions need not be as accurate as for f32 (lower/narrow.h).
#include "lang/emit/spirv/names.h"
#include "lang/emit/spirv/spirv_testing.h"

static tsri_emit_options gpu_options(void) {
  tsri_emit_options o = *tsri_emitter_find("spirv")->defaults;
  o.storage16 = o.exact_fma = true;
  o.keeps_nan = 2;
  return o;
}

// Instructions `op` whose operand word `at` is `value`.
static int count_with(const tsri_emitted *code, uint32_t op, size_t at, uint32_t value) {
  const uint32_t *words = code->data;
  int count = 0;
  for (size_t i = 5; i < code->data_bytes / 4; i += words[i] >> 16) {
    count += (words[i] & 0xffff) == op && words[i] >> 16 > at && words[i + at] == value;
  }
  return count;
}

// Counts the native Exp2 instructions in the SPIR-V of a kernel with this body, which reads x and stores to y[i].
static int count_own_exp2(const char *body, const char *dtype) {
  char text[512], args[16];
  snprintf(text, sizeof text,
           "kernel k<T: float, WG = 32>(in T a[], out T y[]) {\n  shared f32 tile[32];\n  f32 held[2];\n"
           "  u32 i = global.x;\n  f32 x = f32(a[i]);\n  %s\n}\n",
           body);
  snprintf(args, sizeof args, "T=%s", dtype);
  const tsri_emit_options options = gpu_options();
  tsri_emitted code = emit_spirv(text, args, &options);
  int count = count_with(&code, SPV_OP_EXT_INST, 4, SPV_GLSL_EXP2);
  tsri_emitted_deinit(&code);
  return count;
}

TEST(exp_of_sixteen_bits_is_the_devices_own) {
  CHECK_EQ_INT(count_own_exp2("y[i] = T(exp(x));", "bf16"), 1);
  CHECK_EQ_INT(count_own_exp2("y[i] = T(exp(x));", "f16"), 1);
  CHECK_EQ_INT(count_own_exp2("y[i] = T(exp(x));", "f32"), 0);
  CHECK_EQ_INT(count_own_exp2("f32 e = exp(-abs(x)); y[i] = T(select(x < 0, e, 1.0) / (1 + e));", "bf16"), 1);
  CHECK_EQ_INT(count_own_exp2("f32 h = exp2(x); y[i] = T(x * h * rsqrt(1 + h * h));", "bf16"), 1);
  CHECK_EQ_INT(count_own_exp2("f32 s = 0; for (u32 j = 0; j < 9; j++) s += exp(x); y[i] = T(s);", "bf16"), 1);
  CHECK_EQ_INT(count_own_exp2("held[i % 2] = exp(x); y[i] = T(held[0]);", "bf16"), 1);
  CHECK_EQ_INT(count_own_exp2("tile[local.x] = exp(x); barrier(); y[i] = T(tile[0] + tile[1]);", "bf16"), 1);
}

TEST(exp_is_accurate_where_its_error_would_be_seen) {
  CHECK_EQ_INT(count_own_exp2("y[i] = T(exp(x) + x);", "bf16"), 0);  // may cancel
  CHECK_EQ_INT(count_own_exp2("y[i] = T(exp(x) - 1);", "bf16"), 0);
  CHECK_EQ_INT(count_own_exp2("y[i] = T(log(exp(x)));", "bf16"), 0);  // small where its operand is near 1
  CHECK_EQ_INT(count_own_exp2("f32 e = exp(x); y[i] = T(select(e > 1, e, x));", "bf16"), 0);
  CHECK_EQ_INT(count_own_exp2("y[i] = a[u32(exp(x))];", "bf16"), 0);
  CHECK_EQ_INT(count_own_exp2("f32 s = -1; s = s * x; s += exp(x); y[i] = T(s);", "bf16"), 0);
  CHECK_EQ_INT(count_own_exp2("held[0] = -1; held[1] = exp(x); y[i] = T(held[i % 2] + held[1]);", "bf16"), 0);
}

// --- Functions that a device was found to compute accurately (runtime/own_functions.h) ---------------------------------

static int count_own(const char *body, uint32_t function, bool is_near) {
  char text[256];
  snprintf(text, sizeof text,
           "kernel k<WG = 32>(in f32 a[], out f32 y[]) {\n  f32 x = a[global.x];\n  y[global.x] = %s;\n}\n", body);
  tsri_emit_options options = gpu_options();
  options.near_exp2 = options.near_root = options.near_quotient = is_near;
  tsri_emitted code = emit_spirv(text, "", &options);
  int count = count_with(&code, SPV_OP_EXT_INST, 4, function);
  tsri_emitted_deinit(&code);
  return count;
}

TEST(functions_of_f32_use_the_devices_own_where_they_are_accurate) {
  static const char *const bodies[] = {"exp(x)", "exp2(x)", "tanh(x)", "erf(x)", "cosh(x)"};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    CHECK_EQ_INT(count_own(bodies[i], SPV_GLSL_EXP2, true), 1);
    CHECK_EQ_INT(count_own(bodies[i], SPV_GLSL_EXP2, false), 0);
  }
  CHECK_EQ_INT(count_own("expm1(x)", SPV_GLSL_EXP2, true), 0);  // accurate near 0
  CHECK_EQ_INT(count_own("sqrt(x)", SPV_GLSL_INVERSE_SQRT, true), 1);
  CHECK_EQ_INT(count_own("sqrt(x)", SPV_GLSL_SQRT, true), 0);
  CHECK_EQ_INT(count_own("sqrt(x)", SPV_GLSL_INVERSE_SQRT, false), 0);
}
