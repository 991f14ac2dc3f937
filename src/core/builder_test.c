// SPDX-License-Identifier: MIT
#include "core/builder.h"

#include <string.h>

#include "core/alloc.h"
#include "support/test.h"

TEST(a_text_grows_by_strings_bytes_and_formats) {
  tsri_builder builder = {0};
  tsri_builder_string(&builder, "100% ");
  tsri_builder_put(&builder, "abcdef", 3);
  tsri_builder_add(&builder, "%d", 7);
  tsri_builder_repeat(&builder, '-', 2);
  CHECK_STR(builder.text, "100% abc7--");
  CHECK_EQ_UINT(builder.bytes, 11);
  tsri_builder_deinit(&builder);
}

TEST(a_format_longer_than_a_line_is_whole) {
  char line[700];
  memset(line, 'x', sizeof line - 1);
  line[sizeof line - 1] = '\0';
  tsri_builder builder = {0};
  tsri_builder_add(&builder, "%s!", line);
  CHECK_EQ_UINT(builder.bytes, sizeof line);
  CHECK(builder.text[sizeof line - 1] == '!');
  tsri_builder_deinit(&builder);
}

TEST(a_text_with_a_limit_leaves_out_what_does_not_fit) {
  tsri_builder builder = {.most_bytes = 5};
  tsri_builder_string(&builder, "abcde");
  CHECK(!builder.is_full);
  tsri_builder_string(&builder, "f");
  CHECK(builder.is_full);
  CHECK(!builder.has_failed);
  tsri_builder_string(&builder, "");
  CHECK_STR(builder.text, "abcde");
  tsri_builder_deinit(&builder);
}

TEST(memory_that_runs_out_is_remembered) {
  tsri_builder builder = {0};
  tsri_alloc_fail_at(1, false);
  tsri_builder_string(&builder, "abc");
  tsri_alloc_fail_at(0, false);
  tsri_builder_string(&builder, "def");
  CHECK(builder.has_failed);
  CHECK(builder.text == NULL);
}
