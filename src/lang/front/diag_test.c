// SPDX-License-Identifier: MIT
#include "lang/front/front.h"
#include "lang/lang_testing.h"

TEST(caret_stands_below_the_place_with_tabs_and_characters_counted) {
  CHECK_REFUSED("kernel k(out f32 y[]) {\n\ty[0] = \tw;\n}",
                "t.tk:2:10: error: 'w' is not declared\n    \ty[0] = \tw;\n    \t       \t^\n");
  CHECK_REFUSED(
      "kernel k(out f32 y[]) {\n/* \xC3\xA4\xE2\x82\xAC */ y[0] = w;\n}",
      "t.tk:2:17: error: 'w' is not declared\n    /* \xC3\xA4\xE2\x82\xAC */ y[0] = w;\n                    ^\n");
}

TEST(long_lines_are_cut_around_the_place) {
  char text[2000] = "kernel k(out f32 y[]) { y[0] = ";
  for (int i = 0; i < 150; i++) strcat(text, "1.0 + ");
  strcat(text, "w");
  for (int i = 0; i < 40; i++) strcat(text, " + 1.0");
  strcat(text, "; }");
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  CHECK_STATUS(make_kernel(text, NULL, &log, &kernel), TSR_ERR_BUILD);
  CHECK_STR_HAS(log, "t.tk:1:932: error: 'w' is not declared\n    \xE2\x80\xA6");
  CHECK(strlen(log) < 700);
  tsri_free(log);
}

TEST(twenty_errors_are_told_and_no_more) {
  char text[4000] = "kernel k(out f32 y[]) {\n";
  for (int i = 0; i < 40; i++) snprintf(text + strlen(text), 40, "y[0] = w%d;\n", i);
  strcat(text, "}");
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  CHECK_STATUS(make_kernel(text, NULL, &log, &kernel), TSR_ERR_BUILD);
  int count = 0;
  for (const char *at = log; (at = strstr(at, "error:")); at++) count++;
  CHECK_EQ_INT(count, TSRI_LANG_MAX_ERRORS);
  CHECK_STR_HAS(log, "too many errors");
  tsri_free(log);
}

TEST(an_error_in_a_function_is_told_once_however_often_it_is_called) {
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  const char *text = "f32 f(f32 v) { return v + w; }\nkernel k(out f32 y[]) { y[0] = f(1) + f(2) + f(3); }";
  CHECK_STATUS(make_kernel(text, NULL, &log, &kernel), TSR_ERR_BUILD);
  CHECK(strstr(log, "error:") && !strstr(strstr(log, "error:") + 1, "error:"));
  tsri_free(log);
}

TEST(last_error_carries_the_diagnostics) {
  tsri_module *module = NULL;
  CHECK_STATUS(tsri_lang_parse("dir/a.tk", "kernel", 6, NULL, &module), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("dir/a.tk:1:7: error: the name of a kernel should stand here");
}
