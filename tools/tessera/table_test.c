// SPDX-License-Identifier: MIT
// Unit tests of tables and of text widths. The tested files are included, because the program is not a library to link
// with.
#include "support/test.h"

#include "table.c"  // NOLINT(bugprone-suspicious-include)
#include "term.c"   // NOLINT(bugprone-suspicious-include)
#include "text.c"   // NOLINT(bugprone-suspicious-include)

static const table_column name_and_size[] = {
    {.heading = "Name", .gap = 2, .narrowest = 8},
    {.heading = "Size", .gap = 2, .is_right = true},
    {.heading = "Note", .narrowest = 12},
};

static table begin(void) {
  table t;
  table_init(&t, name_and_size, 3);
  return t;
}

static void add_row(table *t, const char *name, const char *size, const char *note) {
  table_cell(t, TERM_PLAIN, "%s", name);
  table_cell(t, TERM_PLAIN, "%s", size);
  table_cell(t, TERM_GOOD, "%s", note);
}

static const char *print(table *t, int width, bool colour) {
  static char text[4096];
  FILE *out = tmpfile();
  CHECK(out && table_print(t, out, width, colour));
  table_deinit(t);
  rewind(out);
  text[fread(text, 1, sizeof text - 1, out)] = '\0';
  fclose(out);
  return text;
}

TEST(table_columns_are_as_wide_as_their_widest_text) {
  table t = begin();
  add_row(&t, "a longer name", "1", "x");
  add_row(&t, "b", "12345", "y");
  CHECK_STR(print(&t, 0, false),
            "Name            Size  Note\n"
            "a longer name      1  x\n"
            "b              12345  y\n");
}

TEST(table_lines_have_no_spaces_at_their_end) {
  table t = begin();
  add_row(&t, "a", "", "");
  add_row(&t, "", "", "");
  CHECK_STR(print(&t, 0, false), "Name  Size  Note\na\n\n");
}

TEST(table_aligns_by_columns_and_not_by_bytes) {
  table t = begin();
  add_row(&t, "日本", "1", "wide");
  add_row(&t, "e\xcc\x81t\xc3\xa9", "2", "combining");  // e with a combining mark, t, é
  CHECK_STR(print(&t, 0, false),
            "Name  Size  Note\n"
            "日本     1  wide\n"
            "e\xcc\x81t\xc3\xa9      2  combining\n");
}

TEST(table_makes_control_characters_and_broken_text_harmless) {
  table t = begin();
  add_row(&t, "\x1b[31mred", "1", "two\nlines\xff");
  CHECK_STR(print(&t, 0, false), "Name      Size  Note\n?[31mred     1  two lines?\n");
}

TEST(table_colours_texts_but_not_the_space_between) {
  table t = begin();
  add_row(&t, "a", "1", "ok");
  CHECK_STR(print(&t, 0, true),
            "\x1b[1mName\x1b[0m  \x1b[1mSize\x1b[0m  \x1b[1mNote\x1b[0m\n"
            "a        1  \x1b[32mok\x1b[0m\n");
}

TEST(table_breaks_texts_between_words_only_where_it_is_too_wide) {
  table t = begin();
  add_row(&t, "a name that is long to its end", "1", "ok");
  CHECK_STR(print(&t, 80, false),
            "Name                            Size  Note\n"
            "a name that is long to its end     1  ok\n");
  t = begin();
  add_row(&t, "a name that is long to its end", "1", "ok");
  CHECK_STR(print(&t, 32, false),
            "Name                  Size  Note\n"
            "a name that is long      1  ok\n"
            "to its end\n");
}

TEST(table_cuts_a_word_that_is_wider_than_its_column_after_a_slash_if_it_can) {
  table t = begin();
  add_row(&t, "/usr/lib/tessera/plugin.so", "1", "x");
  add_row(&t, "aaaaaaaaaaaaaaaaaaaaaaaaa", "1", "x");
  CHECK_STR(print(&t, 32, false),
            "Name                  Size  Note\n"
            "/usr/lib/tessera/        1  x\n"
            "plugin.so\n"
            "aaaaaaaaaaaaaaaaaaaa     1  x\n"
            "aaaaa\n");
}

TEST(table_breaks_several_columns_of_a_row) {
  table t = begin();
  add_row(&t, "one two three four five", "-", "not found, is the driver installed at all?");
  add_row(&t, "cpu", "1", "ok");
  CHECK_STR(print(&t, 40, false),
            "Name              Size  Note\n"
            "one two three        -  not found, is\n"
            "four five               the driver\n"
            "                        installed at\n"
            "                        all?\n"
            "cpu                  1  ok\n");
}

TEST(table_spans_the_rest_of_a_row_and_breaks_it_at_the_edge) {
  table t = begin();
  table_cell(&t, TERM_PLAIN, "cuda");
  table_span(&t, TERM_PLAIN, "no driver here, and no GPU to drive either");
  add_row(&t, "cpu", "1", "ok");
  CHECK_STR(print(&t, 30, false),
            "Name  Size  Note\n"
            "cuda  no driver here, and no\n"
            "      GPU to drive either\n"
            "cpu      1  ok\n");
}

TEST(table_leaves_optional_columns_out_where_they_do_not_fit) {
  static const table_column columns[] = {{.heading = "Row", .gap = 2},
                                         {.heading = "Time", .gap = 2, .is_right = true},
                                         {.heading = "What", .narrowest = 8, .is_optional = true}};
  for (int width = 12; width < 40; width++) {
    table t;
    table_init(&t, columns, 3);
    table_cell(&t, TERM_PLAIN, "matmul");
    table_cell(&t, TERM_PLAIN, "1 ms");
    table_cell(&t, TERM_PLAIN, "a matrix product");
    const char *text = print(&t, width, false);
    CHECK((strstr(text, "What") != NULL) == (width >= 22));
    CHECK((strstr(text, "a matrix product") != NULL) == (width >= 30));
  }
}

TEST(table_lines_are_never_wider_than_the_limit_once_its_narrowest_columns_fit) {
  for (int width = 32; width < 90; width++) {
    table t = begin();
    add_row(&t, "日本語の長い名前です and words", "12345",
            "a sentence that has about sixty characters, no more of them");
    add_row(&t, "a/path/of/many/parts/that/goes/on", "1", "averyveryveryveryveryverylongword and others");
    const char *next = print(&t, width, false);
    while (*next) {
      int bytes = (int)strcspn(next, "\n");
      CHECK(text_width_of(next, bytes) <= width);
      next += bytes + 1;
    }
  }
}

TEST(text_break_keeps_words_whole) {
  const char *next;
  CHECK_EQ_INT(text_break("one two", 5, &next), 3);
  CHECK_STR(next, "two");
  CHECK_EQ_INT(text_break("unbreakable word", 4, &next), 11);
  CHECK_STR(next, "word");
  CHECK_EQ_INT(text_break("a\nb", 10, &next), 1);
  CHECK_STR(next, "b");
  CHECK_EQ_INT(text_break("", 10, &next), 0);
  CHECK_STR(next, "");
}
