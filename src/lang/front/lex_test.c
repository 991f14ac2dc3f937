// SPDX-License-Identifier: MIT
#include "lang/lang_testing.h"

TEST(numbers_of_every_spelling_are_read) {
  CHECK_FORM(IN_KERNEL("u32 v = 0xFF; h[0] = i32(v);"), "v_1 = 255u");
  CHECK_FORM(IN_KERNEL("u32 v = 0b101u; h[0] = i32(v);"), "v_1 = 5u");
  CHECK_FORM(IN_KERNEL("z[0] = 1e-3;"), "z[0u] = 0.00100000005f");
  CHECK_FORM(IN_KERNEL("z[0] = .5;"), "z[0u] = 0.5f");
  CHECK_FORM(IN_KERNEL("z[0] = 2.;"), "z[0u] = 2f");
  CHECK_FORM(IN_KERNEL("z[0] = 3f;"), "z[0u] = 3f");
  CHECK_FORM(IN_KERNEL("z[0] = 0.1234567890123456789012345;"), "z[0u] = 0.123456791f");
  CHECK_FORM(IN_KERNEL("z[0] = 1.5E+2f;"), "z[0u] = 150f");
}

TEST(wrong_numbers_are_refused_where_they_stand) {
  CHECK_REFUSED(IN_KERNEL("u32 v = 12abc;"),
                "t.tk:2:9: error: '12abc' is no number\n    u32 v = 12abc;\n            ^\n");
  CHECK_REFUSED(IN_KERNEL("u32 v = 0x;"), "t.tk:2:9: error: a number needs digits after '0x'");
  CHECK_REFUSED(IN_KERNEL("i64 v = 9223372036854775808;"), "t.tk:2:9: error: this number is too large");
}

TEST(comments_and_white_space_are_skipped) {
  CHECK_FORM("/* a\n b */ kernel k(out f32 y[]) { // x\n\ty[0] = 1; /**/ }", "y[0u] = 1f");
  CHECK_REFUSED("kernel k() { } /* never\nends", "t.tk:1:16: error: this comment has no end");
  CHECK_FORM("\xEF\xBB\xBFkernel k(out f32 y[]) { y[0] = 1; }", "y[0u] = 1f");
  CHECK_FORM("kernel k(out f32 y[])\r\n{\r\n y[0] = 1;\r\n}\r\n", "y[0u] = 1f");
}

TEST(bytes_that_are_no_text_are_refused) {
  CHECK_REFUSED("kernel k() { @ }", "t.tk:1:14: error: '@' has no meaning here");
  CHECK_REFUSED("kernel k() { \x01 }", "t.tk:1:14: error: a byte of value 1 has no meaning here\n    kernel k() { ? }");
  CHECK_REFUSED("kernel k() { \xC3\xA9 }", "t.tk:1:14: error: a character outside ASCII");
  CHECK_REFUSED("kernel k() { \xFF\xFE }", "t.tk:1:14: error: a character outside ASCII");
}

TEST(text_without_end_is_refused) {
  CHECK_REFUSED("static_assert(true, \"abc);\nkernel k() { }", "t.tk:1:21: error: this text has no closing quote");
}
