// SPDX-License-Identifier: MIT
#include "lang/lang_testing.h"

TEST(operators_bind_as_in_c) {
  CHECK_FORM(IN_KERNEL("h[0] = m + m * m - m;"), "h[0u] = ((m + (m * m)) - m)");
  CHECK_FORM(IN_KERNEL("h[0] = m << 1 + m & m | m ^ m;"), "h[0u] = (((m << u32((1 + m))) & m) | (m ^ m))");
}

TEST(comparison_and_logic_bind_as_in_c) {
  CHECK_FORM(IN_KERNEL("if (m < 1 == q && n > 2 || q) h[0] = 1;"), "if ((((m < 1) == q) && (n > 2u)) || q) {");
  CHECK_FORM(IN_KERNEL("h[0] = q ? m : q ? 1 : 2;"), "(q ? m : (q ? 1 : 2))");
  CHECK_FORM(IN_KERNEL("h[0] = -m * ~m - -1;"), "((-(m) * ~(m)) - -1)");
}

TEST(several_mistakes_are_found_in_one_run) {
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  const char *text =
      "kernel a(in f32 x[] out f32 y[]) { }\nkernel b(out f32 y[]) { y[0] = 1 }\nkernel c(out f32 y[]) { y[0] = (2; "
      "y[1] = ; }\n";
  CHECK_STATUS(make_kernel(text, NULL, &log, &kernel), TSR_ERR_BUILD);
  CHECK_STR_HAS(log, "t.tk:1:20: error: ',' is missing between the parameters");
  CHECK_STR_HAS(log,
                "t.tk:2:33: error: ';' is missing after the statement\n    kernel b(out f32 y[]) { y[0] = 1 }\n        "
                "                            ^\n");
  CHECK_STR_HAS(log, "t.tk:3:34: error: ')' is missing to match '('");
  CHECK_STR_HAS(log, "t.tk:3:43: error: an expression should stand here");
  tsri_free(log);
}

TEST(habits_from_c_get_a_hint) {
  CHECK_REFUSED(IN_KERNEL("if (m = 1) h[0] = 1;"),
                "error: an assignment has no value\n    if (m = 1) h[0] = 1;\n          ^\nhint: to compare, write ==");
  CHECK_REFUSED(IN_KERNEL("m == 1;"), "hint: to assign, write =");
  CHECK_REFUSED(IN_KERNEL("do { } while (q);"), "there is no 'do' in this language");
  CHECK_REFUSED(IN_KERNEL("switch (m) { }"), "hint: use if and else if");
  CHECK_REFUSED(IN_KERNEL("goto end;"), "there is no 'goto'");
  CHECK_REFUSED(IN_KERNEL("f32 v = (f32)m;"), "hint: write f32(x), not (f32)x");
  CHECK_REFUSED(IN_KERNEL("f32 v = *x;"), "there are no pointers");
  CHECK_REFUSED(IN_KERNEL("h[m++] = 1;"), "']' is missing after the index");
  CHECK_REFUSED(IN_KERNEL("h[++m] = 1;"), "++ and -- are statements");
  CHECK_REFUSED("kernel k(f32 *x) { }", "hint: a buffer is written: in f32 x[]");
  CHECK_REFUSED("u32 counter = 0;\nkernel k() { }", "there are no variables at file level");
  CHECK_REFUSED("struct s { }", "a kernel, a function or a constant should stand here");
  CHECK_REFUSED(IN_KERNEL("float v = 1;"),
                "error: 'float' is no type\n    float v = 1;\n    ^\nhint: here it is called f32");
}

TEST(a_missing_brace_points_at_its_partner) {
  CHECK_REFUSED("kernel a() {\n  if (true) {\n}\nkernel b() { }", "t.tk:4:1: error: a '}' is missing");
  CHECK_REFUSED("kernel a() {\n  if (true) {\n}\nkernel b() { }", "t.tk:1:12: note: for this '{'");
}

TEST(words_of_the_language_cannot_name_things) {
  CHECK_REFUSED(IN_KERNEL("u32 if = 1;"), "error: 'if' is a word of the language and cannot name the variable");
  CHECK_REFUSED(IN_KERNEL("u32 f32 = 1;"), "error: 'f32' is a name of the language");
  CHECK_REFUSED(IN_KERNEL("u32 local = 1;"), "error: 'local' is a name of the language");
  CHECK_REFUSED("f32 exp(f32 v) { return v; }\nkernel k() { }", "t.tk:1:5: error: 'exp' is a name of the language");
  CHECK_FORM("kernel exp(in f32 x[], out f32 y[]) { f32 sign = x[0]; y[0] = exp(sign); }", "y[0u] = exp(sign_1)");
}

TEST(too_much_nesting_is_an_error_not_a_crash) {
  enum { LEVELS = 20000 };
  static char text[4 * LEVELS + 200];
  const char *const opens[] = {"(", "{", "- ", "if (q) ", "x[", "1 + (", "f(", "while (q) ", "!"};
  for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
    strcpy(text, "kernel k(in f32 x[], bool q) { f32 v = 1; v = ");
    if (opens[i][0] == '{' || opens[i][0] == 'i' || opens[i][0] == 'w') strcpy(text, "kernel k(bool q) { ");
    size_t used = strlen(text), bytes = strlen(opens[i]);
    for (size_t j = 0; j < LEVELS && used + bytes + 1 < sizeof text; j++, used += bytes)
      memcpy(text + used, opens[i], bytes + 1);
    CHECK_REFUSED(text, "levels deep");
  }
  strcpy(text, "kernel k(out f32 y[]) { y[0] = 1.0");
  for (int j = 0; j < 5000; j++) strcat(text + 30 + 6 * j, " + 1.0");
  strcat(text, "; }");
  CHECK_REFUSED(text, "this expression has more than 200 levels");
}

TEST(a_file_may_be_empty_but_not_endless) {
  tsri_module *module = NULL;
  CHECK_OK(tsri_lang_parse("t.tk", "", 0, NULL, &module));
  CHECK_EQ_INT(tsri_module_kernel_count(module), 0);
  tsri_kernel *kernel = NULL;
  CHECK_STATUS(tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel), TSR_ERR_NOT_FOUND);
  tsri_module_release(module);
  char *big = tsri_calloc(1, TSRI_LANG_MAX_BYTES + 1);
  CHECK_STATUS(tsri_lang_parse("t.tk", big, TSRI_LANG_MAX_BYTES + 1, NULL, &module), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("the most is");
  tsri_free(big);
}
