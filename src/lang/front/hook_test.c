// SPDX-License-Identifier: MIT
#include "lang/lang_testing.h"

#define SCALE                                                            \
  "kernel scale<T: float = f32>(in T x[], out T y[], u32 n)\n"           \
  "    hook f32 load(u32 index) { return f32(x[index]); }\n"             \
  "    hook void store(f32 value, u32 index) { y[index] = T(value); }\n" \
  "{\n"                                                                  \
  "  u32 i = global.x;\n"                                                \
  "  if (i < n) store(load(i) * 2, i);\n"                                \
  "}\n"

TEST(a_hook_that_is_not_filled_is_the_kernels_own_body) {
  CHECK_FORM(SCALE, "value_2 = (x[i_1] * 2f)\n    y[i_1] = value_2\n");
}

TEST(a_filling_replaces_the_body_and_brings_parameters) {
  CHECK_FORM(SCALE "fill scale.load(in f32 bias[], f32 factor) { return load(index) * factor + bias[index]; }",
             "  out f32 y[]\n  in f32 bias[]\n  u32 n at 0\n  f32 factor at 4\n");
  CHECK_FORM(SCALE "fill scale.load(in f32 bias[], f32 factor) { return load(index) * factor + bias[index]; }",
             "value_2 = (((x[i_1] * factor) + bias[i_1]) * 2f)");
}

TEST(a_filling_may_return_early_and_call_the_own_body_several_times) {
  CHECK_FORM(SCALE
             "fill scale.store(f32 most) { if (value > most) { store(most, index); return; } store(value, index); }",
             "if ~(value_2 > most) {\n      y[i_1] = most\n    } else {\n      y[i_1] = value_2\n    }");
}

TEST(a_filling_sees_the_kernels_parameters_and_those_of_other_fillings_but_not_its_variables) {
  CHECK_FORM(SCALE
             "fill scale.load() { return x[n - index] * gain; }\nfill scale.store(f32 gain) { store(value, index); }",
             "(x[(n - i_1)] * gain)");
  CHECK_REFUSED(SCALE "fill scale.load() { return f32(i); }", "error: 'i' is not declared");
  CHECK_REFUSED("kernel k(out f32 y[]) hook f32 f() { return f32(v); } { u32 v = 1; y[v] = f(); }",
                "error: 'v' is not declared");
}

TEST(mistakes_in_fillings_are_told_where_they_stand) {
  CHECK_REFUSED(SCALE "fill scale.stoer() { }", "t.tk:8:12: error: kernel scale has no hook 'stoer'");
  CHECK_REFUSED(SCALE "fill scale.stoer() { }", "hint: it has: load store");
  CHECK_REFUSED("kernel k() { }\nfill k.load() { }", "hint: it has none");
  CHECK_REFUSED(SCALE "fill blur.load() { }", "t.tk:8:6: error: there is no kernel 'blur'");
  CHECK_REFUSED(SCALE "fill scale.load() { return 1; }\nfill scale.load() { return 2; }",
                "t.tk:9:12: error: the hook 'load' is filled twice");
  CHECK_REFUSED(SCALE "fill scale.load(u32 n) { return 1; }", "error: 'n' is already declared here");
  CHECK_REFUSED(SCALE "fill scale.load() { return 1u; }", "error: the function's result is f32, this is u32");
  CHECK_REFUSED(SCALE "fill scale.load() { }", "can end without returning a value");
  CHECK_REFUSED(SCALE "fill scale.load(f32 a[]) { return 1; }",
                "error: say whether the buffer 'a' is in, out or inout");
}

TEST(a_hook_is_called_with_the_arguments_it_declares) {
  CHECK_REFUSED("kernel k(out f32 y[]) hook f32 f(u32 i) { return 1; } { y[0] = f(); }", "f() takes 1 argument, not 0");
  CHECK_REFUSED("kernel k(out f32 y[]) hook f32 f(u32 i) { return f(i); } { y[0] = f(1); }", "'f' calls itself");
}

TEST(a_hook_without_a_body_has_to_be_filled) {
  const char *text = "kernel k(out f32 y[])\n    hook f32 value(u32 i);\n{ y[0] = value(3); }\n";
  CHECK_REFUSED(text, "t.tk:3:10: error: the hook 'value' is not filled");
  tsri_module *module = NULL;
  CHECK_OK(tsri_lang_parse("t.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_check(module, NULL));  // a kernel with empty hooks is valid: other files fill them
  tsri_module_release(module);
  CHECK_FORM(
      "kernel k(out f32 y[])\n    hook f32 value(u32 i);\n{ y[0] = value(3); }\nfill k.value() { return f32(i); }",
      "y[0u] = 3f");
  CHECK_REFUSED(
      "kernel k(out f32 y[])\n    hook f32 value(u32 i);\n{ y[0] = value(3); }\n"
      "fill k.value() { return value(i); }",
      "the hook 'value' has no body of its own");
}

TEST(barriers_in_fillings_are_checked_where_the_kernel_calls_the_hook) {
  CHECK_REFUSED(SCALE "fill scale.store() { barrier(); store(value, index); }",
                "barrier() stands where not all items of a group arrive");
}

TEST(fillings_given_apart_are_called_fills_in_messages) {
  tsri_module *module = NULL;
  char *log = NULL;
  CHECK_STATUS(tsri_lang_parse_filled("t.tk", SCALE, strlen(SCALE), "\nfill scale.nothing() { }", &log, &module),
               TSR_ERR_BUILD);
  CHECK_STR_HAS(log, "fills:2:12: error: kernel scale has no hook 'nothing'\n    fill scale.nothing() { }\n");
  tsri_free(log);
}

TEST(hook_and_fill_are_names_like_others_elsewhere) {
  CHECK_FORM("f32 fill(f32 hook) { return hook; }\nkernel hook(out f32 y[], f32 fill) { y[0] = fill; }",
             "y[0u] = fill");
}

TEST(what_a_hook_hands_over_and_nobody_reads_is_not_computed) {
  CHECK_FORM(
      "kernel k(out f32 y[], u32 n)\n"
      "    hook void store(f32 value, u32 index, u32 column) { y[index] = value; }\n"
      "{ for (u32 i = 0; i < n; i++) store(1, i, i % n + 3); }",
      "{\n  i_1 = 0u\n  loop (i_1 < n) {\n    y[i_1] = 1f\n  } step {");
  CHECK_FORM(
      "kernel k(out f32 y[], u32 n)\n"
      "    hook f32 load(u32 index, u32 column) { return f32(index); }\n"
      "{ y[0] = load(n + 1, n * 2) + load(n + 3, n * 4); }\n"
      "fill k.load() { f32 v = f32(column); return load(index, 0) + v; }",
      "f32(column_");
}
