// SPDX-License-Identifier: MIT
// What the WGSL emitter writes, and what it refuses. That Dawn takes it, and what comes out, is tested in
// src/backends/webgpu.
#include "lang/emit/wgsl/wgsl.h"
#include "core/alloc.h"
#include "lang/emit/emit.h"
#include "lang/lang.h"
#include "support/test.h"

static tsri_kernel *kernel_of(const char *text, bool checked) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  CHECK_OK(tsri_lang_parse("test.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_specialise(module, NULL, NULL, 0, &(tsri_lang_options){.checked = checked}, NULL, &kernel));
  tsri_module_release(module);
  return kernel;
}

static tsri_emitted emit_with(const char *text, bool checked, const tsri_emit_options *options) {
  tsri_kernel *kernel = kernel_of(text, checked);
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, options, &code));
  tsri_kernel_release(kernel);
  return code;
}

static tsri_emitted emit(const char *text, bool checked) { return emit_with(text, checked, NULL); }

static void check_has(const char *text, const char *part) {
  tsri_emitted code = emit(text, false);
  if (!strstr(code.data, part)) test_fail(__FILE__, __LINE__, "wanted: %s\nis:\n%s", part, (const char *)code.data);
  tsri_emitted_deinit(&code);
}

static void check_lacks(const char *text, const char *part) {
  tsri_emitted code = emit(text, false);
  if (strstr(code.data, part)) test_fail(__FILE__, __LINE__, "not wanted: %s\nis:\n%s", part, (const char *)code.data);
  tsri_emitted_deinit(&code);
}

TEST(a_launch_is_told_which_buffers_are_only_read) {
  tsri_emitted code =
      emit("kernel k(in f32 x[], out f32 y[], in u8 z[], u32 n) { y[global.x] = x[n] + f32(z[n]); }", false);
  CHECK_STR(code.entry, "tsrk_k");
  CHECK_STR(code.build_options, "read_only=0x5");
  CHECK_EQ_UINT(code.params_bytes, 4);
  CHECK_EQ_UINT(code.data_bytes, strlen(code.data));
  tsri_emitted_deinit(&code);
}

TEST(f64_is_refused) {
  tsri_kernel *kernel = kernel_of("kernel k(in f64 x[], out f64 y[]) { y[global.x] = x[global.x]; }", false);
  tsri_emitted code;
  CHECK_STATUS(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, NULL, &code), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("f64");
  tsri_kernel_release(kernel);
}

TEST(small_elements_are_parts_of_words_and_atomic_only_where_written) {
  const char *text = "kernel k(in i16 x[], out u8 y[]) { y[global.x] = u8(x[global.x]); }";
  check_has(text, "var<storage, read> x_b0: array<u32>;");
  check_has(text, "var<storage, read_write> y_b1: array<atomic<u32>>;");
  check_has(text, "atomicXor(&y_b1[");
}

TEST(whole_words_of_small_elements_are_stored_at_once) {
  const char *text = "kernel k(in f32 x[], out u8 y[]) { store4(y, global.x * 4, u32x4(u32(x[global.x]))); }";
  check_has(text, "var<storage, read_write> y_b1: array<u32>;");
  check_lacks(text, "atomic");
}

TEST(wide_buffers_are_arrays_of_vectors) {
  check_has("kernel k(in f32 x[], out f32 y[]) { store4(y, global.x * 4, load4(x, global.x * 4)); }",
            "var<storage, read> x_b0: array<vec4<f32>>;");
}

// Four of them are two words, which are read and written together. What is read needs no hiding from the compiler, though words are taken apart.
TEST(elements_of_16_bits_are_pairs_of_words_where_four_are_accessed) {
  const char *text =
      "kernel k(in bf16 x[], out bf16 y[], f32 a) { store4(y, global.x * 4, bf16x4(load4(x, global.x * 4) * a)); }";
  check_has(text, "x_b0: array<vec2<u32>>;");
  check_has(text, "y_b1: array<vec2<u32>>;");
  check_lacks(text, "tsr_keep");
}

TEST(f16_is_an_element_where_the_device_has_it) {
  tsri_kernel *kernel = kernel_of(
      "kernel k(in f16 x[], out f16 y[]) { store4(y, global.x * 4, load4(x, global.x * 4)); y[0] = f16(x[1] + 1.0); }",
      false);
  tsri_emit_options options = tsri_emit_defaults_wgsl;
  tsri_emitted code;
  options.f16 = true;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, &options, &code));
  CHECK(strncmp(code.data, "enable f16;\n", 12) == 0);
  CHECK(strstr(code.data, "y_b1: array<vec4<f16>>;"));
  CHECK(!strstr(code.data, "atomic"));
  CHECK(!strstr(code.data, "tsr_f32_to_f16"));
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
}

