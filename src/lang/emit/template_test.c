// SPDX-License-Identifier: MIT
#include "lang/emit/template.h"

#include "support/test.h"

static const tsri_hole holes[] = {{"$name", "add"}, {"$n", "7"}, {"$t", "f32"}, {NULL, NULL}};

static void check(const char *pattern, uint32_t lanes, const char *wanted) {
  tsri_builder text = {0};
  tsri_template_put(&text, pattern, holes, lanes);
  CHECK_STR(text.text, wanted);
  tsri_builder_deinit(&text);
}

TEST(holes_are_filled_and_everything_else_stays) {
  check("$t $name_$t($t a)", 1, "f32 add_f32(f32 a)");
  check("$a + $n$", 1, "$a + 7$");
  check("no hole", 1, "no hole");
}

TEST(the_first_word_that_fits_counts) { check("$name $n $nam", 1, "add 7 7am"); }

TEST(a_part_for_each_lane_is_repeated_with_its_letter) {
  check("struct { $t $[, $:$l$]; }", 4, "struct { f32 x, y, z, w; }");
  check("return $[ || $:a.$l$];", 2, "return a.x || a.y;");
  check("$[$:r.$l = $name;\n$]end", 2, "r.x = add;\nr.y = add;\nend");
  check("$[, $:$l$]", 1, "x");
  check("$l", 4, "$l");
}
