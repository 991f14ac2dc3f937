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
  CHECK_REFUSED(IN_KERNEL("float v = 1;"),
                "error: 'float' is no type\n    float v = 1;\n    ^\nhint: here it is called f32");
}

TEST(words_of_other_languages_get_a_hint_that_fits) {
  CHECK_REFUSED("struct s { f32 a; };\nkernel k() { }", "error: there is no 'struct' in this language");
  CHECK_REFUSED("struct s { f32 a; };\nkernel k() { }", "hint: use a variable for each member");
  CHECK_REFUSED("typedef struct { f32 a; } s;\nkernel k() { }", "hint: use the type's own name, or a type parameter");
  CHECK_REFUSED("enum colour { RED, GREEN };\nkernel k() { }", "hint: write constants: const u32 RED = 0, GREEN = 1;");
  CHECK_REFUSED("static inline f32 f(f32 v) { return v; }\nkernel k() { }", "hint: leave it out");
  CHECK_REFUSED("__global__ void k(in f32 x[]) { }", "hint: a kernel begins with the word kernel");
  CHECK_REFUSED("#include <math.h>\nkernel k() { }", "error: there is no preprocessor");
  CHECK_REFUSED(IN_KERNEL("struct s v;"), "hint: use a variable for each member");
  CHECK_REFUSED(IN_KERNEL("unsigned int v = 1;"),
                "error: 'unsigned int' is no type\n    unsigned int v = 1;\n    ^\nhint: "
                "here it is called u32");
  CHECK_REFUSED(IN_KERNEL("double v = 1;"), "hint: here it is called f64");
  CHECK_REFUSED(IN_KERNEL("f32 v = (float)m;"), "hint: write f32(x), not (float)x");
  CHECK_REFUSED(IN_KERNEL("float *p = x;"), "error: there are no pointers");
  CHECK_REFUSED(IN_KERNEL("printf(\"%d\", 1);"), "hint: a kernel cannot print");
  CHECK_REFUSED(IN_KERNEL("u32 v = sizeof(f32);"), "hint: f32, i32 and u32 have 4 bytes");
  CHECK_REFUSED(IN_KERNEL("u32 v = get_global_id(0);"), "hint: here it is called global.x, .y and .z");
  CHECK_REFUSED(IN_KERNEL("z[threadIdx.x] = 1;"), "hint: here it is called local.x, .y and .z");
  CHECK_REFUSED(IN_KERNEL("__syncthreads();"), "hint: here it is called barrier()");
  CHECK_REFUSED(IN_KERNEL("z[0] = fmaxf(a, a);"), "hint: here it is called max");
  CHECK_REFUSED(IN_KERNEL("i32 v = 'A';"), "hint: write the number: 65 for 'A'");
}

// The text must have `count` errors, and the log must contain all `parts`.
static void check_errors(const char *text, int count, const char *const *parts) {
  tsri_module *module = NULL;
  char *log = NULL;
  CHECK_STATUS(tsri_lang_parse("t.tk", text, strlen(text), &log, &module), TSR_ERR_BUILD);
  int found = 0;
  for (const char *at = log; (at = strstr(at, ": error: ")); at++) found++;
  if (found != count) test_fail(__FILE__, __LINE__, "wanted %d errors:\n%s", count, log);
  for (int i = 0; parts[i]; i++) CHECK_STR_HAS(log, parts[i]);
  tsri_free(log);
}

TEST(a_syntax_error_hides_no_other_mistake) {
  check_errors(
      "kernel a(out f32 y[]) {\n"
      "  do { y[0] = 1u; } while (y[1]);\n"
      "  y[2] = nothing;\n"
      "  y[3] = true + 1;\n"
      "}\n"
      "kernel b(out f32 y[], u32 n) { y[0] = n; y[1] = missing; }\n",
      7,
      (const char *const[]){"t.tk:2:3: error: there is no 'do'", "t.tk:2:15: error: an element of 'y' is f32",
                            "t.tk:2:28: error: 'y' is an 'out' buffer", "t.tk:3:10: error: 'nothing' is not declared",
                            "t.tk:4:17: error: a number is no bool", "t.tk:6:39: error: an element of 'y' is f32",
                            "t.tk:6:49: error: 'missing' is not declared", NULL});
}

TEST(what_was_not_read_after_a_syntax_error_is_not_missed) {
  check_errors(
      "kernel a(out f32 y[]) { f32 v = ); for (u32 i = 0; i < 3 { } break; y[0] = v; }\n"
      "f32 g(f32 a b) { return a; }\n"
      "kernel c(out f32 y[]) { y[0] = g(1); }\n",
      3,
      (const char *const[]){"an expression should stand here", "';' is missing after the condition of 'for'",
                            "',' is missing between the parameters", NULL});
}

TEST(only_names_in_text_that_was_skipped_may_be_declared_there) {
  check_errors(
      "enum { RED, GREEN };\n"
      "struct point { f32 x; };\n"
      "kernel a(out f32 y[]) {\n"
      "  switch (1) { case 0: f32 inside = 1; }\n"
      "  point p;\n"
      "  y[0] = f32(RED) + inside + blue;\n"
      "  y[1] = unknown(1);\n"
      "  strange q = 1;\n"
      "}\n",
      6,
      (const char *const[]){"t.tk:1:1: error: there is no 'enum'", "t.tk:2:1: error: there is no 'struct'",
                            "t.tk:4:3: error: there is no 'switch'", "t.tk:6:30: error: 'blue' is not declared",
                            "t.tk:7:10: error: there is no function 'unknown'", "t.tk:8:3: error: 'strange' is no type",
                            NULL});
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
  char *log = NULL;
  CHECK_STATUS(tsri_lang_parse("t.tk", big, TSRI_LANG_MAX_BYTES + 1, &log, &module), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("the most is");
  CHECK_STR(log, "t.tk: error: the file has 1048577 bytes, the most is 1048576\n");
  tsri_free(log);
  tsri_free(big);
}