static tsri_emitted emit_with_subgroups(const char *text) {
  tsri_kernel *kernel = kernel_of(text, false);
  tsri_emit_options options = tsri_emit_defaults_wgsl;
  tsri_emitted code;
  options.subgroups = options.subgroup_shuffle = true;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, &options, &code));
  tsri_kernel_release(kernel);
  return code;
}

TEST(collectives_are_shuffles_where_the_device_has_subgroups) {
  tsri_emitted code = emit_with_subgroups(
      "kernel k<WG = 64>(in f32 x[], out f32 y[]) {\n  f32 v = subgroup_max(x[local.x]);\n"
      "  y[local.x] = subgroup_shuffle(v, 7) + subgroup_shuffle_xor(v, local.x) + f32(subgroup_ballot(v > 3));\n}\n");
  CHECK(strncmp(code.data, "enable subgroups;\n", 18) == 0);
  CHECK(strstr(code.data, "subgroupShuffleXor(t_"));
  CHECK(strstr(code.data, "(7u) & 31u)"));
  CHECK(strstr(code.data, "(tsr_lid ^ tsr_local.x) & 31u)"));
  CHECK(strstr(code.data, " = subgroupBallot("));
  CHECK(!strstr(code.data, "workgroupBarrier"));
  CHECK_EQ_UINT(code.shared_bytes, 0);
  tsri_emitted_deinit(&code);
}

TEST(ends_of_lines_of_small_elements_wait_for_nothing) {
  const char *text =
      "kernel k(in f32 x[], out bf16 y[], u32 n) { store2(y, global.x * 2, bf16x2(x[0])); y[n] = bf16(x[1]); }";
  check_has(text, "atomicAnd(&y_b1[");
  check_has(text, "atomicOr(&y_b1[");
  check_lacks(text, "atomicLoad");
}

TEST(i64_is_a_pair_of_words) {
  const char *text = "kernel k(in i64 x[], out i64 y[], i64 n) { y[global.x] = x[global.x] * n; }";
  check_has(text, "array<vec2<u32>>");
  check_has(text, "fn tsr_mulhi_u32(");
  check_lacks(text, "i64");
}

TEST(no_infinity_or_nan_is_a_constant) {
  const char *text = "kernel k(out f32 y[]) { y[0] = INFINITY; y[1] = -0.0; y[2] = 1.5; }";
  check_has(text, "tsr_float(0x7f800000u)");
  check_has(text, "tsr_float(0x80000000u)");
  check_has(text, "= 1.5f;");
}

TEST(only_results_that_more_arithmetic_follows_are_kept) {
  check_has("kernel k(in f32 x[], out f32 y[], f32 a) { y[global.x] = x[global.x] * a + a; }", "tsr_keep(");
  check_lacks("kernel k(in f32 x[], out f32 y[], f32 a) { y[global.x] = x[global.x] * a; }", "tsr_keep(");
  check_has("kernel k(in f32 x[], out f32 y[]) { f32 a = x[0] * x[1]; y[0] = a + x[2]; }", "tsr_keep(");
  check_has("kernel k(in f32 x[], out f32 y[]) { f32 a = x[0] * x[1]; f32 b = a; y[0] = b + x[2]; }", "tsr_keep(");
  check_has("kernel k(in f32 x[], out f32 y[]) { f32 t[2]; t[1] = x[0] * x[1]; y[0] = t[1] + x[2]; }", "tsr_keep(");
  check_has("kernel k(in f32 x[], out f32 y[]) { f32x4 v = f32x4(x[0] * x[1]); y[0] = v.z + x[2]; }", "tsr_keep(");
  check_has("kernel k(in f32 x[], inout f32 y[]) { y[0] = x[0] * x[1]; y[1] = y[0] + x[2]; }", "tsr_keep(");
  check_has(
      "kernel k(in f32 x[], out f32 y[], u32 n) {\n  f32 a = 0;\n"
      "  for (u32 i = 0; i < n; i++) { f32 b = a + x[i]; a = x[i] * x[i]; y[i] = b; }\n}\n",
      "tsr_keep(");
  check_lacks(
      "kernel k(in f32 x[], out f32 y[]) {\n  f32 t[2];\n  f32 a = x[0] > 0 ? x[0] * x[1] : x[1] - x[0];\n"
      "  t[0] = a;\n  store4(y, 0, f32x4(t[0], a, a, a));\n}\n",
      "tsr_keep(");
}

