// SPDX-License-Identifier: MIT
// Unit tests of the JSON writer. The tested files are included, because the program is not a library to link with.
#include "support/test.h"

#include "json.c"  // NOLINT(bugprone-suspicious-include)
#include "text.c"  // NOLINT(bugprone-suspicious-include)

// Returns what was written so far, in a static buffer.
static const char *written(FILE *out) {
  static char text[4096];
  rewind(out);
  text[fread(text, 1, sizeof text - 1, out)] = '\0';
  fclose(out);
  return text;
}

static json_writer begin(void) {
  json_writer json;
  json_init(&json, tmpfile());
  return json;
}

static const char *finish(json_writer *json) {
  json_finish(json);
  return written(json->out);
}

static const char *as_json(const char *text) {
  json_writer json = begin();
  json_text(&json, NULL, text);
  return finish(&json);
}

static const char *real_as_json(double value) {
  json_writer json = begin();
  json_real(&json, NULL, value);
  return finish(&json);
}

TEST(json_escapes_quotes_backslashes_and_control_characters) {
  CHECK_STR(as_json("say \"hi\" c:\\x\n\t\x01\x1b[0m"), "\"say \\\"hi\\\" c:\\\\x\\n\\t\\u0001\\u001b[0m\"\n");
}

TEST(json_keeps_utf8_and_replaces_what_is_none) {
  CHECK_STR(as_json("µ 日本 😀"), "\"µ 日本 😀\"\n");
  CHECK_STR(as_json("a\xff"
                    "b"),
            "\"a\\ufffdb\"\n");
  CHECK_STR(as_json("\xc3"), "\"\\ufffd\"\n");                                   // cut short
  CHECK_STR(as_json("\xc0\xaf"), "\"\\ufffd\\ufffd\"\n");                        // longer than necessary
  CHECK_STR(as_json("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"\n");             // half of a surrogate pair
  CHECK_STR(as_json("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"\n");  // beyond the last code point
}

TEST(json_text_null_is_null) { CHECK_STR(as_json(NULL), "null\n"); }

TEST(json_reals_read_back_the_same_and_are_short) {
  CHECK_STR(real_as_json(0.5), "0.5\n");
  CHECK_STR(real_as_json(0.1), "0.1\n");
  CHECK_STR(real_as_json(-2), "-2\n");
  CHECK(strtod(real_as_json(1.0 / 3), NULL) == 1.0 / 3);
  CHECK(strtod(real_as_json(5e-324), NULL) == 5e-324);
}

TEST(json_has_no_nan_and_no_infinity) {
  CHECK_STR(real_as_json((double)NAN), "null\n");
  CHECK_STR(real_as_json(-(double)INFINITY), "null\n");
}

TEST(json_integers_have_their_full_range) {
  json_writer json = begin();
  json_begin_array(&json, NULL);
  json_uint(&json, NULL, UINT64_MAX);
  json_int(&json, NULL, INT64_MIN);
  json_end_array(&json);
  CHECK_STR(finish(&json), "[\n  18446744073709551615,\n  -9223372036854775808\n]\n");
}

TEST(json_nests_with_commas_between_and_empty_ones_closed_at_once) {
  json_writer json = begin();
  json_begin_object(&json, NULL);
  json_bool(&json, "yes", true);
  json_begin_array(&json, "empty");
  json_end_array(&json);
  json_begin_array(&json, "list");
  json_begin_object(&json, NULL);
  json_end_object(&json);
  json_null(&json, NULL);
  json_end_array(&json);
  json_text(&json, "a \"key\"", "");
  json_end_object(&json);
  CHECK_STR(finish(&json),
            "{\n"
            "  \"yes\": true,\n"
            "  \"empty\": [],\n"
            "  \"list\": [\n"
            "    {},\n"
            "    null\n"
            "  ],\n"
            "  \"a \\\"key\\\"\": \"\"\n"
            "}\n");
}
