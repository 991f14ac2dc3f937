// SPDX-License-Identifier: MIT
// Unit tests of the option parser. The tested file is included, because the program is not a library to link with.
#include "support/test.h"

#include "options.c"  // NOLINT(bugprone-suspicious-include)

static bool flag;
static uint64_t count;
static double real;
static const char *text, *collected[2];
static option_list list = {.texts = collected, .max = 2};
static char message[OPTIONS_MESSAGE_BYTES];
static char *arguments[16];
static int argument_count;

static const option_spec options[] = {
    {.name = "json", .flag = &flag},
    {.name = "kv-heads", .value_name = "N", .count = &count},
    {.name = "scale", .value_name = "X", .real = &real},
    {.name = "label", .letter = 'l', .value_name = "TEXT", .text = &text},
    {.name = "define", .letter = 'D', .value_name = "NAME=VALUE", .list = &list},
};
static const option_spec required_options[] = {
    {.name = "rows", .value_name = "N", .is_required = true, .count = &count},
    {.name = "cols", .value_name = "N", .is_required = true, .count = &count},
};
static const command_spec spec = {.name = "try", .options = options, .option_count = 5, .argument_max = 2};
static const command_spec required_spec = {.name = "try", .options = required_options, .option_count = 2};

// Parses a line of words separated by single spaces.
static options_outcome parse(const command_spec *command, const char *line) {
  static char words[256];
  snprintf(words, sizeof words, "try %s", line);
  int argc = 0;
  for (char *word = strtok(words, " "); word && argc < 16; word = strtok(NULL, " ")) {
    arguments[argc++] = word;
  }
  flag = false, count = 0, real = 0, text = NULL, list.count = 0, message[0] = '\0';
  return options_parse(command, argc, arguments, &argument_count, message);
}

TEST(options_values_follow_after_a_space_or_an_equals_sign) {
  CHECK_EQ_INT(parse(&spec, "--kv-heads 8 --scale=0.5 --json --label=a=b"), OPTIONS_OK);
  CHECK_EQ_INT(count, 8);
  CHECK(real == 0.5 && flag);
  CHECK_STR(text, "a=b");
}

TEST(options_not_given_keep_their_values) {
  CHECK_EQ_INT(parse(&spec, ""), OPTIONS_OK);
  CHECK(!flag && count == 0 && !text);
}

TEST(options_given_twice_have_their_last_value) {
  CHECK_EQ_INT(parse(&spec, "--kv-heads 8 --kv-heads=4"), OPTIONS_OK);
  CHECK_EQ_INT(count, 4);
}

TEST(options_and_arguments_may_be_mixed) {
  CHECK_EQ_INT(parse(&spec, "one --json two --kv-heads 3"), OPTIONS_OK);
  CHECK_EQ_INT(argument_count, 2);
  CHECK_STR(arguments[1], "one");
  CHECK_STR(arguments[2], "two");
  CHECK(flag);
}

TEST(options_end_at_two_dashes_and_one_dash_is_an_argument) {
  CHECK_EQ_INT(parse(&spec, "- -- --json"), OPTIONS_OK);
  CHECK_EQ_INT(argument_count, 2);
  CHECK_STR(arguments[1], "-");
  CHECK_STR(arguments[2], "--json");
  CHECK(!flag);
}

TEST(options_with_a_letter_take_their_value_beside_or_after_it) {
  CHECK_EQ_INT(parse(&spec, "-lone one"), OPTIONS_OK);
  CHECK_STR(text, "one");
  CHECK_EQ_INT(parse(&spec, "-l two"), OPTIONS_OK);
  CHECK_STR(text, "two");
  CHECK_EQ_INT(parse(&spec, "-l"), OPTIONS_WRONG);
  CHECK_STR(message, "--label needs a value: --label TEXT");
}

TEST(options_that_collect_keep_every_value_in_order) {
  CHECK_EQ_INT(parse(&spec, "-DT=f32 --define WG=64"), OPTIONS_OK);
  CHECK_EQ_INT(list.count, 2);
  CHECK_STR(collected[0], "T=f32");
  CHECK_STR(collected[1], "WG=64");
  CHECK_EQ_INT(parse(&spec, "-DA=1 -D B=2 -DC=3"), OPTIONS_WRONG);
  CHECK_STR(message, "--define is given more than 2 times");
}