TEST(zeros_that_arithmetic_meets_are_no_constants) {
  check_has("kernel k(in f32 x[], out f32 y[]) { y[0] = x[0] * 0.0; }", "tsr_keep(0f)");
  check_has("kernel k(in f32 x[], out f32 y[]) { f32 a = 0; y[0] = x[0] + abs(a); }", "tsr_keep(0f)");
  check_has("kernel k(in f32 x[], out f32 y[]) { f32x4 a = f32x4(0.0); y[0] = a.y / x[0]; }", "tsr_keep(0f)");
  check_lacks("kernel k(in f32 x[], out f32 y[]) { y[0] = max(x[0], 0.0); y[1] = 0; }", "tsr_keep(");
  check_has("kernel k(in f32 x[], out f32 y[]) { u32 n = 0; y[0] = x[0] * f32(n); }", "tsr_keep(");
  check_lacks("kernel k(in f32 x[], in i32 n[], out f32 y[]) { y[0] = x[0] * f32(n[0]); }", "tsr_keep(");
  check_lacks("kernel k(out f32 y[], u32 n) { y[0] = f32(n); }", "tsr_keep(");
}

// x - x and x / x are NaN where x is infinite or NaN; drivers that need not know of either make constants of them.
TEST(operands_that_may_be_the_same_value_are_kept_apart) {
  check_has("kernel k(in f32 x[], out f32 y[]) { f32 a = x[0]; y[0] = a - a; }", "(a_1 - tsr_apart(a_1))");
  check_has("kernel k(in f32 x[], out f32 y[]) { y[0] = x[0] - x[0]; }", " - tsr_apart(e");
  check_has("kernel k(in f32 x[], out f32 y[]) { store4(y, 0, load4(x, 0) - load4(x, 0)); }", "= tsr_apart4(e");
  check_has("kernel k(in f32 x[], out f32 y[]) { f32x2 v = load2(x, 0); y[0] = (v - v).x; }", "= tsr_apart2(v_1)");
  check_has("kernel k(in f32 x[], out f32 y[]) { f32 a = x[0]; y[0] = a / a; }", "tsr_keep((n3 / b))");
  check_lacks("kernel k(in f32 x[], out f32 y[]) { y[0] = x[0] - 1.0; y[1] = 1.0 - x[0]; }", "tsr_apart");
  check_lacks("kernel k(in i32 x[], out i32 y[]) { i32 a = x[0]; y[0] = a - a; }", "tsr_apart");
}

// Where fma is one instruction.
static tsri_emitted emit_fused(const char *text) {
  tsri_emit_options options = tsri_emit_defaults_wgsl;
  options.exact_fma = true;
  return emit_with(text, false, &options);
}

static void check_fused(const char *text, bool is_apart) {
  tsri_emitted code = emit_fused(text);
  if ((strstr(code.data, "fn tsr_apart") != NULL) != is_apart)
    test_fail(__FILE__, __LINE__, "%s", (const char *)code.data);
  tsri_emitted_deinit(&code);
}

// `part` is in the text, and nothing is hidden by a second operation.
static void check_fused_has(const char *text, const char *part) {
  tsri_emitted code = emit_fused(text);
  if (!strstr(code.data, part) || strstr(code.data, "tsr_keep"))
    test_fail(__FILE__, __LINE__, "wanted: %s\nis:\n%s", part, (const char *)code.data);
  tsri_emitted_deinit(&code);
}

TEST(results_that_more_arithmetic_follows_are_one_fma_where_it_rounds_once) {
  check_fused_has("kernel k(in f32 x[], out f32 y[], f32 a) { y[global.x] = x[global.x] * a + a; }", "= tsr_mul(e");
  check_fused_has("kernel k(in f32 x[], out f32 y[], f32 a) { y[global.x] = (x[global.x] + a) * a; }", "= tsr_add(e");
  check_fused_has("kernel k(in f32 x[], out f32 y[]) { y[0] = (x[0] - 1.5) * x[0]; }", "= tsr_sub(e");
  check_fused_has("kernel k(in f32 x[], out f32 y[]) { f32x4 v = load4(x, 0); store4(y, 0, v * v + v); }",
                  "= tsr_mul4(v");
  check_fused_has("kernel k(in f32 x[], out f32 y[]) { f32x2 v = load2(x, 0); y[0] = (v * v + v).x; }", "fn tsr_mul2(");
  check_fused_has("kernel k(in f32 x[], out f32 y[]) { y[0] = exp(x[0]); }", "tsr_sub(");
  check_fused_has("kernel k(in f32 x[], out f32 y[], f32 a) { y[global.x] = x[global.x] * a; }", " * a_p0)");
}

