// SPDX-License-Identifier: MIT
// docs/kernel-language.md agrees with the compiler: its tables match ir_ops.h, and its examples compile.
#include "lang/lang_testing.h"

static char page[1 << 17];

static void read_page(void) {
  char path[1024];
  const char *source = getenv("TSR_TEST_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/docs/kernel-language.md", source ? source : ".");
  FILE *file = fopen(path, "rb");
  if (!file) SKIP("the source folder is not here");
  page[fread(page, 1, sizeof page - 1, file)] = 0;
  fclose(file);
}

// The page must have a table row that begins with `name` and contains the meaning ('|' is written '\|' there).
static void check_row(const char *name, const char *meaning) {
  char escaped[512];
  size_t used = 0;
  for (const char *c = meaning; *c && used < sizeof escaped - 2; c++) {
    if (*c == '|') escaped[used++] = '\\';
    escaped[used++] = *c;
  }
  escaped[used] = 0;
  char start[64];
  snprintf(start, sizeof start, "\n| `%s", name);
  for (const char *row = page; (row = strstr(row, start)); row++) {
    const char *found = strstr(row, escaped), *end = strchr(row + 1, '\n');
    if (found && end && found < end) return;
  }
  test_fail(__FILE__, __LINE__, "no row for %s with: %s", name, escaped);
}

TEST(the_pages_tables_are_those_of_the_compiler) {
  read_page();
  for (int i = 0; i < TSRI_OP_COUNT; i++) {
    const char *spelling = tsri_ir_op_infos[i].spelling;
    check_row(strcmp(spelling, "|") == 0 ? "\\|" : spelling, tsri_ir_op_infos[i].meaning);
  }
  for (int i = 0; i < TSRI_COLLECTIVE_COUNT; i++)
    check_row(tsri_ir_collective_infos[i].spelling, tsri_ir_collective_infos[i].meaning);
  for (int i = 0; i < TSRI_ATOMIC_COUNT; i++)
    check_row(tsri_ir_atomic_infos[i].spelling, tsri_ir_atomic_infos[i].meaning);
#define TSRI_X(name, spelling, rows, cols, meaning) check_row(spelling "<", meaning);
  TSRI_IR_ROLES(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, least, most, form) check_row(form, "");
  TSRI_IR_FRAGMENT_OPS(TSRI_X)
#undef TSRI_X
  for (int i = 0; i < TSRI_ID_COUNT; i++) check_row(tsri_ir_id_infos[i].spelling, tsri_ir_id_infos[i].meaning);
}

// Checks a text, with fillings for its hooks unless `fills` is NULL.
static void check_text(const char *text, const char *fills) {
  tsri_module *module = NULL;
  CHECK_OK(tsri_lang_parse_filled("kernel-language.md", text, strlen(text), fills, NULL, &module));
  CHECK_OK(tsri_lang_check(module, NULL));
  tsri_module_release(module);
}

TEST(the_pages_kernels_compile) {
  read_page();
  int count = 0, fill_count = 0;
  const char *last = "";
  for (char *at = page; (at = strstr(at, "\n```\n"));) {
    char *begin = at + 5, *end = strstr(begin, "\n```");
    if (!end) break;
    *end = 0;
    if (strstr(begin, "\nkernel ") && !strstr(begin, "file        =")) {
      check_text(begin, NULL);
      last = begin;
      count++;
    } else if (strncmp(begin, "fill ", 5) == 0) {  // fills hooks of the kernel shown before it
      check_text(last, begin);
      fill_count++;
    }
    at = end + 4;
  }
  CHECK_EQ_INT(count, 5);
  CHECK_EQ_INT(fill_count, 1);
}
