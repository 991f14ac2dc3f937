// SPDX-License-Identifier: MIT
// What the tests of the front end share: a kernel from text, its checked form as text, its diagnostics.
#ifndef TSRI_LANG_TESTING_H
#define TSRI_LANG_TESTING_H

#include "core/alloc.h"
#include "lang/lang.h"
#include "support/test.h"

#define MAYBE_UNUSED __attribute__((unused))

// Arguments for compile-time parameters, "T=f16 WG=32".
MAYBE_UNUSED static tsr_status make_kernel(const char *text, const char *args, char **out_log,
                                           tsri_kernel **out_kernel) {
  tsri_module *module = NULL;
  *out_kernel = NULL;
  tsr_status status = tsri_lang_parse("t.tk", text, strlen(text), out_log, &module);
  if (status != TSR_OK) return status;
  tsri_free(*out_log);
  *out_log = NULL;
  tsri_lang_arg list[8];
  char copy[256], names[8][32];
  size_t count = 0;
  snprintf(copy, sizeof copy, "%s", args ? args : "");
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
    CHECK_OK(tsri_lang_arg_parse(word, names[count], sizeof names[count], &list[count]));
    count++;
  }
  status = tsri_lang_specialise(module, NULL, list, count, NULL, out_log, out_kernel);
  tsri_module_release(module);
  return status;
}

// The diagnostics of a wrong kernel hold `part`. Prints them all if not.
MAYBE_UNUSED static void check_refused_at(const char *file, int line, const char *text, const char *args,
                                          const char *part) {
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  tsr_status status = make_kernel(text, args, &log, &kernel);
  if (status != TSR_ERR_BUILD) test_fail(file, line, "the kernel was taken: %s", tsr_status_name(status));
  if (!log || !strstr(log, part)) test_fail(file, line, "wanted: %s\nis: %s", part, log ? log : "nothing");
  tsri_free(log);
}
#define CHECK_REFUSED(text, part)            check_refused_at(__FILE__, __LINE__, text, NULL, part)
#define CHECK_REFUSED_WITH(text, args, part) check_refused_at(__FILE__, __LINE__, text, args, part)

// The checked form of a right kernel holds `part`.
MAYBE_UNUSED static void check_form_at(const char *file, int line, const char *text, const char *args,
                                       const char *part) {
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  tsr_status status = make_kernel(text, args, &log, &kernel);
  if (status != TSR_OK) test_fail(file, line, "the kernel was refused: %s", log ? log : tsr_last_error());
  char *form = tsri_ir_print(kernel);
  if (!strstr(form, part)) test_fail(file, line, "wanted: %s\nis: %s", part, form);
  tsri_free(form);
  tsri_free(log);
  tsri_kernel_release(kernel);
}
#define CHECK_FORM(text, part)            check_form_at(__FILE__, __LINE__, text, NULL, part)
#define CHECK_FORM_WITH(text, args, part) check_form_at(__FILE__, __LINE__, text, args, part)

// Statements in a kernel with buffers of every kind.
#define IN_KERNEL(body)                                                                                       \
  "kernel k(in f32 x[], in u8 b[], out f32 y[], inout i32 h[], inout f32 z[], u32 n, i32 m, f32 a, bool q) {" \
  "\n" body "\n}"

#endif