TEST(exp_by_the_devices_own_exp2_limits_its_exponent_by_one_operation) {
  tsri_emit_options options = tsri_emit_defaults_wgsl;
  options.exact_fma = options.near_exp2 = true;
  tsri_emitted code = emit_with("kernel k(in f32 x[], out f32 y[]) { y[0] = exp(x[0]); }", false, &options);
  CHECK(strstr(code.data, "saturate(n") && !strstr(code.data, "min("));
  tsri_emitted_deinit(&code);
}

TEST(the_high_word_of_a_product_with_a_constant_takes_fewer_operations) {
  const char *generic =
      "kernel k(in u32 x[], out u32 y[]) { y[0] = mulhi(x[0], 0x7FFF8000u); }";  // halves of 2^16 - 1 in all, also of the rest
  check_has("kernel k(in u32 x[], out u32 y[]) { y[0] = mulhi(0xD2511F53u, x[0]); }", "tsr_mulhi_small(e");
  check_has("kernel k(in u32 x[], out u32 y[]) { y[0] = mulhi(x[0], 0xCD9E8D57u); }", "tsr_mulhi_rest(e");
  check_has(generic, "tsr_mulhi_u32(e");
  check_has("kernel k(in u32 x[], out u32 y[]) { y[0] = mulhi(x[0], x[1]); }", "tsr_mulhi_u32(e");
}

TEST(an_addend_of_fma_that_may_be_a_factor_is_kept_apart) {
  check_fused("kernel k(in f32 x[], out f32 y[]) { f32 a = x[0]; y[0] = fma(min(a, a), -2.0, a); }", true);
  check_fused("kernel k(in f32 x[], out f32 y[]) { y[0] = fma(-2.0, x[1], x[1]); }", true);
  check_fused("kernel k(in f32 x[], out f32 y[]) { f32x4 a = load4(x, 0); store4(y, 0, fma(a, a, a)); }", true);
  check_fused(
      "kernel k(in f32 x[], in f32 z[], out f32 y[]) {\n  f32 t[2];\n"
      "  for (u32 i = 0; i < 9; i++) t[i % 2] = fma(x[i], z[i], t[i % 2]);\n  y[0] = t[0] + t[1];\n}\n",
      false);
  check_fused(
      "kernel k(in f32 x[], in f32 z[], out f32 y[]) {\n  f32 sum = 0;\n"
      "  for (u32 i = 0; i < 9; i++) sum = fma(x[i], z[i], sum);\n  y[0] = sum;\n}\n",
      false);
}

TEST(a_negation_that_is_added_is_kept_apart) {
  check_has("kernel k(in f32 x[], out f32 y[]) { f32 a = x[0]; y[0] = a + -a; }", "+ tsr_apart(e");
  check_has("kernel k(in f32 x[], out f32 y[]) { f32 a = x[0]; f32 b = -a; y[0] = fma(1.0, a, b); }", "= tsr_apart(");
  check_lacks("kernel k(in f32 x[], out f32 y[]) { y[0] = exp(-x[0]) + 1.0; y[1] = -x[0] * 2.0; }", "tsr_apart");
}

TEST(integers_are_negated_so_that_the_compiler_does_not_notice) {
  const char *negated = "(bitcast<i32>(tsr_p[1].x) - ";
  check_has("kernel k(in i32 x[], out i32 y[]) { y[0] = min(x[1], -x[0]); }", negated);
  check_has("kernel k(in i32 x[], out i32 y[]) { y[0] = min(x[1], 0 - x[0]); }", negated);
  check_has("kernel k(in i32 x[], out i32 y[]) { y[0] = min(x[1], x[0] * -1); }", negated);
  check_has("kernel k(in i32 x[], out i32 y[]) { store4(y, 0, -load4(x, 0)); }", negated);
  check_lacks("kernel k(in i32 x[], out i32 y[]) { y[0] = 1 - x[0]; }", negated);
}

