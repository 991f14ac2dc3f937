// SPDX-License-Identifier: MIT
// Unit tests of patterns. The tested file is included, because the program is not a library to link with.
#include "support/test.h"

#include "pattern.c"  // NOLINT(bugprone-suspicious-include)

TEST(pattern_stars_and_question_marks_stand_for_others) {
  CHECK(pattern_matches("sum*", "sum_axis0") && pattern_matches("sum*", "sum") && pattern_matches("*", ""));
  CHECK(pattern_matches("*/f32/*", "add/f32/odd") && pattern_matches("sum_axis?", "sum_axis1"));
  CHECK(pattern_matches("a*b*c", "aXbYbZc"));
  CHECK(!pattern_matches("sum", "sum_axis0") && !pattern_matches("sum?", "sum") && !pattern_matches("a*b", "ab_"));
  CHECK(!pattern_matches("", "x") && pattern_matches("", ""));
}

TEST(pattern_lists_are_separated_by_commas) {
  const char *list = "sum*,exp,,too_long_for_it";
  char part[8];
  CHECK(pattern_next(&list, part, sizeof part));
  CHECK_STR(part, "sum*");
  CHECK(pattern_next(&list, part, sizeof part));
  CHECK_STR(part, "exp");
  CHECK(pattern_next(&list, part, sizeof part));
  CHECK_STR(part, "");
  CHECK(pattern_next(&list, part, sizeof part));
  CHECK_STR(part, "too_lon");
  CHECK(!pattern_next(&list, part, sizeof part));
  const char *none = NULL;
  CHECK(!pattern_next(&none, part, sizeof part));
}