TEST(options_are_not_negative_numbers) {
  CHECK_EQ_INT(parse(&spec, "-1 -.5"), OPTIONS_OK);
  CHECK_EQ_INT(argument_count, 2);
  CHECK_STR(arguments[1], "-1");
  CHECK_STR(arguments[2], "-.5");
  CHECK_EQ_INT(parse(&spec, "-.x"), OPTIONS_WRONG);
}

TEST(options_refuse_arguments_too_many) {
  CHECK_EQ_INT(parse(&spec, "one two three"), OPTIONS_WRONG);
  CHECK_STR_HAS(message, "'three'");
}

TEST(options_help_is_answered_in_both_spellings) {
  CHECK_EQ_INT(parse(&spec, "--json -h"), OPTIONS_HELP);
  CHECK_EQ_INT(parse(&required_spec, "--help"), OPTIONS_HELP);
}

TEST(options_unknown_ones_get_a_suggestion_where_one_is_near) {
  CHECK_EQ_INT(parse(&spec, "--kv-head=3"), OPTIONS_WRONG);
  CHECK_STR(message, "'--kv-head' is not an option. Did you mean '--kv-heads'?");
  CHECK_EQ_INT(parse(&spec, "--hlep"), OPTIONS_WRONG);
  CHECK_STR_HAS(message, "'--help'");
  CHECK_EQ_INT(parse(&spec, "--zzzzzz"), OPTIONS_WRONG);
  CHECK_STR(message, "'--zzzzzz' is not an option; --help lists them");
  CHECK_EQ_INT(parse(&spec, "-x"), OPTIONS_WRONG);
}

TEST(options_refuse_a_missing_value_and_one_too_many) {
  CHECK_EQ_INT(parse(&spec, "--kv-heads"), OPTIONS_WRONG);
  CHECK_STR(message, "--kv-heads needs a value: --kv-heads N");
  CHECK_EQ_INT(parse(&spec, "--label --json"), OPTIONS_WRONG);
  CHECK_STR_HAS(message, "--label needs a value");
  CHECK_EQ_INT(parse(&spec, "--json=yes"), OPTIONS_WRONG);
  CHECK_STR(message, "--json takes no value");
}

TEST(options_refuse_what_is_no_whole_number_from_1) {
  static const char *const wrong_ones[] = {"0", "-1", "+1", "1.5", "7x", "x", "0x10", "1e3"};
  for (size_t i = 0; i < sizeof wrong_ones / sizeof wrong_ones[0]; i++) {
    char line[64];
    snprintf(line, sizeof line, "--kv-heads %s", wrong_ones[i]);
    CHECK_EQ_INT(parse(&spec, line), OPTIONS_WRONG);
    CHECK_STR_HAS(message, "--kv-heads takes a whole number from 1, not '");
  }
  CHECK_EQ_INT(parse(&spec, "--kv-heads="), OPTIONS_WRONG);
  CHECK_EQ_INT(parse(&spec, "--kv-heads 18446744073709551616"), OPTIONS_WRONG);
  CHECK_STR_HAS(message, "too large");
  CHECK_EQ_INT(parse(&spec, "--kv-heads 18446744073709551615"), OPTIONS_OK);
  CHECK(count == UINT64_MAX);
}

TEST(options_refuse_what_is_no_number_above_0) {
  static const char *const wrong_ones[] = {"0", "-1", "nan", "inf", "1x", "x", "1e999"};
  for (size_t i = 0; i < sizeof wrong_ones / sizeof wrong_ones[0]; i++) {
    char line[64];
    snprintf(line, sizeof line, "--scale %s", wrong_ones[i]);
    CHECK_EQ_INT(parse(&spec, line), OPTIONS_WRONG);
    CHECK_STR_HAS(message, "--scale takes a number above 0, not '");
  }
  CHECK_EQ_INT(parse(&spec, "--scale="), OPTIONS_WRONG);
  CHECK_EQ_INT(parse(&spec, "--scale 1e-3"), OPTIONS_OK);
}

TEST(options_that_are_required_are_all_named_when_missing) {
  CHECK_EQ_INT(parse(&required_spec, ""), OPTIONS_WRONG);
  CHECK_STR(message, "missing: --rows N, --cols N");
  CHECK_EQ_INT(parse(&required_spec, "--rows 1"), OPTIONS_WRONG);
  CHECK_STR(message, "missing: --cols N");
  CHECK_EQ_INT(parse(&required_spec, "--rows 1 --cols 2"), OPTIONS_OK);
}