TEST(a_condition_that_wgsl_can_follow_is_left_alone) {
  const char *plain =
      "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) {\n"
      "  for (u32 i = 0; i < n; i++) { if (x[i] > 3) break; barrier(); }\n  y[local.x] = n;\n}\n";
  const char *local =
      "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) {\n  u32 a[2];\n  a[1] = n;\n"
      "  for (u32 i = 0; i < a[1]; i++) barrier();\n  y[local.x] = n;\n}\n";
  check_lacks(plain, "workgroupUniformLoad");
  check_has(local, "workgroupUniformLoad(&decision_s0[");
}

TEST(what_is_read_once_is_read_by_each_item) {
  const char *text = "kernel k(in f32 a[], out f32 c[]) { store4(c, global.x * 4, load4_once(a, global.x * 4)); }";
  check_lacks(text, "workgroupUniformLoad");
  check_has(text, "a_b0[at");
}

// workgroupUniformLoad gives the result of a collective, which WGSL then takes for uniform.
TEST(a_condition_on_a_collective_is_uniform_as_it_is) {
  const char *group =
      "kernel k<WG = 64>(in u32 x[], out u32 y[]) {\n  u32 n = group_max(x[local.x]);\n"
      "  for (u32 i = 0; i < n; i++) barrier();\n  y[local.x] = n;\n}\n";
  const char *subgroup = "kernel k<WG = 64>(in u32 x[], out u32 y[]) { y[local.x] = subgroup_sum(x[local.x]); }";
  check_has(group, "workgroupUniformLoad(&pool_s0[");
  check_lacks(group, "decision");
  check_lacks(subgroup, "workgroupUniformLoad");  // its items have different results
}

TEST(conditions_without_work_are_no_branches) {
  const char *text = "kernel k(out u32 y[], u32 a, u32 b) { if (a < 4 && b < 5 || a > b) y[0] = 1; }";
  check_lacks(text, "&&");
  check_lacks(text, "||");
}

TEST(operands_that_load_stand_under_their_condition) {
  check_has("kernel k(in u32 x[], out u32 y[], u32 n) { y[0] = n < 4 && x[n] == 3 ? 1 : 0; }",
            "if (t_1) {\n    let at");
  check_has("kernel k(in u32 x[], out u32 y[], u32 n) { u32 v = x[0]; y[0] = v < 4 ? v + 1 : n; }", "select(");
}

TEST(checked_mode_has_a_report_and_the_counts) {
  tsri_emitted code = emit("kernel k(in f32 x[], out f32 y[]) { y[global.x] = x[global.x]; }", true);
  CHECK(code.has_report);
  CHECK_EQ_UINT(code.buffer_count, 3);
  CHECK_EQ_UINT(code.params_bytes, 16);
  CHECK(strstr(code.data, "@binding(2) var<storage, read_write> report_b2: array<atomic<u32>>;"));
  CHECK(strstr(code.data, "atomicExchange(&report_b2["));
  tsri_emitted_deinit(&code);
}

TEST(shared_memory_of_collectives_counts) {
  tsri_emitted code =
      emit("kernel k<WG = 64>(in f32 x[], out f32 y[]) { y[group.x] = group_sum(x[global.x]); }", false);
  CHECK_EQ_UINT(code.shared_bytes, 64 * 4);
  tsri_emitted_deinit(&code);
}

TEST(every_allocation_may_fail) {
  tsri_kernel *kernel = kernel_of(
      "kernel k<WG = 64>(in f16 x[], in i64 z[], out bf16 y[], u32 n) {\n  shared f32 tile[64];\n"
      "  f32 v = exp(f32(x[global.x])) / f32(z[global.x] / 3);\n  tile[local.x] = v;\n  barrier();\n"
      "  f32 most = group_max(v);\n  y[global.x] = bf16(v > 0 ? tile[n] : most);\n}\n",
      false);
  tsri_emitted right, code;
  (void)tsri_alloc_fail_at(UINT64_MAX, false);
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, NULL, &right));
  uint64_t requests = tsri_alloc_fail_at(0, false);
  CHECK(requests > 20);
  for (uint64_t nth = 1; nth <= requests; nth++) {
    (void)tsri_alloc_fail_at(nth, false);
    tsr_status status = tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, NULL, &code);
    (void)tsri_alloc_fail_at(0, false);
    CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    CHECK(code.data == NULL);
  }
  tsri_emitted_deinit(&right);
  tsri_kernel_release(kernel);
}
