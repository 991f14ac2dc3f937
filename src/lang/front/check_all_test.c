// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "core/builder.h"
#include "lang/lang_testing.h"

// Checks a whole text. Returns the status and the log, which the caller frees.
static tsr_status check_text(const char *text, size_t bytes, char **out_log) {
  tsri_module *module = NULL;
  tsr_status status = tsri_lang_parse("t.tk", text, bytes, out_log, &module);
  if (status != TSR_OK) return status;
  tsri_free(*out_log);
  status = tsri_lang_check(module, out_log);
  tsri_module_release(module);
  return status;
}

static void check_log(const char *text, tsr_status wanted, const char *part) {
  char *log = NULL;
  CHECK_STATUS(check_text(text, strlen(text), &log), wanted);
  if (!log || !strstr(log, part)) test_fail(__FILE__, __LINE__, "wanted: %s\nis: %s", part, log ? log : "nothing");
  tsri_free(log);
}

TEST(mistakes_of_all_kernels_are_told_each_once) {
  const char *text =
      "f32 f(f32 v) { return v + 1u; }\n"
      "kernel a<T: float>(out T y[]) { y[0] = T(f(1)); y[1] = first; }\n"
      "kernel b(out f32 y[]) { y[0] = f(2); y[1] = second; }\n";
  char *log = NULL;
  CHECK_STATUS(check_text(text, strlen(text), &log), TSR_ERR_BUILD);
  int found = 0;
  for (const char *at = log; (at = strstr(at, ": error: ")); at++) found++;
  CHECK_EQ_INT(found, 3);
  CHECK_STR_HAS(log, "in kernel a with T=f16:\nt.tk:1:25: error");
  CHECK_STR_HAS(log, "'first' is not declared");
  CHECK_STR_HAS(log, "'second' is not declared");
  tsri_free(log);
}

TEST(a_text_without_a_kernel_gets_a_warning) {
  check_log("", TSR_OK, "t.tk: warning: there is no kernel in it\nhint: kernel name(");
  check_log("f32 f(f32 v) { return v; }", TSR_OK, "t.tk: warning: there is no kernel in it");
}

TEST(many_kernels_that_share_names_and_constants_are_checked) {
  tsri_builder text = {0};
  for (int i = 0; i < 50; i++) tsri_builder_add(&text, "const u32 c%d = %s;\n", i, i ? "7 + 1" : "1");
  for (int i = 0; i < 8000; i++)
    tsri_builder_add(&text, "kernel k%d<T, U>(out T y[], out U z[]) { y[c0] = T(c%d); z[0] = U(1); }\n", i, i % 50);
  char *log = NULL;
  CHECK_OK(check_text(text.text, text.bytes, &log));
  CHECK(log == NULL);
  tsri_builder_deinit(&text);
}

TEST(constants_keep_their_value_from_one_kernel_to_the_next) {
  check_log(
      "const f32 SCALE = 2.5;\n"
      "kernel a(out f32 y[]) { y[0] = SCALE; }\n"
      "kernel b(out f32 y[]) { y[0] = y_is_not_read + SCALE; static_assert(SCALE == 2.5); }\n"
      "kernel c(out f32 y[]) { static_assert(SCALE == 3.5); y[0] = SCALE; }\n",
      TSR_ERR_BUILD, "t.tk:4:25: error: static_assert does not hold");
}

// 2^60 calls that do not contain a single operation.
TEST(functions_that_call_each_other_too_often_are_refused) {
  tsri_builder text = {0};
  tsri_builder_add(&text, "void g0() { }\n");
  for (int i = 1; i < 60; i++) tsri_builder_add(&text, "void g%d() { g%d(); g%d(); }\n", i, i - 1, i - 1);
  tsri_builder_add(&text, "kernel k() { g59(); }\n");
  char *log = NULL;
  CHECK_STATUS(check_text(text.text, text.bytes, &log), TSR_ERR_BUILD);
  CHECK_STR_HAS(log, "operations once its functions are inlined");
  tsri_free(log);
  tsri_builder_deinit(&text);
}

// Each kernel alone is small enough, but all kernels with all types together exceed the limit.
TEST(a_check_ends_when_all_kernels_together_are_too_large) {
  tsri_builder text = {0};
  tsri_builder_add(&text, "f32 f0(f32 v) { return v * v + v; }\n");
  for (int i = 1; i < 9; i++)
    tsri_builder_add(&text, "f32 f%d(f32 v) { return f%d(v) + f%d(v) * f%d(v); }\n", i, i - 1, i - 1, i - 1);
  for (int i = 0; i < 2000; i++)
    tsri_builder_add(&text, "kernel k%d<T>(in f32 x[], out T y[]) { y[0] = T(f8(x[0])); }\n", i);
  char *log = NULL;
  CHECK_STATUS(check_text(text.text, text.bytes, &log), TSR_ERR_BUILD);
  CHECK_STR_HAS(log, "from here on nothing was checked");
  tsri_free(log);
  tsri_builder_deinit(&text);
}

TEST(compile_time_parameters_and_warnings_are_limited) {
  tsri_builder text = {0};
  tsri_builder_add(&text, "kernel k<A");
  for (int i = 0; i < 40; i++) tsri_builder_add(&text, ", A%d", i);
  tsri_builder_add(&text, ">() { }\n");
  check_log(text.text, TSR_ERR_BUILD, "error: there are at most 32 compile-time parameters");
  tsri_builder_deinit(&text);
  text = (tsri_builder){0};
  tsri_builder_add(&text, "kernel k(out f32 y[]) {\n");
  for (int i = 0; i < 1000; i++) tsri_builder_add(&text, "sqrt(2.0);\n");
  tsri_builder_add(&text, "}\n");
  char *log = NULL;
  CHECK_OK(check_text(text.text, text.bytes, &log));
  int found = 0;
  for (const char *at = log; (at = strstr(at, ": warning: ")); at++) found++;
  CHECK_EQ_INT(found, 20);
  tsri_free(log);
  tsri_builder_deinit(&text);
}

// Each `continue` opens a region, and a variable is used in all of them.
TEST(a_loop_with_very_many_exits_is_checked) {
  tsri_builder text = {0};
  tsri_builder_add(&text, "kernel k(in f32 x[], out f32 y[]) {\nf32 s = 0;\nfor (u32 i = 0; i < 9; i++) {\n");
  for (int i = 0; i < 15000; i++) tsri_builder_add(&text, "if (x[global.x] == %d.0) continue; s += 1;\n", i);
  tsri_builder_add(&text, "}\ny[global.x] = s;\n}\n");
  char *log = NULL;
  CHECK_OK(check_text(text.text, text.bytes, &log));
  tsri_free(log);
  tsri_builder_deinit(&text);
}
